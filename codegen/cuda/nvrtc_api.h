#pragma once
// Our own declarations of NVRTC, so that the build needs no toolkit. tests/cuda_headers compares them with the toolkit's where one is
// found. The library is opened at run time.

#include <cstddef>
#include <string>
#include <string_view>

#include "ir/support/result.h"

namespace nnc::nvrtc {

using Program = struct _nvrtcProgram*;

enum Status : int {
  kSuccess = 0,
  kOutOfMemory = 1,
  kProgramCreationFailure = 2,
  kInvalidInput = 3,
  kInvalidProgram = 4,
  kInvalidOption = 5,
  kCompilation = 6,
  kBuiltinOperationFailure = 7,
  kNoNameExpressionsAfterCompilation = 8,
  kNoLoweredNamesBeforeCompilation = 9,
  kNameExpressionNotValid = 10,
  kInternalError = 11,
};

// X(member, symbol, parameters): every function that is used.
#define NNC_NVRTC_FUNCTIONS(X)                                                                              \
  X(version, nvrtcVersion, (int* major, int* minor))                                                        \
  X(arch_count, nvrtcGetNumSupportedArchs, (int* count))                                                    \
  X(archs, nvrtcGetSupportedArchs, (int* archs))                                                            \
  X(create, nvrtcCreateProgram,                                                                             \
    (Program * program, const char* source, const char* name, int header_count, const char* const* headers, \
     const char* const* include_names))                                                                     \
  X(destroy, nvrtcDestroyProgram, (Program * program))                                                      \
  X(compile, nvrtcCompileProgram, (Program program, int option_count, const char* const* options))          \
  X(ptx_size, nvrtcGetPTXSize, (Program program, size_t * size))                                            \
  X(ptx, nvrtcGetPTX, (Program program, char* ptx))                                                         \
  X(cubin_size, nvrtcGetCUBINSize, (Program program, size_t * size))                                        \
  X(cubin, nvrtcGetCUBIN, (Program program, char* cubin))                                                   \
  X(log_size, nvrtcGetProgramLogSize, (Program program, size_t * size))                                     \
  X(log, nvrtcGetProgramLog, (Program program, char* log))

struct Api {
#define NNC_MEMBER(member, symbol, parameters) Status(*member) parameters = nullptr;
  NNC_NVRTC_FUNCTIONS(NNC_MEMBER)
#undef NNC_MEMBER
  int major = 0, minor = 0;
  std::string path;  // as it was opened
};

// The library at `path`, or, if that is empty, the first of: $NNC_NVRTC (then that alone), /usr/local/cuda*/lib64, the wheels of Python's
// site folders, the loader's own path. Loaded once a process. Code::kNoCompiler says what was looked for and which packages have it.
Result<const Api*> load(const std::string& path = {});

}  // namespace nnc::nvrtc
