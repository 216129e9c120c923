// Communication inside of kernels: the device side of nvshmemrs.
//
// The header needs no other file than its parts in the folder nvshmemrs_device, and no library. nvcc and NVRTC compile the header as C++17
// for sm_80 and later, without relocatable device code. Behind nvshmemrs_device_host.hpp, which runs kernels on the host, the header is plain C++17.
//
// Names, arguments and meaning are NVSHMEM's, with `nvshmemrs_` for `nvshmem_` and `nvshmemx_`. Each function has an additional first
// argument: the nvshmemrs_device_state_t that `nvshmemrs_device_state` has filled in, or a pointer to this state in memory that kernels
// can read.
//
// Scopes: a function without a suffix is called by one thread. A function with `_warp` or `_block` is called by all threads of a full warp
// or of the block, with equal arguments. Such a call begins with a meeting of these threads, so the call includes their earlier stores. The
// call also ends with a meeting, unless the name has `nbi`.
//
// Order:
//   * put, get, iput, iget order nothing. p stores and g loads a whole element at once.
//   * put_signal: a PE that sees the signal with signal_wait_until, signal_fetch, wait_until or test sees the data.
//   * signal_op does not order earlier puts: call fence or quiet first if the signal announces data.
//   * atomic_fetch is an acquire. atomic_set and atomics without a result are releases. All other atomics are both.
//   * waits and tests are acquires. fence is a release towards every PE. quiet is a full barrier of the calling thread.
//   * barrier and sync: earlier stores of each member's group are visible to the groups of all members that have returned. Other
//     collectives order the memory that they read and write; a collective of small arrays in a slot below 8 orders no other memory. Small
//     arrays have at most 32 bytes, and in the first 8 teams of a job of up to 16 PEs at most 8 KiB and at most 16 KiB / n_pes. Except in
//     reduce, they also have at most 16 bytes for each thread of the group. In fcollect, alltoall and reducescatter the size of a member's
//     part counts.
//
// Such a small collective sends each word together with a flag (mail). Triton's reduce also sends mail, if one program makes the call. Kernels
// of Numba and CuTe do not know mail. If such a kernel takes part, the other members see after some microseconds that this member meets them
// instead, and then meet, too. Kernels that are compiled with NVSHMEMRS_DEVICE_NO_MAIL defined meet at once.
//
// Collectives take a team and a slot: below 128 in jobs of up to 64 PEs, else below 8192 / n_pes. All members call with the same slot, and
// calls of one slot have the same order on all members. Blocks that call at the same time use different slots, such as blockIdx.x.
// All blocks that take part must run at the same time. A collective returns 0, or -1 if the job is broken or this PE is no member; `dest`
// is undefined then.
//
// Reductions in place go in rounds, and all members meet in each round: see Rounds in reductions.cuh. So the groups of all members must have the same
// number of threads.
//
// Kernels reach PEs of their own host only. nvshmemrs_ptr is NULL for a PE of another host. A put, get, atomic or signal to such a PE, and a
// collective of a team with such a member, ends the kernel; the host's nvshmemrs_runtime_check then names the PE.
//
// Waits end when the job is broken, for example because a PE died. nvshmemrs_aborted returns whether the job is broken.
//
// In a checked job (NVSHMEMRS_CHECK) only kernels run that are compiled with NVSHMEMRS_DEVICE_RECORD defined. Each of their operations is recorded for the
// checker and waits for it, so such kernels are slow. Plain loads and stores are not recorded. In other jobs the definition costs a comparison for
// each call.
//
// Each call checks the first eight bytes of the state. If the argument is no state, or has another version, the call prints an error and
// traps. The host then also gets the version from nvshmemrs_runtime_check, as a finding of NVSHMEMRS_DEVICE_CHECK.
#ifndef NVSHMEMRS_DEVICE_CUH
#define NVSHMEMRS_DEVICE_CUH

#if !defined(__CUDACC__) && !defined(NVSHMEMRS_DEVICE_HOST)
#error "nvshmemrs_device.cuh is for nvcc and NVRTC; other compilers include nvshmemrs_device_host.hpp instead"
#endif

// The parts, each of which needs those before it.
#include "nvshmemrs_device/types.cuh"
#include "nvshmemrs_device/accesses.cuh"
#include "nvshmemrs_device/state.cuh"
#include "nvshmemrs_device/rma.cuh"
#include "nvshmemrs_device/signals.cuh"
#include "nvshmemrs_device/atomics.cuh"
#include "nvshmemrs_device/waits.cuh"
#include "nvshmemrs_device/collectives.cuh"
#include "nvshmemrs_device/reductions.cuh"
#include "nvshmemrs_device/typed.cuh"
#include "nvshmemrs_device/functions.cuh"
#include "nvshmemrs_device/names.cuh"

#endif
