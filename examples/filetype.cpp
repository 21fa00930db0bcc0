// What kind of file this is, by its first and last bytes and not by its name: magika's model, 214 types.
//
//   filetype --model magika.onnx FILE

#include <algorithm>
#include <cstdio>

#include "examples/support/program.h"
#include "ir/support/file.h"
#include "ir/support/text.h"

namespace {

using namespace nnc;
using namespace nnc::example;

constexpr size_t kBlock = 4096, kPart = 1024;
constexpr int32_t kFilling = 256;

bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::span<const uint8_t> strip(std::span<const uint8_t> b, bool front, bool back) {
  while (front && !b.empty() && is_blank(b.front())) b = b.subspan(1);
  while (back && !b.empty() && is_blank(b.back())) b = b.first(b.size() - 1);
  return b;
}

// 1024 bytes from where the file begins to say something, and as many up to where it ends: i32[1, 2048].
Tensor features(ByteView file) {
  const bool large = file.size() > kBlock;
  std::span<const uint8_t> head = strip(large ? file.first(kBlock) : file, true, !large),
                           tail = strip(large ? file.last(kBlock) : file, !large, true);
  head = head.first(std::min(head.size(), kPart));
  tail = tail.last(std::min(tail.size(), kPart));
  Tensor out(DType::kI32, {1, 2 * kPart});
  const std::span<int32_t> to = out.as_mut<int32_t>();
  std::fill(to.begin(), to.end(), kFilling);
  std::copy(head.begin(), head.end(), to.begin());
  std::copy(tail.begin(), tail.end(), to.end() - static_cast<std::ptrdiff_t>(tail.size()));
  return out;
}

// The strings of "target_labels_space": ["3gp", "ace", ...] in magika's configuration.
Result<std::vector<std::string>> read_labels(const std::string& path) {
  NNC_ASSIGN(const Bytes bytes, read_file(path, 1 << 20));
  const std::string_view text = text_of(bytes);
  std::vector<std::string> out;
  size_t at = text.find("\"target_labels_space\"");
  const size_t end = at == std::string_view::npos ? at : text.find(']', at);
  at = at == std::string_view::npos ? at : text.find('[', at);
  while (end != std::string_view::npos && at != std::string_view::npos) {
    const size_t open = text.find('"', at), close = open == std::string_view::npos ? open : text.find('"', open + 1);
    if (close == std::string_view::npos || close > end) break;
    out.emplace_back(text.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  if (!out.empty()) return out;
  Error e(Code::kInvalidData, "no list \"target_labels_space\"");
  e.place.file = path;
  return e;
}

std::string labels_beside(const std::string& model) {
  const size_t slash = model.rfind('/');
  return cat(slash == std::string::npos ? std::string_view() : std::string_view(model).substr(0, slash + 1), "magika/config.min.json");
}

bool is_text(ByteView b) {
  return std::all_of(b.begin(), b.end(), [](uint8_t c) { return c >= 0x20 || is_blank(c); });
}

Result<int> run(int argc, char** argv) {
  NNC_ASSIGN(CommandLine c, parse_command_line(argc, argv, "says what type a file has", {"labels"}));
  NNC_ASSIGN(const Bytes file, read_file(c.file, int64_t(4) << 30));
  constexpr size_t kTooShort = 8;
  const Tensor x = features(file);
  if (!c.dump_input.empty()) NNC_TRY(write_npz_file(c.dump_input, {{"bytes", x}}));
  if (file.size() < kTooShort) {
    std::printf("%s: %s\n", c.file.c_str(),
                file.empty()    ? "empty"
                : is_text(file) ? "txt (too short to say more)"
                                : "unknown (too short to say)");
    return 0;
  }
  NNC_ASSIGN(const std::vector<std::string> labels, read_labels(c.more["labels"].empty() ? labels_beside(c.model) : c.more["labels"]));
  ImportProfile one;
  one.dims["bytes.0"] = DimSpec::size(1);
  NNC_ASSIGN(Model model, Model::open(c.model, c.device, {one}));
  NNC_ASSIGN(const std::vector<Tensor> out, model.run({&x, 1}));
  const std::span<const float> p = out[0].as<float>();
  if (p.size() != labels.size())
    return Error(Code::kInvalidData, cat("the model knows ", p.size(), " types, the list of labels has ", labels.size()));
  std::vector<size_t> order(p.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::partial_sort(order.begin(), order.begin() + 2, order.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
  const size_t best = order[0], next = order[1];
  constexpr float kSure = 0.5f, kWorthSaying = 0.05f;
  std::printf("%s: %s%s (%.1f %%)", c.file.c_str(), p[best] < kSure ? "perhaps " : "", labels[best].c_str(),
              100 * static_cast<double>(p[best]));
  if (p[next] > kWorthSaying) std::printf(", or %s (%.1f %%)", labels[next].c_str(), 100 * static_cast<double>(p[next]));
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return finish(run(argc, argv)); }
