#pragma once
// The bounds proof of invariant 3. An index is a polynomial over the kernel's symbols and further quantities (loop variables, task and
// thread numbers, lanes, quotients, minima); an access is proved when 0 <= index and index <= extent - 1 follow by putting each quantity at
// the extreme that its coefficient's sign asks for, with the help of conditions that hold there (masks, `if`, checks, the definitions of
// quotients). "Unproved" is no verdict: the interpreter checks every access anyway.

#include <string>
#include <vector>

#include "ir/base/kernel.h"

namespace nnc {

struct AccessReport {
  StmtId stmt;
  BufId buffer;
  bool outside = false;  // certainly outside: constant index and extent, no mask
  bool masked = false;
  std::string text;  // for messages: what was to be shown
};
struct BoundsReport {
  int accesses = 0;
  int unproved = 0;
  std::vector<AccessReport> open;  // the unproved ones
};
BoundsReport prove_accesses(const Kernel& k);

}  // namespace nnc
