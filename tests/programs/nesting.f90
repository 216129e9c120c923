! Init calls of a PE that has joined already, and as many finalize calls.
program nesting
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use nvshmemrs
  implicit none
  integer(int32) :: stat
  character(400) :: text
  call nvshmemrs_init(heap_bytes=4194304_int64)
  call nvshmemrs_init()
  call nvshmemrs_init(heap_bytes=4194304_int64)
  call nvshmemrs_init(heap_bytes=8388608_int64, stat=stat, errmsg=text)
  if (stat /= NVSHMEMRS_ERROR_INVALID_VALUE) error stop 'other arguments are not refused'
  if (index(text, '8388608') == 0 .or. index(text, 'same arguments') == 0) error stop 'the text says something else'
  if (nvshmemrs_my_pe() == 0) then
    ! These calls wait for no PE.
    call nvshmemrs_finalize()
    call nvshmemrs_finalize()
  end if
  call nvshmemrs_barrier()
  if (nvshmemrs_my_pe() /= 0) then
    call nvshmemrs_finalize()
    call nvshmemrs_finalize()
  end if
  if (.not. nvshmemrs_initialized()) error stop 'finalize ended the job too early'
  call nvshmemrs_barrier()
  call nvshmemrs_finalize()
  if (nvshmemrs_initialized()) error stop 'the last finalize did not end the job'
  call nvshmemrs_finalize(stat=stat)
  if (stat /= NVSHMEMRS_ERROR_NOT_INITIALIZED) error stop 'one finalize more than init is not refused'
  print '(a)', 'all well'
end program nesting
