#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/eval.h"
#include "ir/ops/eval_index.h"
#include "ir/ops/reduce.h"

namespace nnc {

namespace {

// max and min: NaN wins, +0 is above -0.
double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
double smaller(double a, double b) { return -larger(-a, -b); }

double largest(std::span<const double> row) {
  double m = -std::numeric_limits<double>::infinity();
  for (double v : row) m = larger(m, v);
  return m;
}

double log_sum_exp(std::span<const double> row) {
  const double m = largest(row);
  if (!std::isfinite(m)) return m;
  double sum = 0;
  for (double v : row) sum += std::exp(v - m);
  return m + std::log(sum);
}

double reduce_floats(std::string_view kind, std::span<const double> row) {
  if (kind == "max") return largest(row);
  if (kind == "min") {
    double m = std::numeric_limits<double>::infinity();
    for (double v : row) m = smaller(m, v);
    return m;
  }
  if (kind == "prod") {
    double p = 1;
    for (double v : row) p *= v;
    return p;
  }
  if (kind == "log_sum_exp") return log_sum_exp(row);
  double sum = 0;
  if (kind == "l1") {
    for (double v : row) sum += std::fabs(v);
  } else if (kind == "l2" || kind == "sum_square") {
    for (double v : row) sum += v * v;
  } else {
    for (double v : row) sum += v;
  }
  if (kind == "mean") return sum / static_cast<double>(row.size());
  if (kind == "l2") return std::sqrt(sum);
  return kind == "log_sum" ? std::log(sum) : sum;
}

// Integers lie on the carrier as i64, u64 as its bits; sums wrap there, and modulo the dtype when stored.
struct Integers {
  DType dtype;
  bool is_unsigned() const { return dtype == DType::kU64; }
  bool less(int64_t a, int64_t b) const { return is_unsigned() ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b; }
  double as_f64(int64_t v) const { return is_unsigned() ? static_cast<double>(static_cast<uint64_t>(v)) : static_cast<double>(v); }
  int64_t from_f64(double v) const {
    int64_t stored = 0;
    store_f64(dtype, &stored, 0, v);
    return load_i64(dtype, &stored, 0);
  }
  int64_t lowest() const { return dtype == DType::kBool ? 0 : int_min(dtype); }
  int64_t highest() const { return dtype == DType::kBool ? 1 : static_cast<int64_t>(int_max(dtype)); }
};

int64_t reduce_integers(std::string_view kind, Integers type, std::span<const int64_t> row) {
  if (kind == "max" || kind == "min") {
    const bool max = kind == "max";
    int64_t m = max ? type.lowest() : type.highest();
    for (int64_t v : row)
      if (max ? type.less(m, v) : type.less(v, m)) m = v;
    return m;
  }
  if (kind == "l2" || kind == "log_sum" || kind == "log_sum_exp") {
    std::vector<double> wide;
    for (int64_t v : row) wide.push_back(type.as_f64(v));
    return type.from_f64(reduce_floats(kind, wide));
  }
  uint64_t total = kind == "prod" ? 1 : 0;
  for (int64_t v : row) {
    const uint64_t u = static_cast<uint64_t>(v);
    if (kind == "prod")
      total *= u;
    else if (kind == "sum_square")
      total += u * u;
    else if (kind == "l1")
      total += type.less(v, 0) ? 0 - u : u;
    else
      total += u;
  }
  if (kind != "mean") return static_cast<int64_t>(total);
  if (row.empty()) return 0;
  const int64_t n = static_cast<int64_t>(row.size());
  return type.is_unsigned() ? static_cast<int64_t>(total / static_cast<uint64_t>(n)) : static_cast<int64_t>(total) / n;
}

template <class T, class F>
void reduce_rows(std::span<const T> from, std::span<T> to, std::span<const int64_t> kept, std::span<const int64_t> reduced, F reduce) {
  std::vector<T> row(reduced.size());
  for (size_t k = 0; k < kept.size(); ++k) {
    for (size_t j = 0; j < reduced.size(); ++j) row[j] = from[static_cast<size_t>(kept[k] + reduced[j])];
    to[k] = reduce(std::span<const T>(row));
  }
}

// Whether v takes the place of the best element so far.
bool wins(double v, double best, bool max, bool last) {
  if (std::isnan(best)) return last && std::isnan(v);
  if (std::isnan(v)) return true;
  return (max ? v > best : v < best) || (last && v == best);
}

}  // namespace

Status eval_reduce(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const std::string_view kind = c.node.s("kind");
  const std::vector<int64_t> strides = row_major_strides(x.dims);
  const auto& axes = c.node.ints("axes");
  std::vector<int64_t> dims[2], steps[2];  // kept, reduced
  for (size_t k = 0; k < x.dims.size(); ++k) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(k)) != axes.end();
    dims[reduced].push_back(x.dims[k]);
    steps[reduced].push_back(strides[k]);
  }
  const auto kept = offset_table(dims[0], steps[0]), reduced = offset_table(dims[1], steps[1]);
  if (x.floating()) {
    reduce_rows<double>(x.f, y.f, kept, reduced, [&](std::span<const double> row) { return reduce_floats(kind, row); });
  } else {
    reduce_rows<int64_t>(x.i, y.i, kept, reduced,
                         [&](std::span<const int64_t> row) { return reduce_integers(kind, Integers{x.dtype}, row); });
  }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_arg_reduce(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const bool max = c.node.s("kind") == "max", last = c.node.i("select_last") != 0;
  const AxisView v = axis_view(x.dims, c.node.i("axis"));
  if (v.extent == 0 && v.outer * v.inner > 0)
    return Error(Code::kBadInput, "the axis has extent 0: there is no largest or smallest element");
  const Integers type{x.dtype};
  for (int64_t o = 0; o < v.outer; ++o) {
    for (int64_t i = 0; i < v.inner; ++i) {
      const auto at = [&](int64_t k) { return static_cast<size_t>((o * v.extent + k) * v.inner + i); };
      int64_t best = 0;
      for (int64_t k = 1; k < v.extent; ++k) {
        bool better = false;
        if (x.floating()) {
          better = wins(x.f[at(k)], x.f[at(best)], max, last);
        } else {
          const int64_t a = x.i[at(k)], b = x.i[at(best)];
          better = (max ? type.less(b, a) : type.less(a, b)) || (last && a == b);
        }
        if (better) best = k;
      }
      y.i[static_cast<size_t>(o * v.inner + i)] = best;
    }
  }
  c.results.push_back(std::move(y));
  return {};
}

namespace {

template <class T> void running_sums(std::span<const T> x, std::span<T> y, AxisView v, bool exclusive, bool reverse) {
  for (int64_t o = 0; o < v.outer; ++o) {
    for (int64_t i = 0; i < v.inner; ++i) {
      T sum{};
      for (int64_t step = 0; step < v.extent; ++step) {
        const int64_t k = reverse ? v.extent - 1 - step : step;
        const auto at = static_cast<size_t>((o * v.extent + k) * v.inner + i);
        if (exclusive) y[at] = sum;
        if constexpr (std::is_same_v<T, int64_t>)
          sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(x[at]));
        else
          sum += x[at];
        if (!exclusive) y[at] = sum;
      }
    }
  }
}

}  // namespace

Status eval_cumsum(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const AxisView v = axis_view(x.dims, c.node.i("axis"));
  const bool exclusive = c.node.i("exclusive") != 0, reverse = c.node.i("reverse") != 0;
  if (x.floating())
    running_sums<double>(x.f, y.f, v, exclusive, reverse);
  else
    running_sums<int64_t>(x.i, y.i, v, exclusive, reverse);
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc
