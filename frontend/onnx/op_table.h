#pragma once
// The operators that the importer knows: one row per (domain, name, opset versions) and meaning. A row's function appends IR ops for one
// node. A change of an operator's meaning between opsets is a second row, or one `version()` test where only the place of a parameter
// moved.

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/graph.h"

namespace nnc::onnx {

class NodeContext;

inline constexpr int64_t kNewestOpset = 27;

struct OpRow {
  std::string_view name;
  int64_t since = 1, until = kNewestOpset;
  int min_inputs = 1, max_inputs = 1;  // max -1: any number
  int max_outputs = 1;                 // -1: any number
  Status (*import)(NodeContext&) = nullptr;
  OpKind kind = OpKind::kCount;  // for functions that serve several rows
  std::string_view text = {};    // likewise: "sum", "max"
};

// Rows of ai.onnx, by family file. All other domains are unknown but for functions that the model itself defines.
std::span<const OpRow> rows_elementwise();
std::span<const OpRow> rows_shape();
std::span<const OpRow> rows_move();
std::span<const OpRow> rows_indexing();
std::span<const OpRow> rows_reduce();
std::span<const OpRow> rows_nn();
std::span<const OpRow> rows_resize();
std::span<const OpRow> rows_attention();
std::span<const OpRow> rows_quant();
std::span<const OpRow> rows_if();
std::span<const OpRow> rows_loop();

// The row that serves `name` at an opset; nullptr: none.
const OpRow* find_row(std::string_view name, int64_t version);
// Rows of that name, for messages.
std::vector<const OpRow*> rows_named(std::string_view name);

}  // namespace nnc::onnx
