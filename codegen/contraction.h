#pragma once
// What matrix products and dense convolutions have in common on the CPU: a register tile of rows by whole panels of 16 columns, whose inner
// dimension is walked by the class at hand. Internal to the skeletons.

#include <functional>
#include <string>
#include <vector>

#include "codegen/epilogue.h"
#include "codegen/skeletons.h"

namespace nnc {

inline constexpr int64_t kPanel = 16;
// Products in one run of an accumulator. A long sum is made of parts, so that its error grows with the length of a part and the number of
// parts instead of with their product; changing parts costs as much as a product or two for each accumulator. Few rows wait for memory
// anyway.
int64_t part_length(int64_t rows, const Dim& depth);

struct Tiling {
  int lanes = 16;
  int rows = 8;
  int panels = 3;
};
// Rows m and columns n by typical size; accumulators of type `acc`.
Tiling choose_tiling(const Target& t, const SymbolTable& s, const Dim& m, const Dim& n, DType acc);
DType accumulator_of(const Graph& g, const Node& node);

// One step of the inner dimension: its flat position in the right operand's panels, and the loop variables it consists of. Rows of the tile
// outside [row, row_end) take no part in it.
struct DepthStep {
  static constexpr int kAllRows = 1 << 20;
  Expr flat;
  std::vector<Expr> vars;
  int row = 0, row_end = kAllRows;
};

class TileProduct {
 public:
  TileProduct(const Graph& g, const Target& t, ValueId result, DType acc, Tiling x);
  virtual ~TileProduct() = default;

  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;

 protected:
  // The inner dimension, innermost loop last: that one is depth_loop.
  virtual void walk_depth(const std::function<void(const DepthStep&)>& step) = 0;
  // for p in [begin, end), at most `extent` rounds, in parts.
  void depth_loop(Expr begin, Expr end, const Dim& extent, const std::function<void(Expr)>& round, bool unroll = false);
  // The left operand's element of the row at hand (axis row_axis()), compute type, x1.
  virtual Expr left(const DepthStep& d) = 0;
  // `lanes` columns of the right operand at `offset` within the panel that begins at `at`, of the accumulator's type.
  virtual Expr right(const DepthStep& d, Expr at, int64_t offset, Expr mask);
  // It is not read as panels: `right` goes by the axes and the mask.
  virtual bool right_in_place() const { return false; }
  // Coordinates of the result from the axes.
  virtual Coords result_coords() = 0;
  // Added to the accumulator before the epilogue, or invalid.
  virtual Expr bias(Expr) { return {}; }
  // One column of the result is asked for though panels have 16 (vectors as right operands).
  virtual bool single_column() const { return false; }

  uint32_t row_axis() const { return static_cast<uint32_t>(axes_.size() - 2); }
  uint32_t column_axis() const { return static_cast<uint32_t>(axes_.size() - 1); }
  // Rows [begin, end) by the panels of one task.
  void panels(Expr begin, Expr end, Expr first_panel);
  virtual void rows(Expr begin, Expr end, Expr panel, int panels, bool masked);
  void tile(Expr m0, int rows, Expr panel, int panels, bool masked);
  void set_row(Expr m, Expr n);
  // Where a panel begins.
  Expr panel_at(Expr panel);
  // Lanes from column n on that the result has.
  Expr columns_mask(Expr n);
  BufId find_input(ValueId v);

  const Graph& g_;
  const ValueId result_;
  const DType acc_;
  const Tiling x_;
  Epilogue epilogue_;
  Dim m_, n_, depth_, panels_;  // kernel dims: rows, columns, inner extent, ceil(n / 16)
  BufId right_;
  DType right_type_ = DType::kF32;
  std::function<void()> end_part_;  // adds the accumulators to the sums and clears them; none: there is one part
  Expr right_base_;                 // where this task's panels begin
  std::vector<IterAxis> axes_;      // batch axes, then rows, then columns
};

}  // namespace nnc
