#include "codegen/cuda/device_header.h"

namespace nnc {

namespace {

constexpr char kCommon[] =
#include "codegen/cuda/device_common.inc"
    ;
constexpr char kCudaNames[] =
#include "codegen/cuda/device_cuda.inc"
    ;
constexpr char kCudaOps[] =
#include "codegen/cuda/device_cuda_ops.inc"
    ;
constexpr char kEmuNames[] =
#include "codegen/emu/device_emu.inc"
    ;
constexpr char kEmuOps[] =
#include "codegen/emu/device_emu_ops.inc"
    ;
#define NNC_EMU_ABI(...) #__VA_ARGS__
constexpr char kEmuAbi[] =
#include "codegen/emu/emu_abi.inc"
    ;
#undef NNC_EMU_ABI

std::string index_type(bool index64) { return index64 ? "typedef long long idx;\n" : "typedef int idx;\n"; }

}  // namespace

std::string cuda_device_header(bool index64) { return kCudaNames + index_type(index64) + kCommon + kCudaOps; }
std::string emu_device_header(bool index64) { return kEmuNames + index_type(index64) + kCommon + kEmuAbi + "\n" + kEmuOps; }

}  // namespace nnc
