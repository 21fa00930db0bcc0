#include "codegen/api/device.h"

namespace nnc {

std::string_view default_target(std::string_view device) {
  return device == "cuda-emu" ? "cuda-emu:sm_80" : device == "cuda" ? "cuda:sm_80" : "cpu";
}

}  // namespace nnc
