// One text per CUDA skeleton, as people read it: helpers and kernel without the device's header. NNC_BLESS=1 rewrites the files. What a
// golden must show is asked for by name.

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "codegen/cuda/nvrtc.h"
#include "codegen/emit.h"
#include "codegen/lower.h"
#include "ir/builder.h"
#include "ir/support/file.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

struct Group {
  Module m;
  Graph g{&m, "group"};
  Builder b{g};
  ValueId input(DType t, Shape shape) { return g.add_input(Type::tensor(t, std::move(shape))); }
  ValueId op(OpKind k, std::vector<ValueId> args, AttrList attrs = {}) { return *b.op(k, std::move(args), std::move(attrs)); }
};

struct Golden {
  const char* name;
  std::function<ValueId(Group&)> build;
  std::vector<std::string> must, must_not;
};

ValueId softmax(Group& f) {
  const ValueId x = f.input(DType::kF32, {64, 768});
  auto reduce = [&](const char* how, ValueId v) {
    return f.op(OpKind::kReduce, {v}, {{"kind", std::string(how)}, {"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t(1)}});
  };
  const ValueId e = f.op(OpKind::kExp, {f.op(OpKind::kSub, {x, reduce("max", x)})});
  return f.op(OpKind::kDiv, {e, reduce("sum", e)});
}
ValueId product(Group& f, DType t) {
  const ValueId y = f.op(OpKind::kMatMul, {f.input(t, {256, 128}), f.input(t, {128, 256})});
  return f.op(OpKind::kRelu, {f.op(OpKind::kAdd, {y, f.input(t, {256})})});
}
ValueId convolution(Group& f, Shape x, Shape w, int64_t group) {
  const std::vector<int64_t> ones{1, 1};
  return f.op(OpKind::kConv, {f.input(DType::kF32, std::move(x)), f.input(DType::kF32, std::move(w))},
              {{"layout", std::string("nhwc")},
               {"w_format", std::string("hwio")},
               {"group", group},
               {"pads_begin", ones},
               {"pads_end", ones},
               {"strides", ones},
               {"dilations", ones}});
}

const std::vector<Golden>& goldens() {
  static const std::vector<Golden> all = {
      {"pointwise",
       [](Group& f) {
         return f.op(OpKind::kRelu, {f.op(OpKind::kAdd, {f.input(DType::kF32, {64, 1024}), f.input(DType::kF32, {1024})})});
       },
       {"load_f32x4(", "store_f32x4("},
       {"masked", "_by"}},
      {"row_fold", softmax, {"load_f32x4(", "warp_shfl_down_f32", "NNC_BARRIER"}, {"masked", "_by"}},
      {"column_fold",
       [](Group& f) {
         return f.op(OpKind::kReduce, {f.input(DType::kF32, {128, 1024})},
                     {{"kind", std::string("sum")}, {"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t(0)}});
       },
       {"load_f32x4("},
       {"masked", "_by"}},
      {"contraction_f32",
       [](Group& f) { return product(f, DType::kF32); },
       {"copy_async_16", "NNC_SHARED", "fma_f32x4"},
       {"masked", "mma", "_by"}},
      {"contraction_f16", [](Group& f) { return product(f, DType::kF16); }, {"copy_async_16", "NNC_SHARED", "frag_mma"}, {"masked"}},
      {"contraction_bf16", [](Group& f) { return product(f, DType::kBF16); }, {"copy_async_16", "NNC_SHARED", "frag_mma"}, {"masked"}},
      {"convolution",
       [](Group& f) {
         return convolution(f, {1, 16, 16, 32}, {3, 3, 32, 64}, 1);
       },
       {"copy_async_16", "fma_f32x4"},
       {"mma"}},
      {"depthwise",
       [](Group& f) {
         return convolution(f, {1, 16, 16, 32}, {3, 3, 1, 32}, 32);
       },
       {"load_f32x4(", "fma_f32x4"},
       {"masked", "_by"}},
      {"move",
       [](Group& f) {
         return f.op(OpKind::kTranspose, {f.input(DType::kF32, {256, 256})}, {{"perm", std::vector<int64_t>{1, 0}}});
       },
       {"NNC_SHARED", "NNC_BARRIER"},
       {"masked"}},
  };
  return all;
}

TEST(CudaGolden, Texts) {
  const auto target = parse_target("cuda:sm_80");
  ASSERT_TRUE(target.ok());
  const char* bless = std::getenv("NNC_BLESS");
  for (const Golden& golden : goldens()) {
    Group f;
    f.g.set_outputs({golden.build(f)});
    auto lowered = lower_group(f.g, *target);
    ASSERT_TRUE(lowered.ok()) << golden.name << ": " << lowered.error().str();
    ASSERT_EQ(lowered->kernels.size(), 1u) << golden.name;
    const Kernel& k = lowered->kernels[0].kernel;
    EXPECT_GE(k.threads, 64) << golden.name;
    CudaEmitOptions bare;
    bare.header = false;
    const std::string text = emit_cuda_unit({{&k, golden.name}}, *target, bare);
    for (const std::string& m : golden.must) EXPECT_NE(text.find(m), std::string::npos) << golden.name << " lacks " << m;
    for (const std::string& m : golden.must_not) EXPECT_EQ(text.find(m), std::string::npos) << golden.name << " has " << m;
    const std::string path = cat("tests/unit/codegen/cuda_golden/", golden.name, ".cu");
    if (bless && std::string(bless) == "1") {
      ASSERT_TRUE(write_file_atomic(path, bytes_of(text)).ok());
      continue;
    }
    const auto stored = read_file(path, 1 << 20);
    ASSERT_TRUE(stored.ok()) << stored.error().str();
    EXPECT_EQ(std::string(stored->begin(), stored->end()), text) << path << " differs (NNC_BLESS=1 rewrites it)";
  }
}

TEST(CudaGolden, CompileForDevices) {
  for (int sm : {80, 90}) {
    const auto target = parse_target(cat("cuda:sm_", sm));
    ASSERT_TRUE(target.ok());
    std::vector<LoweredGroup> lowered;
    std::vector<std::pair<const Kernel*, std::string>> unit;
    for (const Golden& golden : goldens()) {
      Group f;
      f.g.set_outputs({golden.build(f)});
      auto l = lower_group(f.g, *target);
      ASSERT_TRUE(l.ok()) << golden.name;
      lowered.push_back(std::move(*l));
    }
    for (size_t i = 0; i < lowered.size(); ++i) unit.push_back({&lowered[i].kernels[0].kernel, goldens()[i].name});
    const auto code = compile_cuda(emit_cuda_unit(unit, *target), sm);
    ASSERT_TRUE(code.ok()) << code.error().str();
    ASSERT_EQ(code->kernels.size(), goldens().size()) << code->log;
    for (const CudaKernelUse& use : code->kernels) EXPECT_LE(use.spill_stores, 16) << "sm_" << sm << " " << use.name;
  }
}

}  // namespace
}  // namespace nnc
