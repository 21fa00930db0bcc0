#pragma once
// ONNX Runtime's C interface as far as the paired harness calls it. The library hands out one table of function pointers that only ever
// grows at its end, so an entry is known by its number, and version 5 of the table has all of these. tests/bench/ort_check.py proves the
// numbers on a small model.

#include <cstddef>
#include <cstdint>

namespace nnc::bench {

struct OrtStatus;  // null: success
struct OrtObject;  // environment, options, session, value, ...: opaque here

struct OrtApiBase {
  void* const* (*api)(uint32_t version);
  const char* (*version)();
};
inline constexpr uint32_t kOrtApiVersion = 5;

template <size_t Number, class Function> struct OrtEntry;
template <size_t Number, class Result, class... Args> struct OrtEntry<Number, Result(Args...)> {
  static Result call(void* const* api, Args... args) { return reinterpret_cast<Result (*)(Args...)>(api[Number])(args...); }
};

using GetErrorMessage = OrtEntry<2, const char*(const OrtStatus*)>;
using CreateEnv = OrtEntry<3, OrtStatus*(int severity, const char* id, OrtObject** env)>;
using CreateSession = OrtEntry<7, OrtStatus*(const OrtObject* env, const char* path, const OrtObject* options, OrtObject** session)>;
using Run =
    OrtEntry<9, OrtStatus*(OrtObject* session, const OrtObject* run_options, const char* const* input_names, const OrtObject* const* inputs,
                           size_t input_count, const char* const* output_names, size_t output_count, OrtObject** outputs)>;
using CreateSessionOptions = OrtEntry<10, OrtStatus*(OrtObject** options)>;
using SetSessionExecutionMode = OrtEntry<13, OrtStatus*(OrtObject* options, int mode)>;
using SetSessionGraphOptimizationLevel = OrtEntry<23, OrtStatus*(OrtObject* options, int level)>;
using SetIntraOpNumThreads = OrtEntry<24, OrtStatus*(OrtObject* options, int threads)>;
using SetInterOpNumThreads = OrtEntry<25, OrtStatus*(OrtObject* options, int threads)>;
using SessionGetInputCount = OrtEntry<30, OrtStatus*(const OrtObject* session, size_t* count)>;
using SessionGetOutputCount = OrtEntry<31, OrtStatus*(const OrtObject* session, size_t* count)>;
using SessionGetInputName = OrtEntry<36, OrtStatus*(const OrtObject* session, size_t index, OrtObject* allocator, char** name)>;
using SessionGetOutputName = OrtEntry<37, OrtStatus*(const OrtObject* session, size_t index, OrtObject* allocator, char** name)>;
using CreateTensorWithData = OrtEntry<49, OrtStatus*(const OrtObject* memory, void* data, size_t bytes, const int64_t* dims, size_t rank,
                                                     int type, OrtObject** value)>;
using IsTensor = OrtEntry<50, OrtStatus*(const OrtObject* value, int* is)>;
using GetTensorElementType = OrtEntry<60, OrtStatus*(const OrtObject* info, int* type)>;
using GetDimensionsCount = OrtEntry<61, OrtStatus*(const OrtObject* info, size_t* rank)>;
using GetDimensions = OrtEntry<62, OrtStatus*(const OrtObject* info, int64_t* dims, size_t rank)>;
using GetTensorTypeAndShape = OrtEntry<65, OrtStatus*(const OrtObject* value, OrtObject** info)>;
using CreateCpuMemoryInfo = OrtEntry<69, OrtStatus*(int allocator_type, int memory_type, OrtObject** memory)>;
using GetDefaultAllocator = OrtEntry<78, OrtStatus*(OrtObject** allocator)>;
using ReleaseValue = OrtEntry<96, void(OrtObject* value)>;
using ReleaseTensorTypeAndShape = OrtEntry<99, void(OrtObject* info)>;
using RunWithBinding = OrtEntry<133, OrtStatus*(OrtObject* session, const OrtObject* run_options, const OrtObject* binding)>;
using CreateIoBinding = OrtEntry<134, OrtStatus*(OrtObject* session, OrtObject** binding)>;
using BindInput = OrtEntry<136, OrtStatus*(OrtObject* binding, const char* name, const OrtObject* value)>;
using BindOutput = OrtEntry<137, OrtStatus*(OrtObject* binding, const char* name, const OrtObject* value)>;

// Values of its enumerations.
inline constexpr int kWarning = 2;     // log severity
inline constexpr int kSequential = 0;  // execution mode
inline constexpr int kAllOptimisations = 99;
inline constexpr int kDeviceAllocator = 0, kDefaultMemory = 0;

}  // namespace nnc::bench
