// Where somebody speaks in a recording: a WAV file in, spans of speech out. The model (silero-vad) hears 32 ms at a time and carries a
// state from one to the next. A span is there when the probability of speech passes 0.5; it reaches back as far as this stays above 0.15
// and ends when it stays below 0.35 for a tenth of a second. It gets 30 ms more at both ends, since first and last sounds are soft.
//
//   speech --model silero_vad.onnx recording.wav

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "examples/support/program.h"
#include "examples/support/wav.h"
#include "ir/support/file.h"
#include "ir/support/text.h"

namespace {

using namespace nnc;
using namespace nnc::example;

// Sizes that the model knows: samples of a step, and those before it that it hears again.
struct Rate {
  int64_t hertz, step, context;
};
constexpr Rate k16{16000, 512, 64}, k8{8000, 256, 32};

ImportProfile profile_of(const Rate& r, const char* name) {
  ImportProfile p;
  p.name = name;
  p.dims = {{"input.0", DimSpec::size(1)}, {"input.1", DimSpec::size(r.step + r.context)}, {"state.1", DimSpec::size(1)}};
  p.values["sr"] = Tensor::scalar_i64(r.hertz);
  return p;
}

// All steps, one after another: [steps, 1, context + step]; what is missing at both ends is silence.
Tensor cut_into_steps(const std::vector<float>& samples, const Rate& r) {
  const auto n = static_cast<int64_t>(samples.size());
  const int64_t steps = (n + r.step - 1) / r.step, width = r.context + r.step;
  Tensor out(DType::kF32, {steps, 1, width});
  float* to = out.as_mut<float>().data();
  for (int64_t s = 0; s < steps; ++s)
    for (int64_t k = 0; k < width; ++k) {
      const int64_t at = s * r.step - r.context + k;
      to[s * width + k] = at >= 0 && at < n ? samples[static_cast<size_t>(at)] : 0;
    }
  return out;
}

struct Span {
  double begin, end;  // seconds
};

// The rule of the first comment; what is shorter than a quarter of a second is a click or a cough.
std::vector<Span> find_spans(const std::vector<float>& probabilities, double step, double whole) {
  constexpr float kSpeech = 0.5f, kSilence = 0.35f, kOnset = 0.15f;
  constexpr double kPause = 0.1, kShortest = 0.25, kPad = 0.03;
  std::vector<Span> spans;
  double begin = -1, quiet_since = -1, last_end = 0;
  auto close = [&](double end) {
    if (end - begin >= kShortest) spans.push_back({std::max(begin - kPad, 0.0), std::min(end + kPad, whole)});
    last_end = end;
    begin = quiet_since = -1;
  };
  for (size_t s = 0; s < probabilities.size(); ++s) {
    const double now = static_cast<double>(s) * step;
    if (probabilities[s] >= kSpeech) {
      quiet_since = -1;
      if (begin >= 0) continue;
      size_t first = s;
      while (first > 0 && probabilities[first - 1] >= kOnset && static_cast<double>(first - 1) * step >= last_end) --first;
      begin = static_cast<double>(first) * step;
    } else if (begin >= 0 && probabilities[s] < kSilence) {
      if (quiet_since < 0) quiet_since = now;
      if (now + step - quiet_since >= kPause) close(quiet_since);
    }
  }
  if (begin >= 0) close(quiet_since >= 0 ? quiet_since : whole);
  return spans;
}

std::string time_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%d:%05.2f", static_cast<int>(seconds / 60), seconds - 60 * static_cast<int>(seconds / 60));
  return text;
}

Result<int> run(int argc, char** argv) {
  NNC_ASSIGN(const CommandLine c, parse_command_line(argc, argv, "says where somebody speaks in a WAV file"));
  NNC_ASSIGN(const Bytes bytes, read_file(c.file, int64_t(2) << 30));
  NNC_ASSIGN(const Sound sound, read_wav(bytes, c.file));
  const Rate& rate = sound.rate == k8.hertz ? k8 : k16;
  const std::vector<float> samples = resample(sound.samples, sound.rate, rate.hertz);
  const double seconds = static_cast<double>(samples.size()) / static_cast<double>(rate.hertz);
  const Tensor steps = cut_into_steps(samples, rate);
  const Tensor hertz = Tensor::scalar_i64(rate.hertz);
  Tensor state(DType::kF32, {2, 1, 128});
  if (!c.dump_input.empty()) NNC_TRY(write_npz_file(c.dump_input, {{"input", steps}, {"state", state}, {"sr", hertz}}));

  NNC_ASSIGN(Model model, Model::open(c.model, c.device, {profile_of(k16, "16k"), profile_of(k8, "8k")}));
  std::vector<float> probabilities;
  const int64_t width = rate.context + rate.step;
  for (int64_t s = 0; s < steps.dims()[0]; ++s) {
    const Tensor step =
        Tensor::of<float>(DType::kF32, {1, width}, steps.as<float>().subspan(static_cast<size_t>(s * width), static_cast<size_t>(width)));
    const Tensor inputs[] = {step, state, hertz};
    NNC_ASSIGN(std::vector<Tensor> out, model.run(inputs));
    probabilities.push_back(out[0].as<float>()[0]);
    state = std::move(out[1]);
  }
  const std::vector<Span> spans = find_spans(probabilities, static_cast<double>(rate.step) / static_cast<double>(rate.hertz), seconds);
  double spoken = 0;
  for (const Span& s : spans) {
    std::printf("speech from %s to %s\n", time_text(s.begin).c_str(), time_text(s.end).c_str());
    spoken += s.end - s.begin;
  }
  if (spans.empty())
    std::printf("nobody speaks in these %s minutes\n", time_text(seconds).c_str());
  else
    std::printf("%.1f of %.1f seconds are speech\n", spoken, seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return finish(run(argc, argv)); }
