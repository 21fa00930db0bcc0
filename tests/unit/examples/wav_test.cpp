// WAV files of every format, and what a changed sampling rate leaves of a signal.

#include "examples/support/wav.h"

#include <bit>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace nnc::example {
namespace {

void put(Bytes* to, uint64_t v, int bytes) {
  for (int k = 0; k < bytes; ++k) to->push_back(static_cast<uint8_t>(v >> (8 * k)));
}
void put(Bytes* to, std::string_view text) { to->insert(to->end(), text.begin(), text.end()); }

struct Written {
  uint32_t tag = 1, channels = 1, rate = 16000, bits = 16;
  bool extensible = false, extra_chunk = false;
};

// `data`: the samples as the file has them.
Bytes wav(const Written& w, const Bytes& data, uint32_t declared = UINT32_MAX) {
  Bytes out;
  put(&out, "RIFF");
  put(&out, 0, 4);
  put(&out, "WAVE");
  if (w.extra_chunk) {
    put(&out, "LIST");
    put(&out, 3, 4);
    put(&out, "abc");
    out.push_back(0);  // chunks are padded to even sizes
  }
  put(&out, "fmt ");
  put(&out, w.extensible ? 40 : 16, 4);
  put(&out, w.extensible ? 0xfffe : w.tag, 2);
  put(&out, w.channels, 2);
  put(&out, w.rate, 4);
  put(&out, w.rate * w.channels * w.bits / 8, 4);
  put(&out, w.channels * w.bits / 8, 2);
  put(&out, w.bits, 2);
  if (w.extensible) {
    put(&out, 22, 2);
    put(&out, w.bits, 2);
    put(&out, 0, 4);
    put(&out, w.tag, 2);
    for (int k = 0; k < 14; ++k) out.push_back(0);
  }
  put(&out, "data");
  put(&out, declared == UINT32_MAX ? data.size() : declared, 4);
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

const std::vector<double> kValues = {0, 0.5, -0.5, 0.25, -1};

Bytes encode(const Written& w) {
  Bytes out;
  for (const double v : kValues) {
    for (uint32_t c = 0; c < w.channels; ++c) {
      if (w.tag == 3 && w.bits == 32)
        put(&out, std::bit_cast<uint32_t>(static_cast<float>(v)), 4);
      else if (w.tag == 3)
        put(&out, std::bit_cast<uint64_t>(v), 8);
      else if (w.bits == 8)
        out.push_back(static_cast<uint8_t>(128 + v * 128));
      else
        put(&out, static_cast<uint64_t>(static_cast<int64_t>(v * std::pow(2.0, w.bits - 1))), static_cast<int>(w.bits / 8));
    }
  }
  return out;
}

TEST(Wav, FormatsGiveTheSameSamples) {
  for (const Written& w : {Written{}, Written{1, 1, 16000, 8}, Written{1, 1, 16000, 24}, Written{1, 2, 16000, 32}, Written{3, 1, 16000, 32},
                           Written{3, 2, 16000, 64}, Written{1, 2, 44100, 24, true}, Written{3, 1, 8000, 32, true, true}}) {
    const auto sound = read_wav(wav(w, encode(w)), "x.wav");
    ASSERT_TRUE(sound.ok()) << w.tag << " " << w.bits << ": " << sound.error().str();
    EXPECT_EQ(sound->rate, w.rate);
    ASSERT_EQ(sound->samples.size(), kValues.size());
    for (size_t k = 0; k < kValues.size(); ++k) EXPECT_FLOAT_EQ(sound->samples[k], static_cast<float>(kValues[k])) << w.bits;
  }
}

TEST(Wav, ChannelsAreAveraged) {
  Bytes data;
  put(&data, 16384, 2);
  put(&data, 0, 2);
  EXPECT_FLOAT_EQ(read_wav(wav({1, 2, 16000, 16}, data), "x")->samples.at(0), 0.25f);
}

TEST(Wav, OpenEndedDataIsWhatIsThere) {
  const Written w;
  EXPECT_EQ(read_wav(wav(w, encode(w), 0xffffffff - 1), "x")->samples.size(), kValues.size());
}

TEST(Wav, BrokenFilesAreErrors) {
  const Written w{1, 2, 44100, 24, true, true};
  const Bytes whole = wav(w, encode(w));
  for (size_t n = 0; n < whole.size(); ++n) {
    const auto sound = read_wav(ByteView(whole).first(n), "cut.wav");
    if (!sound.ok()) { EXPECT_EQ(sound.error().code, Code::kInvalidData) << n; }
  }
  EXPECT_FALSE(read_wav(ByteView(whole).first(60), "cut.wav").ok());
  EXPECT_EQ(read_wav(wav({2, 1, 16000, 4}, {1, 2}), "adpcm.wav").error().code, Code::kUnsupportedOp);
  EXPECT_FALSE(read_wav(wav({1, 0, 16000, 16}, {1, 2}), "x").ok());
  EXPECT_FALSE(read_wav(bytes_of("no sound at all"), "x").ok());
}

std::vector<float> sine(int64_t rate, double hertz, double seconds) {
  std::vector<float> out;
  for (int64_t k = 0; k < static_cast<int64_t>(seconds * static_cast<double>(rate)); ++k)
    out.push_back(static_cast<float>(std::sin(2 * std::numbers::pi * hertz * static_cast<double>(k) / static_cast<double>(rate))));
  return out;
}

TEST(Resample, KeepsWhatBothRatesHold) {
  for (const int64_t from : {8000, 11025, 22050, 44100, 48000}) {
    const std::vector<float> out = resample(sine(from, 1000, 0.5), from, 16000), want = sine(16000, 1000, 0.5);
    ASSERT_NEAR(static_cast<double>(out.size()), static_cast<double>(want.size()), 2.0) << from;
    for (size_t k = 400; k + 400 < want.size(); ++k) ASSERT_NEAR(out[k], want[k], 2e-3) << from << " at " << k;
  }
}

TEST(Resample, DropsWhatTheLowerRateCannotHold) {
  const std::vector<float> out = resample(sine(48000, 12000, 0.5), 48000, 16000);
  for (size_t k = 400; k + 400 < out.size(); ++k) ASSERT_LT(std::abs(out[k]), 5e-3f);
  EXPECT_EQ(resample({}, 48000, 16000).size(), 0u);
}

}  // namespace
}  // namespace nnc::example
