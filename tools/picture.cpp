#include "tools/picture.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "ir/support/text.h"
#include "tools/console.h"

namespace nnc::tool {

namespace {

constexpr double kLetter = 7.2, kLine = 16, kMargin = 20;
constexpr std::string_view kFills[] = {"#f4f4f4", "#cfe2ff", "#d6efd8", "#fdf3d0", "#ece3f5"};  // by PictureNode::Kind
constexpr std::string_view kWords[] = {"value", "product or convolution", "fold", "pointwise", "other"};

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", v);
  return text;
}

// For XML, and for Graphviz's quoted strings: what no reader of either can take is spelled out first.
std::string escaped(std::string_view text, std::string_view what, const std::vector<std::string_view>& by) {
  std::string out;
  for (const char c : printable(text)) {
    const size_t at = what.find(c);
    out += at == std::string_view::npos ? std::string_view(&c, 1) : by[at];
  }
  return out;
}
std::string xml(std::string_view text) { return escaped(text, "&<>\"", {"&amp;", "&lt;", "&gt;", "&quot;"}); }
std::string dot(std::string_view text) { return escaped(text, "\"\\\n", {"\\\"", "\\\\", "\\n"}); }

// An SVG document; colours follow the reader's light or dark, and every shape has its words.
class Svg {
 public:
  void text(double x, double y, std::string_view s, std::string_view more = {}) {
    append(body_, "<text x=\"", number(x), "\" y=\"", number(y), "\"", more, ">", xml(s), "</text>\n");
  }
  void add(std::string_view s) { body_ += s; }
  std::string finish(double width, double height) {
    return cat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", number(width), "\" height=\"", number(height), "\" viewBox=\"0 0 ",
               number(width), " ", number(height),
               "\">\n<style>text{font:12px monospace;fill:#111}.h{font-weight:bold}.e{fill:none;stroke:#888}",
               ".a{marker-end:url(#a)}.out{fill:#111}@media(prefers-color-scheme:dark){svg{background:#1b1b1b}.out{fill:#eee}}</style>\n",
               "<defs><marker id=\"a\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">",
               "<path d=\"M0 0L6 3L0 6z\" fill=\"#888\"/></marker></defs>\n", body_, "</svg>\n");
  }

 private:
  std::string body_;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

Box size_of(const PictureNode& n) {
  size_t letters = screen_width(n.title);
  for (const std::string& line : n.lines) letters = std::max(letters, screen_width(line));
  return {0, 0, static_cast<double>(letters) * kLetter + 16, kLine * static_cast<double>(n.lines.size() + 1) + 10};
}

// Boxes of all nodes with the graph's upper left corner at (0, top).
std::vector<Box> place(const GraphPicture& g, double top, double* width, double* height) {
  std::vector<size_t> layer(g.nodes.size(), 0);
  std::vector<std::vector<uint32_t>> before(g.nodes.size());
  for (const PictureEdge& e : g.edges) before[e.to].push_back(e.from);
  std::vector<std::vector<uint32_t>> layers;
  for (uint32_t n = 0; n < g.nodes.size(); ++n) {
    for (const uint32_t b : before[n]) layer[n] = std::max(layer[n], layer[b] + 1);
    if (layers.size() <= layer[n]) layers.resize(layer[n] + 1);
    layers[layer[n]].push_back(n);
  }
  std::vector<Box> boxes;
  for (const PictureNode& n : g.nodes) boxes.push_back(size_of(n));
  *width = 0;
  double y = top;
  for (std::vector<uint32_t>& row : layers) {
    auto wish = [&](uint32_t n) {
      double sum = 0;
      for (const uint32_t b : before[n]) sum += boxes[b].x + boxes[b].width / 2;
      return before[n].empty() ? 0 : sum / static_cast<double>(before[n].size());
    };
    std::ranges::stable_sort(row, {}, wish);
    double x = kMargin, tallest = 0;
    for (const uint32_t n : row) {
      boxes[n].x = std::max(x, wish(n) - boxes[n].width / 2);
      boxes[n].y = y;
      x = boxes[n].x + boxes[n].width + kMargin;
      tallest = std::max(tallest, boxes[n].height);
    }
    *width = std::max(*width, x);
    y += tallest + 2 * kMargin;
  }
  *height = y;
  return boxes;
}

void draw_node(const PictureNode& n, const Box& b, Svg& svg) {
  svg.add(cat("<g><title>", xml(n.hover.empty() ? kWords[n.kind] : std::string_view(n.hover)), "</title>", "<rect x=\"", number(b.x),
              "\" y=\"", number(b.y), "\" width=\"", number(b.width), "\" height=\"", number(b.height), "\" rx=\"",
              n.kind == PictureNode::kValue ? "12" : "3", "\" fill=\"", kFills[n.kind], "\" stroke=\"#555\"/>\n"));
  svg.text(b.x + 8, b.y + kLine, n.title, " class=\"h\"");
  for (size_t k = 0; k < n.lines.size(); ++k) svg.text(b.x + 8, b.y + kLine * static_cast<double>(k + 2), n.lines[k]);
  svg.add("</g>\n");
}

std::string megabytes(int64_t n) { return human_bytes(static_cast<uint64_t>(n)); }

}  // namespace

std::string graph_dot(const std::vector<GraphPicture>& graphs) {
  std::string out =
      "digraph nnc {\n  node [shape=box, style=filled, fontname=monospace, fontsize=10]\n  edge [fontname=monospace, fontsize=9]\n";
  for (size_t g = 0; g < graphs.size(); ++g) {
    append(out, "  subgraph cluster", g, " {\n    label=\"", dot(graphs[g].title), "\"\n");
    for (size_t n = 0; n < graphs[g].nodes.size(); ++n) {
      const PictureNode& node = graphs[g].nodes[n];
      append(out, "    g", g, "n", n, " [label=\"", dot(node.title),
             join(node.lines, "", [](const std::string& l) { return cat("\\n", dot(l)); }), "\", fillcolor=\"", kFills[node.kind],
             "\", tooltip=\"", dot(node.hover), "\"", node.kind == PictureNode::kValue ? ", shape=ellipse" : "", "]\n");
    }
    for (const PictureEdge& e : graphs[g].edges)
      append(out, "    g", g, "n", e.from, " -> g", g, "n", e.to, " [label=\"", dot(e.text), "\"]\n");
    out += "  }\n";
  }
  return out + "}\n";
}

std::string graph_svg(const std::vector<GraphPicture>& graphs) {
  Svg svg;
  double width = 400, top = kMargin;
  for (const GraphPicture& g : graphs) {
    svg.text(kMargin, top, g.title, " class=\"h out\"");
    double own = 0, bottom = 0;
    const std::vector<Box> boxes = place(g, top + kMargin, &own, &bottom);
    for (const PictureEdge& e : g.edges) {
      const Box &a = boxes[e.from], &b = boxes[e.to];
      const double x0 = a.x + a.width / 2, y0 = a.y + a.height, x1 = b.x + b.width / 2, y1 = b.y;
      svg.add(cat("<path class=\"e a\" d=\"M", number(x0), " ", number(y0), "C", number(x0), " ", number(y0 + kMargin), " ", number(x1),
                  " ", number(y1 - kMargin), " ", number(x1), " ", number(y1), "\"><title>", xml(e.text), "</title></path>\n"));
    }
    for (size_t n = 0; n < boxes.size(); ++n) draw_node(g.nodes[n], boxes[n], svg);
    width = std::max(width, own);
    top = bottom + kMargin;
  }
  return svg.finish(width, top);
}

std::string memory_svg(const std::vector<MemoryPicture>& pictures) {
  constexpr double kLeft = 100, kHeight = 400;
  Svg svg;
  double width = 400, top = kMargin;
  for (const MemoryPicture& p : pictures) {
    const double step = std::clamp(1200.0 / std::max<double>(1, p.steps), 3.0, 60.0);
    const double right = kLeft + step * static_cast<double>(p.steps);
    const int64_t whole = std::max<int64_t>({1, p.peak, p.lower_bound});
    auto height = [&](int64_t bytes) { return kHeight * static_cast<double>(bytes) / static_cast<double>(whole); };
    svg.text(kMargin, top, cat(p.title, ": ", megabytes(p.peak), ", lower bound ", megabytes(p.lower_bound), ", ", p.steps, " steps"),
             " class=\"h out\"");
    const double base = top + kMargin + kHeight;
    for (const MemoryBlock& b : p.blocks) {
      const double x = kLeft + step * b.first, w = step * (b.last - b.first + 1), h = std::max(height(b.bytes), 0.5);
      const double y = base - height(b.offset) - h;
      svg.add(cat("<g><title>", xml(b.hover), "</title><rect x=\"", number(x), "\" y=\"", number(y), "\" width=\"", number(w),
                  "\" height=\"", number(h), "\" fill=\"", b.alias ? "none" : kFills[1], "\" stroke=\"#555\"",
                  b.alias ? " stroke-dasharray=\"3\"" : "", "/>\n"));
      if (!b.alias && h >= kLine - 2 && w >= kLetter * static_cast<double>(screen_width(b.name)) + 6)
        svg.text(x + 3, y + h / 2 + 4, b.name);
      svg.add("</g>\n");
    }
    const auto line = [&](int64_t bytes, std::string_view word, double below) {
      const double y = base - height(bytes);
      svg.add(cat("<path class=\"e\" stroke-dasharray=\"6\" d=\"M", number(kLeft), " ", number(y), "H", number(right), "\"/>\n"));
      svg.text(4, y + below, word, " class=\"out\"");
    };
    line(p.peak, "peak", 4);
    if (p.peak != p.lower_bound) line(p.lower_bound, "lower bound", kLine);
    svg.text(kLeft, base + kLine, cat("steps 0 to ", p.steps == 0 ? 0 : p.steps - 1), " class=\"out\"");
    width = std::max(width, right + kMargin);
    top = base + 3 * kMargin;
  }
  return svg.finish(width, top);
}

}  // namespace nnc::tool
