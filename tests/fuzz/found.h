#pragma once
// Graphs that earlier runs found faults with, reduced by hand: tests/fuzz/found/*.nnir, run beside the random ones.

#include <string>
#include <vector>

#include "tests/fuzz/generator.h"

namespace nnc::test {

// The files, in order of their names; what does not parse is an error naming the file and line. Arguments are drawn from the file's name,
// so that a file always means the same; symbolic extents are their typical values, in the second run their smallest. Results whose names
// begin with "exact" are compared to the last bit.
Result<std::vector<std::string>> found_files(const std::string& folder);
Result<RandomGraph> found_graph(const std::string& path);

}  // namespace nnc::test
