// Every golden file of a pass computes the same before and after it.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "ir/support/file.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "tests/unit/passes/equivalence.h"

namespace nnc::test {
namespace {

constexpr std::string_view kOpt = "// run: opt --passes=";

TEST(PassGoldens, ComputeTheSame) {
  std::vector<std::string> files;
  for (const auto& f : std::filesystem::recursive_directory_iterator(NNC_SOURCE_DIR "/tests/golden")) {
    if (f.path().extension() == ".nnir") files.push_back(f.path().string());
  }
  std::sort(files.begin(), files.end());
  int compared = 0;
  for (const std::string& path : files) {
    const Result<Bytes> bytes = read_file(path, 1 << 20);
    ASSERT_TRUE(bytes.ok()) << bytes.error().str();
    const std::string_view text = text_of(*bytes);
    if (!text.starts_with(kOpt)) continue;
    const std::string passes(trim(text.substr(kOpt.size(), text.find('\n') - kOpt.size())));
    const Result<std::unique_ptr<Module>> m = parse_module(text);
    ASSERT_TRUE(m.ok()) << path << ": " << m.error().str();
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      EquivalenceOptions options;
      options.seed = seed;
      options.extent = seed == 2 ? 1 : 4;
      const std::string problem = compare_after(**m, passes, options);
      EXPECT_EQ(problem, "") << path;
      if (!problem.empty()) break;
    }
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace nnc::test
