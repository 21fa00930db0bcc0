// One case per file tests/golden/*/*.nnir.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/golden/runner.h"

namespace nnc::golden {
namespace {

std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& f : std::filesystem::recursive_directory_iterator(NNC_SOURCE_DIR "/tests/golden")) {
    if (f.path().extension() == ".nnir") files.push_back(f.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string case_name(const testing::TestParamInfo<std::string>& info) {
  const std::filesystem::path path(info.param);
  std::string name = path.parent_path().filename().string() + "_" + path.stem().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, File) {
  const char* bless = std::getenv("NNC_BLESS");
  for (const std::string& problem : run_file(GetParam(), bless != nullptr && std::string(bless) == "1"))
    ADD_FAILURE() << GetParam() << ": " << problem;
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files()), case_name);

}  // namespace
}  // namespace nnc::golden
