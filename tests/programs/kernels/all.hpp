// All device code, as the GPU gets it.
#pragma once

#include "device.hpp"

#include "../../../core/crates/cuda/src/kernels/access.cuh"
#include "../../../core/crates/cuda/src/kernels/state.cuh"
#include "../../../core/crates/cuda/src/kernels/common.cuh"
#include "../../../core/crates/cuda/src/kernels/copy.cuh"
#include "../../../core/crates/cuda/src/kernels/team.cuh"
#include "../../../core/crates/cuda/src/kernels/fold.cuh"
#include "../../../core/crates/cuda/src/kernels/lamport.cuh"
#include "../../../core/crates/cuda/src/kernels/rma.cu"
#include "../../../core/crates/cuda/src/kernels/atomics.cu"
#include "../../../core/crates/cuda/src/kernels/wait.cu"
#include "../../../core/crates/cuda/src/kernels/sync.cu"
#include "../../../core/crates/cuda/src/kernels/moves.cu"
#include "../../../core/crates/cuda/src/kernels/reduce.cu"
