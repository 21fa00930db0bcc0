#include "examples/support/wav.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

#include "ir/support/text.h"

namespace nnc::example {

namespace {

uint32_t little(ByteView b, size_t at, int bytes) {
  uint32_t v = 0;
  for (int k = 0; k < bytes; ++k) v |= static_cast<uint32_t>(b[at + static_cast<size_t>(k)]) << (8 * k);
  return v;
}

struct Format {
  uint32_t tag = 0, channels = 0, rate = 0, block = 0, bits = 0;
};
constexpr uint32_t kPcm = 1, kFloat = 3, kExtensible = 0xfffe;

float sample_at(ByteView data, size_t at, const Format& f) {
  if (f.tag == kFloat && f.bits == 32) return std::bit_cast<float>(little(data, at, 4));
  if (f.tag == kFloat) {
    const uint64_t bits = little(data, at, 4) | static_cast<uint64_t>(little(data, at + 4, 4)) << 32;
    return static_cast<float>(std::bit_cast<double>(bits));
  }
  if (f.bits == 8) return (static_cast<float>(data[at]) - 128) / 128;  // the only unsigned one
  const int bytes = static_cast<int>(f.bits / 8);
  const auto whole = static_cast<int32_t>(little(data, at, bytes) << (32 - f.bits));
  return static_cast<float>(static_cast<double>(whole) / 2147483648.0);
}

}  // namespace

Result<Sound> read_wav(ByteView bytes, const std::string& name) {
  auto broken = [&name](std::string what) {
    Error e(Code::kInvalidData, std::move(what));
    e.place.file = name;
    return e;
  };
  const std::string_view text = text_of(bytes);
  if (bytes.size() < 12 || !text.starts_with("RIFF") || text.substr(8, 4) != "WAVE")
    return broken("no WAV file").with("try: convert it, for instance with ffmpeg -i FILE -ac 1 -ar 16000 out.wav");
  Format f;
  ByteView data;
  bool has_format = false, has_data = false;
  for (size_t at = 12; at + 8 <= bytes.size() && !has_data;) {
    const std::string_view id = text.substr(at, 4);
    // Writers that stream leave the size of the data open: then it is what the file holds.
    const size_t size = std::min<size_t>(little(bytes, at + 4, 4), bytes.size() - at - 8);
    const ByteView body = bytes.subspan(at + 8, size);
    if (id == "fmt ") {
      if (size < 16) return broken("the format chunk is cut off");
      f = {little(body, 0, 2), little(body, 2, 2), little(body, 4, 4), little(body, 12, 2), little(body, 14, 2)};
      if (f.tag == kExtensible && size >= 26) f.tag = little(body, 24, 2);
      has_format = true;
    } else if (id == "data") {
      data = body;
      has_data = true;
    }
    at += 8 + size + (size & 1);
  }
  if (!has_format || !has_data) return broken("the file holds no sound");
  const bool pcm = f.tag == kPcm && (f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32),
             real = f.tag == kFloat && (f.bits == 32 || f.bits == 64);
  if (!pcm && !real) {
    Error e(Code::kUnsupportedOp,
            cat("sound of format ", f.tag, " with ", f.bits, " bits: PCM of 8, 16, 24 or 32 bits or floats expected"));
    e.place.file = name;
    return e;
  }
  if (f.channels == 0 || f.channels > 64 || f.rate < 1000 || f.rate > 1'000'000 || f.block != f.channels * f.bits / 8)
    return broken(cat(f.channels, " channels at ", f.rate, " Hz, ", f.block, " bytes each: not possible"));
  Sound out;
  out.rate = f.rate;
  out.samples.resize(data.size() / f.block);
  for (size_t k = 0; k < out.samples.size(); ++k) {
    float sum = 0;
    for (uint32_t c = 0; c < f.channels; ++c) sum += sample_at(data, k * f.block + c * (f.bits / 8), f);
    const float mean = sum / static_cast<float>(f.channels);
    out.samples[k] = std::isfinite(mean) ? mean : 0;
  }
  return out;
}

std::vector<float> resample(const std::vector<float>& samples, int64_t from, int64_t to) {
  if (from == to || samples.empty()) return samples;
  const int64_t common = std::gcd(from, to), up = to / common, down = from / common;
  const auto n = static_cast<int64_t>(samples.size());
  const int64_t length = (n * up + down - 1) / down;
  constexpr double kZeros = 16;  // of the sinc on each side
  const double cutoff = 0.95 * std::min(1.0, static_cast<double>(to) / static_cast<double>(from));
  const double half = kZeros / cutoff;  // in samples of the source
  const auto taps = static_cast<int64_t>(std::floor(2 * half)) + 1;
  // Positions between source samples repeat with a period of `up`; the filter of each is made once.
  std::vector<std::vector<float>> filters(static_cast<size_t>(up));
  auto filter_for = [&](int64_t phase) -> const std::vector<float>& {
    std::vector<float>& f = filters[static_cast<size_t>(phase)];
    if (!f.empty()) return f;
    const double fraction = static_cast<double>(phase) / static_cast<double>(up);
    double sum = 0;
    std::vector<double> weights;
    for (int64_t t = 0; t < taps; ++t) {
      const double x = static_cast<double>(t) - std::floor(half) - fraction;
      const double angle = std::numbers::pi * x * cutoff,
                   window = std::abs(x) >= half ? 0 : 0.5 + 0.5 * std::cos(std::numbers::pi * x / half);
      weights.push_back((std::abs(angle) < 1e-9 ? 1.0 : std::sin(angle) / angle) * window);
      sum += weights.back();
    }
    for (const double w : weights) f.push_back(static_cast<float>(w / sum));
    return f;
  };
  std::vector<float> out(static_cast<size_t>(length));
  for (int64_t k = 0; k < length; ++k) {
    const int64_t position = k * down, whole = position / up;
    const std::vector<float>& f = filter_for(position % up);
    const int64_t first = whole - static_cast<int64_t>(std::floor(half));
    double sum = 0;
    for (int64_t t = std::max<int64_t>(0, -first); t < taps && first + t < n; ++t)
      sum += static_cast<double>(f[static_cast<size_t>(t)]) * static_cast<double>(samples[static_cast<size_t>(first + t)]);
    out[static_cast<size_t>(k)] = static_cast<float>(sum);
  }
  return out;
}

}  // namespace nnc::example
