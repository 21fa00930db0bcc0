#include "tests/broken/small_models.h"

#include "tests/unit/onnx/make_onnx.h"

namespace nnc::test {

namespace {

WireWriter own_function() {
  WireWriter f;
  f.bytes(1, "Twice")
      .bytes(10, "own")
      .bytes(4, "x")
      .bytes(5, "y")
      .message(7, node("Add", {"x", "x"}, {"y"}))
      .message(9, WireWriter().varint(2, 17));
  return f;
}

}  // namespace

// A convolution with norm and pool, sizes computed from shapes.
std::string picture_model() {
  std::vector<float> w(4 * 3 * 3 * 3, 0.1f), ones(4, 1);
  GraphMaker g;
  g.input("x", {"n", 3, "h", "w"}).initializer(floats("w", {4, 3, 3, 3}, w));
  for (const char* name : {"s", "b", "m", "v"}) g.initializer(floats(name, {4}, ones));
  g.add("Conv", {"x", "w"}, {"c"}, {attr_ints("pads", {1, 1, 1, 1}), attr_ints("strides", {2, 2}), attr_i("group", 1)}, "conv")
      .add("BatchNormalization", {"c", "s", "b", "m", "v"}, {"n1"}, {attr_f("epsilon", 1e-5f)}, "bn")
      .add("Relu", {"n1"}, {"r"})
      .add("MaxPool", {"r"}, {"p"}, {attr_ints("kernel_shape", {2, 2}), attr_ints("strides", {2, 2})})
      .add("Shape", {"p"}, {"shape"})
      .initializer(ints("i", {}, {0}))
      .add("Gather", {"shape", "i"}, {"batch"})
      .initializer(ints("axes", {1}, {0}))
      .add("Unsqueeze", {"batch", "axes"}, {"batch1"})
      .initializer(ints("rest", {1}, {-1}))
      .add("Concat", {"batch1", "rest"}, {"target"}, {attr_i("axis", 0)})
      .add("Reshape", {"p", "target"}, {"flat"})
      .add("Softmax", {"flat"}, {"y"}, {attr_i("axis", -1)})
      .typed_output("y", DataType::kFloat, {"n", ""});
  return model(g, 13);
}

// Branches, a loop, a function, every kind of attribute.
std::string control_model() {
  GraphMaker then_graph, else_graph, body;
  then_graph.add("Relu", {"x"}, {"a"}).output("a");
  else_graph.add("Constant", {}, {"k"}, {attr_f("value_float", 2)}).add("Mul", {"x", "k"}, {"b"}).output("b");
  body.input("i", DataType::kInt64, {})
      .input("go", DataType::kBool, {})
      .input("s", {})
      .add("Identity", {"go"}, {"again"})
      .add("Add", {"s", "x"}, {"next"})
      .output("again")
      .output("next");
  GraphMaker g;
  g.input("x", {"n", 2}).input("c", DataType::kBool, {}).initializer(ints("three", {}, {3}));
  g.add("If", {"c"}, {"h"}, {attr_g("then_branch", then_graph.message()), attr_g("else_branch", else_graph.message())}, "branch")
      .add("Loop", {"three", "", "h"}, {"l"}, {attr_g("body", body.message())}, "loop")
      .add(node("Twice", {"l"}, {"t"}, {}, "call", "own"))
      .add("Constant", {}, {"e"}, {attr_t("value", tensor_header("", DataType::kFloat16, {1, 2}).packed(5, {0x3c00, 0x4000}))})
      .add("Cast", {"e"}, {"e32"}, {attr_i("to", 1)})
      .add("Pow", {"t", "e32"}, {"q"})
      .add("ReduceSum", {"q", "axes"}, {"y"}, {attr_i("keepdims", 0)})
      .initializer(ints("axes", {1}, {1}))
      .output("y");
  return model(g, 17, {own_function()});
}

// Windows, resizing, quantisation, LSTM.
std::string mixed_model() {
  GraphMaker g;
  std::vector<float> w(16 * 3, 0.2f), r(16 * 4, 0.1f);
  g.input("x", {2, 1, 3}).initializer(floats("w", {1, 16, 3}, w)).initializer(floats("r", {1, 16, 4}, r));
  g.add("LSTM", {"x", "w", "r"}, {"y0", "", "c"}, {attr_i("hidden_size", 4), attr_s("direction", "forward")});
  g.initializer(floats("scales", {4}, {1, 1, 2, 2})).add("Resize", {"y0", "", "scales"}, {"big"}, {attr_s("mode", "linear")});
  g.initializer(floats("scale", {}, {0.1f})).add("QuantizeLinear", {"big", "scale"}, {"q"}).add("DequantizeLinear", {"q", "scale"}, {"d"});
  g.initializer(ints("starts", {2}, {0, -1}))
      .initializer(ints("ends", {2}, {9, -9}))
      .initializer(ints("on", {2}, {2, 3}))
      .initializer(ints("steps", {2}, {1, -2}));
  g.add("Slice", {"d", "starts", "ends", "on", "steps"}, {"cut"})
      .add("Split", {"cut"}, {"a", "b"}, {attr_i("axis", 3), attr_i("num_outputs", 2)})
      .add("Concat", {"a", "b"}, {"y"}, {attr_i("axis", 1)});
  g.output("y").output("c");
  return model(g, 18);
}

}  // namespace nnc::test
