// Translation of a kernel into the interpreter's instructions.

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "ir/base/frag_layout.h"
#include "ir/base/kernel_rules.h"
#include "ir/base/kernel_vm_code.h"
#include "ir/support/text.h"

namespace nnc {
namespace vm {

namespace {

uint32_t value_bytes(const KType& t) {
  if (t.kind == KType::kFrag) return uint32_t(frag_elements(t.frag) * dtype_bits(t.elem) / 8);
  return uint32_t(t.lanes) * uint32_t(lane_bytes(lane_of(t)));
}
uint32_t slot_bytes(const KType& t) {
  if (t.kind != KType::kFrag && t.lanes == 1) return 8;
  return (value_bytes(t) + 63) / 64 * 64;
}
uint16_t blocks_of(uint32_t bytes) { return static_cast<uint16_t>(std::max<uint32_t>(1, (bytes + 63) / 64)); }

class Translator {
 public:
  Translator(const Kernel& k, const LaneOps& ops) : k_(k), ops_(ops), program_(std::make_unique<Program>()) {}

  Result<std::unique_ptr<Program>> run() {
    NNC_TRY(buffers());
    var_slot_.assign(k_.vars.size(), 0);
    program_->special_offset = take(uint32_t(5 + k_.symbols.size()) * 8);
    collect_constants();
    find_splats();
    block(k_.body);
    emit({.fn = do_end});
    if (!problem_.empty()) return Error(Code::kInvalidIr, cat("kernel @", k_.name, ": ", problem_));
    if (int64_t(high_) * k_.threads > kMaxFrames)
      return Error(Code::kLimit, cat("kernel @", k_.name, " needs ", high_, " bytes of registers for each of ", k_.threads, " threads"));
    program_->frame_bytes = high_;
    program_->fuel = INT64_MAX;
    program_->kernel = k_;
    return std::move(program_);
  }

 private:
  static constexpr int64_t kMaxScratch = 64 << 20, kMaxFrames = 64 << 20;

  Status buffers() {
    int64_t scratch = 0;
    for (size_t i = 0; i < k_.buffers.size(); ++i) {
      const KBuffer& b = k_.buffers[BufId(i)];
      BufferInfo info{b.name, dtype_bits(b.elem) / 8, b.align, b.space, 0};
      if (i >= k_.param_count) {
        if (!b.extent.is_const() || b.extent.constant() < 0 || b.extent.constant() > kMaxScratch)
          return Error(Code::kInvalidIr, cat("kernel @", k_.name, ": allocation '", b.name, "' needs a constant extent"));
        info.count = b.extent.constant();
        scratch += info.count * (info.elem_bytes + 1);
        if (scratch > kMaxScratch)
          return Error(Code::kLimit, cat("kernel @", k_.name, " allocates more than ", kMaxScratch, " bytes of shared and local memory"));
      }
      program_->buffers.push_back(std::move(info));
    }
    return {};
  }

  // ---- registers: a stack that grows with scopes
  uint32_t take(uint32_t bytes) {
    const uint32_t align = bytes >= 64 ? 64 : 8;
    top_ = (top_ + align - 1) / align * align;
    const uint32_t at = top_;
    top_ += bytes;
    high_ = std::max(high_, top_);
    return at;
  }
  uint32_t take(const KType& t) { return take(slot_bytes(t)); }

  void collect_constants() {
    for (size_t i = 0; i < k_.exprs.size(); ++i) {
      const ExprNode& n = k_.exprs[ExprId(i)];
      if (n.op != ExprOp::kConst) continue;
      const uint32_t at = take(n.type), size = uint32_t(lane_bytes(lane_of(n.type)));
      std::vector<std::byte> bytes(n.type.lanes == 1 ? 8 : slot_bytes(n.type));
      for (size_t o = 0; o < bytes.size() && (n.type.lanes > 1 || o == 0); o += size) std::memcpy(bytes.data() + o, &n.bits, size);
      constant_slot_[ExprId(i)] = at;
      program_->constants.push_back({at, std::move(bytes)});
    }
  }

  size_t emit(Inst i) {
    program_->code.push_back(i);
    return program_->code.size() - 1;
  }
  uint32_t here() const { return static_cast<uint32_t>(program_->code.size()); }
  void patch(size_t at) { program_->code[at].aux = here(); }

  // ---- expressions
  const KType& type(ExprId e) const { return k_.exprs[e].type; }

  // Where the value of `e` is; computed now unless it has a place already.
  uint32_t value(ExprId e) {
    const ExprNode& n = k_.exprs[e];
    switch (n.op) {
      case ExprOp::kConst: return constant_slot_.at(e);
      case ExprOp::kVar: return var_slot_[n.var.index()];
      case ExprOp::kTask0:
      case ExprOp::kTask1:
      case ExprOp::kTask2:
      case ExprOp::kThread:
      case ExprOp::kLane: return program_->special_offset + 8 * (uint32_t(n.op) - uint32_t(ExprOp::kTask0));
      case ExprOp::kDim: return program_->special_offset + 8 * (5 + uint32_t(n.bits));
      default: break;
    }
    if (const auto it = memo_.find(e); it != memo_.end()) return it->second;
    const uint32_t at = take(n.type);
    compute(e, at);
    memo_[e] = at;
    return at;
  }

  void compute(ExprId e, uint32_t dst) {
    const ExprNode& n = k_.exprs[e];
    Inst i;
    i.dst = dst;
    if (n.op == ExprOp::kFma && fma_scalar(n, i)) return;
    if (n.a) i.a = value(n.a);
    if (n.b) i.b = value(n.b);
    if (n.c) i.c = value(n.c);
    const KType from = n.a ? type(n.a) : n.type;
    i.lanes = n.type.lanes;
    i.blocks = blocks_of(std::max(value_bytes(n.type), n.a ? value_bytes(from) : 0));
    bool wide = from.lanes > 1;
    if (n.op >= ExprOp::kCastTrunc && n.op <= ExprOp::kCastMask) {
      cast(n, from, i);
      return;
    }
    Lane lane = lane_of(n.op == ExprOp::kSelect || n.op == ExprOp::kShuffle ? n.type : from);
    switch (n.op) {
      case ExprOp::kSelect: i.blocks = blocks_of(value_bytes(n.type)); break;
      case ExprOp::kSplat:
        i.blocks = blocks_of(value_bytes(n.type));
        wide = true;
        break;
      case ExprOp::kExtract:
        i.imm = int64_t(n.bits);
        i.lanes = 1;
        break;
      case ExprOp::kShuffle:
        i.imm = from.lanes;
        i.aux = uint32_t(program_->patterns.size());
        program_->patterns.push_back(n.pattern);
        break;
      case ExprOp::kIota: wide = true; break;
      case ExprOp::kLt:
      case ExprOp::kLe:
      case ExprOp::kEq:
      case ExprOp::kIsNan: i.blocks = blocks_of(value_bytes(from)); break;
      default: break;
    }
    if (n.op >= ExprOp::kReduceAdd) {
      i.lanes = from.lanes;
      wide = true;
    }
    if (n.op == ExprOp::kFma && !wide) i.fn = ops_.fma_one(lane);
    if (i.fn == nullptr) i.fn = (wide ? ops_ : lane_ops_v1()).op(n.op, lane);
    if (i.fn == nullptr) problem(cat("no code for ", expr_op_name(n.op), " of ", type_text(from)));
    emit(i);
  }

  // The scalar that `e` is a splat of, if that is at hand.
  ExprId spread(ExprId e) const {
    const ExprNode& n = k_.exprs[e];
    if (n.op == ExprOp::kSplat && !memo_.contains(e)) return n.a;
    if (n.op != ExprOp::kVar) return {};
    const auto it = splats_.find(n.var);
    return it == splats_.end() ? ExprId() : it->second;
  }
  // Names for splats of a steady scalar that are only read as one factor of fma: their scalar is read instead, and they are never made.
  void find_splats() {
    std::unordered_map<VarId, bool> made;  // whether somebody needs the lanes
    const auto is_factor = [&](const ExprNode& n, ExprId e) { return n.op == ExprOp::kFma && n.c != e && (n.a == e) != (n.b == e); };
    for (const Stmt& s : k_.stmts) {
      if (s.kind != StmtKind::kLet || k_.exprs[s.value].op != ExprOp::kSplat || ops_.fma_scalar(lane_of(k_.vars[s.var].type)) == nullptr)
        continue;
      const ExprNode& inner = k_.exprs[k_.exprs[s.value].a];
      if (inner.op == ExprOp::kVar && !k_.vars[inner.var].is_mut) splats_[s.var] = k_.exprs[s.value].a;
    }
    const auto candidate = [&](ExprId e) { return k_.exprs[e].op == ExprOp::kVar && splats_.contains(k_.exprs[e].var); };
    const auto is_spread = [&](ExprId e) { return k_.exprs[e].op == ExprOp::kSplat || candidate(e); };
    for (const Stmt& s : k_.stmts)
      for_exprs(s, [&](ExprId e) {
        if (candidate(e)) made[k_.exprs[e].var] = true;
      });
    for (const ExprNode& n : k_.exprs)
      for_operands(n, [&](ExprId o) {
        if (candidate(o) && (!is_factor(n, o) || (is_spread(n.a) && is_spread(n.b)))) made[k_.exprs[o].var] = true;
      });
    for (const auto& [v, needed] : made)
      if (needed) splats_.erase(v);
  }

  // One factor is a scalar on all lanes: no need to spread it first.
  bool fma_scalar(const ExprNode& n, Inst& i) {
    const Handler fn = n.type.lanes > 1 ? ops_.fma_scalar(lane_of(n.type)) : nullptr;
    if (fn == nullptr) return false;
    const ExprId of_a = spread(n.a), of_b = of_a ? ExprId() : spread(n.b);
    if (!of_a && !of_b) return false;
    i.a = value(of_a ? of_a : of_b);
    i.b = value(of_a ? n.b : n.a);
    i.c = value(n.c);
    i.lanes = n.type.lanes;
    i.blocks = blocks_of(value_bytes(n.type));
    i.fn = fn;
    emit(i);
    return true;
  }

  void cast(const ExprNode& n, const KType& from, Inst i) {
    const bool wide = from.lanes > 1;
    const LaneOps& ops = wide ? ops_ : lane_ops_v1();
    const bool move = n.op == ExprOp::kCastBits || from.kind == KType::kMask || lane_of(from) == lane_of(n.type);
    if (move) {
      i.blocks = blocks_of(value_bytes(n.type));
      i.fn = wide ? wide_move() : do_move8;
    } else {
      i.fn = ops.cast(n.op, lane_of(from), lane_of(n.type));
    }
    if (i.fn == nullptr) problem(cat("no code for ", expr_op_name(n.op), " from ", type_text(from), " to ", type_text(n.type)));
    emit(i);
  }

  // `e` into register `dst` of its type. Lanes that move (shuffle, splat, reductions) must not overwrite what they still read.
  void value_into(ExprId e, uint32_t dst) {
    const ExprNode& n = k_.exprs[e];
    const bool has_place = n.op <= ExprOp::kDim || memo_.contains(e);
    const bool moves_lanes = n.op >= ExprOp::kSplat;
    if (!has_place && !moves_lanes) return compute(e, dst);
    const uint32_t at = value(e);
    if (at == dst) return;
    Inst i;
    i.fn = n.type.lanes == 1 ? do_move8 : wide_move();
    i.dst = dst;
    i.a = at;
    i.blocks = blocks_of(value_bytes(n.type));
    emit(i);
  }

  Handler wide_move() const {
    const Handler h = ops_.block(BlockMove::kMove);
    return h != nullptr ? h : do_move;
  }

  void problem(std::string text) {
    if (problem_.empty()) problem_ = std::move(text);
  }

  // ---- statements
  void block(const Block& b) {
    const uint32_t saved = top_;
    for (StmtId id : b) {
      if (defines_var(k_.stmts[id])) var_slot_[k_.stmts[id].var.index()] = take(k_.vars[k_.stmts[id].var].type);
      const uint32_t temporaries = top_;
      memo_.clear();
      statement(id);
      top_ = temporaries;
    }
    memo_.clear();
    top_ = saved;
  }

  void statement(StmtId id) {
    const Stmt& s = k_.stmts[id];
    switch (s.kind) {
      case StmtKind::kLet:
        if (!splats_.contains(s.var)) value_into(s.value, var_slot_[s.var.index()]);
        return;
      case StmtKind::kMut:
      case StmtKind::kSet: value_into(s.value, var_slot_[s.var.index()]); return;
      case StmtKind::kFor: loop(s); return;
      case StmtKind::kWhile: {
        const uint32_t start = here();
        Inst branch{.fn = do_branch_false};
        branch.a = value(s.value);
        const size_t at = emit(branch);
        block(s.body);
        emit({.fn = do_while_next, .aux = start});
        patch(at);
        return;
      }
      case StmtKind::kIf: {
        Inst branch{.fn = do_branch_false};
        branch.a = value(s.value);
        const size_t at = emit(branch);
        block(s.body);
        if (s.orelse.empty()) return patch(at);
        const size_t over = emit({.fn = do_jump});
        patch(at);
        block(s.orelse);
        patch(over);
        return;
      }
      case StmtKind::kBlock: block(s.body); return;
      case StmtKind::kAlloc:
        if (k_.buffers[s.buf].space == Space::kLocal) emit({.fn = do_alloc, .aux = s.buf.v});
        return;
      case StmtKind::kPrefetch:
      case StmtKind::kNote: return;
      case StmtKind::kFrag: frag(id); return;
      default: effect(s); return;
    }
  }

  void loop(const Stmt& s) {
    const uint32_t v = var_slot_[s.var.index()], end = take(8);
    value_into(s.index, v);
    value_into(s.index2, end);
    Inst begin{.fn = do_for_begin};
    begin.dst = v;
    begin.b = end;
    const size_t at = emit(begin);
    const uint32_t start = here();
    block(s.body);
    emit({.fn = do_for_next, .dst = v, .b = end, .aux = start, .imm = s.n});
    patch(at);
  }

  // Index and mask of an access: `second` is the mask, or the other summand of the index.
  Access place(const Stmt& s, uint32_t& index, uint32_t& second) {
    const ExprNode& n = k_.exprs[s.index];
    const bool scattered = n.type.lanes > 1;
    if (!s.mask && !scattered && n.op == ExprOp::kAdd && !memo_.contains(s.index)) {
      index = value(n.a);
      second = value(n.b);
      return Access::kSum;
    }
    index = value(s.index);
    if (s.mask) second = value(s.mask);
    return scattered ? Access::kScattered : s.mask ? Access::kMasked : Access::kPlain;
  }

  void access(Inst& i, Access form, const KType& t, bool load) {
    const int size = lane_bytes(lane_of(t));
    const bool summed = form == Access::kSum;
    const Handler blocks =
        load ? ops_.block(summed ? BlockMove::kLoadSum : BlockMove::kLoad) : ops_.block(summed ? BlockMove::kStoreSum : BlockMove::kStore);
    if (blocks != nullptr && (summed || form == Access::kPlain) && t.lanes * size % 64 == 0) {
      i.fn = blocks;
      i.imm = size;
      i.blocks = blocks_of(value_bytes(t));
      return;
    }
    i.fn = load ? load_handler(size, t.lanes, form) : store_handler(size, t.lanes, form);
  }

  void effect(const Stmt& s) {
    Inst i;
    switch (s.kind) {
      case StmtKind::kLoad: {
        const KType& t = k_.vars[s.var].type;
        i.dst = var_slot_[s.var.index()];
        i.aux = s.buf.v;
        i.lanes = t.lanes;
        i.blocks = s.mask.valid();
        i.imm = s.other.valid();
        if (s.other) i.c = value(s.other);
        access(i, place(s, i.a, i.b), t, true);
        break;
      }
      case StmtKind::kStore: {
        const KType& t = type(s.value);
        i.a = value(s.value);
        i.aux = s.buf.v;
        i.lanes = t.lanes;
        i.blocks = s.mask.valid();
        access(i, place(s, i.dst, i.b), t, false);
        break;
      }
      case StmtKind::kAtomic:
        i.dst = s.var ? var_slot_[s.var.index()] : take(8);
        i.a = value(s.index);
        i.b = value(s.value);
        if (s.other) i.c = value(s.other);
        i.aux = s.buf.v;
        i.imm = s.op;
        i.fn = atomic_handler(static_cast<AtomicOp>(s.op), lane_of(type(s.value)));
        if (i.fn == nullptr) problem("no code for this atomic");
        break;
      case StmtKind::kCheck:
        i.dst = var_slot_[s.var.index()];
        i.a = value(s.index);
        i.b = value(s.index2);
        i.lanes = type(s.index).lanes;
        i.aux = s.site;
        i.fn = do_check;
        break;
      case StmtKind::kBarrier:
        i.fn = do_sync;
        i.aux = s.op;
        break;
      case StmtKind::kWarp: {
        const KType& t = type(s.value);
        i.fn = do_sync;
        i.aux = 2;
        i.imm = s.op;
        i.a = value(s.value);
        if (s.other) i.b = value(s.other);
        i.dst = var_slot_[s.var.index()];
        i.blocks = static_cast<uint16_t>(value_bytes(t));
        break;
      }
      case StmtKind::kCopy: copy(s, i); break;
      default: return;
    }
    emit(i);
  }

  void copy(const Stmt& s, Inst& i) {
    i.imm = s.n;
    switch (static_cast<CopyOp>(s.op)) {
      case CopyOp::kAsync:
        i.fn = do_copy_async;
        i.aux = s.buf.v;
        i.blocks = static_cast<uint16_t>(s.buf2.v);
        i.dst = value(s.index);
        i.a = value(s.index2);
        i.lanes = s.mask ? 2 : 1;
        if (s.mask) i.b = value(s.mask);
        return;
      case CopyOp::kCommit: i.fn = do_copy_commit; return;
      case CopyOp::kWait: i.fn = do_copy_wait; return;
    }
  }

  void frag(StmtId id) {
    const Stmt& s = k_.stmts[id];
    const auto slot = [&](VarId v) { return var_slot_[v.index()]; };
    Inst i;
    switch (static_cast<FragOp>(s.op)) {
      case FragOp::kZero:
        i.fn = do_clear;
        i.dst = slot(s.var);
        i.blocks = blocks_of(slot_bytes(k_.vars[s.var].type));
        break;
      case FragOp::kLoad:
      case FragOp::kStore: {
        const bool load = static_cast<FragOp>(s.op) == FragOp::kLoad;
        const VarId f = load ? s.var : s.f0;
        i.fn = load ? do_frag_load : do_frag_store;
        i.dst = slot(f);
        i.c = f.v;
        i.a = value(s.index);
        i.b = value(s.index2);
        i.aux = s.buf.v;
        i.imm = s.n;
        break;
      }
      case FragOp::kMma:
        i.fn = do_sync;
        i.aux = 3;
        i.dst = slot(s.var);
        i.a = slot(s.f0);
        i.b = slot(s.f1);
        i.imm = id.v;
        break;
      case FragOp::kGet:
      case FragOp::kSet: {
        const bool get = static_cast<FragOp>(s.op) == FragOp::kGet;
        const uint16_t size = static_cast<uint16_t>(dtype_bits(k_.vars[s.f0].type.elem) / 8);
        i.fn = get ? do_frag_get : do_frag_set;
        i.dst = get ? slot(s.var) : slot(s.f0);
        i.a = get ? slot(s.f0) : value(s.value);
        i.imm = s.n * size;
        i.blocks = size;
        break;
      }
    }
    emit(i);
  }

  const Kernel& k_;
  const LaneOps& ops_;
  std::unique_ptr<Program> program_;
  uint32_t top_ = 0, high_ = 0;
  std::unordered_map<ExprId, uint32_t> constant_slot_, memo_;
  std::vector<uint32_t> var_slot_;
  std::unordered_map<VarId, ExprId> splats_;
  std::string problem_;
};

}  // namespace

Result<std::unique_ptr<Program>> translate(const Kernel& k, const LaneOps& ops) { return Translator(k, ops).run(); }

}  // namespace vm
}  // namespace nnc
