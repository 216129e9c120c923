// The functions of the bitcode for kernels that the CPU runs, in a namespace: nvshmem.h has declared them for host code. As in lists.hpp,
// numbers of 16 bits are integers.
#pragma once

#define BOTH inline
#define KERNEL inline
#define half unsigned short
#define __nv_bfloat16 unsigned short
namespace bitcode {
#include "../../../bindings/bitcode/device.cu"
}
#undef half
#undef __nv_bfloat16
