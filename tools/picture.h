#pragma once
// Pictures of graphs and of memory as text: Graphviz's language, and SVG laid out here, so that nothing else is needed to look at one.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nnc::tool {

struct PictureNode {
  enum Kind : uint8_t { kValue, kProduct, kFold, kPointwise, kOther } kind = kOther;
  std::string title, hover;
  std::vector<std::string> lines;  // below the title
};
struct PictureEdge {
  uint32_t from = 0, to = 0;  // an edge leads to a later node
  std::string text;           // the type of the value
};
struct GraphPicture {
  std::string title;
  std::vector<PictureNode> nodes;  // in topological order
  std::vector<PictureEdge> edges;
};
std::string graph_dot(const std::vector<GraphPicture>& graphs);
// Nodes in layers by their distance from the inputs, one sweep against crossings.
std::string graph_svg(const std::vector<GraphPicture>& graphs);

struct MemoryBlock {
  std::string name, hover;
  uint32_t first = 0, last = 0;  // steps, inclusive
  int64_t offset = 0, bytes = 0;
  bool alias = false;  // shares the memory of another block: drawn as an outline
};
struct MemoryPicture {
  std::string title;
  std::vector<MemoryBlock> blocks;
  uint32_t steps = 0;
  int64_t peak = 0, lower_bound = 0;
};
// Steps to the right, addresses upwards, a rectangle for each buffer, lines at the peak and at the lower bound.
std::string memory_svg(const std::vector<MemoryPicture>& pictures);

}  // namespace nnc::tool
