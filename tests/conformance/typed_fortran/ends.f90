! How a job ends, and how it does not: finalize from a stream's procedure is refused, and one that cannot wait any more
! leaves the job all the same.
module ends_calls
  use, intrinsic :: iso_c_binding
  use nvshmemrs
  implicit none
  integer(c_int32_t), volatile, save :: said = -99

contains

  integer(c_int32_t) function finalize_here(user) result(answer) bind(C)
    type(c_ptr), value :: user
    integer(c_int32_t) :: stat
    call nvshmemrs_finalize(stat=stat)
    said = stat
    answer = merge(1, 0, c_associated(user))
  end function finalize_here
end module ends_calls

program ends
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use nvshmemrs
  use nvshmemrs_ffi, only: c_deadline_begin => nvshmemrs_deadline_begin, c_deadline_end => nvshmemrs_deadline_end
  use ends_calls
  implicit none
  type(nvshmemrs_stream) :: stream
  integer :: me, n

  call nvshmemrs_init()
  me = nvshmemrs_my_pe()
  n = nvshmemrs_n_pes()
  call stream%create()
  call stream%call(c_funloc(finalize_here), c_null_ptr)
  call stream%synchronize()
  call check(said == NVSHMEMRS_ERROR_BUSY, 'finalize on a stream')
  call check(nvshmemrs_initialized(), 'the job goes on')
  call nvshmemrs_barrier()
  call without_end()
  call check(.not. nvshmemrs_initialized(), 'the job is over')
  print '(a, i0, a, i0, a)', 'ends ok PE ', me, ' of ', n, ' (Fortran)'

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    write (error_unit, '(a, i0, a, i0, 2a)') 'ends: PE ', me, ' of ', n, ': failed: ', what
    stop 1, quiet=.true.
  end subroutine check

  ! The queued operation never ends, so finalize returns at its deadline.
  subroutine without_end()
    type(nvshmemrs_int32_array1) :: words
    integer(c_int64_t) :: before
    integer(c_int32_t) :: stat, ignored
    call words%allocate(1)
    call nvshmemrs_wait_until(words%values(1), NVSHMEMRS_CMP_EQ, 1, stream=stream)
    ignored = c_deadline_begin(0.01_c_double, before)
    call nvshmemrs_finalize(stat)
    call check(stat == NVSHMEMRS_ERROR_TIMEOUT, 'finalize with a deadline')
    ignored = c_deadline_end(before)
  end subroutine without_end
end program ends
