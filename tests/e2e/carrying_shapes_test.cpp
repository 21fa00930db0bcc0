// Carrying test g: shape chains (Shape -> Gather -> Mul -> Concat -> Reshape) are gone when a model is compiled: no step runs on the host
// and nothing about an extent is found while it runs. One artifact of each model runs many shapes in random order, as a fresh session runs
// each of them, to the bit. Models of the zoo are `Heavy`: the acceptance command runs those.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "frontend/onnx/importer.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "runtime/cpu_device.h"
#include "tests/e2e/artifacts.h"
#include "tests/e2e/compiled.h"

namespace nnc {
namespace {

using namespace test;

constexpr size_t kRuns = 50;

struct Extent {
  const char* dim;
  int64_t lo, hi, multiple = 1;    // what the artifact takes
  int64_t run_lo = 0, run_hi = 0;  // what is drawn; 0, 0: the same
};
struct ShapeCase {
  const char* model;  // below the model cache
  std::vector<Extent> extents;
  friend void PrintTo(const ShapeCase& c, std::ostream* o) { *o << c.model; }
};

const std::vector<ShapeCase> kLight = {
    {"minilm_l6_ts", {{"batch", 1, 8, 1, 1, 2}, {"seq", 1, 512, 1, 1, 40}}},
    {"ppocr_v4_det", {{"x.0", 1, 4, 1, 1, 2}, {"x.2", 32, 960, 32, 32, 160}, {"x.3", 32, 960, 32, 32, 160}}},
};
const std::vector<ShapeCase> kHeavy = {
    {"minilm_l6", {{"batch", 1, 8, 1, 1, 2}, {"seq", 1, 512, 1, 1, 40}}},
    {"zoo/vit_b_16_dynamic", {{"batch", 1, 64, 1, 1, 5}}},
    {"zoo/llama_decode", {{"batch", 1, 8, 1, 1, 3}, {"past", 0, 2048, 1, 0, 99}}},
    {"zoo/llama_decode_ts", {{"batch", 1, 8, 1, 1, 3}, {"past", 0, 2048, 1, 0, 99}}},
};

std::string model_path(const std::string& model) {
  const char* cache = std::getenv("NNC_MODEL_CACHE");
  return cat(cache ? cache : "", "/", model, ".onnx");
}

std::string missing(const ShapeCase& c) {
  return cat("no model ", model_path(c.model), ": python3 tests/models/prepare.py, with --zoo all for those of the zoo");
}

std::unique_ptr<Module> import(const ShapeCase& c) {
  ImportOptions options;
  options.profiles.emplace_back();
  for (const Extent& e : c.extents) {
    DimSpec d;
    d.lo = e.lo, d.hi = e.hi, d.multiple = e.multiple;
    options.profiles[0].dims[e.dim] = d;
  }
  auto m = import_onnx_file(model_path(c.model), options);
  EXPECT_TRUE(m.ok()) << m.error().str();
  return m.ok() ? std::move(*m) : nullptr;
}

// What no shape chain may leave: symbols that are found while the program runs, steps that bind them, functions of the host.
void expect_no_shape_arithmetic(const Program& p) {
  for (const std::string_view line : split(print_program(p), '\n')) {
    const std::string_view word = trim(line);
    for (const char* step : {"host @", "bind @"}) EXPECT_NE(word.substr(0, 6), step) << line;
    EXPECT_EQ(line.find(" = data "), std::string_view::npos) << line;
  }
}

class CarryingShapes : public testing::TestWithParam<ShapeCase> {
 protected:
  void SetUp() override { ASSERT_TRUE(ReadFile::open(model_path(GetParam().model)).ok()) << missing(GetParam()); }
  using Extents = std::map<std::string, int64_t>;  // by dim
  // Shapes in random order: all different where there are that many.
  static std::vector<Extents> draw(const std::vector<Extent>& dims) {
    std::vector<Extents> all(1);
    for (const Extent& e : dims) {
      std::vector<Extents> more;
      const int64_t lo = e.run_hi > 0 ? e.run_lo : e.lo, hi = e.run_hi > 0 ? e.run_hi : e.hi;
      for (const Extents& x : all)
        for (int64_t n = lo; n <= hi; n += e.multiple) {
          more.push_back(x);
          more.back()[e.dim] = n;
        }
      all = std::move(more);
    }
    std::mt19937 random(7);
    std::vector<Extents> out;
    while (out.size() < kRuns) {
      std::shuffle(all.begin(), all.end(), random);
      out.insert(out.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kRuns - out.size())));
    }
    return out;
  }
  static Tensor input(const SymbolTable& symbols, const PlanArg& a, size_t axis_of, const Extents& extents) {
    std::vector<int64_t> dims;
    for (size_t axis = 0; axis < a.shape.size(); ++axis) {
      const auto named = extents.find(symbols.pretty(a.shape[axis])), placed = extents.find(cat(a.name, ".", axis));
      dims.push_back(a.shape[axis].is_const()  ? a.shape[axis].constant()
                     : named != extents.end()  ? named->second
                     : placed != extents.end() ? placed->second
                                               : -1);
      EXPECT_GE(dims.back(), 0) << a.name << " axis " << axis << ": " << symbols.pretty(a.shape[axis]);
    }
    uint64_t seed = axis_of + 1;
    for (const auto& [name, n] : extents) seed = seed * 1000003 + static_cast<uint64_t>(n);
    if (is_float(a.dtype)) return uniform(a.dtype, dims, seed);
    return a.name == "attention_mask" ? uniform(a.dtype, dims, seed, 1, 2) : uniform(a.dtype, dims, seed, 0, 2);
  }
};
const auto case_name = [](const auto& i) {
  std::string name = i.param.model;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
};
INSTANTIATE_TEST_SUITE_P(Light, CarryingShapes, testing::ValuesIn(kLight), case_name);
INSTANTIATE_TEST_SUITE_P(Heavy, CarryingShapes, testing::ValuesIn(kHeavy), case_name);

TEST_P(CarryingShapes, G_FiftyShapesFromOneArtifact) {
  const TempDir folder = TempDir::create().value();
  const std::string path = cat(folder.path(), "/m.nnb");
  {
    const std::unique_ptr<Module> m = import(GetParam());
    ASSERT_TRUE(m);
    compile_artifact(*m, {parse_targets("cpu")->back().name}, path, true);
  }
  auto artifact = Artifact::open(path);
  ASSERT_TRUE(artifact.ok()) << artifact.error().str();
  expect_no_shape_arithmetic((*artifact)->program(0));
  LoadOptions native;
  native.require_native = true;
  auto executable = load_executable(**artifact, *make_cpu_device(), native);
  ASSERT_TRUE(executable.ok()) << executable.error().str();
  EXPECT_EQ((*executable)->counts().host, 0);
  const Program& p = (*executable)->program();
  ASSERT_EQ(p.entries.size(), 1u);

  auto session = Session::create(*executable);
  ASSERT_TRUE(session.ok());
  std::map<Extents, std::vector<Tensor>> fresh_results;
  for (const Extents& extents : draw(GetParam().extents)) {
    std::vector<Tensor> in;
    for (const PlanArg& a : p.entries[0].args) in.push_back(input(p.symbols, a, in.size(), extents));
    const std::vector<Tensor> got = must_run(**session, "main", in);
    auto [fresh, first] = fresh_results.try_emplace(extents);
    if (first) {
      auto other = Session::create(*executable);
      ASSERT_TRUE(other.ok());
      fresh->second = must_run(**other, "main", in);
    }
    ASSERT_EQ(got.size(), fresh->second.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(got[i].same_bits(fresh->second[i]))
          << "output " << i << " at " << join(extents, ", ", [](const auto& e) { return cat(e.first, " = ", e.second); });
  }
  std::printf("%s: %zu runs of %zu shapes, %lld steps\n", GetParam().model, kRuns, fresh_results.size(),
              static_cast<long long>((*executable)->counts().total()));
}

// How often each kernel is launched, by the hash of what it computes, and what it is called.
struct Launches {
  int count = 0;
  std::string name;
};
std::map<std::string, Launches> launches(const Program& p) {
  constexpr size_t kHash = 16;  // ends a kernel's name
  std::map<std::string, Launches> out;
  const auto walk = [&](auto& self, const std::vector<Step>& steps) -> void {
    for (const Step& s : steps) {
      if (s.kind == StepKind::kLaunch) {
        const std::string& name = p.kernels[s.kernel].name;
        Launches& l = out[name.substr(name.size() - kHash)];
        ++l.count;
        l.name = name;
      }
      self(self, s.body);
      self(self, s.orelse);
    }
  };
  for (const PlanEntry& e : p.entries)
    for (const Segment& s : e.segments) walk(walk, s.steps);
  return out;
}

// Both exports of MiniLM mean the same network and end as the same kernels, but for three.
TEST(CarryingExports, G_MiniLmBothWays) {
  std::map<std::string, Launches> by_export[2];
  const ShapeCase cases[] = {kHeavy[0], kLight[0]};
  for (int k = 0; k < 2; ++k) {
    ASSERT_TRUE(ReadFile::open(model_path(cases[k].model)).ok()) << missing(cases[k]);
    const std::unique_ptr<Module> m = import(cases[k]);
    ASSERT_TRUE(m);
    CompileOptions options;
    options.native = false;
    ASSERT_TRUE(simplify_module(*m, options).ok());
    auto p = compile_for_target(*m, *parse_target("cpu:x86-64-v3"), options);
    ASSERT_TRUE(p.ok()) << p.error().str();
    by_export[k] = launches(p->program);
  }
  int more[2] = {0, 0}, total[2] = {0, 0};
  std::string differing;
  for (int k = 0; k < 2; ++k)
    for (const auto& [hash, here] : by_export[k]) {
      const auto other = by_export[1 - k].find(hash);
      const int only = std::max(0, here.count - (other == by_export[1 - k].end() ? 0 : other->second.count));
      more[k] += only;
      total[k] += here.count;
      if (only > 0) append(differing, "\n  ", cases[k].model, ": ", only, " x ", here.name);
    }
  EXPECT_LE(std::max(more[0], more[1]), 3) << differing;
  std::printf("%d and %d launches, %d and %d that the other export has not%s\n", total[0], total[1], more[0], more[1], differing.c_str());
}

}  // namespace
}  // namespace nnc
