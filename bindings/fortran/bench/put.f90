! The cost of a put in Fortran, and in C in the same process. The two take turns in short batches, and the fastest batch of
! each counts, so that other programs on the machine disturb both alike.
!
!     make -C bindings/fortran bench
program put
  use, intrinsic :: iso_c_binding
  use nvshmemrs
  implicit none
  integer(c_int64_t), parameter :: times = 20000
  integer, parameter :: batches = 400

  interface
    integer(c_int32_t) function c_puts(rt, dest, source, bytes, pe, times) bind(C)
      import
      integer(c_int64_t), value :: rt, bytes, times
      type(c_ptr), value :: dest, source
      integer(c_int32_t), value :: pe
    end function c_puts
    integer(c_int32_t) function c_ps(rt, dest, value, pe, times) bind(C)
      import
      integer(c_int64_t), value :: rt, value, times
      type(c_ptr), value :: dest
      integer(c_int32_t), value :: pe
    end function c_ps
  end interface

  call nvshmemrs_init()
  call measure()
  call nvshmemrs_finalize()

contains

  real(c_double) function now()
    integer(c_int64_t) :: ticks, rate
    call system_clock(ticks, rate)
    now = real(ticks, c_double) / real(rate, c_double)
  end function now

  subroutine measure()
    type(nvshmemrs_int64_array1) :: words
    integer(c_int64_t), pointer :: all(:)
    integer(c_int64_t), target :: row(8)
    real(c_double) :: best(6), begin
    integer(c_int64_t) :: i
    integer :: pe, batch, status
    call words%allocate(8)
    all => words%values
    row = 1
    pe = modulo(nvshmemrs_my_pe() + 1, nvshmemrs_n_pes())
    best = huge(best)
    call nvshmemrs_barrier()
    do batch = 1, merge(batches, 0, nvshmemrs_my_pe() == 0)
      begin = now()
      status = c_puts(nvshmemrs_runtime(), c_loc(all), c_loc(row), 8_c_int64_t, pe, times)
      best(1) = min(best(1), now() - begin)
      ! As in C, the address of the element is computed once.
      associate (word => words%values(1))
        begin = now()
        do i = 1, times
          call nvshmemrs_put(word, row(1), pe)
        end do
        best(2) = min(best(2), now() - begin)
      end associate
      begin = now()
      status = max(status, c_ps(nvshmemrs_runtime(), c_loc(all), row(1), pe, times))
      best(3) = min(best(3), now() - begin)
      associate (word => words%values(1))
        begin = now()
        do i = 1, times
          call nvshmemrs_p(word, row(1), pe)
        end do
        best(4) = min(best(4), now() - begin)
      end associate
      begin = now()
      status = max(status, c_puts(nvshmemrs_runtime(), c_loc(all), c_loc(row), 64_c_int64_t, pe, times))
      best(5) = min(best(5), now() - begin)
      begin = now()
      do i = 1, times
        call nvshmemrs_put(words%values, row, pe)
      end do
      best(6) = min(best(6), now() - begin)
      if (status /= NVSHMEMRS_SUCCESS) error stop 'a put failed in C'
    end do
    call nvshmemrs_barrier()
    if (nvshmemrs_my_pe() /= 0) return
    best = best / times * 1e9_c_double
    print '(a)', '                    C ns  Fortran ns   ratio'
    print '(a16, f8.1, f12.1, f8.2)', 'put of 8 bytes', best(1:2), best(2) / best(1), &
      'p of 8 bytes', best(3:4), best(4) / best(3), 'put of 64 bytes', best(5:6), best(6) / best(5)
  end subroutine measure
end program put
