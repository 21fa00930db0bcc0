// What is written in a picture of one line of text: a PNG, PGM or PPM file in, its text out. The line is cut out of its margins and scaled
// to a height of 48; the model (PP-OCR) gives a probability for each character at each place along it, and the likeliest ones, without
// repeats and blanks, are the text.
//
//   readtext --model ppocr_v6_rec.onnx line.png

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "examples/support/picture.h"
#include "examples/support/program.h"
#include "ir/support/file.h"
#include "ir/support/text.h"

namespace {

using namespace nnc;
using namespace nnc::example;

constexpr int64_t kHeight = 48, kLeastWidth = 16, kMostWidth = 2048;

// The part that differs from the colour of the border, with a margin; the whole picture where nothing does.
Picture cut_line(const Picture& p) {
  std::vector<uint8_t> border[3];
  for (int64_t x = 0; x < p.width; ++x)
    for (const int64_t y : {int64_t(0), p.height - 1})
      for (int c = 0; c < 3; ++c) border[c].push_back(p.at(x, y)[c]);
  uint8_t ground[3];
  for (int c = 0; c < 3; ++c) {
    std::nth_element(border[c].begin(), border[c].begin() + static_cast<std::ptrdiff_t>(border[c].size() / 2), border[c].end());
    ground[c] = border[c][border[c].size() / 2];
  }
  constexpr int kDiffers = 48;
  int64_t x0 = p.width, x1 = -1, y0 = p.height, y1 = -1;
  for (int64_t y = 0; y < p.height; ++y)
    for (int64_t x = 0; x < p.width; ++x)
      for (int c = 0; c < 3; ++c)
        if (std::abs(p.at(x, y)[c] - ground[c]) > kDiffers) {
          x0 = std::min(x0, x);
          x1 = std::max(x1, x);
          y0 = std::min(y0, y);
          y1 = std::max(y1, y);
        }
  if (x1 < x0) return p;
  const int64_t margin = std::max<int64_t>(2, (y1 - y0 + 1) / 5);
  x0 = std::max<int64_t>(0, x0 - margin);
  y0 = std::max<int64_t>(0, y0 - margin);
  x1 = std::min(p.width - 1, x1 + margin);
  y1 = std::min(p.height - 1, y1 + margin);
  return cut(p, x0, y0, x1 - x0 + 1, y1 - y0 + 1);
}

// f32[1, 3, 48, W]: blue, green, red in -1..1.
Tensor model_input(const Picture& line) {
  const auto wished = static_cast<int64_t>(std::ceil(static_cast<double>(kHeight * line.width) / static_cast<double>(line.height)));
  const int64_t width = std::clamp(wished, kLeastWidth, kMostWidth);
  const Picture p = scale(line, width, kHeight);
  Tensor x(DType::kF32, {1, 3, kHeight, width});
  float* to = x.as_mut<float>().data();
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t k = 0; k < kHeight * width; ++k)
      to[c * kHeight * width + k] = (static_cast<float>(p.rgb[static_cast<size_t>(3 * k + 2 - c)]) / 255 - 0.5f) / 0.5f;
  return x;
}

// The model's characters by class: class 0 is the blank, the last one the space. They are lines of the file's metadata.
std::vector<std::string> characters(const std::string& lines, size_t classes) {
  std::vector<std::string> out = {""};
  std::vector<std::string_view> parts = split(lines, '\n');
  if (parts.size() + 2 > classes && !parts.empty() && parts.back().empty()) parts.pop_back();
  for (const std::string_view part : parts) out.emplace_back(part.ends_with('\r') ? part.substr(0, part.size() - 1) : part);
  out.emplace_back(" ");
  return out;
}

struct Reading {
  std::string text;
  double confidence = 0;  // mean probability of the characters
};

Reading decode(const Tensor& p, const std::vector<std::string>& characters) {
  const int64_t steps = p.dims()[1], classes = p.dims()[2];
  Reading out;
  int64_t last = 0, count = 0;
  for (int64_t s = 0; s < steps; ++s) {
    const float* row = p.as<float>().data() + s * classes;
    const int64_t best = std::max_element(row, row + classes) - row;
    if (best != 0 && best != last) {
      out.text += characters[static_cast<size_t>(best)];
      out.confidence += static_cast<double>(row[best]);
      ++count;
    }
    last = best;
  }
  if (count > 0) out.confidence /= static_cast<double>(count);
  return out;
}

Result<int> run(int argc, char** argv) {
  NNC_ASSIGN(const CommandLine c, parse_command_line(argc, argv, "reads a picture of one line of text"));
  NNC_ASSIGN(const Bytes bytes, read_file(c.file, int64_t(1) << 30));
  NNC_ASSIGN(const Picture picture, read_picture(bytes, c.file));
  const Tensor x = model_input(cut_line(picture));
  if (!c.dump_input.empty()) NNC_TRY(write_npz_file(c.dump_input, {{"x", x}}));
  ImportProfile line;
  line.dims = {{"x.0", DimSpec::size(1)}, {"x.2", DimSpec::size(kHeight)}, {"x.3", {kLeastWidth, kMostWidth, 320, 1}}};
  NNC_ASSIGN(Model model, Model::open(c.model, c.device, {line}));
  NNC_ASSIGN(const std::vector<Tensor> out, model.run({&x, 1}));
  if (out[0].rank() != 3 || out[0].dtype() != DType::kF32)
    return Error(Code::kInvalidData, "the model does not give probabilities of characters along the line");
  const auto classes = static_cast<size_t>(out[0].dims()[2]);
  const std::vector<std::string> known = characters(model.metadata("character"), classes);
  if (known.size() != classes)
    return Error(Code::kInvalidData, cat("the model has ", classes, " classes, its list of characters ", known.size()));
  const Reading r = decode(out[0], known);
  if (r.text.empty())
    std::printf("no text found\n");
  else
    std::printf("%s\n", r.text.c_str());
  constexpr double kDoubtful = 0.7;
  if (!r.text.empty() && r.confidence < kDoubtful)
    std::fprintf(stderr, "not sure: the characters are %.0f %% likely on average\n", 100 * r.confidence);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return finish(run(argc, argv)); }
