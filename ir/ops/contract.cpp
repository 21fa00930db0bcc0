#include "ir/ops/contract.h"

#include "ir/ops/attr_defs.h"
#include "ir/ops/families.h"
#include "ir/ops/shape_rules.h"

namespace nnc {

DType accumulator(const Node& node, DType operand) {
  if (node.has_attr("accumulate")) return node.dtype("accumulate");
  if (operand == DType::kF64 || !(is_float(operand) || dtype_bits(operand) <= 8)) return operand;
  return is_float(operand) ? DType::kF32 : DType::kI32;
}

DType contraction_result(DType operand) { return is_int(operand) && dtype_bits(operand) <= 8 ? DType::kI32 : operand; }

Status check_contraction_dtypes(const InferContext& c, int a, int b) {
  NNC_TRY(check_dtype(c, a, kClassFloat | kClassInt));
  NNC_TRY(check_dtype(c, b, kClassFloat | kClassInt));
  bool bytes =
      is_int(c.dtype(a)) && is_int(c.dtype(b)) && dtype_bits(c.dtype(a)) == 8 && dtype_bits(c.dtype(b)) == 8;  // signedness may differ
  if (!bytes) NNC_TRY(check_same_dtype(c, a, b));
  DType acc = accumulator(c.node(), c.dtype(a));
  if (is_float(acc) != is_float(c.dtype(a))) return c.error("accumulate = " + std::string(dtype_name(acc)) + " does not fit the operands");
  return {};
}

Status check_panels(InferContext& c, int i, const Dim& k, const Dim& n) {
  const int64_t depth = panel_depth(c.dtype(i));
  if (depth == 0) return c.error(std::string(dtype_name(c.dtype(i))) + " has no packed form");
  const size_t tail = panel_rank(c.dtype(i));
  NNC_TRY(check_min_rank(c, i, static_cast<int>(tail)));
  const Shape packed = c.shape(i);
  const Dim* p = packed.data() + packed.size() - tail;
  NNC_TRY(check_equal(c, c.symbols().ceildiv(n, kPanelWidth), p[0], "panels of the packed operand"));
  NNC_TRY(check_equal(c, c.symbols().ceildiv(k, depth), p[1], "rows of the packed operand"));
  NNC_TRY(check_equal(c, kPanelWidth, p[2], "width of a panel"));
  if (tail == 4) NNC_TRY(check_equal(c, depth, p[3], "rows side by side in a panel"));
  return {};
}

namespace {

// Rows, columns and leading axes of one operand of matmul.
struct MatrixShape {
  Shape batch;
  Dim rows = 1, cols = 1;
  bool vector = false;
};

Result<MatrixShape> matrix_shape(InferContext& c, int i, bool transposed, bool right) {
  MatrixShape m;
  const Shape& s = c.shape(i);
  NNC_TRY(check_min_rank(c, i, 1));
  if (s.size() == 1) {
    if (transposed) return c.error("operand " + std::to_string(i) + " is a vector and can't be transposed");
    m.vector = true;
    (right ? m.rows : m.cols) = s[0];
    return m;
  }
  m.batch.assign(s.begin(), s.end() - 2);
  m.rows = s[s.size() - (transposed ? 1 : 2)];
  m.cols = s[s.size() - (transposed ? 2 : 1)];
  return m;
}

Status infer_matmul(InferContext& c) {
  const Node& node = c.node();
  NNC_TRY(check_contraction_dtypes(c, 0, 1));
  NNC_ASSIGN(MatrixShape a, matrix_shape(c, 0, node.i("transpose_a") != 0, false));
  MatrixShape b;
  if (std::string_view format = node.s("b_format"); format.empty()) {
    NNC_ASSIGN(b, matrix_shape(c, 1, node.i("transpose_b") != 0, true));
    NNC_TRY(check_equal(c, a.cols, b.rows, "inner extent of operand 1"));
  } else {
    if (!is_packed(format)) return c.error("unknown b_format \"" + std::string(format) + "\"");
    if (node.dims("n").size() != 1) return c.error("a packed operand needs the attribute n, its number of columns");
    if (node.i("transpose_b") != 0) return c.error("a packed operand can't be transposed");
    b.rows = a.cols;
    b.cols = node.dims("n")[0];
    NNC_TRY(check_panels(c, 1, b.rows, b.cols));
    b.batch.assign(c.shape(1).begin(), c.shape(1).end() - static_cast<std::ptrdiff_t>(panel_rank(c.dtype(1))));
  }
  NNC_ASSIGN(Shape out, c.broadcast(a.batch, b.batch));
  if (!a.vector) out.push_back(a.rows);
  if (!b.vector) out.push_back(b.cols);
  c.result(contraction_result(c.dtype(0)), std::move(out));
  return {};
}

}  // namespace

std::span<const OpDef> ops_contract() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kMatMul,
       .name = "matmul",
       .doc = "c[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]. A vector stands for one row (a) or one column (b) whose axis the "
              "result lacks; leading axes "
              "broadcast. transpose_a, transpose_b swap the last two axes first. Products add up in `accumulate`: f32 for floats (f64 for "
              "f64), i32 for 8-bit "
              "integers (of either sign), whose result is i32; other integers wrap in their own width; an empty sum is 0. b_format "
              "panel16: b is "
              "the result of pack, and `n` is N.",
       .min_operands = 2,
       .max_operands = 2,
       .attrs = {attr_flag("transpose_a"), attr_flag("transpose_b"), attr_list("accumulate", AttrKind::kDType), attr_string("b_format"),
                 attr_list("n", AttrKind::kDims)},
       .lowering = Lowering::kHero,
       .infer = infer_matmul,
       .eval = eval_matmul,
       .gradient = gradient_matmul,
       .tolerance = {1e-5, 1e-6}},
  };
  return rows;
}

}  // namespace nnc
