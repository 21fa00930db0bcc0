#pragma once
// Runs the tool in this process with a terminal that keeps what it is told, in a folder of the test's own with small models.

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ir/base/tensor_io.h"
#include "tests/json.h"
#include "tests/unit/onnx/make_onnx.h"
#include "tests/unit/support/scratch.h"
#include "tools/command.h"

namespace nnc::tool {

struct Outcome {
  int code = -1;
  std::string out, err;
};

class ToolTest : public Scratch {
 protected:
  Outcome run(const std::vector<std::string>& words) {
    Outcome o;
    Terminal t{[&o](std::string_view s) { o.out += s; }, [&o](std::string_view s) { o.err += s; }};
    t.environment = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment_.find(name);
      return found == environment_.end() ? std::nullopt : std::optional(found->second);
    };
    t.input = [this](int64_t) { return Result<Bytes>(Bytes(stdin_.begin(), stdin_.end())); };
    Console console(std::move(t));
    o.code = run_tool(words, console);
    return o;
  }
  static test::Json json(const std::string& text) { return test::JsonReader(text).read(); }

  // y = relu(x + x): x f32[batch, 3].
  std::string adder() {
    test::GraphMaker g;
    g.input("x", {"batch", 3})
        .typed_output("y", test::DataType::kFloat, {"batch", 3})
        .add("Add", {"x", "x"}, {"s"}, {}, "/twice/Add")
        .add("Relu", {"s"}, {"y"}, {}, "/twice/Relu");
    put("adder.onnx", test::model(g, 17));
    return path("adder.onnx");
  }
  // rows = table[ids], a table of 5 rows.
  std::string lookup() {
    test::GraphMaker g;
    g.input("ids", test::DataType::kInt64, {"n"})
        .typed_output("rows", test::DataType::kFloat, {"n", 2})
        .initializer(test::floats("table", {5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    g.add("Gather", {"table", "ids"}, {"rows"}, {test::attr_i("axis", 0)}, "/embed/Gather");
    put("lookup.onnx", test::model(g, 17));
    return path("lookup.onnx");
  }
  std::string npy(const std::string& name, const Tensor& t) {
    const auto bytes = npy_bytes(t);
    EXPECT_TRUE(bytes.ok());
    put(name, text_of(*bytes));
    return path(name);
  }
  std::string npz(const std::string& name, const std::vector<NamedTensor>& tensors) {
    const auto bytes = npz_bytes(tensors);
    EXPECT_TRUE(bytes.ok());
    put(name, text_of(*bytes));
    return path(name);
  }
  Tensor read(const std::string& name) {
    const std::string bytes = get(name);
    Budget budget;
    auto t = read_npy({bytes_of(bytes), name}, budget);
    EXPECT_TRUE(t.ok()) << name;
    return t.ok() ? *t : Tensor();
  }

  std::map<std::string, std::string> environment_;
  std::string stdin_;
};

}  // namespace nnc::tool
