// `nnc bench`: how long a run takes, for every combination of sizes and threads.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "ir/base/plan_words.h"
#include "ir/support/text.h"
#include "runtime/thread_pool.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/interrupt.h"
#include "tools/program.h"
#include "tools/table.h"

namespace nnc::tool {

namespace {

struct StepTiming {
  uint32_t number = 0;
  std::string what, from;         // kernel or kind of step; source nodes
  double calls = 0, seconds = 0;  // per run
};

struct Timing {
  double compile = 0, load = 0, first = 0;
  double median = 0, mean = 0, deviation = 0, p90 = 0, p99 = 0, least = 0;
  int64_t runs = 0, peak = 0;
  std::string target;
  CodeCounts counts;
  std::vector<StepTiming> steps;  // slowest first
};

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

// Repeated calls without any allocation: inputs and outputs stay where they are.
class Caller {
 public:
  Caller(const Prepared& p, Session& session) : p_(p), session_(session) {}
  Status first(double* seconds) {
    Stopwatch watch;
    NNC_ASSIGN(results_, session_.run(p_.entry, p_.arguments));
    *seconds = watch.take();
    for (const Tensor& t : p_.arguments) inputs_.push_back({t.dtype(), t.dims(), t.data(), static_cast<int64_t>(t.bytes())});
    for (Tensor& t : results_) {
      OutputView view;
      view.data = t.data();
      view.room = static_cast<int64_t>(t.bytes());
      outputs_.push_back(view);
    }
    return {};
  }
  Status run() { return session_.run(p_.entry, inputs_, outputs_); }

 private:
  const Prepared& p_;
  Session& session_;
  std::vector<Tensor> results_;
  std::vector<InputView> inputs_;
  std::vector<OutputView> outputs_;
};

struct Plan {
  int64_t runs = 0, warm_up = 3;
  double seconds = 2;
  bool steps = false;
};

// Runs of their own: looking at the clock takes time, too. Of each step the median.
Result<std::vector<StepTiming>> time_steps(const Program& program, Session& session, Caller& caller, int64_t runs) {
  std::map<const Step*, std::vector<double>> seconds;
  std::map<const Step*, int64_t> calls;
  for (int64_t k = 0; k < runs; ++k) {
    session.time_steps(true);
    NNC_TRY(caller.run());
    for (const Session::StepTime& t : session.step_times()) {
      seconds[t.step].push_back(static_cast<double>(t.nanoseconds) * 1e-9);
      calls[t.step] += t.calls;
    }
  }
  session.time_steps(false);
  std::vector<StepTiming> out;
  for (auto& [step, times] : seconds) {
    if (step->kind == StepKind::kAssertDims) continue;
    std::ranges::sort(times);
    StepTiming row;
    row.number = step->number;
    row.what = step->kind == StepKind::kLaunch ? program.kernels[step->kernel].name
                                               : std::string(plan_words::kSteps[static_cast<size_t>(step->kind)]);
    row.from = join(step->locs, ", ", [&](uint32_t loc) { return program.sources[loc].node; });
    row.calls = static_cast<double>(calls[step]) / static_cast<double>(runs);
    row.seconds = quantile(times, 0.5);
    out.push_back(std::move(row));
  }
  std::ranges::sort(
      out, [](const StepTiming& x, const StepTiming& y) { return x.seconds != y.seconds ? x.seconds > y.seconds : x.number < y.number; });
  return out;
}

void print_steps(const Timing& t, Console& console) {
  double total = 0;
  for (const StepTiming& s : t.steps) total += s.seconds;
  Table table({">time", ">share", ">calls", "step", "from"});
  for (const StepTiming& s : t.steps)
    table.row({seconds_text(s.seconds), cat(std::llround(1000 * s.seconds / total) / 10.0, " %"), cat(s.calls), s.what, s.from});
  console.print(cat("\n", table.str(console.terminal().width)));
}

Result<Timing> measure(const Prepared& p, const Plan& plan) {
  Timing out;
  out.compile = p.times.import + p.times.simplify + p.times.optimize + p.times.plan + p.times.kernels;
  out.load = p.times.load;
  out.target = p.target;
  out.counts = p.executable->counts(p.entry);
  NNC_ASSIGN(const std::unique_ptr<Session> session, Session::create(p.executable));
  const Interruptible interruptible(*session);
  Caller caller(p, *session);
  NNC_TRY(caller.first(&out.first));
  for (int64_t k = 0; k < plan.warm_up; ++k) NNC_TRY(caller.run());
  constexpr int64_t kLeast = 10, kMost = 1'000'000;
  std::vector<double> times;
  double total = 0;
  while (plan.runs > 0
             ? static_cast<int64_t>(times.size()) < plan.runs
             : (static_cast<int64_t>(times.size()) < kLeast || total < plan.seconds) && static_cast<int64_t>(times.size()) < kMost) {
    Stopwatch watch;
    NNC_TRY(caller.run());
    times.push_back(watch.take());
    total += times.back();
  }
  std::ranges::sort(times);
  out.runs = static_cast<int64_t>(times.size());
  out.mean = total / static_cast<double>(out.runs);
  double squares = 0;
  for (const double t : times) squares += (t - out.mean) * (t - out.mean);
  out.deviation = out.runs > 1 ? std::sqrt(squares / static_cast<double>(out.runs - 1)) : 0;
  out.median = quantile(times, 0.5);
  out.p90 = quantile(times, 0.9);
  out.p99 = quantile(times, 0.99);
  out.least = times.front();
  out.peak = session->memory(p.entry).peak;
  if (plan.steps) {
    const int64_t runs = std::max<int64_t>(1, out.runs / 4);
    NNC_ASSIGN(out.steps, time_steps(p.executable->program(), *session, caller, runs));
  }
  return out;
}

struct Row {
  std::map<std::string, int64_t> dims;
  int threads = 0;
};

Result<std::vector<Row>> rows_of(const Arguments& a, const ModelOptions& options) {
  std::vector<Row> rows(1);
  for (const auto& [name, sizes] : options.lists) {
    std::vector<Row> next;
    for (const Row& r : rows) {
      for (const int64_t size : sizes) {
        next.push_back(r);
        next.back().dims[name] = size;
      }
    }
    rows = std::move(next);
  }
  std::vector<int> threads;
  for (const std::string& text : a.all("threads")) {
    for (const std::string_view part : split(text, ',')) {
      int64_t n = 0;
      if (!parse_int(trim(part), &n) || n < 0 || n > ThreadPool::kMaxThreads)
        return Error(Code::kUsage, cat("--threads ", quote(text), ": numbers of 0 to ", int(ThreadPool::kMaxThreads), " expected"));
      threads.push_back(static_cast<int>(n));
    }
  }
  if (threads.empty()) threads.push_back(0);
  std::vector<Row> out;
  for (const Row& r : rows) {
    for (const int n : threads) {
      out.push_back(r);
      out.back().threads = n;
    }
  }
  return out;
}

}  // namespace

Result<int> bench_command(const Arguments& a, Console& console) {
  Plan plan;
  NNC_ASSIGN(plan.runs, a.integer("runs", 0, 1, 1'000'000));
  NNC_ASSIGN(plan.warm_up, a.integer("warm-up", 3, 0, 1'000'000));
  NNC_ASSIGN(plan.seconds, a.number("seconds", 2));
  plan.steps = a.has("steps");
  NNC_ASSIGN(const Limits limits, limits_from(a));
  std::vector<Row> rows;
  {
    NNC_ASSIGN(const ModelFile model, open_model(a.positionals[0], a, limits));
    NNC_ASSIGN(const ModelOptions options, model_options(a, model.interface, true));
    NNC_ASSIGN(rows, rows_of(a, options));
  }
  std::vector<std::string> header;
  for (const auto& [name, size] : rows[0].dims) header.push_back(cat(">", name));
  for (const char* h : {">threads", ">median", ">± sd", ">p90", ">p99", ">runs/s", ">peak mem", ">runs"}) header.emplace_back(h);
  Table table(header);
  JsonWriter w = begin_document("bench", a);
  w.field("model", a.positionals[0]).key("results").array();
  Timing last;
  for (const Row& r : rows) {
    NNC_ASSIGN(const Prepared p, prepare(a, console, {r.threads, r.dims}));
    NNC_ASSIGN(const Timing t, measure(p, plan));
    const int threads = r.threads > 0 ? r.threads : ThreadPool::usable_processors();
    std::vector<std::string> cells;
    for (const auto& [name, size] : r.dims) cells.push_back(cat(size));
    for (std::string cell : {cat(threads), seconds_text(t.median), seconds_text(t.deviation), seconds_text(t.p90), seconds_text(t.p99),
                             cat(std::llround(1 / t.median)), human_bytes(static_cast<uint64_t>(t.peak)), cat(t.runs)})
      cells.push_back(std::move(cell));
    table.row(std::move(cells));
    w.object().key("dims").object();
    for (const auto& [name, size] : r.dims) w.field(name, size);
    w.end()
        .field("threads", threads)
        .field("target", t.target)
        .field("runs", t.runs)
        .field("median", t.median)
        .field("mean", t.mean)
        .field("sd", t.deviation)
        .field("p90", t.p90)
        .field("p99", t.p99);
    w.field("min", t.least).field("peak_bytes", t.peak).field("compile", t.compile).field("load", t.load).field("first_run", t.first);
    w.key("steps")
        .object()
        .field("native", t.counts.native)
        .field("vm", t.counts.vm)
        .field("host", t.counts.host)
        .field("library", t.counts.library)
        .end();
    if (plan.steps) {
      w.key("times").array();
      for (const StepTiming& s : t.steps)
        w.object().field("step", s.what).field("from", s.from).field("calls", s.calls).field("seconds", s.seconds).end();
      w.end();
    }
    w.end();
    last = t;
  }
  w.end();
  if (console.json()) finish_document(w, console);
  console.print(table.str());
  console.print(cat(" ", last.target, ", steps: ", counts_text(last.counts, last.target.substr(0, last.target.find(':'))), "\n compile ",
                    seconds_text(last.compile), ", load ", seconds_text(last.load), ", first run ", seconds_text(last.first), " · ",
                    last.runs, " runs after ", plan.warm_up, " warm-up · clocks not locked: differences under 2 % are noise\n"));
  if (plan.steps) print_steps(last, console);
  return 0;
}

}  // namespace nnc::tool
