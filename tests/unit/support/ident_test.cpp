#include "ir/support/ident.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>

namespace nnc {
namespace {

TEST(Identifiers, PrefixAndCounterOnly) {
  IdentifierMaker values("v"), blocks("block_");
  EXPECT_EQ(values.next(), "v0");
  EXPECT_EQ(values.next(), "v1");
  EXPECT_EQ(blocks.next(), "block_0");
  EXPECT_EQ(values.name(17), "v17");
  EXPECT_EQ(values.count(), 2u);
}

TEST(Identifiers, TextOfAModelIsNoPrefix) {
  // A prefix takes a constant only; strings that exist at run time do not convert.
  EXPECT_FALSE((std::is_constructible_v<IdentifierMaker, std::string>));
  EXPECT_FALSE((std::is_constructible_v<IdentifierMaker, std::string_view>));
}

TEST(Identifiers, PrefixesAreCheckedAtCompileTime) {
  for (const char* good : {"v", "t", "acc", "in_", "s2x"}) EXPECT_TRUE(IdentifierPrefix::well_formed(good)) << good;
  for (const char* bad : {"", "1v", "v1", "_v", "V", "v-", "a__b", "v\n", "v*/", "\xc3\xa9", "float", "int", "y", "log", "dim"}) {
    EXPECT_FALSE(IdentifierPrefix::well_formed(bad)) << bad;
  }
}

TEST(Identifiers, TwoPrefixesNeverSpellOneName) {
  // A prefix does not end with a digit, so the number can be read back from the name.
  IdentifierMaker a("v"), b("v1x"), c("v1x1_");
  std::set<std::string> names;
  for (int i = 0; i < 200; ++i) names.insert({a.next(), b.next(), c.next()});
  EXPECT_EQ(names.size(), 600u);
}

}  // namespace
}  // namespace nnc
