#pragma once
// The steps of a program that no kernel does, by kind, and which kinds may be there: what depends on data that only the host looks at.

#include <map>
#include <string>

#include "ir/base/plan.h"

namespace nnc::test {

// "non_zero" and other host functions by name, "if", "loop", "bind".
std::map<std::string, int> host_steps(const Program& program);
std::string host_steps_text(const std::map<std::string, int>& steps);
// Host functions other than NonZero and integer shape arithmetic on data are an error, copies and fills of whole tensors are not.
Status check_host_steps(const Program& program);

}  // namespace nnc::test
