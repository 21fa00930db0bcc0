// Files that are cut or have a byte changed: a clean error or a module that verifies, never more. The files are small, so that all cuts and
// many changes are tried.

#include <gmock/gmock.h>

#include "ir/support/text.h"
#include "tests/broken/small_models.h"
#include "tests/unit/onnx/make_onnx.h"

namespace nnc::test {
namespace {

// Whatever comes out is an error with a message or a module that verifies.
void try_file(const std::string& bytes, const std::string& what) {
  ImportOptions options;
  options.limits[Limit::kTotalBytes] = 64 << 20;
  options.limits[Limit::kFoldedBytes] = 16 << 20;
  auto m = import_onnx(bytes_of(bytes), options);
  if (m.ok()) {
    const Status s = verify_or_error(**m);
    ASSERT_TRUE(s.ok()) << what << ": " << s.error().str();
  } else {
    ASSERT_FALSE(m.error().message.empty()) << what;
    ASSERT_NE(m.error().code, Code::kInternal) << what;
  }
}

class Broken : public testing::TestWithParam<std::string (*)()> {};

TEST_P(Broken, TheFileItselfIsSound) {
  const std::string file = GetParam()();
  EXPECT_LE(file.size(), 16u << 10);
  EXPECT_NE(import_ok(file), nullptr);
}

TEST_P(Broken, EveryTruncation) {
  const std::string file = GetParam()();
  for (size_t n = 0; n < file.size(); ++n) try_file(file.substr(0, n), cat("cut at ", n));
}

TEST_P(Broken, EveryByteChanged) {
  const std::string file = GetParam()();
  for (size_t n = 0; n < file.size(); ++n) {
    for (const int flip : {0x01, 0x80, 0xff, 0x10}) {
      std::string changed = file;
      changed[n] = static_cast<char>(changed[n] ^ flip);
      try_file(changed, cat("byte ", n, " ^ ", flip));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Broken, testing::Values(&picture_model, &control_model, &mixed_model));

TEST(Bombs, SmallFilesWithLargeTensors) {
  // Shapes are only claims: nothing is allocated for them at import.
  GraphMaker g;
  g.initializer(ints("huge", {2}, {int64_t(1) << 20, int64_t(1) << 20}))
      .add("ConstantOfShape", {"huge"}, {"z"})
      .add("ReduceSum", {"z"}, {"y"})
      .output("y");
  try_file(model(g, 13), "ConstantOfShape");
  GraphMaker t;
  t.initializer(ints("n", {1}, {int64_t(1) << 45}))
      .initializer(floats("v", {1}, {1}))
      .add("Tile", {"v", "n"}, {"z"})
      .add("Expand", {"z", "n"}, {"y"})
      .output("y");
  try_file(model(t, 13), "Tile");
  GraphMaker r;
  r.initializer(ints("a", {}, {0}))
      .initializer(ints("b", {}, {INT64_MAX}))
      .initializer(ints("d", {}, {1}))
      .add("Range", {"a", "b", "d"}, {"z"})
      .add("Reshape", {"z", "z"}, {"y"})
      .output("y");
  try_file(model(r, 13), "Range");
}

TEST(Bombs, DeepAndWideSubgraphs) {
  // Each level holds the one below twice: the work must not double.
  WireWriter g = GraphMaker().add("Relu", {"x"}, {"v0"}).output("v0").message();
  for (int k = 1; k < 12; ++k) {
    const std::string in = cat("v", k - 1), out = cat("v", k);
    g = GraphMaker().add("If", {"c"}, {out}, {attr_g("then_branch", g), attr_g("else_branch", g)}).output(out).message();
  }
  GraphMaker top;
  top.input("x", {2})
      .input("c", DataType::kBool, {})
      .add("If", {"c"}, {"y"}, {attr_g("then_branch", g), attr_g("else_branch", g)})
      .output("y");
  ImportOptions o;
  o.limits[Limit::kNodes] = 5000;
  auto m = import_onnx(bytes_of(model(top, 13)), o);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.error().code, Code::kLimit);
}

}  // namespace
}  // namespace nnc::test
