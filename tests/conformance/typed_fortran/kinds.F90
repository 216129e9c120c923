! Every kind with every rank and every operation: what is written must be right, and what lies beside it untouched. The
! steps are in kind.inc, which is included for each kind. gfortran's preprocessor joins words around an empty comment.
module kinds_state
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use nvshmemrs
  implicit none
  integer :: me, n, left, right
contains
  subroutine check(holds, kind, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: kind, what
    if (holds) return
    write (error_unit, '(a, i0, a, i0, 4a)') 'kinds: PE ', me, ' of ', n, ': failed: ', kind, ': ', what
    stop 1, quiet=.true.
  end subroutine check
end module kinds_state

#define KIND int8
#define NAME "int8"
#define TYPE integer(c_int8_t)
#define OF(k) int(k, c_int8_t)
#define ORDERED
#define BITS
#define P_AND_G
#include "kind.inc"

#define KIND int16
#define NAME "int16"
#define TYPE integer(c_int16_t)
#define OF(k) int(k, c_int16_t)
#define ORDERED
#define BITS
#define P_AND_G
#include "kind.inc"

#define KIND int32
#define NAME "int32"
#define TYPE integer(c_int32_t)
#define OF(k) int(k, c_int32_t)
#define ORDERED
#define BITS
#define P_AND_G
#define ATOMIC
#include "kind.inc"

#define KIND int64
#define NAME "int64"
#define TYPE integer(c_int64_t)
#define OF(k) int(k, c_int64_t)
#define ORDERED
#define BITS
#define P_AND_G
#define ATOMIC
#include "kind.inc"

#define KIND real32
#define NAME "real32"
#define TYPE real(c_float)
#define OF(k) real(k, c_float)
#define ORDERED
#define P_AND_G
#define ATOMIC
#include "kind.inc"

#define KIND real64
#define NAME "real64"
#define TYPE real(c_double)
#define OF(k) real(k, c_double)
#define ORDERED
#define P_AND_G
#define ATOMIC
#include "kind.inc"

#define KIND complex_real32
#define NAME "complex_real32"
#define TYPE complex(c_float_complex)
#define OF(k) cmplx(k, -(k), c_float_complex)
#include "kind.inc"

#define KIND complex_real64
#define NAME "complex_real64"
#define TYPE complex(c_double_complex)
#define OF(k) cmplx(k, -(k), c_double_complex)
#include "kind.inc"

program kinds
  use kinds_state
  use check_int8, only: run_int8
  use check_int16, only: run_int16
  use check_int32, only: run_int32
  use check_int64, only: run_int64
  use check_real32, only: run_real32
  use check_real64, only: run_real64
  use check_complex_real32, only: run_complex_real32
  use check_complex_real64, only: run_complex_real64
  implicit none
  type(nvshmemrs_heap_stats_t) :: stats
  call nvshmemrs_init()
  me = nvshmemrs_my_pe()
  n = nvshmemrs_n_pes()
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  call run_int8()
  call run_int16()
  call run_int32()
  call run_int64()
  call run_real32()
  call run_real64()
  call run_complex_real32()
  call run_complex_real64()
  call nvshmemrs_heap_stats(stats)
  call check(stats%released == stats%allocations, 'all', 'what is allocated has been released')
  call nvshmemrs_finalize()
  print '(a, i0, a, i0, a)', 'kinds ok PE ', me, ' of ', n, ' (Fortran)'
end program kinds
