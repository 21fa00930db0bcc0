#pragma once
// GroupBody walks a group from a value outwards and emits the expression of that value at given coordinates: maps change the coordinates,
// elementwise bodies make expressions, loads happen at the group's edge. Skeletons bind hero results, fold results and accumulators as
// names (`bind`), then ask for the outputs. Coordinates are affine over the skeleton's iteration axes (ir/body.h), so a reshape costs no
// division where the axes are fine enough; `probe` finds the axes that make it so.

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "codegen/target.h"
#include "ir/base/kernel_builder.h"
#include "ir/body.h"
#include "ir/graph.h"

namespace nnc {

struct IterAxis {
  Dim extent;  // kernel dim
  Expr base;   // current value of the axis, index x1; the lane axis adds 0 .. lanes-1
  bool lane = false;
  int64_t align = 1;  // base is a multiple of this
};

// One access at the group's edge, as affine coefficients over the iteration axes: what merging and vectorising are decided from.
struct EdgeAccess {
  uint32_t input = 0;      // group input; outputs: 0x80000000 + output number
  std::vector<Dim> coeff;  // per iteration axis
  Dim offset;
  bool opaque = false;  // has terms that are not affine
};

class GroupBody : public BodyServices {
 public:
  GroupBody(KernelBuilder& k, const Graph& group, const Target& target);

  // ---- set up by the skeleton
  // Declares the kernel parameter of a group input or output (in order of first use by the caller); storage dtype, extent = number of
  // elements.
  BufId declare_input(uint32_t input);
  BufId declare_output(uint32_t output);
  void set_axes(std::vector<IterAxis> axes, int lanes);
  std::vector<IterAxis>& axes() { return axes_; }
  void set_lanes(int lanes) { lanes_ = lanes; }
  // A value that the skeleton supplies: called with the value's coordinates, returns its expression (compute type).
  using Supplier = std::function<Expr(const Coords&, Expr mask)>;
  void bind(ValueId v, Supplier f) { bound_[v] = std::move(f); }
  void unbind(ValueId v) { bound_.erase(v); }
  // Names made inside a loop die with it: what `emit` remembers is dropped at `leave`.
  void enter();
  void leave();

  // ---- emission
  // The iteration axes as coordinates: one Coord per axis.
  Coord axis(uint32_t a);
  // Coordinates of the same element after a reshape.
  Coords reshaped(const Coords& coords, const Shape& from, const Shape& to) {
    return from == to ? coords : Coords::of_flat(*this, flatten(coords, from), to);
  }
  // Coordinates in an operand of extents `from` that broadcasts to `to`.
  Coords broadcast_coords(const Coords& coords, const Shape& from, const Shape& to);
  Expr emit(ValueId v, const Coords& coords, Expr mask = {});
  // Stores group output `o` at `coords` (its own axes) under `mask`; converts to storage.
  void store_output(uint32_t o, const Coords& coords, Expr value, Expr mask = {}, bool nt = false);
  // Raw access with the same index arithmetic: for heroes that read operands themselves.
  Expr load_input(uint32_t input, const Coords& coords, Expr mask = {});
  Expr load_flat(BufId b, DType dtype, const Coord& flat, Expr mask = {});
  void store_flat(BufId b, DType dtype, const Coord& flat, Expr value, Expr mask = {}, bool nt = false);
  Expr to_compute(Expr stored, DType dtype);  // storage -> compute type
  Expr to_storage(Expr value, DType dtype);
  Expr round_value(Expr value, DType dtype);  // f16/bf16: one rounding, back in f32

  bool vector_failed() const { return vector_failed_; }
  const std::vector<EdgeAccess>& accesses() const { return accesses_; }
  // Axis splits asked for by reshapes: (axis, inner extent). Filled while `probing`.
  const std::vector<std::pair<uint32_t, Dim>>& split_requests() const { return splits_; }
  const Graph& graph() const { return g_; }
  const Target& target() const { return target_; }
  uint32_t program_loc(NodeId n) const;

  // ---- BodyServices
  KernelBuilder& k() override { return k_; }
  int lanes() const override { return lanes_; }
  Dim dim(const Dim& graph_dim) override;
  Coord constant(const Dim& d) override;
  Coord add(const Coord& a, const Coord& b) override;
  Coord scale(const Coord& a, const Dim& factor) override;
  Coord opaque(Expr scalar_index, int64_t lo, Dim hi_inclusive) override;
  std::pair<Coord, Coord> split(const Coord& a, const Dim& f) override;
  Coord flatten(const Coords& coords, const Shape& shape) override;
  Coord axis_of(const Coord& flat, const Shape& shape, size_t axis) override;
  Expr scalar(const Coord& c) override;
  Expr vector(const Coord& c) override;
  Expr read(int operand, const Coords& coords, Expr mask = {}) override;
  Expr check(Expr index, const Dim& bound, std::string what) override;
  Expr cannot_vectorise(KType type) override;

 private:
  // What was emitted is remembered for the axes' values of the moment.
  struct Memo {
    uint64_t axes;
    ValueId value;
    Coords coords;
    ExprId mask;
    uint32_t block;  // where the result was made: a loop of an op's body may read what others read too
    Expr result;
  };
  Expr emit_node(NodeId n, uint32_t result, const Coords& coords, Expr mask);
  Expr emit_constant(const Node& node);
  Expr emit_elem(const Node& node, const Coords& coords, Expr mask);
  Expr emit_map(const Node& node, NodeId n, const Coords& coords, Expr mask);
  Dim storage(const Dim& graph_dim);
  Dim range_hi(const Coord& c, bool* known);
  void record(uint32_t input, const Coord& flat);
  bool never_negative(const Coord& c);
  bool fits_below(const Coord& c, const Dim& f);
  std::optional<std::pair<Coord, Coord>> split_nested(const Coord& a, const Dim& f);

  KernelBuilder& k_;
  const Graph& g_;
  const Target& target_;
  std::vector<IterAxis> axes_;
  int lanes_ = 1;
  uint64_t axes_key_ = 0;  // names the combination of axis values and lanes
  std::map<std::vector<uint32_t>, uint64_t> axes_keys_;
  std::map<uint32_t, BufId> inputs_, outputs_;
  std::map<ValueId, uint32_t> input_number_;
  std::map<ValueId, Supplier> bound_;
  std::vector<std::vector<Memo>> memo_;
  struct Running {
    const Node* node;
    NodeId id;
    Expr mask;  // of the element wanted; what the body reads is under it too
  };
  std::vector<Running> current_;  // nodes whose bodies run, the innermost last
  std::vector<EdgeAccess> accesses_;
  std::vector<std::pair<uint32_t, Dim>> splits_;
  bool vector_failed_ = false;
};

}  // namespace nnc
