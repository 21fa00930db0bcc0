#pragma once
// A graph in the making: arguments and constants with their tensors, the values that are there, and what the op makers
// (generator_ops.h) ask of them. A value is *exact* where every backend computes it to the last bit; discontinuous ops read only such.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "tests/fuzz/generator.h"
#include "tests/fuzz/random.h"

namespace nnc::test {

using Ints = std::vector<int64_t>;
inline constexpr int64_t kMostElements = 4096;

struct Known {
  ValueId v;
  bool exact;
};

class Sketch {
 public:
  explicit Sketch(uint64_t seed);

  Random r;
  DType float_type = DType::kF32;
  bool symbolic = false;  // arguments may get symbolic extents
  bool specials = false;  // NaN, infinities, zeros of both signs, the ends of integers
  size_t nodes = 0;

  Graph& graph() { return *out_.module->entries[0]->graph; }
  Module& module() { return *out_.module; }
  SymbolTable& symbols() { return out_.module->symbols; }
  Builder& b() { return b_; }
  const Shape& shape(ValueId v) const { return b_.shape(v); }
  DType dtype(ValueId v) const { return b_.dtype(v); }

  // ---- extents
  DType any_dtype();
  int64_t extent();
  Ints random_dims(int rank);
  Ints random_shape();
  Shape as_shape(const Ints& dims, bool may_be_symbolic);  // some extents as symbols
  Ints dims_of(ValueId v);                                 // at the arguments' extents
  int64_t count(ValueId v) { return element_count(dims_of(v)); }
  int64_t axis(ValueId v);
  Ints some_axes(ValueId v);
  SymbolId data_symbol(int64_t value, int64_t lo, int64_t hi);  // one that will have this value

  // ---- arguments, sometimes constants. Those of no given range may hold the ends of their integers and special floats.
  Tensor random_tensor(DType t, const Ints& dims, double lo, double hi, bool ends = false);
  ValueId make_input(DType t, const Ints& dims, bool argument = false);
  ValueId make_input(DType t, const Ints& dims, double lo, double hi, bool argument = false);
  ValueId make_input(DType t, const Shape& shape, double lo, double hi, bool argument);
  ValueId like(DType t, const Shape& shape);  // of no given range
  ValueId argument(Tensor x);                 // of just this value, in every binding
  const Tensor* tensor_of(ValueId v);         // of an argument or constant, else nullptr

  // ---- values that are there, else fresh ones
  std::vector<Known>& pool() { return pool_; }
  ValueId last() const { return pool_.back().v; }
  void add(ValueId v, bool exact) { pool_.push_back({v, exact}); }
  bool exact(ValueId v) const;
  template <class F> std::optional<ValueId> choose(F&& fits) {
    std::vector<ValueId> list;
    for (size_t k = 0; k < pool_.size(); ++k)
      if (fits(pool_[k])) list.insert(list.end(), k + 3 >= pool_.size() ? 4 : 1, pool_[k].v);
    if (list.empty()) return std::nullopt;
    return list[static_cast<size_t>(r.below(static_cast<int64_t>(list.size())))];
  }
  ValueId any();
  ValueId floating(int rank = 0);  // rank: at least
  ValueId of_dtype(DType t);
  ValueId ranked(int rank);
  ValueId exact_value(bool floats_only = false, int rank = 0);
  ValueId partner(ValueId v);                // same dtype, extents that broadcast
  std::optional<ValueId> turned(ValueId v);  // v with axes of one extent swapped, or an axis backwards

  // Adds the node if its row takes the operands. `exactness`: 0 never exact, 1 as exact as the operands.
  bool apply(OpKind kind, std::vector<ValueId> operands, AttrList attrs = {}, int exactness = 1, std::vector<RegionId> regions = {});

  // While it lives, arguments are finite and of fixed extents: for rows whose spellings differ in what meets a NaN or an infinity (zeros
  // between strided gradients, statistics that cancel), and whose operands' extents follow from each other.
  class Plain {
   public:
    explicit Plain(Sketch& s) : s_(s), specials_(s.specials), symbolic_(s.symbolic) { s.specials = s.symbolic = false; }
    ~Plain() {
      s_.specials = specials_;
      s_.symbolic = symbolic_;
    }
    Plain(const Plain&) = delete;

   private:
    Sketch& s_;
    bool specials_, symbolic_;
  };

  RandomGraph finish();
  static bool is_signed(DType t);

 private:
  struct Argument {
    Shape shape;
    double lo = 0, hi = 0;
    bool ends = false, specials = false, fixed = false;
  };
  ValueId make(DType t, const Shape& shape, double lo, double hi, bool argument, bool ends);
  void refresh();
  int64_t value_of(const Dim& d) const;
  int64_t count_of_pair(ValueId a, ValueId b);
  void draw_other_binding();

  RandomGraph out_;
  Builder b_;
  std::vector<Known> pool_;
  std::vector<Argument> arguments_;
  std::vector<int64_t> values_;  // of symbols
  std::vector<uint8_t> known_;
};

}  // namespace nnc::test
