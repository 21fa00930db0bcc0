#pragma once
// Products on CUDA: blocks of a tile of the result each, operands through two stages of shared memory. Internal to the skeletons.

#include "codegen/epilogue.h"
#include "codegen/product_facts.h"

namespace nnc {

// What a product's inner loops are made of, and the tile that one block computes.
struct CudaTiling {
  bool tiles = false;  // matrix instructions, else fma on registers
  int bm = 64, bn = 64, bk = 16;
  int tm = 8, tn = 8;  // registers of a thread (fma), rows and columns of a warp (matrix instructions)
  int threads = 64;
};

class CudaProduct {
 public:
  CudaProduct(const Graph& g, const Target& t, ValueId result, DType acc, const CudaTiling& x);
  virtual ~CudaProduct() = default;

  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;

  void build(const Shape& batch);
  bool vector_failed() const { return body.vector_failed(); }
  void one_lane() { epilogue_lanes_ = 1; }

 protected:
  // An operand as the loops see it: elements (outer, depth), outer being a row of the left or a column of the right operand.
  struct Side {
    DType type = DType::kF32;  // in shared memory
    bool depth_runs = true;    // neighbours in memory lie along the depth
    bool direct = false;       // a parameter as it is: `buffer`, with `flat` giving positions
    bool vectors = false;      // 16 bytes at a time are aligned and inside
    BufId buffer;
    int outer = 0, pitch = 0;  // extent of the tile along the outer axis; elements between its lines in shared memory
    int64_t stage = 0;         // elements of a stage
    BufId shared;
    int64_t offset = 0;  // of the first stage in `shared`
  };
  virtual Expr flat(const Side& s, bool left, Expr outer, Expr depth) = 0;  // position in the buffer
  virtual Expr value(bool left, Expr outer, Expr depth, Expr mask) = 0;     // compute type, x1
  virtual Coords result_coords() = 0;
  virtual Expr bias(Expr) { return {}; }
  // Extra condition of an element beyond the extents, or invalid.
  virtual Expr inside(bool, Expr, Expr) { return {}; }

  uint32_t row_axis() const { return static_cast<uint32_t>(axes_.size() - 2); }
  uint32_t column_axis() const { return static_cast<uint32_t>(axes_.size() - 1); }
  void set_axes(Expr m, Expr n, int lanes);

  const Graph& g_;
  const Target& t_;
  const ValueId result_;
  const DType acc_;
  const CudaTiling x_;
  Epilogue epilogue_;
  Dim m_, n_, depth_;
  Side a_, b_;
  std::vector<IterAxis> axes_;
  int epilogue_lanes_ = 0;  // 0: as many as 16 bytes hold

 private:
  void layout();
  void load_tile(const Side& s, bool left, Expr stage, Expr tile);
  void copy_or_store(const Side& s, bool left, Expr at, Expr outer, Expr depth, int lanes);
  void registers();
  void matrix_tiles();
  void depth_loop(const std::function<void(Expr stage, Expr tiles_done)>& compute);
  void outputs();
  void output_at(Expr at, Expr n, int lanes);
  Expr m0_, n0_;
  BufId result_tile_;
  int result_pitch_ = 0;
};

CudaTiling choose_cuda_tiling(const Target& t, const SymbolTable& s, const Dim& m, const Dim& n, DType acc, DType a, DType b);
Result<LoweredGroup> lower_product_cuda(const Graph& g, NodeId id, const Target& target, const LowerOptions& options);

}  // namespace nnc
