#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "ir/base/kernel_vm.h"
#include "tests/unit/base/kernel_random.h"

namespace nnc {
namespace {

using test::Random;

struct Case {
  ExprOp op;
  DType type;
  double ulps;                  // budget
  double (*reference)(double);  // for f32
  long double (*reference_long)(long double);
  double limit = INFINITY;  // budget holds for |x| up to this
};

long double exp2_long(long double x) { return exp2l(x); }
const Case kUnary[] = {
    {ExprOp::kExp, DType::kF32, 2, std::exp, nullptr},     {ExprOp::kExp2, DType::kF32, 2, std::exp2, nullptr},
    {ExprOp::kLog, DType::kF32, 2, std::log, nullptr},     {ExprOp::kLog2, DType::kF32, 2, std::log2, nullptr},
    {ExprOp::kSin, DType::kF32, 2, std::sin, nullptr},     {ExprOp::kCos, DType::kF32, 2, std::cos, nullptr},
    {ExprOp::kTanh, DType::kF32, 2, std::tanh, nullptr},   {ExprOp::kErf, DType::kF32, 2, std::erf, nullptr},
    {ExprOp::kExp, DType::kF64, 4, nullptr, expl},         {ExprOp::kExp2, DType::kF64, 4, nullptr, exp2_long},
    {ExprOp::kLog, DType::kF64, 4, nullptr, logl},         {ExprOp::kLog2, DType::kF64, 4, nullptr, log2l},
    {ExprOp::kSin, DType::kF64, 4, nullptr, sinl, 0x1p45}, {ExprOp::kCos, DType::kF64, 4, nullptr, cosl, 0x1p45},
    {ExprOp::kTanh, DType::kF64, 4, nullptr, tanhl},       {ExprOp::kErf, DType::kF64, 4, nullptr, erfl},
};

constexpr int kLanes = 16;
Kernel math_kernel(ExprOp op, DType t, bool binary) {
  KernelBuilder k("math");
  const Dim n(k.symbols().input("n", 1, int64_t(1) << 32));
  const BufId x = k.param("x", t, k.symbols().mul(n, kLanes), Access::kRead);
  const BufId y = binary ? k.param("y", t, k.symbols().mul(n, kLanes), Access::kRead) : x;
  const BufId z = k.param("z", t, k.symbols().mul(n, kLanes), Access::kWrite);
  k.grid(n);
  const Expr at = k.mul(k.task(0), k.index(kLanes));
  const Expr a = k.load(x, at, kLanes);
  k.store(z, at, binary ? k.math(op, a, k.load(y, at, kLanes)) : k.math(op, a));
  return k.finish();
}

template <class F> std::vector<F> run(ExprOp op, DType t, std::vector<F>& x, std::vector<F>* y) {
  auto vm = VmKernel::compile(math_kernel(op, t, y != nullptr));
  EXPECT_TRUE(vm.ok());
  std::vector<F> z(x.size());
  std::vector<VmBuffer> buffers{{x.data(), int64_t(x.size() * sizeof(F))}};
  if (y) buffers.push_back({y->data(), int64_t(y->size() * sizeof(F))});
  buffers.push_back({z.data(), int64_t(z.size() * sizeof(F))});
  const int64_t tasks = int64_t(x.size() / kLanes);
  const Status s = vm->run(buffers, std::vector<int64_t>{tasks}, 0, tasks, nullptr);
  EXPECT_TRUE(s.ok()) << s.error().str();
  return z;
}

// Every exponent of both signs, with random and extreme mantissas.
template <class F> std::vector<F> all_exponents(int each) {
  using U = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>;
  constexpr int mantissa = sizeof(F) == 4 ? 23 : 52, exponents = sizeof(F) == 4 ? 256 : 2048;
  std::vector<F> out;
  Random r(7);
  for (int sign = 0; sign < 2; ++sign)
    for (int e = 0; e < exponents; ++e)
      for (int i = 0; i < each; ++i) {
        const U m = i == 0 ? 0 : i == 1 ? (U(1) << mantissa) - 1 : U(r.bits()) & ((U(1) << mantissa) - 1);
        const U bits = (U(sign) << (sizeof(F) * 8 - 1)) | (U(e) << mantissa) | m;
        F v;
        std::memcpy(&v, &bits, sizeof v);
        out.push_back(v);
      }
  // Where functions bend.
  for (int i = 0; i < 400000; ++i)
    out.push_back(F((double(r.bits() >> 11) / 9007199254740992.0 - 0.5) * (i % 4 == 0 ? 2 : i % 4 == 1 ? 12 : i % 4 == 2 ? 220 : 2000)));
  while (out.size() % kLanes) out.push_back(0);
  return out;
}

// Distance in units of the last place of the exact value; infinities and NaN must agree.
template <class F, class W> double ulps_off(F got, W want) {
  const F rounded = F(want);
  if (want != want) return got != got ? 0 : INFINITY;
  if (got == rounded) return std::signbit(got) == std::signbit(rounded) || rounded != 0 ? 0 : INFINITY;
  if (!std::isfinite(got) || got != got) return INFINITY;
  if (!std::isfinite(rounded) && std::isfinite(want))
    return double(std::fabs(W(got) - want) / W(std::ldexp(F(1), std::numeric_limits<F>::max_exponent - std::numeric_limits<F>::digits)));
  if (!std::isfinite(rounded)) return INFINITY;
  int e;
  std::frexp(rounded, &e);
  const W ulp =
      std::ldexp(W(1), std::max(e - std::numeric_limits<F>::digits, std::numeric_limits<F>::min_exponent - std::numeric_limits<F>::digits));
  return double(std::fabs(W(got) - want) / ulp);
}

template <class F, class W, class Reference> void measure(const Case& c, int each, Reference reference) {
  std::vector<F> x = all_exponents<F>(each);
  EXPECT_GT(x.size(), 1000000u);
  const std::vector<F> z = run<F>(c.op, c.type, x, nullptr);
  double worst = 0;
  F at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::fabs(x[i]) > F(c.limit)) {
      if (std::isfinite(x[i])) { EXPECT_LE(std::fabs(z[i]), 1) << "outside its domain the function stays in its range"; }
      continue;
    }
    const double off = ulps_off<F, W>(z[i], reference(W(x[i])));
    if (!(off <= worst)) worst = off, at = x[i];
  }
  std::printf("%-5s %s: %.2f ulp at %.9g\n", std::string(expr_op_name(c.op)).c_str(), std::string(dtype_name(c.type)).c_str(), worst,
              double(at));
  EXPECT_LE(worst, c.ulps) << expr_op_name(c.op) << " " << dtype_name(c.type) << " at " << at;
}

TEST(KernelMath, UnaryFunctionsKeepTheirBudgets) {
  for (const Case& c : kUnary) {
    if (c.type == DType::kF32)
      measure<float, double>(c, 2048, c.reference);
    else
      measure<double, long double>(c, 256, c.reference_long);
  }
}

TEST(KernelMath, SpecialValuesKeepSignAndNan) {
  const double inf = INFINITY;
  const std::tuple<ExprOp, double, double> cases[] = {
      {ExprOp::kExp, -inf, 0.0},     {ExprOp::kExp, inf, inf},   {ExprOp::kExp, 0.0, 1.0},    {ExprOp::kExp2, -inf, 0.0},
      {ExprOp::kExp2, 10.0, 1024.0}, {ExprOp::kExp2, inf, inf},  {ExprOp::kLog, 0.0, -inf},   {ExprOp::kLog, -0.0, -inf},
      {ExprOp::kLog, 1.0, 0.0},      {ExprOp::kLog, -1.0, NAN},  {ExprOp::kLog, inf, inf},    {ExprOp::kLog2, 8.0, 3.0},
      {ExprOp::kSin, -0.0, -0.0},    {ExprOp::kSin, inf, NAN},   {ExprOp::kCos, -0.0, 1.0},   {ExprOp::kCos, -inf, NAN},
      {ExprOp::kTanh, -0.0, -0.0},   {ExprOp::kTanh, inf, 1.0},  {ExprOp::kTanh, -inf, -1.0}, {ExprOp::kErf, -0.0, -0.0},
      {ExprOp::kErf, inf, 1.0},      {ExprOp::kErf, -inf, -1.0},
  };
  const auto check = [](ExprOp op, double in, double want) {
    std::vector<float> x(kLanes, float(in));
    const float f = run<float>(op, DType::kF32, x, nullptr)[3];
    std::vector<double> xd(kLanes, in);
    const double d = run<double>(op, DType::kF64, xd, nullptr)[3];
    for (double got : {double(f), d}) {
      EXPECT_TRUE(want != want ? got != got : got == want && std::signbit(got) == std::signbit(want))
          << expr_op_name(op) << "(" << in << ") = " << got << ", not " << want;
    }
  };
  for (const auto& [op, in, want] : cases) check(op, in, want);
  for (ExprOp op : {ExprOp::kExp, ExprOp::kExp2, ExprOp::kLog, ExprOp::kLog2, ExprOp::kSin, ExprOp::kCos, ExprOp::kTanh, ExprOp::kErf})
    check(op, NAN, NAN);
}

template <class F, class W> double pow_worst(DType t, int count, W (*reference)(W, W), std::string* where) {
  std::vector<F> x, y;
  Random r(11);
  const double edges[] = {0.0,      -0.0,      1.0, -1.0,   0.5,  2.0,   3.0, -3.0,   -0.5,  1e300, -1e300,
                          INFINITY, -INFINITY, NAN, 1e-300, 1e30, 1e-40, 2.5, 1023.0, -1e30, 5e-324};
  for (double a : edges)
    for (double b : edges) x.push_back(F(a)), y.push_back(F(b));
  for (int i = 0; i < count; ++i) {
    const uint64_t bits = r.bits();
    const double u = double(r.bits() >> 11) / 9007199254740992.0, v = double(r.bits() >> 11) / 9007199254740992.0;
    switch (bits % 4) {
      case 0: x.push_back(F(u * 4)), y.push_back(F((v - 0.5) * 200)); break;
      case 1: x.push_back(F(std::ldexp(1 + u, int(v * 200) - 100))), y.push_back(F((double(bits % 1000) / 1000 - 0.5) * 4)); break;
      case 2: x.push_back(F((u - 0.5) * 10)), y.push_back(F(int(v * 40) - 20)); break;
      default: x.push_back(F(1 + (u - 0.5) * 1e-3)), y.push_back(F((v - 0.5) * 1e5)); break;
    }
  }
  while (x.size() % kLanes) x.push_back(1), y.push_back(1);
  const std::vector<F> z = run<F>(ExprOp::kPow, t, x, &y);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double off = ulps_off<F, W>(z[i], reference(W(x[i]), W(y[i])));
    if (!(off <= worst))
      worst = off, *where = std::to_string(double(x[i])) + " ^ " + std::to_string(double(y[i])) + " = " + std::to_string(double(z[i]));
  }
  return worst;
}

TEST(KernelMath, PowKeepsItsBudget) {
  std::string where;
  const double f32 = pow_worst<float, double>(
      DType::kF32, 1000000, [](double a, double b) { return std::pow(a, b); }, &where);
  std::printf("pow   f32: %.2f ulp at %s\n", f32, where.c_str());
  EXPECT_LE(f32, 4) << where;
  const double f64 = pow_worst<double, long double>(
      DType::kF64, 1000000, [](long double a, long double b) { return powl(a, b); }, &where);
  std::printf("pow   f64: %.2f ulp at %s\n", f64, where.c_str());
  EXPECT_LE(f64, 4) << where;
}

// The cost that goldens and the cost model rely on.
TEST(KernelMath, ExpIsShort) {
  const Kernel k = math_kernel(ExprOp::kExp, DType::kF32, false);
  size_t operations = 0;
  for (const ExprNode& n : k.exprs) operations += n.a.valid() && n.type.lanes == kLanes && n.op != ExprOp::kCastBits;
  EXPECT_LE(operations, 20u) << print_kernel(k);
}

}  // namespace
}  // namespace nnc
