#include "examples/support/picture.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "ir/support/text.h"

namespace nnc::example {

Result<Picture> read_png(ByteView bytes, const std::string& name);  // png.cpp

namespace {

Error broken(const std::string& name, std::string what) {
  Error e(Code::kInvalidData, std::move(what));
  e.place.file = name;
  return e;
}

// The next number of a PNM head, past blanks and comments.
bool read_number(std::string_view text, size_t* at, int64_t* out) {
  while (*at < text.size() && (std::isspace(static_cast<unsigned char>(text[*at])) != 0 || text[*at] == '#')) {
    if (text[*at] == '#')
      *at = std::min(text.find('\n', *at), text.size());
    else
      ++*at;
  }
  const size_t begin = *at;
  while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9') ++*at;
  return parse_int(text.substr(begin, *at - begin), out);
}

// P5 and P6: grey or RGB, bytes or 16 bits with the high byte first.
Result<Picture> read_pnm(ByteView bytes, const std::string& name) {
  const std::string_view text = text_of(bytes);
  const int64_t channels = text[1] == '6' ? 3 : 1;
  size_t at = 2;
  int64_t most = 0;
  Picture p;
  if (!read_number(text, &at, &p.width) || !read_number(text, &at, &p.height) || !read_number(text, &at, &most) || p.width < 1 ||
      p.height < 1 || p.width > 65535 || p.height > 65535 || most < 1 || most > 65535)
    return broken(name, "the head of the picture is broken");
  ++at;  // one blank
  const int64_t size = most > 255 ? 2 : 1, needed = p.width * p.height * channels * size;
  if (static_cast<int64_t>(bytes.size()) - static_cast<int64_t>(at) < needed) return broken(name, "the picture is cut off");
  p.rgb.resize(static_cast<size_t>(p.width * p.height * 3));
  for (int64_t k = 0; k < p.width * p.height; ++k) {
    for (int64_t c = 0; c < 3; ++c) {
      const size_t from = at + static_cast<size_t>((k * channels + (channels == 3 ? c : 0)) * size);
      const int64_t v = size == 2 ? bytes[from] << 8 | bytes[from + 1] : bytes[from];
      p.rgb[static_cast<size_t>(3 * k + c)] = static_cast<uint8_t>(std::min(v, most) * 255 / most);
    }
  }
  return p;
}

// For each position of the new axis: the first old one, and the weights from there on.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};
std::vector<Taps> taps_for(int64_t from, int64_t to) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to), support = std::max(1.0, ratio);
  std::vector<Taps> out;
  for (int64_t k = 0; k < to; ++k) {
    const double center = (static_cast<double>(k) + 0.5) * ratio;
    const auto lo = std::max<int64_t>(0, static_cast<int64_t>(std::floor(center - support))),
               hi = std::min<int64_t>(from - 1, static_cast<int64_t>(std::ceil(center + support)));
    Taps t{lo, {}};
    double sum = 0;
    for (int64_t i = lo; i <= hi; ++i) {
      const double w = std::max(0.0, 1 - std::abs(static_cast<double>(i) + 0.5 - center) / support);
      t.weights.push_back(static_cast<float>(w));
      sum += w;
    }
    for (float& w : t.weights) w = static_cast<float>(static_cast<double>(w) / sum);
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace

Result<Picture> read_picture(ByteView bytes, const std::string& name) {
  const std::string_view text = text_of(bytes);
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return read_png(bytes, name);
  if (text.starts_with("P5") || text.starts_with("P6")) return read_pnm(bytes, name);
  return broken(name, "neither a PNG nor a PGM or PPM picture").with("try: convert it, for instance with convert FILE out.png");
}

Picture cut(const Picture& p, int64_t x, int64_t y, int64_t width, int64_t height) {
  Picture out{width, height, {}};
  out.rgb.reserve(static_cast<size_t>(width * height * 3));
  for (int64_t row = y; row < y + height; ++row) out.rgb.insert(out.rgb.end(), p.at(x, row), p.at(x, row) + 3 * width);
  return out;
}

Picture scale(const Picture& p, int64_t width, int64_t height) {
  const std::vector<Taps> columns = taps_for(p.width, width), rows = taps_for(p.height, height);
  std::vector<float> half(static_cast<size_t>(width * p.height * 3));  // scaled along x
  for (int64_t y = 0; y < p.height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        const Taps& t = columns[static_cast<size_t>(x)];
        float sum = 0;
        for (size_t k = 0; k < t.weights.size(); ++k)
          sum += t.weights[k] * static_cast<float>(p.at(t.first + static_cast<int64_t>(k), y)[c]);
        half[static_cast<size_t>((y * width + x) * 3 + c)] = sum;
      }
  Picture out{width, height, std::vector<uint8_t>(static_cast<size_t>(width * height * 3))};
  for (int64_t y = 0; y < height; ++y) {
    const Taps& t = rows[static_cast<size_t>(y)];
    for (int64_t k = 0; k < width * 3; ++k) {
      float sum = 0;
      for (size_t r = 0; r < t.weights.size(); ++r)
        sum += t.weights[r] * half[static_cast<size_t>((t.first + static_cast<int64_t>(r)) * width * 3 + k)];
      out.rgb[static_cast<size_t>(y * width * 3 + k)] = static_cast<uint8_t>(std::clamp(std::lround(sum), 0L, 255L));
    }
  }
  return out;
}

}  // namespace nnc::example
