#include "codegen/group_body.h"

#include <algorithm>

#include "ir/base/kernel_narrow.h"
#include "ir/support/text.h"

namespace nnc {

GroupBody::GroupBody(KernelBuilder& k, const Graph& group, const Target& target) : k_(k), g_(group), target_(target) {
  for (size_t i = 0; i < g_.inputs().size(); ++i) input_number_[g_.inputs()[i]] = static_cast<uint32_t>(i);
  memo_.emplace_back();
}

Dim GroupBody::dim(const Dim& graph_dim) { return k_.import_dim(g_.symbols(), graph_dim); }

namespace {
DType storage_dtype(DType t) { return t == DType::kBool || is_narrow(t) ? DType::kU8 : t; }
bool sub_byte(DType t) { return dtype_bits(t) < 8; }

Dim element_extent(KernelBuilder& k, GroupBody& b, const Type& t) {
  Dim n = 1;
  for (const Dim& d : t.shape) n = k.symbols().mul(n, b.dim(d));
  if (sub_byte(t.dtype)) n = k.symbols().ceildiv(k.symbols().mul(n, dtype_bits(t.dtype)), 8);
  return n;
}
}  // namespace

BufId GroupBody::declare_input(uint32_t input) {
  auto it = inputs_.find(input);
  if (it != inputs_.end()) return it->second;
  const Type& t = g_.type(g_.inputs()[input]);
  const BufId b = k_.param("in" + std::to_string(input), storage_dtype(t.dtype), element_extent(k_, *this, t), Access::kRead);
  inputs_[input] = b;
  return b;
}

BufId GroupBody::declare_output(uint32_t output) {
  auto it = outputs_.find(output);
  if (it != outputs_.end()) return it->second;
  const Type& t = g_.type(g_.outputs()[output]);
  const BufId b = k_.param("out" + std::to_string(output), storage_dtype(t.dtype), element_extent(k_, *this, t), Access::kWrite);
  outputs_[output] = b;
  return b;
}

void GroupBody::set_axes(std::vector<IterAxis> axes, int lanes) {
  axes_ = std::move(axes);
  lanes_ = lanes;
  std::vector<uint32_t> key{static_cast<uint32_t>(lanes)};
  for (const IterAxis& a : axes_) key.push_back(a.base.id.v);
  axes_key_ = axes_keys_.try_emplace(std::move(key), axes_keys_.size()).first->second;
}

void GroupBody::enter() { memo_.emplace_back(); }
void GroupBody::leave() { memo_.pop_back(); }

namespace {
bool same_opaque(const OpaqueTerm& a, const OpaqueTerm& b) { return a.expr.id == b.expr.id && a.factor == b.factor; }
bool same_coord(const Coord& a, const Coord& b) {
  return a.terms == b.terms && a.offset == b.offset &&
         std::equal(a.opaque.begin(), a.opaque.end(), b.opaque.begin(), b.opaque.end(), same_opaque);
}
bool same_coords(const Coords& a, const Coords& b) {
  if (a.flat() && b.flat()) return same_coord(*a.flat(), *b.flat());
  return !a.flat() && !b.flat() && std::equal(a.begin(), a.end(), b.begin(), b.end(), same_coord);
}
}  // namespace

Expr GroupBody::emit(ValueId v, const Coords& coords, Expr mask) {
  if (auto it = bound_.find(v); it != bound_.end()) return it->second(coords, mask);
  for (const auto& scope : memo_)
    for (const Memo& m : scope)
      if (m.axes == axes_key_ && m.value == v && m.mask == mask.id && k_.is_open(m.block) && same_coords(m.coords, coords)) return m.result;
  Expr e;
  const Value& value = g_.value(v);
  if (!value.def.valid()) {
    e = load_input(input_number_.at(v), coords, mask);
  } else {
    e = emit_node(value.def, value.index, coords, mask);
  }
  memo_.back().push_back({axes_key_, v, coords, mask.id, k_.open_block(), e});
  return e;
}

uint32_t GroupBody::program_loc(NodeId n) const { return g_.node(n).loc.v; }

Expr GroupBody::emit_node(NodeId n, uint32_t result, const Coords& coords, Expr mask) {
  const Node& node = g_.node(n);
  const OpDef& def = node.def();
  if (node.kind == OpKind::kConstant) return emit_constant(node);
  current_.push_back({&node, n, mask});
  Expr e;
  switch (def.lowering) {
    case Lowering::kElem: e = emit_elem(node, coords, mask); break;
    case Lowering::kMap: e = emit_map(node, n, coords, mask); break;
    default: {
      NNC_CHECK(def.body != nullptr, cat("a group holds ", def.name, ", which has no body and which its skeleton did not bind").c_str());
      BodyContext c{.s = *this, .graph = g_, .node = node};
      c.mode = def.lowering == Lowering::kSource ? BodyMode::kSource : BodyMode::kPoint;
      c.coords = coords;
      c.result_index = static_cast<int>(result);
      c.lanes = lanes_;
      def.body(c);
      e = round_value(c.result, g_.type(node.results[result]).dtype);
      break;
    }
  }
  current_.pop_back();
  return k_.let(std::string(def.name), e);
}

// Only constants of one element lie in groups (kInlineConstant); others are inputs.
Expr GroupBody::emit_constant(const Node& node) {
  const Tensor& t = g_.module().constant(node.constant("value"));
  NNC_CHECK(t.count() == 1, "a constant of several elements in a group");
  if (t.dtype() == DType::kBool) return k_.mask_const(t.i64(0) != 0);
  if (is_float(t.dtype())) return k_.constant(compute_dtype(t.dtype()), t.f64(0));
  const DType held = compute_dtype(t.dtype());
  return k_.constant_bits(KType::of(held), static_cast<uint64_t>(t.i64(0)) & (~uint64_t{0} >> (64 - dtype_bits(held))));
}

Expr GroupBody::emit_elem(const Node& node, const Coords& coords, Expr mask) {
  BodyContext c{.s = *this, .graph = g_, .node = node};
  c.mode = BodyMode::kElem;
  c.lanes = lanes_;
  const Shape& shape = g_.type(node.results[0]).shape;
  for (ValueId operand : node.operands) {
    if (!operand.valid()) {
      c.args.push_back({});
      continue;
    }
    const Shape& from = g_.type(operand).shape;
    c.args.push_back(emit(operand, from == shape ? coords : broadcast_coords(coords, from, shape), mask));
  }
  c.coords = coords;
  k_.note(std::string(node.def().name), node.loc.v);
  node.def().body(c);
  return round_value(c.result, g_.type(node.results[0]).dtype);
}

Expr GroupBody::emit_map(const Node& node, NodeId, const Coords& coords, Expr mask) {
  if (node.kind == OpKind::kReshape)
    return emit(node.operands[0], reshaped(coords, g_.type(node.results[0]).shape, g_.type(node.operands[0]).shape), mask);
  BodyContext c{.s = *this, .graph = g_, .node = node};
  c.mode = BodyMode::kMap;
  c.coords = coords;
  c.lanes = lanes_;
  node.def().body(c);
  const DType dtype = g_.type(node.results[0]).dtype;
  Expr out = c.fill;
  for (size_t i = c.sources.size(); i-- > 0;) {
    const MapSource& s = c.sources[i];
    Expr m = mask;
    if (s.mask.valid()) m = mask.valid() ? k_.logical_and(mask, s.mask) : s.mask;
    const Expr v = emit(node.operands[static_cast<size_t>(s.operand)], s.coords, m);
    if (!s.mask.valid()) {
      out = v;
    } else {
      if (!out.valid()) {
        const KType t = compute_type(dtype, k_.lanes(v));
        out = dtype == DType::kBool ? k_.mask_const(false, k_.lanes(v)) : k_.constant_bits(t, 0);
      }
      out = k_.select(s.mask, v, out);
    }
  }
  NNC_CHECK(out.valid(), "a map without source or fill");
  return out;
}

void GroupBody::record(uint32_t input, const Coord& flat) {
  EdgeAccess a;
  a.input = input;
  a.coeff.assign(axes_.size(), Dim(0));
  for (const CoordTerm& t : flat.terms)
    if (t.axis != kLaneAxis) a.coeff[t.axis] = t.coeff;
  a.offset = flat.offset;
  a.opaque = !flat.opaque.empty();
  accesses_.push_back(std::move(a));
}

Expr GroupBody::load_input(uint32_t input, const Coords& coords, Expr mask) {
  const Type& t = g_.type(g_.inputs()[input]);
  const Coord flat = flatten(coords, t.shape);
  record(input, flat);
  return load_flat(declare_input(input), t.dtype, flat, mask);
}

Expr GroupBody::load_flat(BufId b, DType dtype, const Coord& flat, Expr mask) {
  bool lane = false, contiguous = true;
  for (const CoordTerm& t : flat.terms) {
    if (t.axis != kLaneAxis) continue;
    lane = true;
    contiguous = t.coeff.is_const(1);
  }
  if (lane && (!contiguous || sub_byte(dtype))) return cannot_vectorise(compute_type(dtype, lanes_));
  LoadOptions o;
  if (mask.valid()) o.mask = !lane && k_.lanes(mask) > 1 ? k_.hreduce(ExprOp::kReduceOr, mask) : (lane ? k_.splat(mask, lanes_) : mask);
  const Expr index = scalar(flat);
  if (sub_byte(dtype)) {
    const int bits = dtype_bits(dtype), per = 8 / bits;
    const Expr byte = k_.load(b, k_.floordiv(index, k_.index(per)), 1, o);
    const Expr shift = k_.convert(k_.mul(k_.floormod(index, k_.index(per)), k_.index(bits)), DType::kU8);
    const Expr v = k_.binary(ExprOp::kShr, byte, shift);
    return narrow_value(k_, k_.binary(ExprOp::kAnd, v, k_.constant(DType::kU8, (1 << bits) - 1)), dtype);
  }
  return to_compute(k_.load(b, index, lane ? lanes_ : 1, o), dtype);
}

void GroupBody::store_output(uint32_t o, const Coords& coords, Expr value, Expr mask, bool nt) {
  const Type& t = g_.type(g_.outputs()[o]);
  const Coord flat = flatten(coords, t.shape);
  record(0x80000000u + o, flat);
  store_flat(declare_output(o), t.dtype, flat, value, mask, nt);
}

void GroupBody::store_flat(BufId b, DType dtype, const Coord& flat, Expr value, Expr mask, bool nt) {
  NNC_CHECK(!sub_byte(dtype), "elements that share a byte are stored by the packed skeleton");
  bool lane = false;
  for (const CoordTerm& t : flat.terms) {
    if (t.axis != kLaneAxis) continue;
    lane = true;
    if (!t.coeff.is_const(1)) {
      vector_failed_ = true;
      return;
    }
  }
  StoreOptions s;
  s.nt = nt;
  if (mask.valid()) s.mask = lane ? k_.splat(mask, lanes_) : mask;
  Expr v = to_storage(value, dtype);
  if (lane) v = k_.splat(v, lanes_);
  k_.store(b, scalar(flat), v, s);
}

Expr GroupBody::to_compute(Expr stored, DType dtype) {
  const int n = k_.lanes(stored);
  if (dtype == DType::kBool) return k_.cast(ExprOp::kCastMask, stored, KType::mask(n));
  if (is_narrow(dtype)) return narrow_value(k_, stored, dtype);
  if (compute_dtype(dtype) != dtype) return k_.cast(ExprOp::kCastEven, stored, KType::of(compute_dtype(dtype), n));
  return stored;
}

Expr GroupBody::to_storage(Expr value, DType dtype) {
  const int n = k_.lanes(value);
  if (dtype == DType::kBool) return k_.cast(ExprOp::kCastMask, value, KType::of(DType::kU8, n));
  if (is_narrow(dtype)) return narrow_code(k_, value, dtype);
  if (compute_dtype(dtype) != dtype) return k_.cast(ExprOp::kCastEven, value, KType::of(dtype, n));
  return value;
}

// Only casts and moves make narrow values (check_dtypes in lower.cpp), rounded as their attributes say.
Expr GroupBody::round_value(Expr value, DType dtype) {
  if (compute_dtype(dtype) == dtype || dtype == DType::kBool || is_narrow(dtype)) return value;
  return to_compute(to_storage(value, dtype), dtype);
}

Expr GroupBody::read(int operand, const Coords& coords, Expr mask) {
  const Running now = current_.back();
  if (now.mask.valid()) mask = mask.valid() ? k_.logical_and(mask, now.mask) : now.mask;
  return emit(now.node->operands[static_cast<size_t>(operand)], coords, mask);
}

Expr GroupBody::check(Expr index, const Dim& bound, std::string what) {
  k_.note(std::string(current_.back().node->def().name), program_loc(current_.back().id));
  return k_.check(index, k_.dim(dim(bound)), std::move(what));
}

Expr GroupBody::cannot_vectorise(KType type) {
  vector_failed_ = true;
  return type.kind == KType::kMask ? k_.mask_const(false, type.lanes) : k_.constant_bits(type, 0);
}

}  // namespace nnc
