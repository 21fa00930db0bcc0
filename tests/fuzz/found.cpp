#include "tests/fuzz/found.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "ir/support/file.h"
#include "ir/text.h"
#include "tests/fuzz/random.h"

namespace nnc::test {

namespace {

// Small numbers of both signs, a few of them whole, ties of rounding, or zeros of either sign.
Tensor draw(Random& r, DType t, const std::vector<int64_t>& dims) {
  Tensor x(t, dims);
  for (int64_t k = 0; k < x.count(); ++k) {
    const double v = r.uniform(-3, 3);
    if (is_float(t))
      store_f64(t, x.data(), k, r.chance(10) ? r.pick({0.0, -0.0}) : r.chance(20) ? std::round(2 * v) / 2 : v);
    else
      store_i64(t, x.data(), k, t == DType::kBool ? r.below(2) : r.below(4));
  }
  return x;
}

Result<std::vector<Tensor>> arguments(const Module& m, bool smallest) {
  const SymbolTable& symbols = m.symbols;
  std::vector<int64_t> values(symbols.size());
  std::vector<uint8_t> known(symbols.size());
  for (uint32_t k = 0; k < symbols.size(); ++k) {
    const Symbol& s = symbols[SymbolId(k)];
    if (s.kind != SymKind::kInput) continue;
    values[k] = smallest ? s.lo : std::clamp<int64_t>(s.typical == 0 ? 5 : s.typical, s.lo, s.hi);
    known[k] = 1;
  }
  NNC_TRY(symbols.derive(values, known));
  Random r(1);
  std::vector<Tensor> out;
  const Graph& g = *m.entries[0]->graph;
  for (const ValueId v : g.inputs()) {
    std::vector<int64_t> dims;
    for (const Dim& d : g.type(v).shape) {
      NNC_ASSIGN(const int64_t n, symbols.eval(d, values));
      dims.push_back(n);
    }
    out.push_back(draw(r, g.type(v).dtype, dims));
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> found_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  for (const auto& f : std::filesystem::directory_iterator(folder, failed))
    if (f.path().extension() == ".nnir") files.push_back(f.path().string());
  if (files.empty()) return Error(Code::kBadInput, "no .nnir file in " + folder);
  std::sort(files.begin(), files.end());
  return files;
}

Result<RandomGraph> found_graph(const std::string& path) {
  NNC_ASSIGN(const Bytes bytes, read_file(path, 1 << 20));
  auto module = parse_module(text_of(bytes));
  if (!module.ok()) return std::move(module).error().with("  in " + path);
  RandomGraph out;
  out.module = std::move(module).value();
  NNC_ASSIGN(out.inputs, arguments(*out.module, false));
  for (uint32_t k = 0; k < out.module->symbols.size(); ++k)
    out.symbolic = out.symbolic || out.module->symbols[SymbolId(k)].kind == SymKind::kInput;
  if (out.symbolic) { NNC_ASSIGN(out.other, arguments(*out.module, true)); }
  for (const auto& result : out.module->entries[0]->results) out.exact.push_back(result.name.starts_with("exact"));
  return out;
}

}  // namespace nnc::test
