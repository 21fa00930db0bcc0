#pragma once
// What the attention skeletons agree on, whatever their target: which operand is what, its coordinates from the axes of the loops, and what
// happens to a score between the product and the exponential. Internal to the skeletons.

#include <vector>

#include "codegen/epilogue.h"
#include "codegen/skeletons.h"

namespace nnc {

struct AttentionFacts {
  const Node* node = nullptr;
  ValueId q, k, v, mask, lengths, result;  // mask and lengths may be absent
  Dim batch, groups, queries, keys;        // B, G, S, T of the row
  int64_t repeat = 1;                      // heads of q that share a head of k and v
  int64_t width = 0, value_width = 0;      // D, E
  DType acc = DType::kF32;
  double scale = 1, softcap = 0;
  bool causal = false;
  Dim causal_offset = 0;
};

// Code::kUnsupportedOp where extents that the loops are built for are not known (see attention_fits in passes/passes.h).
Result<AttentionFacts> attention_facts(const Graph& g, const Target& target);

// The body's axes of an attention kernel. A row of queries is (repeat, query): the heads that share keys lie below each other.
class AttentionAxes {
 public:
  enum Axis : uint32_t { kBatch, kGroup, kRepeat, kQuery, kKey, kWidth, kValueWidth, kCount };
  AttentionAxes(GroupBody& body, const AttentionFacts& f);

  void set(Axis a, Expr base, int64_t align = 1);
  // From the number of the row within its group.
  void set_row(Expr row);
  // Tells the body: `lanes` along one axis.
  void apply(Axis lane_axis, int lanes);

  Coords of_q();
  Coords of_k() { return Coords(std::vector<Coord>{at(kBatch), at(kGroup), at(kKey), at(kWidth)}); }
  Coords of_v() { return Coords(std::vector<Coord>{at(kBatch), at(kGroup), at(kKey), at(kValueWidth)}); }
  Coords of_result();
  // Of the mask, from those of the score at hand.
  Coords of_mask();
  Coords of_lengths() { return Coords(std::vector<Coord>{at(kBatch)}); }
  // No score of the same batch and key has another mask, whatever its row.
  bool mask_ignores_rows() const;

  Expr base(Axis a) const { return axes_[a].base; }
  Dim rows() const { return rows_; }

 private:
  Coord at(Axis a) { return axes_[a].extent.is_const(1) ? Coord{} : body_.axis(a); }
  Coord head();
  GroupBody& body_;
  const AttentionFacts& f_;
  Dim rows_;  // repeat * S
  std::vector<IterAxis> axes_;
};

// What a score becomes on its way from the product to the exponential, as the row of attention says.
class Scores {
 public:
  Scores(GroupBody& body, const AttentionFacts& f, AttentionAxes& axes) : k_(body.k()), body_(body), f_(f), axes_(axes) {}
  // What holds for all of a task's scores; once the batch is known.
  void begin();
  // The mask's elements for the row and keys at hand, or invalid: a number to be added or a mask of those that stay.
  Expr mask(Expr inside);
  // Keys (index, as wide as the dots) that take part in every row, or invalid: all. `padded`: some may lie beyond the last.
  Expr present(Expr keys, bool padded);
  Expr finish(Expr dots, Expr keys, Expr present, Expr mask);

 private:
  Expr num(double v, Expr like) { return k_.constant(f_.acc, v, k_.lanes(like)); }
  KernelBuilder& k_;
  GroupBody& body_;
  const AttentionFacts& f_;
  AttentionAxes& axes_;
  Expr length_;
};

Result<LoweredGroup> lower_attention_cuda(const Graph& g, const Target& target, const AttentionFacts& f, const LowerOptions& options);

}  // namespace nnc
