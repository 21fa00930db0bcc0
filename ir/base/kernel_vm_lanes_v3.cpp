#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <immintrin.h>

#include "ir/base/kernel_vm_code.h"

#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2")
#define NNC_LANES_LEVEL 3
#define NNC_LANES_NAME lane_ops_v3
#include "ir/base/kernel_vm_lanes.inc"
#pragma GCC pop_options
