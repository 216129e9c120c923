! Conformance, scenarios "halo", "histogram", "types", "reductions", "signals", "errors" and "leaks": PEs exchange data of
! all types, and check the written elements and the elements beside them. The same steps, in the same order, are in the
! programs of this name in the other languages, so that PEs in different languages can run them as one job. The steps
! for elements of each type are in the folder fortran.
program exchange
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use nvshmemrs
  implicit none

  ! By the numbers of the types and of the operations.
  integer(c_size_t), parameter :: sizes(16) = [1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1, 1]
  integer :: me = -1, n = 0, left, right
  character(100) :: done = ''

  call nvshmemrs_init()
  me = nvshmemrs_my_pe()
  n = nvshmemrs_n_pes()
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  call halo()
  call ran('halo')
  call histogram()
  call ran('histogram')
  call types()
  call ran('types')
  call reductions()
  call ran('reductions')
  call signals()
  call ran('signals')
  call errors()
  call ran('errors')
  call leaks()
  call ran('leaks')
  call nvshmemrs_finalize()
  print '(a, i0, a, i0, 2a)', 'exchange ok PE ', me, ' of ', n, ' (Fortran):', trim(done)

contains

  subroutine ran(scenario)
    character(*), intent(in) :: scenario
    done(len_trim(done) + 2:) = scenario
  end subroutine ran

  subroutine fail(what, text)
    character(*), intent(in) :: what, text
    write (error_unit, '(a, i0, a, i0, 4a)') 'exchange: PE ', me, ' of ', n, ': ', what, ': ', trim(text)
    stop 1, quiet=.true.
  end subroutine fail

  subroutine same(what, found, wanted)
    character(*), intent(in) :: what
    integer(c_int64_t), intent(in) :: found, wanted
    character(60) :: text
    if (found == wanted) return
    write (text, '(i0, a, i0)') found, ', not ', wanted
    call fail(what, text)
  end subroutine same

  subroutine same_real(what, found, wanted)
    character(*), intent(in) :: what
    real(c_double), intent(in) :: found(:), wanted(:)
    integer :: i
    character(80) :: text
    do i = 1, size(wanted)
      if (abs(found(i) - wanted(i)) <= 0) cycle
      write (text, '(a, i0, 2(a, g0))') 'element ', i, ' is ', found(i), ', not ', wanted(i)
      call fail(what, text)
    end do
  end subroutine same_real

  ! Each PE has ten cells of a ring, between copies of its neighbours' nearest ones.
  subroutine halo()
    type(nvshmemrs_real64_array1) :: field
    type(nvshmemrs_int64_array1) :: flags
    type(nvshmemrs_signal) :: from_left, from_right
    real(c_double) :: all(10 * n)
    integer :: j
    integer(c_int64_t) :: step
    call field%allocate(12)
    call flags%allocate(2)
    call from_left%at(flags%values(1))
    call from_right%at(flags%values(2))
    all = [(real(j / 10 * 100 + modulo(j, 10) + 1, c_double), j=0, 10 * n - 1)]
    field%values(2:11) = all(10 * me + 1:10 * me + 10)
    call nvshmemrs_barrier()
    do step = 1, 3
      call nvshmemrs_put_signal(field%values(12:12), field%values(2:2), from_right, 1_c_int64_t, NVSHMEMRS_SIGNAL_ADD, left)
      call nvshmemrs_put_signal(field%values(1:1), field%values(11:11), from_left, 1_c_int64_t, NVSHMEMRS_SIGNAL_ADD, right)
      call from_left%wait(NVSHMEMRS_CMP_GE, step)
      call from_right%wait(NVSHMEMRS_CMP_GE, step)
      field%values(2:11) = field%values(1:10) + field%values(2:11) + field%values(3:12)
      call nvshmemrs_barrier()
      all = cshift(all, -1) + all + cshift(all, 1)
    end do
    call same_real('cells', field%values(2:11), all(10 * me + 1:10 * me + 10))
    call nvshmemrs_barrier()
    call flags%deallocate()
    call nvshmemrs_barrier()
    call field%deallocate()
  end subroutine halo

  pure integer function draw(pe, k)
    integer, intent(in) :: pe, k
    draw = modulo(pe * 131 + k * k * 7 + k, 8 * n)
  end function draw

  ! Eight bins on each PE; every PE counts its draws where their bins are.
  subroutine histogram()
    type(nvshmemrs_int64_array1) :: bins
    integer(c_int64_t) :: old, wanted(9)
    integer :: k, pe, bin
    call bins%allocate(9)
    do k = 0, 99
      bin = draw(me, k)
      if (modulo(k, 2) == 0) then
        call nvshmemrs_atomic_inc(bins%values(modulo(bin, 8) + 1), bin / 8)
      else
        call nvshmemrs_atomic_fetch_add(bins%values(modulo(bin, 8) + 1), 1_c_int64_t, bin / 8, old)
        if (old < 0 .or. old >= 100 * n) call fail('old', 'more than all draws')
      end if
    end do
    call nvshmemrs_barrier()
    wanted = 0 ! and nothing is counted behind the bins
    do pe = 0, n - 1
      do k = 0, 99
        bin = draw(pe, k)
        if (bin / 8 == me) wanted(modulo(bin, 8) + 1) = wanted(modulo(bin, 8) + 1) + 1
      end do
    end do
    do k = 1, 9
      call same('bin', bins%values(k), wanted(k))
    end do
    call nvshmemrs_barrier()
    call bins%deallocate()
  end subroutine histogram

  include 'fortran/exchange_types.inc'

  subroutine signals()
    integer(c_int32_t), parameter :: compare(6) = [NVSHMEMRS_CMP_GE, NVSHMEMRS_CMP_EQ, NVSHMEMRS_CMP_NE, &
                                                   NVSHMEMRS_CMP_GT, NVSHMEMRS_CMP_LT, NVSHMEMRS_CMP_LE]
    integer(c_int64_t), parameter :: with(6) = [5, 5, 4, 4, 6, 5]
    type(nvshmemrs_int64_array1) :: words
    type(nvshmemrs_real64_array1) :: data
    type(nvshmemrs_signal) :: all, mine, both
    real(c_double), target, asynchronous :: row(2)
    integer(c_int64_t) :: seen
    integer :: pe, i
    call words%allocate(4)
    call data%allocate(4)
    call all%at(words%values(1))
    call mine%at(words%values(2))
    call both%at(words%values(3))
    row = [me + 0.5_c_double, me + 0.25_c_double]
    do pe = 0, n - 1
      call nvshmemrs_signal_op(all, shiftl(1_c_int64_t, 8 * me), NVSHMEMRS_SIGNAL_ADD, pe)
    end do
    call all%wait(NVSHMEMRS_CMP_EQ, sum([(shiftl(1_c_int64_t, 8 * pe), pe=0, n - 1)]))
    call nvshmemrs_signal_op(mine, 5_c_int64_t, NVSHMEMRS_SIGNAL_SET, right)
    do i = 1, 6
      call mine%wait(compare(i), with(i), seen)
      call same('signal that was waited for', seen, 5_c_int64_t)
    end do
    do i = 1, 2
      if (i == 1) then
        call nvshmemrs_put_signal(data%values(2:3), row, both, 3_c_int64_t, NVSHMEMRS_SIGNAL_ADD, right)
      else
        call nvshmemrs_put_signal_nbi(data%values(2:3), row, both, 4_c_int64_t, NVSHMEMRS_SIGNAL_ADD, right)
      end if
      call both%wait(NVSHMEMRS_CMP_EQ, merge(3_c_int64_t, 7_c_int64_t, i == 1))
      call same_real('data', data%values, [0.0_c_double, left + 0.5_c_double, left + 0.25_c_double, 0.0_c_double])
      data%values(2:3) = 0
      call nvshmemrs_quiet()
      call nvshmemrs_barrier()
    end do
    call same('signal', both%fetch(), 7_c_int64_t)
    call same('beside the signal', words%values(4), 0_c_int64_t)
    call nvshmemrs_barrier()
    call data%deallocate()
    call nvshmemrs_barrier()
    call words%deallocate()
  end subroutine signals

  ! The last call with `stat` and `errmsg` failed as it should, with a text that names `word`.
  subroutine refused(status, message, wanted, word)
    integer(c_int32_t), intent(in) :: status, wanted
    character(*), intent(in) :: message, word
    call same('status', int(status, c_int64_t), int(wanted, c_int64_t))
    if (index(message, word) == 0) call fail('no ' // word, message)
  end subroutine refused

  ! One PE's mistake: the others hear of it, nothing is written, and the job goes on.
  subroutine errors()
    type(nvshmemrs_int64_array1) :: words
    integer(c_int32_t) :: status, wanted
    character(400) :: message
    character(16) :: named
    integer :: root
    call words%allocate(4)
    words%values(:) = [int(me + 1, c_int64_t), 0_c_int64_t, -7_c_int64_t, 0_c_int64_t]
    call nvshmemrs_put(words%values(2), words%values(1), n, stat=status, errmsg=message)
    call refused(status, message, NVSHMEMRS_ERROR_PE_RANGE, '`pe`')
    call nvshmemrs_atomic_inc(words%values(2), -1, stat=status, errmsg=message)
    call refused(status, message, NVSHMEMRS_ERROR_PE_RANGE, '`pe`')
    root = merge(n, 0, me == n - 1)
    wanted = merge(NVSHMEMRS_ERROR_PE_RANGE, NVSHMEMRS_ERROR_PEER_ARGUMENT, me == n - 1)
    write (named, '(a, i0)') 'PE ', merge(n, n - 1, me == n - 1)
    call nvshmemrs_broadcast(words%values(3:3), words%values(1:1), root, stat=status, errmsg=message)
    call refused(status, message, wanted, trim(named))
    call same('not put', words%values(2), 0_c_int64_t)
    call same('not broadcast', words%values(3), -7_c_int64_t)
    call nvshmemrs_broadcast(words%values(3:3), words%values(1:1), 0)
    call same('broadcast', words%values(3), 1_c_int64_t)
    call nvshmemrs_barrier()
    call words%deallocate()
  end subroutine errors

  subroutine allocations(wanted)
    integer(c_int64_t), intent(in) :: wanted
    type(nvshmemrs_heap_stats_t) :: stats
    call nvshmemrs_heap_stats(stats)
    call same('allocations', stats%allocations, wanted)
  end subroutine allocations

  ! The list of what is not freed names this program and these many bytes; or it says that everything is freed.
  subroutine unfreed(bytes)
    integer, intent(in) :: bytes
    character(:), allocatable :: text
    character(24) :: sum
    logical :: fits
    text = nvshmemrs_unfreed()
    write (sum, '(1x, i0, a)') bytes, ' bytes'
    fits = index(text, 'exchange') > 0 .and. index(text, trim(sum)) > 0
    if (bytes == 0) fits = index(text, 'everything is freed') > 0
    if (.not. fits) call fail('unfreed', text)
  end subroutine unfreed

  subroutine leaks()
    type(nvshmemrs_int64_array1) :: kept, given, next
    call allocations(0_c_int64_t)
    call unfreed(0)
    call kept%allocate(3)
    call given%allocate(5)
    call drop(given)
    call unfreed(24)
    call nvshmemrs_barrier()
    call next%allocate(1) ! frees the arrays that all PEs have released
    call allocations(2_c_int64_t)
    call unfreed(32)
    call nvshmemrs_barrier()
    call next%deallocate()
    call nvshmemrs_barrier()
    call kept%deallocate()
    call unfreed(0)
    call allocations(0_c_int64_t)
  end subroutine leaks

  ! The end of `dropped` records a release.
  subroutine drop(given)
    type(nvshmemrs_int64_array1), intent(inout) :: given
    type(nvshmemrs_int64_array1) :: dropped
    call dropped%allocate(7)
    call allocations(3_c_int64_t)
    call unfreed(120)
    call nvshmemrs_barrier()
    call given%deallocate()
    call allocations(2_c_int64_t)
  end subroutine drop
end program exchange
