#pragma once
// Resource limits for input that nobody vouches for, and the account that is charged before memory is taken or work is done. The
// table of limits is in budget.cpp: name, default, unit. A Budget belongs to one task on one thread; there is no global one.

#include <array>
#include <cstdint>
#include <string_view>

#include "ir/support/result.h"

namespace nnc {

enum class Limit : uint8_t {
  kNodes,          // nodes of a model, subgraphs included
  kTensors,        // tensors and values of a model
  kRank,           // axes of one tensor
  kElements,       // elements of one tensor
  kNameBytes,      // bytes of one name
  kStringBytes,    // bytes of all strings
  kSubgraphDepth,  // nesting of subgraphs and function calls
  kWireDepth,      // nesting of messages in a file
  kInlinedNodes,   // nodes after functions are inlined
  kLoopTrips,      // trips of one loop
  kSourceBytes,    // generated source
  kFoldedBytes,    // constants made by folding
  kTotalBytes,     // memory taken for one input
};
inline constexpr size_t kLimitCount = 13;

// The word for messages and options: "nodes", "rank".
std::string_view limit_name(Limit limit);

// The values of all limits; passed by value.
class Limits {
 public:
  Limits();  // the defaults
  int64_t& operator[](Limit limit) { return values_[static_cast<size_t>(limit)]; }
  int64_t operator[](Limit limit) const { return values_[static_cast<size_t>(limit)]; }
  // Text of the option `--limit`: "nodes=2000000". An unknown name or a bad number is a usage error.
  Status set(std::string_view setting);

 private:
  std::array<int64_t, kLimitCount> values_;
};

class Budget {
 public:
  explicit Budget(Limits limits = {}) : limits_(limits) {}

  // Adds `amount` to what was charged; refused, and not added, when the sum passes the limit.
  Status charge(Limit limit, int64_t amount);
  // Gives back what an earlier charge took.
  void release(Limit limit, int64_t amount);
  // A single value against its limit; nothing is added up.
  Status within(Limit limit, int64_t value) const;

  int64_t charged(Limit limit) const { return charged_[static_cast<size_t>(limit)]; }
  const Limits& limits() const { return limits_; }

 private:
  Limits limits_;
  std::array<int64_t, kLimitCount> charged_{};
};

}  // namespace nnc
