#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // the compiler's own header, see _mm512_undefined_ps
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#include "ir/base/kernel_vm_code.h"

#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2")
#define NNC_LANES_LEVEL 4
#define NNC_LANES_NAME lane_ops_v4
#include "ir/base/kernel_vm_lanes.inc"
#pragma GCC pop_options
