#include "ir/support/result.h"

#include <gtest/gtest.h>

#include <memory>

#include "ir/support/ids.h"

namespace nnc {
namespace {

Result<int> half(int v) {
  if (v % 2 != 0) return Error(Code::kBadInput, "odd");
  return v / 2;
}
Result<int> quarter(int v) {
  NNC_ASSIGN(const int h, half(v));
  NNC_ASSIGN(int q, half(h));
  return q;
}
Status check_quarter(int v) {
  NNC_TRY(quarter(v));
  return {};
}

TEST(Result, CodesAndExitCodes) {
  EXPECT_EQ(code_name(Code::kUnknownName), "NNC-2003");
  EXPECT_EQ(exit_code(Code::kOk), 0);
  EXPECT_EQ(exit_code(Code::kMismatch), 1);
  EXPECT_EQ(exit_code(Code::kLimit), 3);
  EXPECT_EQ(exit_code(Code::kPathEscape), 8);
  EXPECT_EQ(exit_code(Code::kInternal), 70);
}

TEST(Result, ValueOrErrorPassesThroughTheMacros) {
  ASSERT_TRUE(quarter(8).ok());
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_TRUE(check_quarter(4).ok());
  EXPECT_EQ(check_quarter(3).error().code, Code::kBadInput);
}

TEST(Result, HoldsMoveOnlyValues) {
  Result<std::unique_ptr<int>> made(std::make_unique<int>(5));
  std::unique_ptr<int> taken = std::move(made).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Result, ErrorTextShowsCodePlaceAndContext) {
  Place place;
  place.node = "Conv\n1";
  place.op = "conv";
  place.file = "m.onnx";
  place.offset = 12;
  const Error error = Error(Code::kInvalidModel, "bad field").at(place).with("try: another file").with("outer");
  EXPECT_EQ(error.str(), "NNC-3001: bad field\n  at node \"Conv\\n1\", op conv, file \"m.onnx\", byte 12\n  try: another file\n  outer");
  Place line;
  line.line = 3;
  line.column = 9;
  EXPECT_EQ(Error(Code::kParse, "x", line).str(), "NNC-3004: x\n  at line 3:9");
  EXPECT_EQ(Error(Code::kParse, "x").str(), "NNC-3004: x");
}

TEST(Result, TheFirstPlaceStays) {
  Place inner, outer;
  inner.node = "inner";
  outer.node = "outer";
  EXPECT_EQ(Error(Code::kParse, "x", inner).at(outer).place.node, "inner");
}

TEST(ResultDeathTest, CheckStopsTheProgram) { EXPECT_DEATH(NNC_CHECK(1 + 1 == 3, "sums"), "internal error: sums \\(1 \\+ 1 == 3\\)"); }

struct Tag;
using TestId = Id<Tag>;

TEST(Ids, ArenaAndSideTable) {
  IdVec<TestId, int> arena;
  const TestId first = arena.push(10), second = arena.push(20);
  EXPECT_EQ(arena[second], 20);
  EXPECT_LT(first, second);
  EXPECT_FALSE(TestId().valid());
  EXPECT_FALSE(arena.contains(TestId()));
  IdMap<TestId, int> table;
  EXPECT_EQ(table.get(second), 0);
  table[second] = 7;
  EXPECT_EQ(table.get(second), 7);
  EXPECT_EQ(table.get(first), 0);
}

TEST(IdsDeathTest, OutsideTheArena) {
  IdVec<TestId, int> arena;
  EXPECT_DEATH(arena[TestId(0)], "id outside its arena");
}

}  // namespace
}  // namespace nnc
