#pragma once
// Small groups, one per class of kernel, for the goldens of both targets.

#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace nnc::golden_groups {

struct Group {
  Module m;
  Graph g{&m, "group"};
  Builder b{g};
  ValueId input(DType t, Shape shape) { return g.add_input(Type::tensor(t, std::move(shape))); }
  ValueId op(OpKind k, std::vector<ValueId> args, AttrList attrs = {}) { return *b.op(k, std::move(args), std::move(attrs)); }
};

// A group and what its text must and must not hold.
struct Golden {
  const char* name;
  std::function<ValueId(Group&)> build;
  std::vector<std::string> must, must_not;
};

// What the text must hold is in it, what it must not is not, and it is the file at `path`. NNC_BLESS=1 rewrites the file.
void check_text(const Golden& golden, const std::string& text, const std::string& path);

inline ValueId softmax(Group& f) {
  const ValueId x = f.input(DType::kF32, {64, 768});
  auto reduce = [&](const char* how, ValueId v) {
    return f.op(OpKind::kReduce, {v}, {{"kind", std::string(how)}, {"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t(1)}});
  };
  const ValueId e = f.op(OpKind::kExp, {f.op(OpKind::kSub, {x, reduce("max", x)})});
  return f.op(OpKind::kDiv, {e, reduce("sum", e)});
}
inline ValueId product(Group& f, DType t) {
  const ValueId y = f.op(OpKind::kMatMul, {f.input(t, {256, 128}), f.input(t, {128, 256})});
  return f.op(OpKind::kRelu, {f.op(OpKind::kAdd, {y, f.input(t, {256})})});
}
// The right operand in panels, as prepacking leaves it.
inline ValueId packed_product(Group& f) {
  const ValueId y = f.op(OpKind::kMatMul, {f.input(DType::kF32, {256, 128}), f.input(DType::kF32, {16, 128, 16})},
                         {{"b_format", std::string("panel16")}, {"n", Shape{256}}});
  return f.op(OpKind::kRelu, {f.op(OpKind::kAdd, {y, f.input(DType::kF32, {256})})});
}
inline ValueId attention(Group& f, DType t) {
  const Shape heads{2, 4, 64, 32};
  return f.op(OpKind::kAttention, {f.input(t, heads), f.input(t, heads), f.input(t, heads), f.input(t, {2, 1, 1, 64})});
}
// `w` are panels where `kernel` is given.
inline ValueId convolution(Group& f, Shape x, Shape w, int64_t group, std::vector<int64_t> kernel = {}) {
  const std::vector<int64_t> ones{1, 1};
  AttrList attrs = {{"layout", std::string("nhwc")},
                    {"w_format", std::string("hwio")},
                    {"group", group},
                    {"pads_begin", ones},
                    {"pads_end", ones},
                    {"strides", ones},
                    {"dilations", ones}};
  if (!kernel.empty()) {
    attrs[1] = {"w_format", std::string("panel16")};
    attrs.push_back({"channels", Shape{w[1].constant() * 16, x.back()}});
    attrs.push_back({"kernel", std::move(kernel)});
  }
  return f.op(OpKind::kConv, {f.input(DType::kF32, std::move(x)), f.input(DType::kF32, std::move(w))}, std::move(attrs));
}

}  // namespace nnc::golden_groups
