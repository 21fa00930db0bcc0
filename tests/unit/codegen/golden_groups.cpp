#include "tests/unit/codegen/golden_groups.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "ir/support/file.h"

namespace nnc::golden_groups {

void check_text(const Golden& golden, const std::string& text, const std::string& path) {
  for (const std::string& m : golden.must) EXPECT_NE(text.find(m), std::string::npos) << golden.name << " lacks " << m;
  for (const std::string& m : golden.must_not) EXPECT_EQ(text.find(m), std::string::npos) << golden.name << " has " << m;
  const char* bless = std::getenv("NNC_BLESS");
  if (bless != nullptr && std::string_view(bless) == "1") {
    ASSERT_TRUE(write_file_atomic(path, bytes_of(text)).ok());
    return;
  }
  const auto stored = read_file(path, 1 << 20);
  ASSERT_TRUE(stored.ok()) << stored.error().str();
  EXPECT_EQ(std::string(stored->begin(), stored->end()), text) << path << " differs (NNC_BLESS=1 rewrites it)";
}

}  // namespace nnc::golden_groups
