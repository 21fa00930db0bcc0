#pragma once
// Compiles CUDA text with NVRTC: one cubin (or PTX) a unit and architecture, with what its log says of each kernel. Content-addressed like
// host code: equal text, architecture, options and version never compile twice. Needs neither driver nor device.

#include <string>
#include <vector>

#include "ir/support/bytes.h"
#include "ir/support/result.h"

namespace nnc {

struct NvrtcOptions {
  std::string library;  // path; empty: searched for (codegen/cuda/nvrtc_api.h)
  bool use_cache = true;
  bool ptx = false;  // PTX of compute_NN in place of a cubin of sm_NN
};

// As the assembler reports it; PTX has none.
struct CudaKernelUse {
  std::string name;
  int registers = 0, stack_bytes = 0, spill_stores = 0, spill_loads = 0, shared_bytes = 0;
};
struct CudaCode {
  Bytes code;
  std::string log;
  std::vector<CudaKernelUse> kernels;
};

// Code::kNoCompiler without NVRTC; Code::kIncompatible when it does not know sm_NN; a source that does not compile is our bug (kInternal)
// and carries the log.
Result<CudaCode> compile_cuda(const std::string& source, int sm, const NvrtcOptions& options = {});
// "NVRTC 13.0", or the reason why there is none.
Result<std::string> nvrtc_version(const NvrtcOptions& options = {});
// Every NN of sm_NN that it compiles for.
Result<std::vector<int>> nvrtc_architectures(const NvrtcOptions& options = {});
std::vector<CudaKernelUse> parse_ptxas_log(std::string_view log);

}  // namespace nnc
