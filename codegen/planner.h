#pragma once
// The planner: from a module whose compute nodes are groups (passes/outline) to a Program: placement, order, memory. One step for each
// group, region steps for control ops; views cost nothing.

#include <map>
#include <string>
#include <vector>

#include "codegen/lower.h"
#include "ir/base/plan.h"

namespace nnc {

// What the planner hands on beside the program: the kernels it built, in the order of Program::kernels.
struct PlannedProgram {
  Program program;
  std::vector<Kernel> kernels;
  std::vector<ConstId> constants;        // per Program::constants
  std::map<std::string, int> skeletons;  // steps by skeleton, for `dump` and tests
};

Result<PlannedProgram> plan_module(Module& module, const Target& target, const LowerOptions& options = {});

// `d` with every bounded symbol at its upper bound: what memory and strides are made for.
Dim capacity(SymbolTable& symbols, const Dim& d);

}  // namespace nnc
