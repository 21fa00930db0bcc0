#pragma once
// IR text: printer and parser of modules and graphs (grammar: docs/ir-text.md). Whatever prints parses back to the same module, byte for
// byte when printed again. Constants over 64 elements print as content hash and are read from a side file.

#include <functional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace nnc {

struct PrintOptions {
  bool locations = true;
  size_t max_inline_elements = 64;
};
std::string print_module(const Module& m, const PrintOptions& options = {});
std::string print_graph(const Graph& g, const PrintOptions& options = {});
std::string print_node(const Graph& g, NodeId id, const PrintOptions& options = {});

// Finds large constants by hash; nullptr result is an error naming the hash.
using ConstantSource = std::function<Result<Tensor>(const Digest& hash, DType dtype, std::span<const int64_t> dims)>;
// What the parser noticed beside the module: all problems (the Error names them too), and the lines that nodes and graphs stand on.
struct TextProblem {
  int line = 0, column = 0;
  std::string message;
};
struct ParseInfo {
  struct Line {
    const Graph* graph = nullptr;
    NodeId node;  // invalid: the graph's first line
    int line = 0;
  };
  std::vector<TextProblem> problems;
  std::vector<Line> lines;
};
// All errors at once, each with line and column. `info` may be null.
Result<std::unique_ptr<Module>> parse_module(std::string_view text, const ConstantSource& constants = {}, ParseInfo* info = nullptr);
// Side file of the constants that print as hash: a simple container (hash, dtype, dims, bytes), written and read as bytes.
std::string constants_side_file(const Module& m, size_t max_inline_elements = 64);
Result<ConstantSource> open_constants_side_file(std::string bytes);

// Content hash of a graph that does not depend on names, locations or value numbering: equal for equal computations with equal types (used
// for regions and groups).
Digest canonical_hash(const Graph& g);

}  // namespace nnc
