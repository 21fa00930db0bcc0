#include "frontend/onnx/op_table.h"

#include <map>
#include <vector>

#include "frontend/onnx/importer.h"

namespace nnc::onnx {

namespace {

using Table = std::multimap<std::string_view, const OpRow*>;

const Table& table() {
  static const Table rows = [] {
    Table t;
    for (const auto family : {rows_elementwise(), rows_shape(), rows_move(), rows_indexing(), rows_reduce(), rows_nn(), rows_resize(),
                              rows_attention(), rows_quant(), rows_if(), rows_loop()}) {
      for (const OpRow& row : family) t.emplace(row.name, &row);
    }
    return t;
  }();
  return rows;
}

}  // namespace

const OpRow* find_row(std::string_view name, int64_t version) {
  for (auto [it, end] = table().equal_range(name); it != end; ++it) {
    if (it->second->since <= version && version <= it->second->until) return it->second;
  }
  return nullptr;
}

std::vector<const OpRow*> rows_named(std::string_view name) {
  std::vector<const OpRow*> rows;
  for (auto [it, end] = table().equal_range(name); it != end; ++it) rows.push_back(it->second);
  return rows;
}

}  // namespace nnc::onnx

namespace nnc {

std::vector<OnnxOperator> onnx_operators() {
  std::vector<OnnxOperator> out;
  for (const auto& [name, row] : onnx::table()) out.push_back({"", name, row->since, row->until});
  return out;
}

}  // namespace nnc
