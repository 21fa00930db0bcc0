#pragma once
// The op table: one row per op with everything nnc knows about it. Rows live in ir/ops/<family>.cpp; `op_def` finds them. Ops have no
// versions: the IR op has the newest and most general meaning, importers express older ones in terms of it. Parameters that decide shapes
// (target shapes, starts, axes, counts) are attributes made of Dims, never operands: what a model computes at run time enters through
// `bind_dims`, which mints data symbols.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attr.h"
#include "ir/support/result.h"
#include "ir/types.h"

namespace nnc {

class Graph;
class Builder;
class KernelBuilder;
struct Node;
struct NodeTag;
using NodeId = Id<NodeTag>;
struct ValueTag;
using ValueId = Id<ValueTag>;
struct EvalContext;  // ir/eval.h
struct BodyContext;  // ir/body.h

enum class OpKind : uint16_t {
#define NNC_OP(enumerator, spelling, family) k##enumerator,
#include "ir/ops.def"
#undef NNC_OP
  kCount
};

// What infer and value see: operands with types and shape values, attributes, and the symbol table to do dim arithmetic in.
class InferContext {
 public:
  InferContext(Graph& graph, const Node& node, std::vector<Type>* results, std::vector<ShapeValue>* values)
      : graph_(graph), node_(node), results_(results), values_(values) {}
  Graph& graph() { return graph_; }
  SymbolTable& symbols();
  const Node& node() const { return node_; }
  int operand_count() const;
  bool has(int i) const;  // operand i is present (optional operands may be absent)
  const Type& type(int i) const;
  DType dtype(int i) const { return type(i).dtype; }
  const Shape& shape(int i) const { return type(i).shape; }
  int rank(int i) const { return type(i).rank(); }
  const ShapeValue& value(int i) const;  // unknown if none
  // Result i; results are added in order.
  void result(Type t) { results_->push_back(std::move(t)); }
  void result(DType dtype, Shape shape) { results_->push_back(Type::tensor(dtype, std::move(shape))); }
  void set_value(int i, ShapeValue v);
  // Errors: place and operand types are filled in by the caller.
  Error error(std::string message) const { return Error(Code::kInvalidModel, std::move(message)); }
  // Broadcast of two shapes (numpy rule); derived `broadcast` symbols for unknown extents.
  Result<Shape> broadcast(const Shape& a, const Shape& b);
  // Axis in [-rank, rank) made non-negative.
  Result<int64_t> axis(int64_t a, int rank) const;

 private:
  Graph& graph_;
  const Node& node_;
  std::vector<Type>* results_;
  std::vector<ShapeValue>* values_;
};

// How an op becomes kernel code; bodies are in ir/body.h, skeletons in codegen/skeletons.h.
enum class Lowering : uint8_t {
  kElem,     // body: operand expressions -> expression
  kMap,      // at: out coordinates -> input coordinates (views, pad, concat, gather)
  kFold,     // init, step, combine, finish
  kPoint,    // at: out coordinates -> expression, with loops and loads at computed coordinates
  kHero,     // facts for a skeleton
  kExpand,   // into other ops before fusion
  kHost,     // a function of ir/base/host
  kSource,   // constant, range, dims_value: no operands; constants are buffers, the others bodies of coordinates
  kControl,  // if, loop, group, bind_dims, assert_*: handled by the planner
};

enum Trait : uint32_t {
  kPure = 1,
  kInPlaceOk = 2,  // elementwise in operand 0
  kCommutative = 4,
  kBroadcasts = 8,  // operands broadcast numpy-style
  kFoldable = 16,   // constant folding may evaluate it
  kEffect = 32,     // has an order (asserts, bind_dims): not removed, not moved across each other
  kVariadic = 64,
};

struct Tolerance {
  double rel = 0, abs = 0;  // f32; 0, 0: bit-exact
};
// Where generated inputs lie so that the op is tested on what it is for.
struct Domain {
  double lo = -4, hi = 4;
};

// One gradient request: given the gradients of the results (invalid ids where none), append ops that compute gradients of the operands.
struct GradContext {
  Builder& b;
  const Graph& graph;
  NodeId node;
  std::span<const ValueId> result_grads;
  std::vector<ValueId>* operand_grads;  // one per operand, preset to invalid
};

struct OpDef {
  OpKind kind = OpKind::kCount;
  std::string_view name = {};
  std::string_view doc;                    // meaning, shapes, dtypes, rounding and NaN rules
  int min_operands = 0, max_operands = 0;  // max -1: any number
  int results = 1;                         // -1: as many as the regions or attributes say
  int regions = 0;
  std::vector<AttrDef> attrs = {};
  uint32_t traits = kPure | kFoldable;
  Lowering lowering = Lowering::kElem;
  Status (*infer)(InferContext&) = nullptr;
  void (*value)(InferContext&) = nullptr;  // shape values of results; optional
  Status (*eval)(EvalContext&) = nullptr;  // reference on carriers
  void (*body)(BodyContext&) = nullptr;    // kElem, kMap, kFold, kPoint: see ir/body.h; chosen by `lowering`
  Status (*expand)(Builder&, const Graph&, NodeId,
                   std::vector<ValueId>* results) = nullptr;  // kExpand, or a composite that no hero claimed
  Status (*gradient)(GradContext&) = nullptr;
  std::string_view no_gradient = {};  // the reason, if gradient is null
  Domain domain = {};
  Tolerance tolerance = {};
};

const OpDef& op_def(OpKind kind);
const OpDef* find_op(std::string_view spelling);
std::string_view op_name(OpKind kind);
std::span<const OpDef* const> all_ops();  // in the order of ops.def; ops without a row are left out
// What the table lacks, one line each: every op has one row with doc, infer, eval or an exemption, gradient or the reason for none.
std::vector<std::string> op_table_problems();

}  // namespace nnc
