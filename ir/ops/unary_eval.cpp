#include <bit>
#include <cmath>
#include <limits>

#include "ir/ops/eval_util.h"

namespace nnc {
namespace {

double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

double gelu_tanh(double x) {
  const double root = 0.79788456080286535588;  // sqrt(2 / pi)
  return 0.5 * x * (1 + std::tanh(root * (x + 0.044715 * x * x * x)));
}

double unary_float(OpKind kind, double x, double alpha, double beta, bool approximate) {
  switch (kind) {
    case OpKind::kNeg: return -x;
    case OpKind::kAbs: return std::fabs(x);
    case OpKind::kSign: return std::isnan(x) ? x : x > 0 ? 1 : x < 0 ? -1 : 0;
    case OpKind::kSqrt: return std::sqrt(x);
    case OpKind::kReciprocal: return 1 / x;
    case OpKind::kExp: return std::exp(x);
    case OpKind::kLog: return std::log(x);
    case OpKind::kSin: return std::sin(x);
    case OpKind::kCos: return std::cos(x);
    case OpKind::kTanh: return std::tanh(x);
    case OpKind::kErf: return std::erf(x);
    case OpKind::kSigmoid: return sigmoid(x);
    case OpKind::kRelu: return nan_max(x, 0);
    case OpKind::kGelu: return approximate ? gelu_tanh(x) : 0.5 * x * std::erfc(-x * 0.70710678118654752440);
    case OpKind::kSilu: return x * sigmoid(x);
    case OpKind::kHardSigmoid: return nan_max(0, nan_min(1, alpha * x + beta));
    case OpKind::kHardSwish: return x * nan_max(0, nan_min(1, x / 6 + 0.5));
    case OpKind::kFloor: return std::floor(x);
    case OpKind::kCeil: return std::ceil(x);
    case OpKind::kRound: return std::nearbyint(x);
    default: NNC_CHECK(false, "a float op"); return 0;
  }
}

int64_t unary_int(OpKind kind, DType dtype, int64_t x) {
  const bool negative = is_signed_int(dtype) && x < 0;
  const auto negated = static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  switch (kind) {
    case OpKind::kNeg: return wrap_int(dtype, negated);
    case OpKind::kAbs: return negative ? wrap_int(dtype, negated) : x;
    case OpKind::kSign: return negative ? -1 : x != 0;
    case OpKind::kRelu: return negative ? 0 : x;
    case OpKind::kNot: return dtype == DType::kBool ? x == 0 : wrap_int(dtype, ~x);
    default: NNC_CHECK(false, "an integer op"); return 0;
  }
}

// The nearest double, or the one with an odd last bit where it is inexact, so that rounding on to a narrower type rounds once.
double int_to_double(DType from, DType to, int64_t v) {
  const bool is_unsigned = from == DType::kU64;
  const double nearest = is_unsigned ? static_cast<double>(static_cast<uint64_t>(v)) : static_cast<double>(v);
  if (to == DType::kF64) return nearest;
  const uint64_t magnitude = !is_unsigned && v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  const int extra = 64 - std::countl_zero(magnitude) - 53;
  if (extra <= 0 || (magnitude & ((uint64_t(1) << extra) - 1)) == 0) return nearest;
  const uint64_t odd = (magnitude >> extra) | 1;
  const double d = std::ldexp(static_cast<double>(odd), extra);
  return nearest < 0 ? -d : d;
}

double to_float_type(const Node& node, DType to, double v) {
  if (dtype_bits(to) > 8) return v;                        // the interpreter rounds
  if (to == DType::kF4E2M1 && std::isnan(v)) return -0.0;  // it has no NaN; ONNX's data has this
  const Overflow overflow = node.i("saturate") != 0 ? Overflow::kSaturate : Overflow::kInf;
  if (to == DType::kF8E8M0) {
    const std::string_view mode = node.s("round_mode");
    const uint8_t code = f64_to_f8e8m0(v,
                                       mode == "up"     ? ScaleRound::kUp
                                       : mode == "down" ? ScaleRound::kDown
                                                        : ScaleRound::kNearest,
                                       overflow);
    return load_f64(to, &code, 0);
  }
  return narrow_float(to, v, overflow);
}

std::string number_text(const EvalTensor& x, size_t k) {
  if (!x.floating())
    return x.dtype == DType::kU64    ? cat(static_cast<uint64_t>(x.i[k]))
           : x.dtype == DType::kBool ? (x.i[k] != 0 ? "True" : "False")
                                     : cat(x.i[k]);
  const double v = x.f[k];
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  std::string text = x.dtype == DType::kF64 ? cat(v) : cat(static_cast<float>(v));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Result<double> parse_number(std::string_view text) {
  std::string lower;
  for (const char ch : trim(text)) lower.push_back(static_cast<char>(ch >= 'A' && ch <= 'Z' ? ch - 'A' + 'a' : ch));
  if (!lower.empty() && lower[0] == '+') lower.erase(0, 1);
  double v = 0;
  if (!parse_double(lower, &v)) return Error(Code::kBadInput, cat("the string ", quote(text), " is no number"));
  return v;
}

Status cast_from_string(const EvalTensor& x, EvalTensor& y, const Node& node) {
  for (size_t k = 0; k < x.s.size(); ++k) {
    if (y.dtype == DType::kString) {
      y.s[k] = x.s[k];
      continue;
    }
    int64_t whole = 0;
    if (is_int(y.dtype) && parse_int(trim(x.s[k]), &whole)) {
      y.i[k] = wrap_int(y.dtype, whole);
      continue;
    }
    NNC_ASSIGN(const double v, parse_number(x.s[k]));
    if (y.floating())
      y.f[k] = to_float_type(node, y.dtype, v);
    else
      y.i[k] = y.dtype == DType::kBool ? v != 0 : saturate_to_int(y.dtype, v);
  }
  return {};
}

}  // namespace

Status eval_unary(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  const OpKind kind = c.node.kind;
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  if (kind == OpKind::kIsNan) {
    for (size_t k = 0; k < x.f.size(); ++k) y.i[k] = std::isnan(x.f[k]);
  } else if (x.floating()) {
    const bool hard = kind == OpKind::kHardSigmoid;
    const double alpha = hard ? round_to(x.dtype, c.node.f("alpha")) : 0, beta = hard ? round_to(x.dtype, c.node.f("beta")) : 0;
    const bool approximate = kind == OpKind::kGelu && c.node.s("approximate") == "tanh";
    for (size_t k = 0; k < x.f.size(); ++k) y.f[k] = unary_float(kind, x.f[k], alpha, beta, approximate);
  } else {
    for (size_t k = 0; k < x.i.size(); ++k) y.i[k] = unary_int(kind, x.dtype, x.i[k]);
  }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_cast(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const auto count = static_cast<size_t>(x.count());
  if (x.dtype == DType::kString) {
    NNC_TRY(cast_from_string(x, y, c.node));
  } else if (y.dtype == DType::kString) {
    for (size_t k = 0; k < count; ++k) y.s[k] = number_text(x, k);
  } else if (y.floating()) {
    for (size_t k = 0; k < count; ++k)
      y.f[k] = to_float_type(c.node, y.dtype, x.floating() ? x.f[k] : int_to_double(x.dtype, y.dtype, x.i[k]));
  } else if (x.floating()) {
    for (size_t k = 0; k < count; ++k) y.i[k] = y.dtype == DType::kBool ? x.f[k] != 0 : saturate_to_int(y.dtype, x.f[k]);
  } else {
    for (size_t k = 0; k < count; ++k) y.i[k] = wrap_int(y.dtype, x.i[k]);
  }
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc
