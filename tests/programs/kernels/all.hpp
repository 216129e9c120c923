// All device code, as the GPU gets it.
#pragma once

#include "device.hpp"

#include "../../../core/src/transport/cuda/kernels/access.cuh"
#include "../../../core/src/transport/cuda/kernels/state.cuh"
#include "../../../core/src/transport/cuda/kernels/common.cuh"
#include "../../../core/src/transport/cuda/kernels/copy.cuh"
#include "../../../core/src/transport/cuda/kernels/team.cuh"
#include "../../../core/src/transport/cuda/kernels/fold.cuh"
#include "../../../core/src/transport/cuda/kernels/rma.cu"
#include "../../../core/src/transport/cuda/kernels/atomics.cu"
#include "../../../core/src/transport/cuda/kernels/wait.cu"
#include "../../../core/src/transport/cuda/kernels/sync.cu"
#include "../../../core/src/transport/cuda/kernels/moves.cu"
#include "../../../core/src/transport/cuda/kernels/reduce.cu"
