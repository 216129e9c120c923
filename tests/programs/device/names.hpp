// The functions that the tests' kernels call: ours, or those with NVSHMEM's names, which take neither a state nor a slot.
#pragma once

#ifdef NVSHMEM_NAMES
#ifdef NVSHMEM_BITCODE
// The parentheses keep a name from being the macro of nvshmem.h.
#include "bitcode.hpp"
#define CALL(NAME, STATE, ...) (bitcode::nvshmem_##NAME)(__VA_ARGS__)
#define CALL_X(NAME, STATE, ...) (bitcode::nvshmemx_##NAME)(__VA_ARGS__)
#else
#define CALL(NAME, STATE, ...) nvshmem_##NAME(__VA_ARGS__)
#define CALL_X(NAME, STATE, ...) nvshmemx_##NAME(__VA_ARGS__)
#endif
#define SLOT(SLOT)
// The number of a team, from its handle.
#define TEAM(HANDLE) ((unsigned long)(HANDLE) == NVSHMEMRS_TEAM_INVALID ? -1 : (int)(((HANDLE) >> 32 << 8 | ((HANDLE)&0xff)) & 0x7fffffff))
#define REGION(TYPE) nvshmemx_region_##TYPE
// C: the type of coordinates.
#define TILE(NAME, STATE, C, FROM, TO, ...) \
    nvshmemx::tile_##NAME<decltype(FROM), decltype(TO), C, nvshmemx::tile_algo_t::PEER_PUSH_NBI>(FROM, TO, __VA_ARGS__)
#define TOGETHER(NAME, ALGORITHM, STATE, C, FROM, TO, ...) \
    nvshmemx::tile_##NAME<decltype(FROM), decltype(TO), C, nvshmemx::ALGORITHM>(NVSHMEM_TEAM_WORLD, FROM, TO, __VA_ARGS__)
#define TOGETHER_WAIT(SUFFIX, ALGORITHM, STATE) nvshmemx::tile_collective_wait##SUFFIX<nvshmemx::ALGORITHM>(NVSHMEM_TEAM_WORLD, 0)
// Calls for all PEs have no result there.
#define OF_ALL(CALLED) (CALLED, 0)
#else
#define CALL(NAME, ...) nvshmemrs_##NAME(__VA_ARGS__)
#define CALL_X CALL
#define SLOT(SLOT) , SLOT
#define TEAM(HANDLE) HANDLE
#define REGION(TYPE) nvshmemrs_region_##TYPE
#define OF_ALL(STATUS) STATUS
#define TILE(NAME, STATE, C, ...) nvshmemrs::tile_##NAME(STATE, __VA_ARGS__)
#define TOGETHER(NAME, ALGORITHM, STATE, C, ...) nvshmemrs::tile_##NAME(STATE, NVSHMEMRS_TEAM_WORLD, __VA_ARGS__)
#define TOGETHER_WAIT(SUFFIX, ALGORITHM, STATE) nvshmemrs_barrier##SUFFIX(STATE, NVSHMEMRS_TEAM_WORLD)
#endif
