#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/base/kernel_vm_code.h"

#pragma GCC diagnostic ignored "-Wpsabi"
#define NNC_LANES_LEVEL 1
#define NNC_LANES_NAME lane_ops_v1
#include "ir/base/kernel_vm_lanes.inc"
