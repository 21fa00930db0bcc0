// The runner's own tests: a golden file that cannot fail checks nothing.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/golden/pattern.h"
#include "tests/golden/runner.h"

namespace nnc::golden {
namespace {

bool matches(std::string_view pattern, std::string_view line, Captures captures = {}) {
  return find(pattern, line, 0, captures).has_value();
}

TEST(GoldenPattern, TextAndBlanks) {
  EXPECT_TRUE(matches("a b", "xx a   b yy"));
  EXPECT_FALSE(matches("a b", "ab"));
  EXPECT_TRUE(matches("f(%1, %2) {axes = [1]}", "%3 = f(%1, %2) {axes = [1]} : f32[2]"));
  EXPECT_FALSE(matches("a.c", "abc"));
}

TEST(GoldenPattern, Regex) {
  EXPECT_TRUE(matches("x{{[0-9]+}}y", "x12y"));
  EXPECT_FALSE(matches("x{{[0-9]+}}y", "xy"));
  EXPECT_TRUE(matches("x{{[^0-9]?}}y", "xy"));
  EXPECT_TRUE(matches("{{\\d\\d*}} {{\\w+}}", "7 abc"));
  EXPECT_TRUE(matches("a{{.*}}z", "a-z-z"));
  EXPECT_FALSE(matches("{{[ab]}}c", "dc"));
  EXPECT_TRUE(matches("{{[]]}}", "]"));
  EXPECT_NE(pattern_problem("x{{[a"), "");
  EXPECT_NE(pattern_problem("{{*}}"), "");
  EXPECT_NE(pattern_problem("[[:x]]"), "");
  EXPECT_EQ(pattern_problem("%[[A:[0-9]+]] = f"), "");
}

TEST(GoldenPattern, CapturesHoldAndRecall) {
  Captures captures;
  ASSERT_TRUE(find("%[[A:[0-9]+]] = f", "  %12 = f(%1)", 0, captures));
  EXPECT_EQ(captures["A"], "12");
  EXPECT_TRUE(matches("g(%[[A]])", "%13 = g(%12)", captures));
  EXPECT_FALSE(matches("g(%[[A]])", "%13 = g(%1)", captures));
  EXPECT_FALSE(matches("[[UNKNOWN]]", "anything", captures));
  EXPECT_TRUE(matches("[[X:.*]]=[[X]];", "ab=ab;"));
}

constexpr std::string_view kOutput =
    "nnir 1\n"
    "entry @main(%0: f32[4]) {\n"
    "  %1 = relu(%0) : f32[4]\n"
    "  %2 = add(%1, %0) : f32[4]\n"
    "  return %2\n"
    "}\n"
    "entry @other(%0: f32[4]) {\n"
    "  %1 = neg(%0) : f32[4]\n"
    "  return %1\n"
    "}\n";

bool passes(std::string_view directives, bool after_second = false) {
  std::string file = "graph @main() {\n}\n";
  if (after_second) file += "graph @other() {\n}\n";
  file += directives;
  return check_output(file, kOutput).empty();
}

TEST(GoldenChecks, CheckNextSame) {
  EXPECT_TRUE(passes("// check: relu\n// next: add\n// same: f32[4]\n"));
  EXPECT_FALSE(passes("// check: relu\n// next: return\n"));
  EXPECT_FALSE(passes("// check: add\n// check: relu\n"));
  EXPECT_FALSE(passes("// check: relu\n// same: add\n"));
  EXPECT_TRUE(passes("// check: %[[R:.*]] = relu\n// check: add(%[[R]],\n"));
  EXPECT_FALSE(passes("// check: %[[R:.*]] = relu\n// check: return %[[R]]\n"));
  EXPECT_FALSE(passes("// check: {{[\n"));
}

TEST(GoldenChecks, NotLiesBetweenItsNeighbours) {
  EXPECT_TRUE(passes("// check: relu\n// not: relu\n// check: return\n"));
  EXPECT_FALSE(passes("// check: relu\n// not: add\n// check: return\n"));
  EXPECT_TRUE(passes("// check: add\n// not: relu\n"));
  EXPECT_FALSE(passes("// not: return\n"));
  EXPECT_FALSE(passes("// not: relu\n// check: return\n"));
}

TEST(GoldenChecks, AnyOrderTakesALineEach) {
  EXPECT_TRUE(passes("// any-order: add\n// any-order: relu\n// next: return\n"));
  EXPECT_FALSE(passes("// any-order: relu\n// any-order: relu\n"));
  EXPECT_FALSE(passes("// check: add\n// any-order: relu\n"));
}

TEST(GoldenChecks, DirectivesBelongToTheGraphTheyFollow) {
  EXPECT_FALSE(passes("// check: neg\n"));
  EXPECT_TRUE(passes("// check: neg\n", true));
  EXPECT_FALSE(passes("// check: relu\n", true));
  EXPECT_TRUE(check_output("// check: relu\n// check: neg\ngraph @main() {\n}\n", kOutput).empty());
}

class GoldenFile : public testing::Test {
 protected:
  size_t problems(const std::string& text, bool bless = false) {
    std::ofstream(path_) << text;
    return run_file(path_, bless).size();
  }
  std::string content() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_ = (std::filesystem::temp_directory_path() /
                       (std::string("nnc_golden_") + testing::UnitTest::GetInstance()->current_test_info()->name() + ".nnir"))
                          .string();
};

constexpr const char* kGraph = "graph @main(%x: f32[4]) {\n  %1 = relu(%x) : f32[4]\n  return %1\n}\n";

TEST_F(GoldenFile, CommandsAndErrors) {
  EXPECT_EQ(problems(std::string("// run: verify\n") + kGraph), 0u);
  EXPECT_EQ(problems(kGraph), 1u);
  EXPECT_EQ(problems(std::string("// run: dance\n") + kGraph), 1u);
  EXPECT_EQ(problems(std::string("// run: verify\n// error: never occurs\n") + kGraph), 1u);
  EXPECT_EQ(problems("// run: verify\ngraph @main(%x: f32[4]) {\n  return %y\n}\n"), 1u);
  EXPECT_EQ(problems("// run: verify\ngraph @main(%x: f32[4]) {\n  return %y  // error: %y is not defined\n}\n"), 0u);
  EXPECT_EQ(problems("// run: verify\ngraph @main(%x: f32[4]) {  // error: %y is not defined\n  return %y\n}\n"), 2u);
  EXPECT_EQ(problems(std::string("// run: parse\n") + kGraph + "// check: sigmoid\n"), 1u);
}

TEST_F(GoldenFile, PreciseComparesAllAndBlessRewrites) {
  const std::string file = std::string("// run: parse\n") + kGraph + "// precise\n// something else\n";
  EXPECT_EQ(problems(file), 1u);
  EXPECT_EQ(content(), file);
  EXPECT_EQ(problems(file, true), 0u);
  EXPECT_NE(content().find("//   %1 = relu(%0) : f32[4]\n"), std::string::npos);
  EXPECT_EQ(problems(content()), 0u);
}

}  // namespace
}  // namespace nnc::golden
