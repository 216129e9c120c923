// nvshmemrs for C++17 and later: all of the layer above `nvshmemrs::ffi`.
//
//   runtime.hpp    runtime, local_job      a PE's membership in a job
//   symmetric.hpp  symmetric_array, symmetric_span, signal, waits and tests
//   remote.hpp     remote, element_ref, atomic_ref: put, get and atomic operations on another PE's copy
//   signal.hpp     signal_ref              a signal that something else owns
//   team.hpp       team                    sets of PEs, and collectives
//   stream.hpp     stream, event           operations that run later, in order
//   tags.hpp       plus, equal_to, signal_set, strided, ...
//   error.hpp      error, expected, result
//   typed.hpp      element<T>              what can be done with a type; generated
//   ffi.hpp        the functions of the C ABI; generated

#ifndef NVSHMEMRS_NVSHMEMRS_HPP
#define NVSHMEMRS_NVSHMEMRS_HPP

#if __cplusplus < 201703L
#error "nvshmemrs's C++ headers need C++17: compile with -std=c++17 or later"
#else

#include <nvshmemrs/error.hpp>
#include <nvshmemrs/ffi.hpp>
#include <nvshmemrs/remote.hpp>
#include <nvshmemrs/runtime.hpp>
#include <nvshmemrs/signal.hpp>
#include <nvshmemrs/stream.hpp>
#include <nvshmemrs/symmetric.hpp>
#include <nvshmemrs/tags.hpp>
#include <nvshmemrs/team.hpp>
#include <nvshmemrs/typed.hpp>

#endif // __cplusplus
#endif // NVSHMEMRS_NVSHMEMRS_HPP
