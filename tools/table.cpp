#include "tools/table.h"

#include <algorithm>

#include "ir/support/result.h"
#include "ir/support/text.h"
#include "tools/console.h"

namespace nnc::tool {

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {
  for (std::string& h : header_) {
    right_.push_back(h.starts_with('>'));
    if (right_.back()) h.erase(0, 1);
  }
}

void Table::row(std::vector<std::string> cells) {
  NNC_CHECK(cells.size() == header_.size(), "as many cells as columns");
  for (std::string& c : cells) c = printable(c);
  rows_.push_back(std::move(cells));
}

std::string cut_middle(std::string_view text, size_t width) {
  if (screen_width(text) <= width || width < 8) return std::string(text);
  const size_t head = (width - 3) / 2, tail = width - 3 - head;
  std::vector<size_t> starts;
  for (size_t k = 0; k < text.size(); ++k)
    if ((static_cast<unsigned char>(text[k]) & 0xc0) != 0x80) starts.push_back(k);
  return cat(text.substr(0, starts[head]), "...", text.substr(starts[starts.size() - tail]));
}

std::string Table::str(int width) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < header_.size(); ++c) {
    size_t w = screen_width(header_[c]);
    for (const auto& r : rows_) w = std::max(w, screen_width(r[c]));
    widths.push_back(w);
  }
  size_t total = 1;
  for (const size_t w : widths) total += w + 2;
  if (width > 0 && total > static_cast<size_t>(width)) {
    size_t& widest = *std::ranges::max_element(widths);
    const size_t over = total - static_cast<size_t>(width);
    widest = widest > over + 20 ? widest - over : std::min<size_t>(widest, 20);
  }
  std::string out;
  auto line = [&](const std::vector<std::string>& cells) {
    std::string text = " ";
    for (size_t c = 0; c < cells.size(); ++c) {
      const std::string cell = cut_middle(cells[c], widths[c]);
      const std::string pad(widths[c] - std::min(widths[c], screen_width(cell)), ' ');
      append(text, right_[c] ? pad : std::string(), cell, right_[c] ? std::string() : pad, c + 1 < cells.size() ? "  " : "");
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    append(out, text, "\n");
  };
  line(header_);
  for (const auto& r : rows_) line(r);
  return out;
}

}  // namespace nnc::tool
