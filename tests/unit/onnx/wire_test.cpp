#include "frontend/onnx/wire.h"

#include <gmock/gmock.h>

#include "tests/unit/onnx/make_onnx.h"

namespace nnc::onnx {
namespace {

Result<std::vector<WireField>> all_fields(const std::string& bytes, size_t base = 0) {
  WireReader reader(bytes_of(bytes), base);
  std::vector<WireField> fields;
  for (WireField f;;) {
    NNC_ASSIGN(const bool more, reader.next(&f));
    if (!more) return fields;
    fields.push_back(f);
  }
}

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int v : values) out += static_cast<char>(v);
  return out;
}

TEST(Wire, ReadsWhatItWrites) {
  WireWriter w;
  w.varint(1, 300).fixed32(2, 0x3f800000).fixed64(3, 0x0102030405060708).bytes(4, "abc").packed(5, {1, -1, 128});
  auto fields = all_fields(w.data());
  ASSERT_TRUE(fields.ok());
  ASSERT_EQ(fields->size(), 5u);
  EXPECT_EQ((*fields)[0].value, 300u);
  EXPECT_EQ((*fields)[1].value, 0x3f800000u);
  EXPECT_EQ((*fields)[2].value, 0x0102030405060708u);
  EXPECT_EQ(text_of((*fields)[3].bytes), "abc");
  PackedVarints packed((*fields)[4]);
  EXPECT_EQ(packed.count(), 3u);
  std::vector<int64_t> values;
  for (uint64_t v = 0; *packed.next(&v);) values.push_back(static_cast<int64_t>(v));
  EXPECT_THAT(values, testing::ElementsAre(1, -1, 128));
}

TEST(Wire, GroupsAreSkippedAndMustMatch) {
  // 1: start group 1, field 2 varint, nested group 3 with bytes, end, end; then field 4.
  auto good = all_fields(bytes({0x0b, 0x10, 0x05, 0x1b, 0x22, 0x01, 0x61, 0x1c, 0x0c, 0x20, 0x07}));
  ASSERT_TRUE(good.ok()) << good.error().str();
  ASSERT_EQ(good->size(), 1u);
  EXPECT_EQ((*good)[0].value, 7u);
  EXPECT_FALSE(all_fields(bytes({0x0b, 0x10, 0x05})).ok());    // no end
  EXPECT_FALSE(all_fields(bytes({0x0b, 0x14})).ok());          // the end of another group
  EXPECT_FALSE(all_fields(bytes({0x0c})).ok());                // an end without start
  EXPECT_FALSE(all_fields(std::string(100000, '\x0b')).ok());  // nested without end
}

TEST(Wire, WrongBytesHaveTheirOffset) {
  const struct {
    std::string bytes;
    const char* says;
  } cases[] = {
      {bytes({0x08}), "byte 101"},  // tag without value
      {bytes({0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}), "ten bytes"},
      {bytes({0x12, 0x05, 0x61}), "claims 5 bytes, the message has 1 left"},
      {bytes({0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}), "claims"},  // 2^64 - 1
      {bytes({0x0d, 0x00}), "needs 4 bytes"},
      {bytes({0x09, 0x00, 0x00}), "needs 8 bytes"},
      {bytes({0x00, 0x00}), "field number 0"},
      {bytes({0x0e}), "wire type 6"},
      {bytes({0x0f}), "wire type 7"},
  };
  for (const auto& c : cases) {
    auto r = all_fields(c.bytes, 100);
    ASSERT_FALSE(r.ok()) << c.says;
    EXPECT_EQ(r.error().code, Code::kInvalidModel);
    EXPECT_THAT(r.error().message, testing::HasSubstr(c.says));
    EXPECT_GE(r.error().place.offset, 100);
  }
}

TEST(Wire, PackedListsEndBetweenNumbers) {
  WireField f;
  const std::string broken = bytes({0x01, 0x80});
  f.type = WireType::kBytes;
  f.bytes = bytes_of(broken);
  PackedVarints p(f);
  uint64_t v = 0;
  EXPECT_TRUE(p.next(&v).ok());
  EXPECT_FALSE(p.next(&v).ok());
  uint8_t store[8];
  EXPECT_FALSE(fixed_elements(f, WireType::kFixed32, store).ok());  // two bytes are no float
}

TEST(Model, NestingHasLimits) {
  // Graph in attribute in node in graph ...
  WireWriter g;
  for (int k = 0; k < 40; ++k) g = WireWriter().message(1, test::node("If", {"c"}, {"y"}, {test::attr_g("then_branch", g)}));
  Budget budget;
  const std::string file = test::model(g, 16);
  auto m = read_model(bytes_of(file), budget);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.error().code, Code::kLimit);
  // Types of types.
  WireWriter t = WireWriter().message(1, WireWriter().varint(1, 1));
  for (int k = 0; k < 200; ++k) t = WireWriter().message(4, WireWriter().message(1, t));
  const std::string deep = test::model(WireWriter().message(11, WireWriter().bytes(1, "x").message(2, t)), 16);
  Budget fresh;
  auto d = read_model(bytes_of(deep), fresh);
  ASSERT_FALSE(d.ok());
  EXPECT_EQ(d.error().code, Code::kLimit);
}

TEST(Model, ListsOfEmptyMessagesAreBounded) {
  std::string graph;
  for (int k = 0; k < 3'000'000; ++k) graph += "\x0a" + std::string(1, '\0');  // empty nodes, two bytes each
  std::string file;
  file += WireWriter().varint(1, 8).bytes(7, graph).data();
  Budget budget;
  auto m = read_model(bytes_of(file), budget);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.error().code, Code::kLimit);
}

TEST(Model, SingularMessagesMerge) {
  const WireWriter a = WireWriter().message(1, test::node("Relu", {"x"}, {"y"})), b = WireWriter().message(12, WireWriter().bytes(1, "y"));
  WireWriter m;
  m.varint(1, 8).message(7, a).message(7, b);
  Budget budget;
  auto r = read_model(bytes_of(m.data()), budget);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->graph->nodes.size(), 1u);
  EXPECT_EQ(r->graph->outputs.size(), 1u);
}

}  // namespace
}  // namespace nnc::onnx
