#include <cmath>

#include "ir/ops/eval_util.h"

namespace nnc {
namespace {

bool holds(std::string_view rel, int64_t a, int64_t b) {
  if (rel == "eq") return a == b;
  if (rel == "ne") return a != b;
  return rel == "le" ? a <= b : a < b;
}

std::string message_or(const Node& node, std::string_view otherwise) {
  const std::string_view given = node.s("message");
  return std::string(given.empty() ? otherwise : given);
}

bool same_element(const EvalTensor& a, const EvalTensor& b, size_t k) {
  if (a.dtype == DType::kString) return a.s[k] == b.s[k];
  if (is_complex(a.dtype)) return a.f[2 * k] == b.f[2 * k] && a.f[2 * k + 1] == b.f[2 * k + 1];
  if (a.floating()) return a.f[k] == b.f[k] || (std::isnan(a.f[k]) && std::isnan(b.f[k]));
  return a.i[k] == b.i[k];
}

}  // namespace

Status eval_bind_dims(EvalContext& c) {
  const auto& symbols = c.node.symbols("symbols");
  for (size_t k = 0; k < symbols.size(); ++k) NNC_TRY(c.interpreter.bind(symbols[k], c.in(0).i[k]));
  return {};
}

Status eval_assert_dims(EvalContext& c) {
  NNC_ASSIGN(const std::vector<int64_t> a, c.dims(c.node.dims("a")));
  NNC_ASSIGN(const std::vector<int64_t> b, c.dims(c.node.dims("b")));
  const std::string_view rel = c.node.s("rel");
  for (size_t k = 0; k < a.size(); ++k) {
    if (holds(rel, a[k], b[k])) continue;
    const SymbolTable& symbols = c.graph.symbols();
    return Error(Code::kAssertDims, cat(message_or(c.node, "an assumption about dims does not hold"), ": ",
                                        symbols.pretty(c.node.dims("a")[k]), " = ", a[k], " must be ",
                                        rel == "eq"   ? "equal to "
                                        : rel == "ne" ? "different from "
                                        : rel == "le" ? "at most "
                                                      : "less than ",
                                        symbols.pretty(c.node.dims("b")[k]), " = ", b[k]));
  }
  return {};
}

Status eval_assert_value(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  const EvalTensor expected = EvalTensor::from(c.interpreter.module().constant(c.node.constant("value")));
  const std::string message = message_or(c.node, "an assumption about a value does not hold");
  if (x.dims != expected.dims) return Error(Code::kMismatch, cat(message, ": the shape differs"));
  for (size_t k = 0; k < static_cast<size_t>(x.count()); ++k) {
    if (!same_element(x, expected, k)) return Error(Code::kMismatch, cat(message, ": element ", k, " differs from what was assumed"));
  }
  return {};
}

Status eval_resolve_reshape(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  NNC_ASSIGN(const std::vector<int64_t> input, c.dims(c.node.dims("input")));
  y.i = c.in(0).i;
  const auto refuse = [&](std::string_view why) {
    const auto text = [](const std::vector<int64_t>& v) { return cat("[", join(v, ", ", [](int64_t d) { return d; }), "]"); };
    return Error(Code::kAssertDims, cat("a tensor of shape ", text(input), " cannot become ", text(c.in(0).i), ": ", why));
  };
  size_t open = y.i.size();
  for (size_t k = 0; k < y.i.size(); ++k) {
    if (y.i[k] == 0 && c.node.i("allowzero") == 0) {
      if (k >= input.size()) return refuse("0 copies an extent that the input does not have");
      y.i[k] = input[k];
    } else if (y.i[k] == -1) {
      if (open < y.i.size()) return refuse("-1 stands twice");
      open = k;
    } else if (y.i[k] < 0) {
      return refuse("an extent is negative");
    }
  }
  const int64_t total = element_count(input);
  if (open < y.i.size()) {
    y.i[open] = 1;
    NNC_ASSIGN(const int64_t rest, checked_element_count(y.i));
    if (rest == 0 && total != 0) return refuse("the number of elements differs");
    y.i[open] = rest == 0 ? 0 : total / rest;
  }
  NNC_ASSIGN(const int64_t count, checked_element_count(y.i));
  if (count != total) return refuse("the number of elements differs");
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc
