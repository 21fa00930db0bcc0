#pragma once
// Planted miscompiles, to measure what the tests find: `mutant("name")` stands where one would be, and is true in a process whose
// environment says NNC_MUTANT=name. tests/fuzz/mutants.tsv lists them, tests/fuzz/mutants.py looks for what finds each. In a build without
// the option NNC_MUTANTS (the default, and every build that is installed) it is always false and the environment is not read.

#include <string_view>

namespace nnc {

bool mutant(std::string_view name);

}  // namespace nnc
