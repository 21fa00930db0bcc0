#pragma once
// Recordings: WAV files (PCM of 8 to 32 bits, floats of 32 and 64; any number of channels, which are averaged), and another sampling rate
// for a signal.

#include <string>
#include <vector>

#include "ir/support/bytes.h"
#include "ir/support/result.h"

namespace nnc::example {

struct Sound {
  int64_t rate = 0;            // samples a second
  std::vector<float> samples;  // -1..1
};
Result<Sound> read_wav(ByteView bytes, const std::string& name);
// Through a windowed sinc that cuts off below the lower of both rates' halves; the length follows the rate, the ends are taken as silence.
std::vector<float> resample(const std::vector<float>& samples, int64_t from, int64_t to);

}  // namespace nnc::example
