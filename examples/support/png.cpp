// PNG files: chunks with their checksums, zlib, filters, Adam7. Gamma and colour profiles are not looked at.

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "examples/support/picture.h"
#include "ir/support/text.h"

namespace nnc::example {

namespace {

struct Head {
  int64_t width = 0, height = 0;
  int depth = 0, color = 0, interlace = 0;
  int channels() const { return color == 2 ? 3 : color == 4 ? 2 : color == 6 ? 4 : 1; }
  int64_t row_bytes(int64_t pixels) const { return (pixels * channels() * depth + 7) / 8; }
};
struct Pass {
  int64_t x0, y0, dx, dy;
};
constexpr Pass kWhole[] = {{0, 0, 1, 1}};
constexpr Pass kAdam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

uint32_t big(ByteView b, size_t at) { return uint32_t{b[at]} << 24 | uint32_t{b[at + 1]} << 16 | uint32_t{b[at + 2]} << 8 | b[at + 3]; }

class PngReader {
 public:
  PngReader(ByteView bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<Picture> run() {
    NNC_TRY(read_chunks());
    const std::span<const Pass> passes = head_.interlace != 0 ? std::span<const Pass>(kAdam7) : std::span<const Pass>(kWhole);
    int64_t raw_bytes = 0;
    for (const Pass& p : passes)
      if (const auto [w, h] = size_of(p); w > 0) raw_bytes += h * (1 + head_.row_bytes(w));
    Bytes raw(static_cast<size_t>(raw_bytes));
    auto length = static_cast<uLongf>(raw.size());
    const int status = uncompress(raw.data(), &length, data_.data(), static_cast<uLong>(data_.size()));
    if (status != Z_OK || length != raw.size()) return broken("the pixels do not unpack");
    out_ = {head_.width, head_.height, std::vector<uint8_t>(static_cast<size_t>(head_.width * head_.height * 3))};
    size_t at = 0;
    for (const Pass& p : passes) NNC_TRY(read_pass(raw, &at, p));
    return std::move(out_);
  }

 private:
  Error broken(std::string what) const {
    Error e(Code::kInvalidData, std::move(what));
    e.place.file = name_;
    return e;
  }

  std::pair<int64_t, int64_t> size_of(const Pass& p) const {
    const int64_t w = (head_.width - p.x0 + p.dx - 1) / p.dx, h = (head_.height - p.y0 + p.dy - 1) / p.dy;
    return w > 0 && h > 0 ? std::pair(w, h) : std::pair<int64_t, int64_t>(0, 0);
  }

  Status read_head(ByteView b) {
    if (b.size() != 13) return broken("the head of the picture is broken");
    head_ = {big(b, 0), big(b, 4), b[8], b[9], b[12]};
    const bool depth_fits = head_.color == 0
                                ? head_.depth == 1 || head_.depth == 2 || head_.depth == 4 || head_.depth == 8 || head_.depth == 16
                            : head_.color == 3 ? head_.depth == 1 || head_.depth == 2 || head_.depth == 4 || head_.depth == 8
                                               : head_.depth == 8 || head_.depth == 16;
    const bool color_fits = head_.color == 0 || head_.color == 2 || head_.color == 3 || head_.color == 4 || head_.color == 6;
    if (!depth_fits || !color_fits || b[10] != 0 || b[11] != 0 || head_.interlace > 1) return broken("the head of the picture is broken");
    constexpr int64_t kMostPixels = 100'000'000;
    if (head_.width < 1 || head_.height < 1 || head_.width > kMostPixels / head_.height)
      return broken(cat("a picture of ", head_.width, " x ", head_.height, " pixels"));
    return {};
  }

  Status read_chunks() {
    for (size_t at = 8;;) {
      if (at + 12 > bytes_.size()) return broken("the picture is cut off");
      const size_t size = big(bytes_, at);
      if (size > bytes_.size() - at - 12) return broken("the picture is cut off");
      const std::string_view id = text_of(bytes_.subspan(at + 4, 4));
      const ByteView body = bytes_.subspan(at + 8, size);
      if (crc32(0, bytes_.data() + at + 4, static_cast<uInt>(size + 4)) != big(bytes_, at + 8 + size))
        return broken(cat("a checksum does not hold, at byte ", at));
      if (head_.width == 0 && id != "IHDR") return broken("the picture has no head");
      if (id == "IHDR")
        NNC_TRY(read_head(body));
      else if (id == "PLTE")
        palette_.assign(body.begin(), body.end());
      else if (id == "tRNS")
        alpha_.assign(body.begin(), body.end());
      else if (id == "IDAT")
        data_.insert(data_.end(), body.begin(), body.end());
      else if (id == "IEND")
        return {};
      at += 12 + size;
    }
  }

  // Undoes the filter of a row in place; `above` is the row before, or null.
  Status unfilter(int filter, uint8_t* row, const uint8_t* above, int64_t n) const {
    const int64_t step = std::max<int64_t>(1, head_.channels() * head_.depth / 8);
    if (filter > 4) return broken("a row of the picture is broken");
    for (int64_t k = 0; k < n; ++k) {
      const int a = k >= step ? row[k - step] : 0, b = above != nullptr ? above[k] : 0,
                c = above != nullptr && k >= step ? above[k - step] : 0;
      int add = 0;
      if (filter == 1) add = a;
      if (filter == 2) add = b;
      if (filter == 3) add = (a + b) / 2;
      if (filter == 4) {
        const int pa = std::abs(b - c), pb = std::abs(a - c), pc = std::abs(a + b - 2 * c);
        add = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      }
      row[k] = static_cast<uint8_t>(row[k] + add);
    }
    return {};
  }

  int sample(const uint8_t* row, int64_t k) const {
    if (head_.depth == 16) return row[2 * k] << 8 | row[2 * k + 1];
    if (head_.depth == 8) return row[k];
    const int64_t bit = k * head_.depth;
    return row[bit / 8] >> (8 - head_.depth - bit % 8) & ((1 << head_.depth) - 1);
  }

  int to_byte(int v) const { return head_.depth == 16 ? v >> 8 : v * 255 / ((1 << head_.depth) - 1); }

  Status pixel(const uint8_t* row, int64_t x, uint8_t* to) const {
    const int n = head_.channels();
    std::array<int, 3> rgb{};
    int alpha = 255;
    if (head_.color == 3) {
      const auto index = static_cast<size_t>(sample(row, x));
      if (3 * index + 2 >= palette_.size()) return broken("a colour is not in the palette");
      for (size_t c = 0; c < 3; ++c) rgb[c] = palette_[3 * index + c];
      if (index < alpha_.size()) alpha = alpha_[index];
    } else {
      bool is_key = alpha_.size() >= static_cast<size_t>(n == 3 ? 6 : 2) && (head_.color == 0 || head_.color == 2);
      for (int c = 0; c < 3; ++c) {
        const int channel = n >= 3 ? c : 0, v = sample(row, x * n + channel);
        const size_t key = 2 * static_cast<size_t>(channel);
        rgb[static_cast<size_t>(c)] = to_byte(v);
        if (is_key && v != (alpha_[key] << 8 | alpha_[key + 1])) is_key = false;
      }
      if (is_key) alpha = 0;
      if (head_.color == 4 || head_.color == 6) alpha = to_byte(sample(row, x * n + n - 1));
    }
    for (size_t c = 0; c < 3; ++c) to[c] = static_cast<uint8_t>((rgb[c] * alpha + 255 * (255 - alpha)) / 255);
    return {};
  }

  Status read_pass(Bytes& raw, size_t* at, const Pass& p) {
    const auto [w, h] = size_of(p);
    if (w == 0) return {};
    const int64_t n = head_.row_bytes(w);
    const uint8_t* above = nullptr;
    for (int64_t y = 0; y < h; ++y) {
      uint8_t* row = raw.data() + *at + 1;
      NNC_TRY(unfilter(raw[*at], row, above, n));
      for (int64_t x = 0; x < w; ++x) NNC_TRY(pixel(row, x, out_.rgb.data() + 3 * ((p.y0 + y * p.dy) * head_.width + p.x0 + x * p.dx)));
      above = row;
      *at += static_cast<size_t>(1 + n);
    }
    return {};
  }

  ByteView bytes_;
  const std::string& name_;
  Head head_;
  Bytes palette_, alpha_, data_;
  Picture out_;
};

}  // namespace

Result<Picture> read_png(ByteView bytes, const std::string& name) { return PngReader(bytes, name).run(); }

}  // namespace nnc::example
