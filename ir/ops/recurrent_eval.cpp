#include <cmath>

#include "ir/ops/contract.h"
#include "ir/ops/eval_matrix.h"
#include "ir/ops/recurrent.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

struct Activation {
  std::string_view name;
  double alpha = 0, beta = 0;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double activate(const Activation& a, double x) {
  if (a.name == "sigmoid") return sigmoid(x);
  if (a.name == "tanh") return std::tanh(x);
  if (a.name == "relu") return x > 0 || std::isnan(x) ? x : 0;
  if (a.name == "affine") return a.alpha * x + a.beta;
  if (a.name == "leaky_relu") return x < 0 ? a.alpha * x : x;
  if (a.name == "thresholded_relu") return x > a.alpha || std::isnan(x) ? x : 0;
  if (a.name == "scaled_tanh") return a.alpha * std::tanh(a.beta * x);
  if (a.name == "hard_sigmoid") return std::isnan(x) ? x : std::min(1.0, std::max(0.0, a.alpha * x + a.beta));
  if (a.name == "elu") return x < 0 ? a.alpha * std::expm1(x) : x;
  if (a.name == "softsign") return x / (1 + std::fabs(x));
  return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));  // softplus
}

// What the attributes and operands say, with the sequence, batch and direction axes as strides so that both layouts read alike.
struct Lstm {
  int64_t steps, batch, inputs, hidden, directions;
  int64_t x_step, x_batch;         // strides of x
  int64_t y_step, y_batch, y_dir;  // of y
  int64_t s_batch, s_dir;          // of the states
  double clip = 0;
  bool input_forget = false;

  double clipped(double x) const { return clip > 0 ? std::fmax(-clip, std::fmin(clip, x)) : x; }
};

Lstm describe(const EvalContext& c) {
  const std::vector<int64_t>& x = c.in(0).dims;
  const bool batch_first = c.node.s("layout") == "batch_first";
  Lstm l{};
  l.steps = x[batch_first ? 1 : 0], l.batch = x[batch_first ? 0 : 1], l.inputs = x[2], l.hidden = c.node.i("hidden");
  l.directions = c.node.s("direction") == "bidirectional" ? 2 : 1;
  const int64_t h = l.hidden, d = l.directions;
  if (batch_first) {
    l.x_batch = l.steps * l.inputs, l.x_step = l.inputs;
    l.y_batch = l.steps * d * h, l.y_step = d * h, l.y_dir = h;
    l.s_batch = d * h, l.s_dir = h;
  } else {
    l.x_batch = l.inputs, l.x_step = l.batch * l.inputs;
    l.y_batch = h, l.y_step = d * l.batch * h, l.y_dir = l.batch * h;
    l.s_batch = h, l.s_dir = l.batch * h;
  }
  l.clip = c.node.f("clip");
  l.input_forget = c.node.i("input_forget") != 0;
  return l;
}

Activation activation(const Node& node, size_t at) {
  static constexpr std::string_view kDefaults[] = {"sigmoid", "tanh", "tanh"};
  const auto* names = std::get_if<std::vector<std::string>>(&node.attr("activations"));
  const auto number = [&](std::string_view attr) { return node.floats(attr).empty() ? 0.0 : node.floats(attr)[at]; };
  return {names != nullptr && !names->empty() ? std::string_view((*names)[at]) : kDefaults[at % 3], number("activation_alpha"),
          number("activation_beta")};
}

// The matrix of one direction as dense [k][4 hidden].
std::vector<double> gate_matrix(const EvalContext& c, int operand, int64_t direction, int64_t k, int64_t n) {
  const EvalTensor& w = c.in(operand);
  const double* from = w.f.data() + direction * (w.count() / w.dims[0]);
  if (is_packed(c.node.s("w_format"))) return unpack_panels<double>(from, k, n, panel_depth(w.dtype));
  std::vector<double> dense(static_cast<size_t>(k * n));
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < k; ++i) dense[static_cast<size_t>(i * n + j)] = from[j * k + i];
  return dense;
}

// One cell: z holds the four sums i, o, f, c of one sequence; h and cell are its states.
void step(const Lstm& l, const Activation* act, const double* peephole, const double* z, double* h, double* cell) {
  const int64_t n = l.hidden;
  for (int64_t j = 0; j < n; ++j) {
    const auto peep = [&](int64_t gate, double state) { return peephole == nullptr ? 0 : peephole[gate * n + j] * state; };
    const double i = activate(act[0], l.clipped(z[j] + peep(0, cell[j])));
    const double f = l.input_forget ? 1 - i : activate(act[0], l.clipped(z[2 * n + j] + peep(2, cell[j])));
    cell[j] = f * cell[j] + i * activate(act[1], l.clipped(z[3 * n + j]));
    const double o = activate(act[0], l.clipped(z[n + j] + peep(1, cell[j])));
    h[j] = o * activate(act[2], cell[j]);
  }
}

void run_direction(const EvalContext& c, const Lstm& l, int64_t d, EvalTensor* y, EvalTensor* y_h, EvalTensor* y_c) {
  const int64_t n = l.hidden, gates = 4 * n;
  const auto w = gate_matrix(c, 1, d, l.inputs, gates), r = gate_matrix(c, 2, d, n, gates);
  const bool reverse = c.node.s("direction") == "reverse" || d == 1;
  const Activation act[] = {activation(c.node, static_cast<size_t>(3 * d)), activation(c.node, static_cast<size_t>(3 * d + 1)),
                            activation(c.node, static_cast<size_t>(3 * d + 2))};
  const double* peephole = c.has(7) ? c.in(7).f.data() + d * 3 * n : nullptr;
  std::vector<double> z(static_cast<size_t>(gates));
  for (int64_t b = 0; b < l.batch; ++b) {
    const int64_t state = b * l.s_batch + d * l.s_dir;
    double *h = y_h->f.data() + state, *cell = y_c->f.data() + state;
    if (c.has(5)) std::copy_n(c.in(5).f.data() + state, n, h);
    if (c.has(6)) std::copy_n(c.in(6).f.data() + state, n, cell);
    const int64_t length = c.has(4) ? c.in(4).i[static_cast<size_t>(b)] : l.steps;
    for (int64_t k = 0; k < length; ++k) {
      const int64_t t = reverse ? length - 1 - k : k;
      for (int64_t j = 0; j < gates; ++j)
        z[static_cast<size_t>(j)] =
            c.has(3) ? c.in(3).f[static_cast<size_t>(d * 2 * gates + j)] + c.in(3).f[static_cast<size_t>(d * 2 * gates + gates + j)] : 0;
      multiply_add<double>(1, gates, l.inputs, {c.in(0).f.data() + t * l.x_step + b * l.x_batch, 0, 1}, {w.data(), gates, 1}, z.data(),
                           gates);
      multiply_add<double>(1, gates, n, {h, 0, 1}, {r.data(), gates, 1}, z.data(), gates);
      step(l, act, peephole, z.data(), h, cell);
      std::copy_n(h, n, y->f.data() + t * l.y_step + b * l.y_batch + d * l.y_dir);
    }
  }
}

Status check_counts(const EvalContext& c, const Lstm& l) {
  const int64_t d = l.directions, h = l.hidden, states = d * l.batch * h;
  const std::pair<int, int64_t> expected[] = {
      {1, d * 4 * h * l.inputs}, {2, d * 4 * h * h}, {3, d * 8 * h}, {4, l.batch}, {5, states}, {6, states}, {7, d * 3 * h}};
  const bool packed = is_packed(c.node.s("w_format"));
  for (auto [operand, count] : expected) {
    if (!c.has(operand)) continue;
    if (packed && operand <= 2)
      NNC_TRY(check_panel_extents(c.in(operand), operand == 1 ? l.inputs : h, 4 * h));
    else if (c.in(operand).count() != count)
      return Error(Code::kBadInput, cat("operand ", operand, " has ", c.in(operand).count(), " elements, must have ", count));
  }
  for (int64_t b = 0; c.has(4) && b < l.batch; ++b)
    if (const int64_t n = c.in(4).i[static_cast<size_t>(b)]; n < 0 || n > l.steps)
      return Error(Code::kIndexOutOfRange, cat("seq_lens[", b, "] is ", n, "; x has ", l.steps, " steps"));
  return {};
}

}  // namespace

Status eval_lstm(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  NNC_ASSIGN(EvalTensor y_h, c.make_result(1));
  NNC_ASSIGN(EvalTensor y_c, c.make_result(2));
  const Lstm l = describe(c);
  NNC_TRY(check_counts(c, l));
  for (int64_t d = 0; d < l.directions; ++d) run_direction(c, l, d, &y, &y_h, &y_c);
  c.results.push_back(std::move(y));
  c.results.push_back(std::move(y_h));
  c.results.push_back(std::move(y_c));
  return {};
}

}  // namespace nnc
