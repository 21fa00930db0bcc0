#pragma once
// The graph verifier. The header of verifier.cpp lists every invariant; each has a failing golden file under tests/golden/verify.

#include <vector>

#include "ir/graph.h"

namespace nnc {

struct Diagnostic {
  std::string message;
  const Graph* graph = nullptr;
  NodeId node;  // invalid: concerns the graph itself
};
struct VerifyOptions {
  bool recheck_types = true;  // infer again and compare with the stored types
};
std::vector<Diagnostic> verify(const Module& m, const VerifyOptions& options = {});
// Ok, or the first problems as one Error of code kInvalidIr whose context shows the offending lines of text.
Status verify_or_error(const Module& m, const VerifyOptions& options = {});

}  // namespace nnc
