#include "ir/support/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <limits>

namespace nnc {
namespace {

TEST(Text, CatSpellsEveryKind) {
  EXPECT_EQ(cat("a", std::string("b"), std::string_view("c"), 'd', true, -1, 2u, -3l, 4ul, -5ll, 6ull), "abcdtrue-12-34-56");
  EXPECT_EQ(cat(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(cat(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(cat(0.1, " ", 0.1f, " ", 1e300, " ", -0.0), "0.1 0.1 1e+300 -0");
}

TEST(Text, DoublesReadBackEqual) {
  for (const double v : {0.1, 1.0 / 3, 5e-324, std::numeric_limits<double>::max(), -2.5e-7, 123456789012345678.0}) {
    double back = 0;
    ASSERT_TRUE(parse_double(cat(v), &back)) << v;
    EXPECT_EQ(back, v);
  }
}

TEST(Text, NumbersIgnoreTheLocale) {
  // Absent on some machines: then only the C locale is checked.
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  double v = 0;
  EXPECT_EQ(cat(1.5, " ", 1234567), "1.5 1234567");
  EXPECT_TRUE(parse_double("2.5", &v));
  EXPECT_EQ(v, 2.5);
  EXPECT_FALSE(parse_double("2,5", &v));
  std::setlocale(LC_ALL, "C");
}

TEST(Text, ParseTakesTheWholeString) {
  int64_t i = 7;
  EXPECT_TRUE(parse_int("-9223372036854775808", &i));
  EXPECT_EQ(i, std::numeric_limits<int64_t>::min());
  for (const char* bad : {"", "-", "1 ", " 1", "+1", "1x", "9223372036854775808", "0x10", "1.0"}) {
    EXPECT_FALSE(parse_int(bad, &i)) << bad;
  }
  EXPECT_EQ(i, std::numeric_limits<int64_t>::min());
  double d = 0;
  EXPECT_TRUE(parse_double("inf", &d));
  EXPECT_TRUE(std::isinf(d));
  EXPECT_TRUE(parse_double("nan", &d));
  EXPECT_TRUE(std::isnan(d));
  for (const char* bad : {"", "1e", "1e3x", " 1", "--1"}) EXPECT_FALSE(parse_double(bad, &d)) << bad;
}

TEST(Text, SplitJoinTrim) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(join(std::vector<std::string>{"x", "y"}, ", "), "x, y");
  EXPECT_EQ(join(std::vector<int>{1, 2, 3}, "*", [](int v) { return v * v; }), "1*4*9");
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, Hex) {
  EXPECT_EQ(hex(0, 1), "0");
  EXPECT_EQ(hex(0, 4), "0000");
  EXPECT_EQ(hex(0xabcdef, 4), "abcdef");
  EXPECT_EQ(hex(~0ull, 16), "ffffffffffffffff");
}

TEST(Text, QuoteRoundTripsEveryByteInAscii) {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  const std::string quoted = quote(all);
  EXPECT_TRUE(std::all_of(quoted.begin(), quoted.end(), [](char c) { return c >= 0x20 && c < 0x7f; }));
  std::string back;
  ASSERT_TRUE(unquote(quoted, &back));
  EXPECT_EQ(back, all);
  EXPECT_EQ(quote("a\"\\\n\t\r\xe2\x80\xae"), R"("a\"\\\n\t\x0d\xe2\x80\xae")");
}

TEST(Text, UnquoteRefusesWhatQuoteDoesNotWrite) {
  std::string out = "kept";
  for (const char* bad : {"", "\"", "a", "\"a", "\"\\\"", "\"\\x1\"", "\"\\xzz\"", "\"\\q\"", "\"a\"b\"", "\"\n\"", "\"\xc3\""}) {
    EXPECT_FALSE(unquote(bad, &out)) << bad;
  }
  EXPECT_EQ(out, "kept");
}

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("", "", 2), 0);
  EXPECT_EQ(edit_distance("relu", "relu", 2), 0);
  EXPECT_EQ(edit_distance("relu", "rleu", 2), 1);
  EXPECT_EQ(edit_distance("relu", "rel", 2), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting", 5), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3);
  EXPECT_EQ(edit_distance("", "abc", 3), 3);
  EXPECT_EQ(edit_distance("abcdef", "badcfe", 3), 3);
  EXPECT_EQ(edit_distance(std::string(70000, 'a'), "b", 2), 3);
}

// The band must not change the answer: compare with the whole table.
int plain_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> t(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        t[i][j] = static_cast<int>(i + j);
        continue;
      }
      t[i][j] = std::min({t[i - 1][j] + 1, t[i][j - 1] + 1, t[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) t[i][j] = std::min(t[i][j], t[i - 2][j - 2] + 1);
    }
  }
  return t[a.size()][b.size()];
}

TEST(Text, BandedDistanceEqualsThePlainOne) {
  uint32_t state = 1;
  const auto next = [&state](uint32_t n) { return (state = state * 1664525u + 1013904223u) / 65536u % n; };
  for (int round = 0; round < 3000; ++round) {
    std::string a, b;
    for (uint32_t i = next(9); i > 0; --i) a.push_back(static_cast<char>('a' + next(3)));
    for (uint32_t i = next(9); i > 0; --i) b.push_back(static_cast<char>('a' + next(3)));
    for (int cap = 0; cap < 5; ++cap)
      ASSERT_EQ(edit_distance(a, b, cap), std::min(plain_distance(a, b), cap + 1)) << a << " " << b << " " << cap;
  }
}

TEST(Text, Nearest) {
  const std::vector<std::string> names = {"input", "output", "mask"};
  EXPECT_EQ(nearest("inptu", names), "input");
  EXPECT_EQ(nearest("otput", names), "output");
  EXPECT_EQ(nearest("weights", names), "");
  EXPECT_EQ(nearest("q", std::vector<std::string>{"ab"}), "");
}

TEST(Text, HumanBytes) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(840), "840 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1 KiB");
  EXPECT_EQ(human_bytes(1258291), "1.2 MiB");
  EXPECT_EQ(human_bytes((1 << 20) - 1), "1 MiB");
  EXPECT_EQ(human_bytes(256ull << 20), "256 MiB");
  EXPECT_EQ(human_bytes(~0ull), "16 EiB");
}

}  // namespace
}  // namespace nnc
