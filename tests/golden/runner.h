#pragma once
// Golden files: IR text with a command in its first line and checks in comments. Described in tests/golden/README.md.

#include <string>
#include <string_view>
#include <vector>

namespace nnc::golden {

// Checks the directives that stand in `file` against `output`; what failed, one entry each.
std::vector<std::string> check_output(std::string_view file, std::string_view output);

// Runs the file's command and checks. With `bless`, a `precise` file is rewritten instead.
std::vector<std::string> run_file(const std::string& path, bool bless);

}  // namespace nnc::golden
