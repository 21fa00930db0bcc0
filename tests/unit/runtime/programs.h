#pragma once
// Small programs for the runtime's tests: plans and kernels as text.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/base/plan.h"
#include "ir/support/hash.h"
#include "ir/support/text.h"
#include "runtime/cpu_device.h"
#include "runtime/executable.h"
#include "runtime/session.h"

namespace nnc::test {

// Calls of operator new so far (heap_count.cpp).
int64_t heap_allocations();

// A kernel over s0 elements of f32, one per task; `body` gives %r from %a (and %b).
inline std::string map_kernel(const std::string& result, int inputs = 1, const std::string& in_place = "") {
  std::string t = "kernel @map\nsymbol s0 = input lo 0 hi 1048576 div 1 typical 0\n";
  for (int i = 0; i < inputs; ++i) append(t, "param $x", i, ".", i, " : f32[s0] align 64 r global\n");
  append(t, "param $y.", inputs, " : f32[s0] align 64 w global\ngrid [s0, 1, 1] threads 1 index i64\n", in_place, "{\n");
  for (int i = 0; i < inputs; ++i) append(t, "  %v", i, ".", i, " = load $x", i, ".", i, "[task0] f32\n");
  append(t, "  store $y.", inputs, "[task0] = ", result, "\n}\n");
  return t;
}
inline std::string add_constant(float v) { return map_kernel(cat("add(%v0.0, f32(", v, "))")); }
inline std::string add_two() { return map_kernel("add(%v0.0, %v1.1)", 2); }

// y[i] = x[index[i]], for s0 indices into s1 elements.
inline std::string gather_kernel() {
  return "kernel @gather\n"
         "symbol s0 = input lo 0 hi 1048576 div 1 typical 0\n"
         "symbol s1 = input lo 0 hi 1048576 div 1 typical 0\n"
         "param $x.0 : f32[s1] align 64 r global\n"
         "param $i.1 : i64[s0] align 64 r global\n"
         "param $y.2 : f32[s0] align 64 w global\n"
         "grid [s0, 1, 1] threads 1 index i64\n"
         "site 0 \"gather index\" loc 0\n"
         "{\n"
         "  %i.0 = load $i.1[task0] i64\n"
         "  %j.1 = check cast.sext(%i.0, index) < s1 at 0\n"
         "  %v.2 = load $x.0[%j.1] f32 mask lt(%j.1, s1) else f32(0)\n"
         "  store $y.2[task0] = %v.2\n"
         "}\n";
}

// Fills in kernels' texts and constants' hashes ("?" in the plan).
struct TestProgram {
  std::string plan;
  std::vector<std::string> kernels;
  std::vector<Tensor> constants;

  Result<std::shared_ptr<const Executable>> load(int threads = 1) const {
    NNC_ASSIGN(Program p, parse_program(plan));
    for (size_t i = 0; i < kernels.size(); ++i) p.kernels.at(i).text = kernels[i];
    NNC_ASSIGN(auto device, make_cpu_device({threads, false, 50}));
    return Executable::create(device, std::move(p), constants, {});
  }
};

inline std::shared_ptr<const Executable> must_load(const TestProgram& p, int threads = 1) {
  auto e = p.load(threads);
  EXPECT_TRUE(e.ok()) << (e.ok() ? "" : e.error().str());
  return e.ok() ? *e : nullptr;
}
inline std::unique_ptr<Session> must_open(const std::shared_ptr<const Executable>& e, const SessionOptions& options = {}) {
  auto s = Session::create(e, options);
  EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.error().str());
  return s.ok() ? std::move(*s) : nullptr;
}

inline Tensor f32(std::vector<int64_t> dims, const std::vector<float>& v) { return Tensor::of<float>(DType::kF32, std::move(dims), v); }
inline Tensor flag(bool v) {
  Tensor t(DType::kBool, {});
  *static_cast<uint8_t*>(t.data()) = v;
  return t;
}
inline std::vector<float> values(const Tensor& t) { return {t.as<float>().begin(), t.as<float>().end()}; }
inline std::string zero_hash() { return std::string(64, '0'); }

}  // namespace nnc::test
