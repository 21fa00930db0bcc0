// Printer of plan text. Every field that differs from a fresh step's is printed, in one order for all kinds of step, so what is read back
// is equal field by field.

#include <utility>

#include "ir/base/plan_words.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

using plan_words::kMaxTrips;
using plan_words::kRels;
using plan_words::kRounds;
using plan_words::kSpaces;
using plan_words::kSteps;
using plan_words::kSymOps;
using plan_words::kVersion;

class Printer {
 public:
  Printer(const Program& p, bool with_kernels) : p_(p), with_kernels_(with_kernels) {}

  std::string run() {
    line("plan ", kVersion, " target ", quote(p_.target), " features [",
         join(p_.features, ", ", [](const std::string& f) { return quote(f); }), "]");
    table("symbols", p_.symbols.size(), [&](size_t i) { return cat("s", i, " = ", symbol(p_.symbols[SymbolId(i)])); });
    table("kernels", p_.kernels.size(), [&](size_t i) { return cat("#", i, " = ", kernel(p_.kernels[i])); });
    table("constants", p_.constants.size(), [&](size_t i) { return cat("#", i, " = ", constant(p_.constants[i])); });
    table("states", p_.states.size(), [&](size_t i) { return cat("#", i, " = ", state(p_.states[i])); });
    table("sources", p_.sources.size(), [&](size_t i) {
      return cat("#", i, " = ", quote(p_.sources[i].node), " op ", quote(p_.sources[i].op), " scope ", quote(p_.sources[i].scope));
    });
    for (const PlanEntry& e : p_.entries) entry(e);
    return std::move(out_);
  }

 private:
  template <class... Args> void line(const Args&... args) {
    out_.append(static_cast<size_t>(indent_) * 2, ' ');
    append(out_, args...);
    out_ += '\n';
  }
  template <class F> void table(std::string_view name, size_t count, F&& f) {
    if (count == 0) return;
    line(name, " {");
    ++indent_;
    for (size_t i = 0; i < count; ++i) line(f(i));
    --indent_;
    line("}");
  }

  std::string dim(const Dim& d) const { return p_.symbols.str(d); }
  std::string type(DType t, const Shape& s) const {
    return cat(t == DType::kInvalid ? "raw" : dtype_name(t), p_.symbols.str(std::span<const Dim>(s)));
  }
  template <class V> static std::string numbers(const V& v) {
    return cat("[", join(v, ", ", [](auto x) { return static_cast<int64_t>(x); }), "]");
  }
  static std::string operand(const PlanOperand& o) { return o.space == PlanOperand::kNone ? "_" : cat(kSpaces[o.space], o.index); }

  std::string symbol(const Symbol& s) const {
    std::string text(s.kind == SymKind::kInput ? "input" : s.kind == SymKind::kData ? "data" : kSymOps[static_cast<size_t>(s.op)]);
    if (s.kind == SymKind::kDerived && s.op == SymOp::kRound)
      append(text, "(", dim(s.a), ", ", s.num, "/", s.den, ", ", kRounds[static_cast<size_t>(s.mode)], ")");
    if (s.kind == SymKind::kDerived && s.op != SymOp::kRound) append(text, "(", dim(s.a), ", ", dim(s.b), ")");
    if (!s.name.empty()) append(text, " ", quote(s.name));
    append(text, " in [", s.lo, ", ", s.hi, "]");
    if (s.divisor != 1) append(text, " divisor ", s.divisor);
    if (s.typical != 0) append(text, " typical ", s.typical);
    if (s.binding == Binding::kBounded) text += " bounded";
    return text;
  }
  std::string kernel(const PlanKernel& k) const {
    std::string text = quote(k.name);
    if (!k.in_place.empty())
      append(text, " in_place [", join(k.in_place, ", ", [](const InPlacePair& p) { return cat(p.input, "->", p.output); }), "]");
    if (with_kernels_) append(text, " text ", quote(k.text));
    return text;
  }
  std::string constant(const PlanConstant& c) const {
    std::string text = cat(dtype_name(c.dtype), numbers(c.dims), " sha256:", c.hash);
    if (!c.unpack.empty()) append(text, " unpack ", quote(c.unpack));
    return text;
  }
  std::string state(const PlanState& s) const {
    return s.initial < 0 ? cat(quote(s.name), " ", type(s.dtype, s.shape))
                         : cat(quote(s.name), " ", type(s.dtype, s.shape), " = c", s.initial);
  }

  void entry(const PlanEntry& e) {
    line("entry ", quote(e.name), " profile ", quote(e.profile), " {");
    ++indent_;
    auto interface = [&](std::string_view what, const PlanArg& a) {
      if (a.state < 0) return line(what, " ", quote(a.name), " ", type(a.dtype, a.shape));
      line(what, " ", quote(a.name), " ", type(a.dtype, a.shape), " state ", a.state);
    };
    for (const PlanArg& a : e.args) interface("arg", a);
    for (const PlanArg& r : e.results) interface("result", r);
    for (size_t i = 0; i < e.buffers.size(); ++i) buffer(i, e.buffers[i]);
    for (const Segment& s : e.segments) block("segment {", s.steps);
    --indent_;
    line("}");
  }
  void buffer(size_t i, const PlanBuffer& b) {
    std::string text =
        cat("buffer b", i, " ", type(b.dtype, b.shape), " bytes ", dim(b.bytes), " align ", b.align, " life [", b.first, ", ", b.last, "]");
    if (b.is_room())
      text += " room";
    else if (b.segment != 0)
      append(text, " in ", b.segment);
    if (b.alias_of >= 0) append(text, " alias b", b.alias_of);
    if (!b.locs.empty()) append(text, " loc ", numbers(b.locs));
    line(text);
  }

  void block(std::string_view head, const std::vector<Step>& steps) {
    line(head);
    ++indent_;
    for (const Step& s : steps) step(s);
    --indent_;
    line("}");
  }
  std::string dims(const std::vector<Dim>& v) const {
    return cat("[", join(v, ", ", [&](const Dim& d) { return dim(d); }), "]");
  }
  void step(const Step& s) {
    std::string t = cat(kSteps[static_cast<size_t>(s.kind)], " @", s.number, " (", join(s.operands, ", ", operand), ")");
    if (s.kind == StepKind::kLaunch) append(t, " kernel ", s.kernel);
    if (s.kind == StepKind::kSegment) append(t, " in ", s.segment);
    if (!s.fn.empty()) append(t, " fn ", quote(s.fn));
    if (!s.dims.empty()) append(t, " dims ", dims(s.dims));
    if (!s.symbols.empty()) append(t, " symbols [", join(s.symbols, ", ", [](SymbolId id) { return cat("s", id.v); }), "]");
    if (!s.ints.empty()) append(t, " ints ", numbers(s.ints));
    if (s.rel != Rel::kEq) append(t, " rel ", kRels[static_cast<size_t>(s.rel)]);
    if (!s.message.empty()) append(t, " message ", quote(s.message));
    if (!s.locs.empty()) append(t, " loc ", numbers(s.locs));
    if (!s.carries.empty())
      append(t, " carry [",
             join(s.carries, ", ",
                  [](const Carry& c) { return cat("(", operand(c.init), ", ", operand(c.current), ", ", operand(c.next), ")"); }),
             "]");
    if (!s.scans.empty())
      append(t, " scan [",
             join(s.scans, ", ",
                  [&](const ScanOut& o) { return cat("(", operand(o.element), ", ", operand(o.stacked), ", ", dim(o.bytes), ")"); }),
             "]");
    if (s.max_trips != kMaxTrips) append(t, " max ", s.max_trips);
    if (s.trip_symbol.valid()) append(t, " trip s", s.trip_symbol.v);
    if (s.body.empty() && s.orelse.empty() && s.alternatives.empty()) {
      line(t);
      return;
    }
    if (!s.body.empty()) block(std::exchange(t, "") + " do {", s.body);
    if (!s.orelse.empty()) block(t.empty() ? "else {" : t + " else {", s.orelse);
    if (!s.orelse.empty()) t.clear();
    for (const Alternative& a : s.alternatives) {
      std::string head =
          cat("when [",
              join(a.when.clauses, ", ",
                   [&](const Predicate::Clause& c) { return cat(dim(c.a), " ", kRels[static_cast<size_t>(c.rel)], " ", dim(c.b)); }),
              "] {");
      block(t.empty() ? head : std::exchange(t, "") + " " + head, a.steps);
    }
  }

  const Program& p_;
  const bool with_kernels_;
  std::string out_;
  int indent_ = 0;
};

}  // namespace

namespace {
void count_segments(const std::vector<Step>& steps, uint32_t& count) {
  for (const Step& s : steps) {
    count += s.kind == StepKind::kSegment;
    count_segments(s.body, count);
    count_segments(s.orelse, count);
    for (const Alternative& a : s.alternatives) count_segments(a.steps, count);
  }
}
}  // namespace

uint32_t segment_count(const PlanEntry& e) {
  uint32_t count = static_cast<uint32_t>(e.segments.size());
  for (const Segment& s : e.segments) count_segments(s.steps, count);
  return count;
}

std::string print_program(const Program& p, bool with_kernels) { return Printer(p, with_kernels).run(); }

}  // namespace nnc
