#include "ir/eval.h"
#include "ir/ops/control.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

std::vector<EvalTensor> captures(const EvalContext& c, size_t first) {
  std::vector<EvalTensor> args;
  for (size_t k = first; k < c.operands.size(); ++k) args.push_back(*c.operands[k]);
  return args;
}

const Graph& region(const EvalContext& c, size_t k) { return c.graph.region(c.node.regions[k]); }

bool holds(const std::vector<SymbolId>& symbols, const Dim& d) {
  const std::optional<SymbolId> s = d.as_symbol();
  return s && std::find(symbols.begin(), symbols.end(), *s) != symbols.end();
}

// Gives the symbols that the node brings their values: the extents of the results that carry them.
Status bind_results(EvalContext& c, std::span<const EvalTensor> values) {
  const auto& mine = c.node.symbols("result_symbols");
  for (size_t k = 0; k < values.size(); ++k) {
    const Type& t = c.graph.type(c.node.results[k]);
    for (size_t axis = 0; axis < t.shape.size(); ++axis)
      if (holds(mine, t.shape[axis])) NNC_TRY(c.interpreter.bind(*t.shape[axis].as_symbol(), values[k].dims[axis]));
  }
  return {};
}

EvalTensor scalar(DType dtype, int64_t v) {
  EvalTensor t = EvalTensor::make(dtype, {});
  t.i[0] = v;
  return t;
}

// Values of each iteration, one behind the other.
struct Stack {
  EvalTensor values;
  int64_t count = 0;

  Status push(EvalTensor&& t, size_t index, int64_t limit) {
    if ((count + 1) * std::max<int64_t>(1, t.count()) > limit)
      return Error(Code::kLimit, cat("stacked value ", index, " is over the limit of ", limit, " elements"));
    if (count == 0) {
      values = std::move(t);
    } else {
      if (t.dims != values.dims) return Error(Code::kBadInput, cat("stacked value ", index, " changes its extents in iteration ", count));
      values.f.insert(values.f.end(), t.f.begin(), t.f.end());
      values.i.insert(values.i.end(), t.i.begin(), t.i.end());
      values.s.insert(values.s.end(), std::make_move_iterator(t.s.begin()), std::make_move_iterator(t.s.end()));
    }
    ++count;
    return {};
  }
};

// A stacked result of no iteration: extents that only the body knows count as 0.
EvalTensor empty_stack(const EvalContext& c, const Type& t) {
  std::vector<int64_t> dims = {0};
  for (size_t axis = 1; axis < t.shape.size(); ++axis) {
    const Result<int64_t> extent = holds(c.node.symbols("result_symbols"), t.shape[axis]) ? Result<int64_t>(0) : c.dim(t.shape[axis]);
    dims.push_back(extent.ok() ? extent.value() : 0);
  }
  return EvalTensor::make(t.dtype, std::move(dims));
}

}  // namespace

Status eval_if(EvalContext& c) {
  const size_t branch = c.in(0).i[0] != 0 ? 0 : 1;
  NNC_ASSIGN(c.results, c.interpreter.run_region(region(c, branch), captures(c, 1)));
  return bind_results(c, c.results);
}

Status eval_group(EvalContext& c) {
  NNC_ASSIGN(c.results, c.interpreter.run_region(region(c, 0), captures(c, 0)));
  return {};
}

Status eval_fail(EvalContext& c) { return Error(Code::kInvalidModel, std::string(c.node.s("message"))); }

Status eval_loop(EvalContext& c) {
  const Graph& body = region(c, 0);
  const auto carried = static_cast<size_t>(c.node.i("carried")), scan = static_cast<size_t>(c.node.i("scan"));
  const int64_t limit = c.interpreter.options().limits[Limit::kLoopTrips], trips = c.has(0) ? c.in(0).i[0] : INT64_MAX;
  bool running = !c.has(1) || c.in(1).i[0] != 0;
  std::vector<EvalTensor> values;
  for (size_t k = 0; k < carried; ++k) values.push_back(c.in(static_cast<int>(k + 2)));
  std::vector<Stack> stacks(scan);
  int64_t iteration = 0;
  for (; running && iteration < trips; ++iteration) {
    if (iteration >= limit)
      return Error(Code::kLimit, cat("the loop is over the limit of ", limit, " iterations")).with("try: --limit loop_trips=N");
    std::vector<EvalTensor> args = {scalar(DType::kI64, iteration), scalar(DType::kBool, running)};
    for (EvalTensor& v : values) args.push_back(std::move(v));
    for (EvalTensor& v : captures(c, 2 + carried)) args.push_back(std::move(v));
    NNC_ASSIGN(std::vector<EvalTensor> out, c.interpreter.run_region(body, std::move(args)));
    running = out[0].i[0] != 0;
    for (size_t k = 0; k < carried; ++k) values[k] = std::move(out[1 + k]);
    for (size_t k = 0; k < scan; ++k)
      NNC_TRY(stacks[k].push(std::move(out[1 + carried + k]), k, c.interpreter.options().limits[Limit::kElements]));
  }
  c.results = std::move(values);
  for (size_t k = 0; k < scan; ++k) {
    if (iteration == 0) {
      c.results.push_back(empty_stack(c, c.graph.type(c.node.results[carried + k])));
      continue;
    }
    EvalTensor& t = stacks[k].values;
    t.dims.insert(t.dims.begin(), iteration);
    c.results.push_back(std::move(t));
  }
  for (SymbolId s : c.node.symbols("trip")) NNC_TRY(c.interpreter.bind(s, iteration));
  return bind_results(c, c.results);
}

}  // namespace nnc
