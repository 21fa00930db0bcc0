#pragma once
// What an op gives to kernel skeletons: its `body`, one function per row, called with a BodyContext whose form depends on the row's
// lowering class. Bodies see scalar primitives over any lanes, never tensors and never a target. The same call makes scalars, CPU vectors
// and CUDA lanes, since coordinates carry their lanes.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/kernel_builder.h"
#include "ir/graph.h"

namespace nnc {

// Index of an iteration axis of the skeleton; kLaneAxis is the position inside a vector (0 .. lanes-1), which goes along one iteration
// axis.
inline constexpr uint32_t kLaneAxis = 0xffffffffu;

// A coordinate: offset + sum of coeff * iteration axis + sum of factor * opaque. All dims are kernel dims. Opaque terms are scalar index
// expressions (loop variables, loaded indices, divisions); they are the same for all lanes.
struct CoordTerm {
  uint32_t axis;
  Dim coeff;
  bool operator==(const CoordTerm&) const = default;
};
struct OpaqueTerm {
  Expr expr;
  Dim factor;
  int64_t lo = INT64_MIN, hi = INT64_MAX;  // bounds, where known
  Dim hi_dim;                              // symbolic upper bound (inclusive), valid if has_hi_dim
  bool has_hi_dim = false;
};
struct Coord {
  std::vector<CoordTerm> terms;  // sorted by axis, no zero coefficient
  std::vector<OpaqueTerm> opaque;
  Dim offset;
};
class BodyServices;

// Coordinates of one element (or one vector of them) in a tensor of a given shape: one Coord per axis, or the flat row-major position from
// which the axes follow when somebody asks for them. Reshapes hand the flat position on, so that a chain of views ends in a load without
// having split anything.
class Coords {
 public:
  Coords() = default;
  explicit Coords(size_t rank) : axes_(rank) {}
  explicit Coords(std::vector<Coord> axes) : axes_(std::move(axes)) {}
  static Coords of_flat(BodyServices& s, Coord flat, const Shape& shape);
  size_t size() const { return axes_.size(); }
  const Coord& operator[](size_t i) const {
    make(i);
    return axes_[i];
  }
  // Reading an axis leaves the flat position, assigning one gives it up.
  class Axis {
   public:
    Axis(Coords& of, size_t i) : of_(of), i_(i) {}
    operator const Coord&() const { return std::as_const(of_)[i_]; }
    const Coord* operator->() const { return &std::as_const(of_)[i_]; }
    Axis& operator=(Coord c) {
      of_.change();
      of_.axes_[i_] = std::move(c);
      return *this;
    }
    Axis& operator=(const Axis& other) {
      const Coord& c = other;
      return *this = Coord(c);
    }

   private:
    Coords& of_;
    size_t i_;
  };
  Axis operator[](size_t i) { return {*this, i}; }
  void push_back(Coord c) {
    change();
    axes_.push_back(std::move(c));
  }
  void resize(size_t n) {
    change();
    axes_.resize(n);
  }
  std::vector<Coord>::const_iterator begin() const {
    make_all();
    return axes_.begin();
  }
  std::vector<Coord>::const_iterator end() const {
    make_all();
    return axes_.end();
  }
  // The flat position, if these coordinates were made of one.
  const Coord* flat() const { return services_ ? &flat_ : nullptr; }

 private:
  void make(size_t i) const;
  void make_all() const {
    for (size_t i = 0; i < axes_.size(); ++i) make(i);
  }
  void change() {
    make_all();
    services_ = nullptr;
  }  // the flat position holds no longer
  mutable std::vector<Coord> axes_;
  mutable std::vector<bool> made_;  // with services_: which axes were computed
  BodyServices* services_ = nullptr;
  Coord flat_;
  Shape shape_;
};

// What a body may do with coordinates and operands. Implemented by GroupBody (codegen).
class BodyServices {
 public:
  virtual ~BodyServices() = default;
  virtual KernelBuilder& k() = 0;
  virtual int lanes() const = 0;
  virtual Dim dim(const Dim& graph_dim) = 0;  // into kernel dims
  // arithmetic on coordinates
  virtual Coord constant(const Dim& d) = 0;
  virtual Coord add(const Coord& a, const Coord& b) = 0;
  virtual Coord scale(const Coord& a, const Dim& factor) = 0;
  virtual Coord opaque(Expr scalar_index, int64_t lo, Dim hi_inclusive) = 0;
  // floor(a / f) and a mod f, without a division where the terms allow it.
  virtual std::pair<Coord, Coord> split(const Coord& a, const Dim& f) = 0;
  // Row-major position of coordinates in a tensor of `shape` (graph dims), and back for one axis: what nobody asks for costs no division.
  virtual Coord flatten(const Coords& coords, const Shape& shape) = 0;
  virtual Coord axis_of(const Coord& flat, const Shape& shape, size_t axis) = 0;
  virtual Expr scalar(const Coord& c) = 0;  // its lane-0 value, index x1
  virtual Expr vector(const Coord& c) = 0;  // index x lanes (x1 if it does not vary over lanes)
  // Value of operand `i` of the node at `coords` (in the operand's own axes), lanes wide or x1 when uniform; compute type. Under `mask`
  // (invalid: always) only.
  virtual Expr read(int operand, const Coords& coords, Expr mask = {}) = 0;
  // `check` of a data-dependent index against `bound`: clamped, records the failure with this node's location.
  virtual Expr check(Expr index, const Dim& bound, std::string what) = 0;
  // Gives a vectorised attempt up: the skeleton builds again with one lane. Returns a placeholder.
  virtual Expr cannot_vectorise(KType type) = 0;
};

inline Coords Coords::of_flat(BodyServices& s, Coord flat, const Shape& shape) {
  Coords c(shape.size());
  c.made_.resize(shape.size());
  c.services_ = &s;
  c.flat_ = std::move(flat);
  c.shape_ = shape;
  return c;
}
inline void Coords::make(size_t i) const {
  if (!services_ || made_[i]) return;
  axes_[i] = services_->axis_of(flat_, shape_, i);
  made_[i] = true;
}

enum class BodyMode : uint8_t { kElem, kMap, kPoint, kSource, kFoldInit, kFoldStep, kFoldCombine, kFoldFinish };

// One place where a map's result comes from: operand `operand` at `coords`, where `mask` holds (invalid: everywhere). The first source
// whose mask holds wins.
struct MapSource {
  int operand = 0;
  Coords coords;
  Expr mask;
};

struct BodyContext {
  BodyServices& s;
  const Graph& graph;
  const Node& node;
  BodyMode mode = BodyMode::kElem;
  KernelBuilder& k() { return s.k(); }
  const Shape& shape(int operand) const { return graph.type(node.operands[static_cast<size_t>(operand)]).shape; }
  DType dtype(int operand) const { return graph.type(node.operands[static_cast<size_t>(operand)]).dtype; }
  bool has(int operand) const {
    return operand < static_cast<int>(node.operands.size()) && node.operands[static_cast<size_t>(operand)].valid();
  }
  const Type& result_type(int i = 0) const { return graph.type(node.results[static_cast<size_t>(i)]); }

  // kElem: operand values, same lanes, compute types: f16, bf16 and fp8 come as f32; bool as mask; other types as themselves.
  std::vector<Expr> args{};
  // kElem, kPoint, kSource, kFoldFinish: the result in the compute type of the result's dtype. Rounding to f16/bf16 is done by the caller,
  // once.
  Expr result{};
  int result_index = 0;  // which result is wanted (kPoint)

  // kMap, kPoint, kSource: coordinates of the result.
  Coords coords{};
  std::vector<MapSource> sources{};  // kMap: to be filled
  Expr fill{};                       // kMap: value where no source's mask holds; invalid: zero

  // fold: the state. kFoldInit fills `state` (lanes as `lanes`); kFoldStep: state, args[0], index (position along the reduced axis, index x
  // lanes or x1) -> state; kFoldCombine: state, other -> state; kFoldFinish: state, count (index x1: elements reduced) -> result.
  std::vector<Expr> state{}, other{};
  Expr index{}, count{};
  int lanes = 1;
};

// The type that values of a dtype have in expressions.
inline DType compute_dtype(DType t) {
  switch (t) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0:
    case DType::kF4E2M1: return DType::kF32;
    case DType::kI2:
    case DType::kI4: return DType::kI8;
    case DType::kU2:
    case DType::kU4: return DType::kU8;
    default: return t;
  }
}
inline KType compute_type(DType t, int lanes) { return t == DType::kBool ? KType::mask(lanes) : KType::of(compute_dtype(t), lanes); }

}  // namespace nnc
