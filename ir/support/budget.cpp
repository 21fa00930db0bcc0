#include "ir/support/budget.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ir/support/text.h"

namespace nnc {

namespace {

struct LimitRow {
  Limit limit;
  std::string_view name;
  std::string_view what;
  bool bytes;
  int64_t value;
};

constexpr LimitRow kRows[] = {
    {Limit::kNodes, "nodes", "nodes", false, 1'000'000},
    {Limit::kTensors, "tensors", "tensors", false, 1'000'000},
    {Limit::kRank, "rank", "axes of one tensor", false, 32},
    {Limit::kElements, "elements", "elements of one tensor", false, int64_t{1} << 48},
    {Limit::kNameBytes, "name-bytes", "bytes of one name", true, 4 << 10},
    {Limit::kStringBytes, "string-bytes", "bytes of strings", true, 256 << 20},
    {Limit::kSubgraphDepth, "subgraph-depth", "nested subgraphs", false, 32},
    {Limit::kWireDepth, "wire-depth", "nested messages", false, 100},
    {Limit::kInlinedNodes, "inlined-nodes", "nodes after inlining", false, 5'000'000},
    {Limit::kLoopTrips, "loop-trips", "trips of one loop", false, int64_t{1} << 31},
    {Limit::kSourceBytes, "source-bytes", "bytes of generated source", true, 64 << 20},
    {Limit::kFoldedBytes, "folded-bytes", "bytes of folded constants", true, 256 << 20},
    {Limit::kTotalBytes, "total-bytes", "bytes of memory for one input", true, int64_t{64} << 30},
};
static_assert(std::size(kRows) == kLimitCount);
constexpr bool in_order() {
  for (size_t i = 0; i < kLimitCount; ++i) {
    if (static_cast<size_t>(kRows[i].limit) != i) return false;
  }
  return true;
}
static_assert(in_order(), "one row per limit, in the order of the enumeration");

const LimitRow& row_of(Limit limit) { return kRows[static_cast<size_t>(limit)]; }

std::string spell(const LimitRow& row, int64_t value) {
  if (!row.bytes || value < 1024) return cat(value);
  return cat(value, " (", human_bytes(static_cast<uint64_t>(value)), ")");
}

Error refused(const LimitRow& row, int64_t value, int64_t limit) {
  return Error(Code::kLimit, cat(spell(row, value), " ", row.what, ": the limit ", row.name, " is ", spell(row, limit)))
      .with(cat("try: --limit ", row.name, "=", value, " if this input is trusted"));
}

Error negative(const LimitRow& row, int64_t value) { return Error(Code::kLimit, cat(value, " ", row.what, ": negative")); }

}  // namespace

std::string_view limit_name(Limit limit) { return row_of(limit).name; }

Limits::Limits() {
  for (const LimitRow& row : kRows) (*this)[row.limit] = row.value;
}

Status Limits::set(std::string_view setting) {
  const size_t equals = setting.find('=');
  const std::string_view name = setting.substr(0, equals);
  const auto* row = std::ranges::find(kRows, name, &LimitRow::name);
  if (row == std::end(kRows)) {
    std::vector<std::string> names;
    for (const LimitRow& known : kRows) names.emplace_back(known.name);
    Error error(Code::kUsage, cat("no limit is called ", quote(name), "; the limits are ", join(names, ", ")));
    if (const std::string meant = nearest(name, names); !meant.empty()) return std::move(error).with(cat("did you mean ", meant, "?"));
    return error;
  }
  int64_t value = 0;
  if (equals == std::string_view::npos || !parse_int(setting.substr(equals + 1), &value) || value < 0) {
    return Error(Code::kUsage, cat("limit ", quote(setting), ": expected ", name, "=NUMBER, a whole number of at least 0"));
  }
  (*this)[row->limit] = value;
  return {};
}

Status Budget::charge(Limit limit, int64_t amount) {
  const LimitRow& row = row_of(limit);
  int64_t& charged = charged_[static_cast<size_t>(limit)];
  if (amount < 0) return negative(row, amount);
  int64_t sum = 0;
  if (__builtin_add_overflow(charged, amount, &sum)) sum = INT64_MAX;
  if (sum > limits_[limit] || sum == INT64_MAX) return refused(row, sum, limits_[limit]);
  charged = sum;
  return {};
}

void Budget::release(Limit limit, int64_t amount) {
  int64_t& charged = charged_[static_cast<size_t>(limit)];
  NNC_CHECK(amount >= 0 && amount <= charged, "more released than charged");
  charged -= amount;
}

Status Budget::within(Limit limit, int64_t value) const {
  const LimitRow& row = row_of(limit);
  if (value < 0) return negative(row, value);
  if (value > limits_[limit]) return refused(row, value, limits_[limit]);
  return {};
}

}  // namespace nnc
