#include "tests/unit/ir/test_graphs.h"

#include <numeric>

#include "ir/support/text.h"

namespace nnc::test {

namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed), m_(std::make_unique<Module>()) {}

  std::unique_ptr<Module> run() {
    m_->metadata["seed"] = cat(rng_.next());
    batch_ = Dim(
        m_->symbols.input("batch \"b\"", 1, 64, 1, rng_.below(2) == 0 ? 0 : 8, rng_.below(4) == 0 ? Binding::kBounded : Binding::kExact));
    length_ = Dim(m_->symbols.input("", 8, kDimMax, 8));
    Tensor initial(DType::kF32, {4});
    initial.as_mut<float>()[2] = -0.0f;
    const bool has_state = rng_.below(2) == 0;
    if (has_state) m_->states.push({"moment 1", Type::tensor(DType::kF32, {4}), m_->add_constant(initial)});
    const int entries = 1 + static_cast<int>(rng_.below(2));
    for (int k = 0; k < entries; ++k) entry(cat("entry", k), has_state);
    return std::move(m_);
  }

 private:
  LocId loc() {
    switch (rng_.below(4)) {
      case 0: return {};
      case 1:
        return m_->add_loc(
            {.node = cat("/layer.", rng_.below(5), "/Add"), .op = "Add", .scope = "enc\toder", .file = {}, .line = 0, .fused = {}});
      case 2:
        return m_->add_loc({.node = {}, .op = {}, .scope = {}, .file = "m.cpp", .line = static_cast<int>(rng_.below(90)), .fused = {}});
      default: {
        const LocId parts[] = {loc(), loc()};
        return m_->fuse_locs(parts);
      }
    }
  }

  void entry(const std::string& name, bool has_state) {
    Entry& e = m_->add_entry(name, rng_.below(2) == 0 ? "short" : "");
    Graph& g = *e.graph;
    std::vector<ValueId> values = {g.add_input(Type::tensor(DType::kF32, {batch_, length_}), "x"),
                                   g.add_input(Type::tensor(DType::kF32, {batch_, 1}), "y"),
                                   g.add_input(Type::tensor(DType::kF32, {4}), "w")};
    e.args = {{"x", {}}, {"y", {}}, {"w", has_state ? StateId(0) : StateId()}};
    ValueId state = values[2];
    for (int k = 0; k < 12; ++k) step(g, values, 1);
    if (has_state) state = *Builder(g, loc()).unary(OpKind::kNeg, state);
    g.set_outputs({values.back(), state});
    e.results = {{"out", {}}, {"new w", has_state ? StateId(0) : StateId()}};
  }

  void step(Graph& g, std::vector<ValueId>& values, int depth) {
    Builder b(g, loc());
    const ValueId x = values[static_cast<size_t>(rng_.below(static_cast<int64_t>(values.size())))];
    const ValueId y = values[static_cast<size_t>(rng_.below(static_cast<int64_t>(values.size())))];
    Result<ValueId> made = Error(Code::kInternal, "");
    switch (rng_.below(9)) {
      case 0: made = b.unary(OpKind::kRelu, x); break;
      case 1: made = b.binary(OpKind::kAdd, x, y); break;
      case 2: made = b.op(OpKind::kHardSigmoid, {x}, {{"alpha", 0.1 * static_cast<double>(rng_.below(7))}}); break;
      case 3: made = scaled(b, x); break;
      case 4: made = transposed(b, x); break;
      case 5: made = flattened(b, x); break;
      case 6: made = b.reduce("max", x, {0}, true); break;
      case 7: made = b.cast(*b.cast(x, DType::kF16), DType::kF32); break;
      default:
        if (depth > 0) made = branch(g, b, x, depth);
        break;
    }
    if (made.ok()) values.push_back(*made);  // shapes that do not fit are skipped
  }

  Result<ValueId> scaled(Builder& b, ValueId x) {
    constexpr float kSpecial[] = {0.1f, -0.0f, 1e-45f, 3.4028235e38f, -1.0f / 3.0f};
    Tensor t = Tensor::scalar_f32(kSpecial[rng_.below(5)]);
    NNC_ASSIGN(const ValueId c, b.constant(std::move(t)));
    return b.binary(OpKind::kMul, x, c);
  }
  Result<ValueId> transposed(Builder& b, ValueId x) {
    std::vector<int64_t> perm(b.shape(x).size());
    for (size_t k = 0; k < perm.size(); ++k) perm[k] = static_cast<int64_t>(perm.size() - 1 - k);
    return b.transpose(x, std::move(perm));
  }
  // Through a shape value: the product of the extents, a floor division that derives a symbol.
  Result<ValueId> flattened(Builder& b, ValueId x) {
    const Dim all = b.symbols().mul(b.shape(x));
    NNC_ASSIGN(const ValueId dims, b.dims_value({all}));
    NNC_ASSIGN(Shape target, b.dims_of(dims));
    NNC_ASSIGN(const ValueId flat, b.reshape(x, std::move(target)));
    return b.slice(flat, {0}, {0}, {b.symbols().floordiv(all, 3)}, {1});
  }
  Result<ValueId> branch(Graph& g, Builder& b, ValueId x, int depth) {
    NNC_ASSIGN(const ValueId zero, b.scalar(DType::kF32, 0));
    std::vector<int64_t> axes(b.shape(x).size());
    std::iota(axes.begin(), axes.end(), 0);
    NNC_ASSIGN(const ValueId greatest, axes.empty() ? Result<ValueId>(x) : b.reduce("max", x, std::move(axes), false));
    NNC_ASSIGN(const ValueId condition, b.binary(OpKind::kLess, zero, greatest));
    std::vector<RegionId> regions;
    for (const char* name : {"then", "else"}) {
      regions.push_back(g.add_region(name));
      Graph& r = g.region(regions.back());
      std::vector<ValueId> values = {r.add_input(g.type(x))};
      for (int k = 0; k < 3; ++k) step(r, values, depth - 1);
      const ValueId out = values.back();
      if (r.type(out) == g.type(x))
        r.set_outputs({out});
      else
        r.set_outputs({values[0]});
    }
    NNC_ASSIGN(const std::vector<ValueId> results, b.ops(OpKind::kIf, {condition, x}, {}, std::move(regions)));
    return results[0];
  }

  Rng rng_;
  std::unique_ptr<Module> m_;
  Dim batch_, length_;
};

}  // namespace

std::unique_ptr<Module> random_module(uint64_t seed) { return Generator(seed).run(); }

std::unique_ptr<Module> parsed(std::string_view text) {
  Result<std::unique_ptr<Module>> m = parse_module(text);
  EXPECT_TRUE(m.ok()) << m.error().str() << "\n" << text;
  return m.ok() ? std::move(m).value() : std::make_unique<Module>();
}

}  // namespace nnc::test
