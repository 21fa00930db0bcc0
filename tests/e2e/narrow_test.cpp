// Types that no kernel computes in: every code to f32, every f16 value and the edges of f32 and f64 to every code, moved and packed; bit
// for bit as in the interpreter.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "ir/support/text.h"
#include "ir/text.h"
#include "tests/e2e/compiled.h"

namespace nnc::test {
namespace {

const char* const kTypes[] = {"f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0", "f4e2m1", "i4", "u4", "i2", "u2"};

// One module over all types; `line` makes the results of type t from inputs numbered from `first`.
struct Text {
  std::string args, body, returns, names;
  int values = 0, results = 0;

  void result(int value) {
    append(returns, returns.empty() ? "" : ", ", "%", value);
    append(names, names.empty() ? "" : ", ", "\"r", results++, "\"");
  }
  std::string module() const { return cat("nnir 1\nentry @main(", args, ") -> (", names, ") {\n", body, "  return ", returns, "\n}\n"); }
};

void run_everywhere(const std::string& text, std::span<const Tensor> inputs) {
  auto m = parse_module(text);
  ASSERT_TRUE(m.ok()) << m.error().str() << text;
  const auto want = must_eval(**m, "main", inputs);
  for (const Target& target : carrying_targets()) {
    const auto session = open_compiled(**m, target);
    ASSERT_TRUE(session);
    const auto got = must_run(*session, "main", inputs);
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < want.size(); ++k) {
      ASSERT_EQ(got[k].dtype(), want[k].dtype());
      ASSERT_EQ(got[k].dims(), want[k].dims());
      for (int64_t i = 0; i < want[k].count(); ++i) {
        const bool whole = is_int(want[k].dtype());
        const double x = whole ? static_cast<double>(got[k].i64(i)) : got[k].f64(i),
                     y = whole ? static_cast<double>(want[k].i64(i)) : want[k].f64(i);
        ASSERT_TRUE((std::isnan(x) && std::isnan(y)) || std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y))
            << target.name << " result " << k << " (" << dtype_name(want[k].dtype()) << ") element " << i << ": " << x << ", wanted " << y;
      }
    }
  }
}

std::string type_of(std::string_view dtype, int64_t n) { return cat(dtype, "[", n, "]"); }

TEST(Narrow, EveryValueBecomesTheCodeThatTheInterpreterGives) {
  std::vector<float> edges;
  for (int e = -150; e <= 128; ++e)
    for (double m : {1.0, 1.0625, 1.25, 1.4999999, 1.5, 1.5000001, 1.75, 1.9999999})
      for (double s : {1.0, -1.0}) edges.push_back(static_cast<float>(std::ldexp(s * m, e)));
  for (float v : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 448.0f, 464.0f, 480.0f, 57344.0f, 61440.0f, 240.0f, 248.0f, 6.0f, 7.0f, -7.4f})
    edges.push_back(v);
  Tensor halves(DType::kF16, {65536});
  for (int i = 0; i < 65536; ++i) static_cast<uint16_t*>(halves.data())[i] = static_cast<uint16_t>(i);
  const int64_t n = static_cast<int64_t>(edges.size());
  const Tensor floats = Tensor::of<float>(DType::kF32, {n}, edges);
  Tensor doubles(DType::kF64, {3 * n});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < 3; ++k)
      store_f64(DType::kF64, doubles.data(), 3 * i + k,
                static_cast<double>(edges[static_cast<size_t>(i)]) * (1 + static_cast<double>(k - 1) * 1e-12));
  Tensor wholes(DType::kI32, {601});
  for (int64_t i = 0; i < 601; ++i) store_i64(DType::kI32, wholes.data(), i, (i - 300) * (i % 3 == 0 ? 1 : 977));
  Tensor longs(DType::kI64, {64 * 8});
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t k = 0; k < 8; ++k)
      store_i64(
          DType::kI64, longs.data(), 8 * i + k,
          static_cast<int64_t>((uint64_t(1) << i) + (k >= 4 && i > 1 ? uint64_t(1) << (i - 1) : 0) + static_cast<uint64_t>(k % 4) - 1));
  const Tensor inputs[] = {halves, floats, doubles, wholes, longs};
  const std::string_view from[] = {"f16", "f32", "f64", "i32", "i64"};
  for (const char* to : kTypes)
    for (const char* how : {"saturate = 1, round_mode = up", "saturate = 0, round_mode = down", "saturate = 1, round_mode = nearest"}) {
      if (std::string_view(how).ends_with("nearest") && std::string_view(to) != "f8e8m0") continue;
      Text t;
      int value = 5;
      for (int k = 0; k < 5; ++k) append(t.args, k ? ", " : "", "%", k, ": ", type_of(from[k], inputs[k].count()), " \"x", k, "\"");
      for (int k = 0; k < 5; ++k) {
        append(t.body, "  %", value, " = cast(%", k, ") {to = ", to, ", ", how, "} : ", type_of(to, inputs[k].count()), "\n");
        t.result(value++);
      }
      SCOPED_TRACE(cat(to, ", ", how));
      run_everywhere(t.module(), inputs);
    }
}

// Rows of an odd length: elements of two rows share a byte.
TEST(Narrow, CodesAreReadMovedAndPacked) {
  for (const char* type : kTypes) {
    const DType dtype = parse_dtype(type);
    Tensor codes(dtype, {7, 13, 3});
    for (size_t i = 0; i < codes.bytes(); ++i) static_cast<uint8_t*>(codes.data())[i] = static_cast<uint8_t>(i * 37 + i / 7);
    if (const int64_t bits = codes.count() * dtype_bits(dtype) % 8; bits != 0)
      static_cast<uint8_t*>(codes.data())[codes.bytes() - 1] &= static_cast<uint8_t>((1 << bits) - 1);
    const std::string wide = is_int(dtype) ? "i16" : "f32";
    const std::string text =
        cat("nnir 1\nentry @main(%0: ", type, "[7, 13, 3] \"x\") -> (\"a\", \"b\", \"c\", \"d\") {\n", "  %1 = cast(%0) {to = ", wide,
            ", saturate = 1, round_mode = up} : ", wide, "[7, 13, 3]\n", "  %2 = transpose(%0) {perm = [2, 0, 1]} : ", type, "[3, 7, 13]\n",
            "  %3 = slice(%2) {axes = [1, 2], starts = [1, 0], ends = [6, 13], steps = [2, 1]} : ", type, "[3, 3, 13]\n",
            "  %4 = concat(%3, %3) {axis = 1} : ", type, "[3, 6, 13]\n", "  %5 = add(%1, %1) : ", wide, "[7, 13, 3]\n",
            "  %6 = cast(%5) {to = ", type, ", saturate = 1, round_mode = up} : ", type, "[7, 13, 3]\n", "  return %1, %2, %4, %6\n}\n");
    SCOPED_TRACE(type);
    run_everywhere(text, std::span(&codes, 1));
  }
}

}  // namespace
}  // namespace nnc::test
