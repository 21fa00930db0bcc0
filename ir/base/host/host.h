#pragma once
// Host functions: the steps of a plan that run as plain code on host memory, found by name. One implementation each; nothing here knows of
// graphs or sessions. A function that counts (NonZero) reports its data symbols. Functions check what depends on data and answer with an
// error; what the plan fixes (arity, dtypes) was verified before.

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/base/dtype.h"
#include "ir/support/result.h"

namespace nnc {

struct HostOperand {
  DType dtype = DType::kInvalid;
  std::span<const int64_t> dims;  // a result's extents over symbols that the step itself binds are -1
  void* data = nullptr;           // inputs are not written
  int64_t bytes = 0;              // room
};
struct HostCall {
  std::span<const HostOperand> inputs;
  HostOperand result;
  std::span<const int64_t> ints;      // attributes
  std::span<const int64_t> dims;      // attributes that are extents, evaluated
  std::span<const int64_t> capacity;  // per counted symbol: rows are that long in memory; -1: as long as the count
  std::span<int64_t> symbols;         // out: the counts
};
struct HostFunction {
  std::string_view name;
  int inputs;
  int ints;
  int symbols;
  Status (*run)(const HostCall& call);
};

const HostFunction* find_host_function(std::string_view name);
std::span<const HostFunction> host_functions();

// The functions, by file.
Status host_non_zero(const HostCall& call);
Status host_resolve_reshape(const HostCall& call);

}  // namespace nnc
