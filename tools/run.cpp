// `nnc run`: one call of a model, its outputs written, shown or compared.

#include <algorithm>
#include <cmath>

#include "ir/support/text.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/interrupt.h"
#include "tools/program.h"
#include "tools/table.h"

namespace nnc::tool {

namespace {

struct Figures {
  double lo = INFINITY, hi = -INFINITY, mean = 0;
  int64_t special = 0;  // NaN and infinities
};

Figures figures_of(const Tensor& t) {
  Figures f;
  if (t.dtype() == DType::kString || is_complex(t.dtype())) return f;
  int64_t n = 0;
  double sum = 0;
  for (int64_t i = 0; i < t.count(); ++i) {
    const double v = t.f64(i);
    if (!std::isfinite(v)) {
      ++f.special;
      continue;
    }
    f.lo = std::min(f.lo, v);
    f.hi = std::max(f.hi, v);
    sum += v;
    ++n;
  }
  f.mean = n > 0 ? sum / static_cast<double>(n) : 0;
  return f;
}

std::string short_number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", v);
  return text;
}

std::string first_elements(const Tensor& t) {
  std::string out;
  const int64_t n = std::min<int64_t>(t.count(), 6);
  for (int64_t i = 0; i < n; ++i)
    append(out, i > 0 ? " " : "",
           t.dtype() == DType::kString ? element_text(t, i)
           : is_float(t.dtype())       ? short_number(t.f64(i))
                                       : element_text(t, i));
  return t.count() > n ? out + " ..." : out;
}

void show_outputs(const std::vector<NamedTensor>& outputs, Console& console) {
  Table table({"output", "type", ">min", ">max", ">mean", "elements"});
  for (const NamedTensor& o : outputs) {
    const Figures f = figures_of(o.tensor);
    const bool none = f.lo > f.hi;
    table.row({o.name, type_text(o.tensor.dtype(), o.tensor.dims()), none ? "-" : short_number(f.lo), none ? "-" : short_number(f.hi),
               none ? "-" : short_number(f.mean),
               cat(first_elements(o.tensor), f.special > 0 ? cat("  (", f.special, " not finite)") : "")});
  }
  console.print(table.str(console.terminal().out_is_terminal ? console.terminal().width : 0));
}

struct Verdict {
  std::string name, type;
  bool pass = false;
  std::string problem;  // another dtype or shape
  Comparison figures;
};

Result<std::vector<Verdict>> judge(const CompareTolerance& tolerance, const std::vector<NamedTensor>& expected,
                                   const std::vector<NamedTensor>& outputs) {
  std::vector<Verdict> out;
  for (const NamedTensor& want : expected) {
    const auto got = std::ranges::find(outputs, want.name, &NamedTensor::name);
    if (got == outputs.end()) return Error(Code::kUnknownName, cat("the model has no output ", quote(want.name)));
    Verdict v{want.name, type_text(want.tensor.dtype(), want.tensor.dims()), false, {}, {}};
    auto compared = compare(got->tensor, want.tensor, tolerance);
    if (compared.ok()) {
      v.figures = std::move(*compared);
      v.pass = v.figures.pass;
    } else {
      v.problem = compared.error().message;
    }
    out.push_back(std::move(v));
  }
  return out;
}

void show_verdicts(const std::vector<Verdict>& verdicts, Console& console) {
  Table table({"output", "type", "verdict", ">max abs", ">max rel", ">max ulp", ">over", "worst"});
  for (const Verdict& v : verdicts) {
    const Comparison& c = v.figures;
    std::string worst = v.problem;
    if (v.problem.empty() && c.worst >= 0)
      worst = cat("[", join(c.worst_index, ",", [](int64_t i) { return i; }), "] got ", c.worst_got, ", expected ", c.worst_expected);
    if (!v.problem.empty())
      table.row({v.name, v.type, "FAIL", "-", "-", "-", "-", worst});
    else
      table.row({v.name, v.type, v.pass ? "PASS" : "FAIL", short_number(c.max_abs), short_number(c.max_rel), cat(c.max_ulp),
                 cat(c.over, " of ", c.count), worst});
  }
  console.print(table.str());
}

// A call and what it gave.
struct Call {
  Prepared prepared;
  std::vector<NamedTensor> outputs;
  CodeCounts counts;
  std::string device = "eval";
  double seconds = 0;
};

Result<Call> call_compiled(const Arguments& a, Console& console) {
  Call out;
  PrepareRequest request;
  NNC_ASSIGN(request.threads, threads_from(a));
  NNC_ASSIGN(out.prepared, prepare(a, console, request));
  const Prepared& p = out.prepared;
  NNC_ASSIGN(const std::unique_ptr<Session> session, Session::create(p.executable));
  Stopwatch watch;
  console.begin("run", p.target);
  const Interruptible interruptible(*session);
  NNC_ASSIGN(std::vector<Tensor> results, session->run(p.entry, p.arguments));
  out.seconds = watch.take();
  const Program& program = p.executable->program();
  const auto entry = std::ranges::find(program.entries, p.entry, &PlanEntry::name);
  for (const PlanArg& result : entry->results)
    if (result.state < 0) out.outputs.push_back({result.name, std::move(results[out.outputs.size()])});
  out.counts = p.executable->counts(p.entry);
  out.device = p.executable->device()->name();
  return out;
}

Result<Call> call(const Arguments& a, Console& console) {
  if (!wants_interpreter(a)) return call_compiled(a, console);
  NNC_ASSIGN(Evaluated e, evaluate(a, console));
  Call out;
  out.prepared = std::move(e.prepared);
  out.outputs = std::move(e.outputs);
  out.seconds = e.seconds;
  return out;
}

// Answers in f64 are compared with what is expected of the model's own dtypes.
void widen_floats(std::vector<NamedTensor>& expected) {
  for (NamedTensor& t : expected) {
    if (!is_float(t.tensor.dtype()) || t.tensor.dtype() == DType::kF64) continue;
    Tensor wide(DType::kF64, t.tensor.dims());
    for (int64_t i = 0; i < wide.count(); ++i) store_f64(DType::kF64, wide.data(), i, t.tensor.f64(i));
    t.tensor = std::move(wide);
  }
}

void write_document(const Arguments& a, const Call& c, const std::vector<Verdict>& verdicts, Console& console) {
  const Prepared& p = c.prepared;
  const CodeCounts& n = c.counts;
  JsonWriter w = begin_document("run", a);
  w.field("model", p.model.path).field("target", p.target).field("device", c.device).field("entry", p.entry);
  w.key("steps").object().field("native", n.native).field("vm", n.vm).field("host", n.host).field("library", n.library).end();
  w.key("seconds")
      .object()
      .field("import", p.times.import)
      .field("simplify", p.times.simplify)
      .field("optimize", p.times.optimize)
      .field("plan", p.times.plan)
      .field("kernels", p.times.kernels);
  w.field("load", p.times.load).field("run", c.seconds).end();
  w.key("inputs").array();
  for (const auto& [name, in] : p.given.inputs)
    w.object()
        .field("name", name)
        .field("dtype", dtype_name(in.tensor.dtype()))
        .list("dims", in.tensor.dims())
        .field("from", in.origin)
        .end();
  w.end().key("outputs").array();
  for (const NamedTensor& o : c.outputs) {
    const Figures f = figures_of(o.tensor);
    w.object()
        .field("name", o.name)
        .field("dtype", dtype_name(o.tensor.dtype()))
        .list("dims", o.tensor.dims())
        .field("min", f.lo)
        .field("max", f.hi)
        .field("mean", f.mean)
        .field("not_finite", f.special)
        .end();
  }
  w.end().key("comparison").array();
  bool pass = true;
  for (const Verdict& v : verdicts) {
    pass &= v.pass;
    w.object().field("output", v.name).field("pass", v.pass);
    if (!v.problem.empty())
      w.field("problem", v.problem);
    else
      w.field("max_abs", v.figures.max_abs)
          .field("max_rel", v.figures.max_rel)
          .field("max_ulp", v.figures.max_ulp)
          .field("over", v.figures.over)
          .field("count", v.figures.count)
          .field("cosine", v.figures.cosine);
    w.end();
  }
  w.end().field("pass", pass);
  finish_document(w, console);
}

}  // namespace

Result<int> run_command(const Arguments& a, Console& console) {
  CompareTolerance tolerance;
  NNC_ASSIGN(tolerance.rtol, a.number("rtol", tolerance.rtol));
  NNC_ASSIGN(tolerance.atol, a.number("atol", tolerance.atol));
  NNC_ASSIGN(const Call c, call(a, console));
  const Prepared& p = c.prepared;
  std::vector<NamedTensor> expected = p.given.expected;
  if (p.target == "eval:f64") widen_floats(expected);
  const bool compiled = p.executable != nullptr;
  console.phase("run", p.target, compiled ? cat("steps: ", counts_text(c.counts, c.device)) : std::string("interpreted node by node"),
                c.seconds);
  bool random = false;
  for (const auto& [name, in] : p.given.inputs) random |= in.origin.starts_with("random");
  if (random) console.note(cat("  random inputs: seed ", a.text("seed", "0")));

  NNC_TRY(write_outputs(a, c.outputs, console));
  NNC_ASSIGN(const std::vector<Verdict> verdicts, judge(tolerance, expected, c.outputs));
  if (console.json()) write_document(a, c, verdicts, console);
  if (!verdicts.empty())
    show_verdicts(verdicts, console);
  else if (!a.has("output"))
    show_outputs(c.outputs, console);
  const bool pass = std::ranges::all_of(verdicts, &Verdict::pass);
  return pass ? 0 : exit_code(Code::kMismatch);
}

}  // namespace nnc::tool
