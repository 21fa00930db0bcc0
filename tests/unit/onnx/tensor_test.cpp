#include "frontend/onnx/tensor.h"

#include <unistd.h>

#include <gmock/gmock.h>

#include "ir/support/file.h"
#include "ir/support/text.h"
#include "tests/unit/onnx/make_onnx.h"

namespace nnc::onnx {
namespace {

using test::tensor_header;

Result<Tensor> read(const WireWriter& w, const Limits& limits = {}) { return read_tensor_pb(bytes_of(w.data()), limits); }
Tensor read_ok(const WireWriter& w) {
  auto t = read(w);
  EXPECT_TRUE(t.ok()) << (t.ok() ? "" : t.error().str());
  return t.ok() ? std::move(*t) : Tensor();
}

TEST(TensorProto, TypedFieldsOfEveryDtype) {
  // f16 and bf16 as bits in int32_data.
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kFloat16, {2}).packed(5, {0x3c00, 0xc000}))), (std::vector<double>{1, -2}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kBfloat16, {2}).packed(5, {0x3f80, 0xc000}))), (std::vector<double>{1, -2}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kInt8, {3}).packed(5, {-1, 127, -128}))),
            (std::vector<double>{-1, 127, -128}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kUint8, {2}).packed(5, {255, 1}))), (std::vector<double>{255, 1}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kInt16, {1}).packed(5, {-300}))), (std::vector<double>{-300}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kUint16, {1}).packed(5, {65535}))), (std::vector<double>{65535}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kInt32, {2}).packed(5, {-7, 8}))), (std::vector<double>{-7, 8}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kBool, {3}).packed(5, {1, 0, 7}))), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kInt64, {2}).packed(7, {-5, int64_t(1) << 40}))),
            (std::vector<double>{-5, 0x1p40}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kUint32, {1}).packed(11, {0xffffffff}))),
            (std::vector<double>{4294967295.0}));
  EXPECT_EQ(read_ok(tensor_header("t", DataType::kUint64, {1}).packed(11, {-1})).i64(0), -1);
  // Unpacked and packed floats mixed, as the format allows.
  EXPECT_EQ(test::numbers(read_ok(
                tensor_header("t", DataType::kFloat, {3}).fixed32(4, 0x3f800000).bytes(4, std::string("\0\0\0\x40\0\0\x40\x40", 8)))),
            (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kDouble, {1}).fixed64(10, 0x4008000000000000))), (std::vector<double>{3}));
  // Four and two bits: low bits first, one byte an entry.
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kInt4, {3}).packed(5, {0xf1, 0x07}))), (std::vector<double>{1, -1, 7}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kUint2, {5}).packed(5, {0xe4, 0x02}))),
            (std::vector<double>{0, 1, 2, 3, 2}));
  EXPECT_EQ(test::numbers(read_ok(tensor_header("t", DataType::kFloat8E5M2, {1}).packed(5, {0x3c}))), (std::vector<double>{1}));
  const Tensor s = read_ok(tensor_header("t", DataType::kString, {2}).bytes(6, "a").bytes(6, "bc"));
  EXPECT_EQ(s.strings(), (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(read_ok(tensor_header("t", DataType::kFloat, {0, 3})).count(), 0);
  EXPECT_EQ(test::numbers(read_ok(test::floats("t", {}, {4}))), (std::vector<double>{4}));
}

TEST(TensorProto, SizesMustAgree) {
  const struct {
    WireWriter w;
    const char* says;
  } cases[] = {
      {test::floats("t", {3}, {1, 2}), "raw data of 8 bytes, its type and extents need 12"},
      {tensor_header("t", DataType::kFloat, {2}).fixed32(4, 0), "holds 1 elements, its extents need 2"},
      {tensor_header("t", DataType::kFloat, {1}), "holds 0 elements"},
      {tensor_header("t", DataType::kString, {2}).bytes(6, "a"), "holds 1 elements"},
      {tensor_header("t", DataType::kFloat, {-1}), "negative"},
      {tensor_header("t", DataType::kFloat, {int64_t(1) << 40, int64_t(1) << 40}), "larger than any tensor"},
      {tensor_header("t", DataType::kFloat, {0, int64_t(1) << 62, 8}), "larger than any tensor"},
      {tensor_header("t", static_cast<DataType>(99), {1}), "no element type"},
      {tensor_header("t", static_cast<DataType>(-3), {1}), "no element type"},
      {tensor_header("t", DataType::kUndefined, {1}), "no element type"},
      {tensor_header("t", DataType::kString, {1}).bytes(9, "a"), "strings can't be raw"},
      {tensor_header("t", DataType::kFloat, {1}).bytes(3, ""), "segmented"},
  };
  for (const auto& c : cases) {
    auto t = read(c.w);
    ASSERT_FALSE(t.ok()) << c.says;
    EXPECT_THAT(t.error().message, testing::HasSubstr(c.says));
    EXPECT_EQ(t.error().code, Code::kInvalidModel);
  }
}

TEST(TensorProto, LimitsAreCharged) {
  Limits limits;
  limits[Limit::kTotalBytes] = 1 << 20;
  EXPECT_EQ(read(test::floats("t", {1 << 18}, std::vector<float>(1 << 18)), limits).error().code, Code::kLimit);
  limits = {};
  limits[Limit::kRank] = 2;
  EXPECT_EQ(read(test::floats("t", {1, 1, 1}, {0}), limits).error().code, Code::kLimit);
}

TEST(TensorProto, SparseBecomesDense) {
  WireWriter s;
  s.message(1, test::floats("s", {2}, {5, 7})).message(2, test::ints("", {2, 2}, {0, 1, 2, 0})).packed(3, {3, 2});
  test::GraphMaker g;
  g.add("Constant", {}, {"y"}, {WireWriter().bytes(1, "sparse_value").message(22, s).varint(20, 11)}).output("y");
  const auto r = test::import_and_run(test::model(g, 13), {});
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(test::numbers(r[0]), (std::vector<double>{0, 5, 0, 0, 7, 0}));
  WireWriter bad;
  bad.message(1, test::floats("s", {1}, {5})).message(2, test::ints("", {1}, {6})).packed(3, {3, 2});
  test::GraphMaker h;
  h.add("Constant", {}, {"y"}, {WireWriter().bytes(1, "sparse_value").message(22, bad).varint(20, 11)}).output("y");
  EXPECT_THAT(test::import_error(test::model(h, 13)).message, testing::HasSubstr("outside 6 elements"));
}

// ---- the model's file

// Large weights stay in the file until they are imported: whatever the file holds, that says the same as an import from memory.
TEST(ModelFile, ImportsAsFromMemory) {
  std::vector<float> large(20'000), small(50);
  for (size_t k = 0; k < large.size(); ++k) large[k] = static_cast<float>(k) * 0.5f;
  for (size_t k = 0; k < small.size(); ++k) small[k] = -static_cast<float>(k);
  test::GraphMaker g;
  g.input("x", {"n", 50}).initializer(test::floats("a", {400, 50}, large)).initializer(test::floats("b", {50}, small));
  g.add("Add", {"x", "b"}, {"s"}).add("Gemm", {"s", "a"}, {"m"}, {test::attr_i("transB", 1)});
  large[7] = 1e9f;
  g.add("Constant", {}, {"c"}, {test::attr_t("value", test::floats("", {1, 20'000}, large))});
  g.add("ReduceMax", {"c"}, {"d"}).add("Add", {"m", "d"}, {"y"}).output("y");
  large[8] = 2e9f;
  g.initializer(test::floats("a2", {20'000}, large)).add("Identity", {"a2"}, {"z"}).output("z");
  const std::string whole = test::model(g, 13);
  auto folder = TempDir::create();
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/m.onnx";
  const auto compare = [&](const std::string& bytes, const std::string& what) {
    ASSERT_TRUE(write_file_atomic(path, bytes_of(bytes), 0644, false).ok());
    const auto from_memory = import_onnx(bytes_of(bytes)), from_file = import_onnx_file(path);
    ASSERT_EQ(from_memory.ok(), from_file.ok()) << what;
    if (from_memory.ok())
      EXPECT_EQ(print_module(**from_memory), print_module(**from_file)) << what;
    else
      EXPECT_EQ(from_memory.error().message, from_file.error().message) << what;
  };
  compare(whole, "whole");
  ASSERT_TRUE(import_onnx_file(path).ok());
  for (size_t cut = 0; cut < whole.size(); cut += whole.size() / 97) compare(whole.substr(0, cut), cat("cut at ", cut));
  // Bytes around the starts of messages, and somewhere in weights.
  for (size_t at = 0; at < whole.size(); at += at % 80'000 < 60 ? 1 : 1'999) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    compare(changed, cat("byte ", at));
  }
}

// ---- external data

class External : public testing::Test {
 protected:
  External() : folder_(std::move(TempDir::create()).value()) {}
  void write(const std::string& name, const std::string& data) {
    ASSERT_TRUE(write_file_atomic(folder_.path() + "/" + name, bytes_of(data)).ok());
  }
  // y = w, w external with the given entries.
  std::string write_model(const std::string& name, const std::vector<std::pair<std::string, std::string>>& entries,
                          std::vector<int64_t> dims = {2}) {
    WireWriter t = tensor_header("w", DataType::kFloat, dims);
    for (const auto& [k, v] : entries) t.message(13, WireWriter().bytes(1, k).bytes(2, v));
    t.varint(14, 1);
    test::GraphMaker g;
    g.initializer(t).add("Identity", {"w"}, {"y"}).output("y");
    write(name, test::model(g, 13));
    return folder_.path() + "/" + name;
  }
  static std::string two_floats() { return std::string("\0\0\x80\x3f\0\0\0\x40", 8); }

  TempDir folder_;
};

TEST_F(External, OffsetAndLength) {
  write("w.data", "xxxx" + two_floats());
  auto m = import_onnx_file(write_model("m.onnx", {{"location", "w.data"}, {"offset", "4"}, {"length", "8"}}));
  ASSERT_TRUE(m.ok()) << m.error().str();
  EXPECT_EQ(test::numbers(test::run(**m, {})[0]), (std::vector<double>{1, 2}));
}

TEST_F(External, WrongEntries) {
  write("w.data", two_floats());
  const struct {
    std::vector<std::pair<std::string, std::string>> entries;
    std::string says;
    Code code = Code::kInvalidModel;
  } cases[] = {
      {{{"location", "w.data"}, {"offset", "4"}}, "has 8 bytes"},
      {{{"location", "w.data"}, {"length", "4"}}, "external data of 4 bytes"},
      {{{"location", "w.data"}, {"length", "-8"}}, "no size"},
      {{{"location", "w.data"}, {"offset", "99999999999999999999"}}, "no size"},
      {{{"location", "w.data"}, {"offset", "9223372036854775807"}}, "has 8 bytes"},
      {{{"location", "w.data"}, {"ofset", "0"}}, "unknown key \"ofset\""},
      {{{"offset", "0"}}, "without a location"},
      {{{"location", "../w.data"}}, "", Code::kPathEscape},
      {{{"location", "/etc/passwd"}}, "", Code::kPathEscape},
      {{{"location", "gone.data"}}, "gone.data", Code::kIo},
  };
  int n = 0;
  for (const auto& c : cases) {
    auto m = import_onnx_file(write_model(cat("m", n++, ".onnx"), c.entries));
    ASSERT_FALSE(m.ok()) << c.says;
    EXPECT_EQ(m.error().code, c.code) << m.error().str();
    EXPECT_THAT(m.error().str(), testing::HasSubstr(c.says));
  }
}

TEST_F(External, MissingFileSaysWhatLiesThere) {
  write("weights-v2.bin", two_floats());
  auto m = import_onnx_file(write_model("m.onnx", {{"location", "weights.bin"}}));
  ASSERT_FALSE(m.ok());
  EXPECT_THAT(m.error().str(), testing::AllOf(testing::HasSubstr("weights.bin"), testing::HasSubstr("weights-v2.bin")));
}

TEST_F(External, RenamedWithTheModel) {
  write("renamed.onnx.data", two_floats());
  auto m = import_onnx_file(write_model("renamed.onnx", {{"location", "model.onnx.data"}}));
  ASSERT_TRUE(m.ok()) << m.error().str();
}

TEST_F(External, LinksAreRefused) {
  write("w.data", two_floats());
  ASSERT_EQ(symlink((folder_.path() + "/w.data").c_str(), (folder_.path() + "/l.data").c_str()), 0);
  auto m = import_onnx_file(write_model("m.onnx", {{"location", "l.data"}}));
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.error().code, Code::kPathEscape);
}

TEST_F(External, NotWithoutAFile) {
  WireWriter t = tensor_header("w", DataType::kFloat, {2});
  t.message(13, WireWriter().bytes(1, "location").bytes(2, "w.data")).varint(14, 1);
  test::GraphMaker g;
  g.initializer(t).add("Identity", {"w"}, {"y"}).output("y");
  EXPECT_THAT(test::import_error(test::model(g, 13)).message, testing::HasSubstr("did not come from a file"));
}

}  // namespace
}  // namespace nnc::onnx
