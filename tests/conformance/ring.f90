! Conformance, scenario "ring": every PE talks to its neighbours with every operation, and looks at what was
! written and at what lies beside it. The same steps, in the same order, are in ring.c, ring.cpp and ring.jl.
program ring
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use nvshmemrs_ffi
  implicit none

  integer(nvshmemrs_team_t), parameter :: world = NVSHMEMRS_TEAM_WORLD
  integer(c_size_t), parameter :: double_bytes = 8
  integer(nvshmemrs_runtime_t) :: rt = 0
  integer(c_int32_t) :: me = -1, n = 0, left, right, status
  type(nvshmemrs_init_attr_t) :: attr
  type(nvshmemrs_heap_stats_t) :: stats
  character(:), allocatable :: message

  call nvshmemrs_check_library(status, message)
  if (status /= NVSHMEMRS_SUCCESS) then
    write (error_unit, '(2a)') 'ring: ', message
    stop 1, quiet=.true.
  end if
  call must(nvshmemrs_init_attr_default(attr), 'init_attr_default')
  call must(nvshmemrs_init(attr, rt), 'init')
  call must(nvshmemrs_my_pe(rt, me), 'my_pe')
  call must(nvshmemrs_n_pes(rt, n), 'n_pes')
  call check(me >= 0 .and. me < n, 'me is in 0..n-1')
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)

  call put_with_signal()
  call single_elements()
  call atomics()
  call get_and_nonblocking()
  call collectives()

  call must(nvshmemrs_heap_stats(rt, stats), 'heap_stats')
  call check(stats%allocations == 0 .and. stats%used_bytes == 0 .and. stats%free_bytes == stats%heap_bytes, &
             'all memory is free at the end')
  call must(nvshmemrs_finalize(rt), 'finalize')
  print '(a, i0, a, i0, a)', 'ring ok PE ', me, ' of ', n, ' (Fortran)'

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    write (error_unit, '(a, i0, a, i0, 2a)') 'ring: PE ', me, ' of ', n, ': failed: ', what
    stop 1, quiet=.true.
  end subroutine check

  subroutine must(status, what)
    integer(c_int32_t), intent(in) :: status
    character(*), intent(in) :: what
    if (status == NVSHMEMRS_SUCCESS) return
    write (error_unit, '(a, i0, a, i0, 3a, i0, 2a)') 'ring: PE ', me, ' of ', n, ': ', what, ': status ', status, &
      ': ', nvshmemrs_text(nvshmemrs_last_error())
    stop 1, quiet=.true.
  end subroutine must

  subroutine barrier()
    call must(nvshmemrs_barrier(rt, world), 'barrier')
  end subroutine barrier

  function allocate_zeroed(count, bytes) result(memory)
    integer, intent(in) :: count
    integer(c_size_t), intent(in) :: bytes
    type(c_ptr) :: memory
    memory = c_null_ptr
    call must(nvshmemrs_calloc(rt, int(count, c_size_t), bytes, memory), 'calloc')
    call check(c_associated(memory), 'calloc gives an address')
  end function allocate_zeroed

  subroutine release(memory)
    type(c_ptr), intent(in) :: memory
    call must(nvshmemrs_free(rt, memory), 'free')
  end subroutine release

  ! Fortran arrays here count from 0, as the addresses do.
  subroutine put_with_signal()
    real(c_double), pointer :: field(:)
    integer(c_int64_t), pointer :: signals(:)
    real(c_double), target :: row(0:3)
    integer(c_int64_t) :: seen, now
    integer :: i
    call c_f_pointer(allocate_zeroed(10, double_bytes), field, [10])
    call c_f_pointer(allocate_zeroed(2, 8_c_size_t), signals, [2])
    field(0:) => field
    signals(0:) => signals
    row = [(me * 100.0_c_double + i, i=0, 3)]
    call must(nvshmemrs_put_signal(rt, c_loc(field(2)), c_loc(row), 4 * double_bytes, c_loc(signals(0)), &
                                   1_c_int64_t, NVSHMEMRS_SIGNAL_SET, right), 'put_signal')
    seen = 0
    call must(nvshmemrs_signal_wait(rt, c_loc(signals(0)), NVSHMEMRS_CMP_GE, 1_c_int64_t, seen), 'signal_wait')
    call check(seen == 1, 'the signal is 1')
    call check(all(same(field(2:5), [(left * 100.0_c_double + i, i=0, 3)])), 'elements 2 to 5 are the left PE''s')
    call check(same(field(1), 0.0_c_double) .and. same(field(6), 0.0_c_double), 'elements 1 and 6 are untouched')
    call check(signals(1) == 0, 'the second signal is untouched')
    call barrier()

    call must(nvshmemrs_signal_op(rt, c_loc(signals(1)), 5_c_int64_t, NVSHMEMRS_SIGNAL_ADD, right), 'signal_op')
    call must(nvshmemrs_signal_wait(rt, c_loc(signals(1)), NVSHMEMRS_CMP_EQ, 5_c_int64_t), 'signal_wait')
    now = 0
    call must(nvshmemrs_signal_fetch(rt, c_loc(signals(0)), now), 'signal_fetch')
    call check(now == 1, 'the first signal is still 1')
    call barrier()
    call release(c_loc(signals(0)))
    call release(c_loc(field(0)))
  end subroutine put_with_signal

  ! Bits, not numbers: gfortran warns of == between reals.
  elemental logical function same(a, b)
    real(c_double), intent(in) :: a, b
    same = transfer(a, 0_c_int64_t) == transfer(b, 0_c_int64_t)
  end function same

  ! Each width writes 8 bytes into its own 24 bytes, so that there is room to see a write that is too wide.
  subroutine single_elements()
    integer(c_int8_t), pointer :: scratch(:)
    integer(c_int8_t) :: expected(0:95)
    integer(c_int8_t) :: v8
    integer(c_int16_t) :: v16
    integer(c_int32_t) :: v32
    integer(c_int64_t) :: v64
    call c_f_pointer(allocate_zeroed(96, 1_c_size_t), scratch, [96])
    scratch(0:) => scratch
    call must(nvshmemrs_p8(rt, c_loc(scratch(8)), of8(me), right), 'p8')
    call must(nvshmemrs_p16(rt, c_loc(scratch(32)), of16(me), right), 'p16')
    call must(nvshmemrs_p32(rt, c_loc(scratch(56)), of32(me), right), 'p32')
    call must(nvshmemrs_p64(rt, c_loc(scratch(80)), of64(me), right), 'p64')
    call barrier()
    expected = 0
    expected(8) = of8(left)
    expected(32:33) = transfer(of16(left), expected)
    expected(56:59) = transfer(of32(left), expected)
    expected(80:87) = transfer(of64(left), expected)
    call check(all(scratch == expected), 'each width is written, and nothing beside it')

    v8 = 0
    v16 = 0
    v32 = 0
    v64 = 0
    call must(nvshmemrs_g8(rt, c_loc(scratch(8)), right, v8), 'g8')
    call must(nvshmemrs_g16(rt, c_loc(scratch(32)), right, v16), 'g16')
    call must(nvshmemrs_g32(rt, c_loc(scratch(56)), right, v32), 'g32')
    call must(nvshmemrs_g64(rt, c_loc(scratch(80)), right, v64), 'g64')
    call check(v8 == of8(me) .and. v16 == of16(me) .and. v32 == of32(me) .and. v64 == of64(me), &
               'each width is read back')
    call barrier()
    call release(c_loc(scratch(0)))
  end subroutine single_elements

  ! Negative numbers: all high bits are set.
  integer(c_int8_t) function of8(pe)
    integer(c_int32_t), intent(in) :: pe
    of8 = int(-100 + pe, c_int8_t)
  end function of8

  integer(c_int16_t) function of16(pe)
    integer(c_int32_t), intent(in) :: pe
    of16 = int(-20000 + pe, c_int16_t)
  end function of16

  integer(c_int32_t) function of32(pe)
    integer(c_int32_t), intent(in) :: pe
    of32 = -1000000000_c_int32_t + pe
  end function of32

  integer(c_int64_t) function of64(pe)
    integer(c_int32_t), intent(in) :: pe
    of64 = -3000000000000000000_c_int64_t + pe
  end function of64

  subroutine atomics()
    integer(c_int64_t), pointer :: words(:)
    integer(c_int32_t), pointer :: halves(:)
    integer(c_int64_t) :: old64, winner64
    integer(c_int32_t) :: old32, winner32, counted
    call c_f_pointer(allocate_zeroed(3, 8_c_size_t), words, [3])
    call c_f_pointer(allocate_zeroed(3, 4_c_size_t), halves, [3])
    words(0:) => words
    halves(0:) => halves
    old64 = 99
    old32 = 99
    call must(nvshmemrs_atomic_fetch_add64(rt, c_loc(words(0)), 1_c_int64_t, 0, old64), 'atomic_fetch_add64')
    call must(nvshmemrs_atomic_fetch_add32(rt, c_loc(halves(0)), 1_c_int32_t, 0, old32), 'atomic_fetch_add32')
    call check(old64 < n .and. old32 < n, 'fetch_add gives an old value below n')

    ! One PE finds 0 and puts its own number; the others get that number and change nothing.
    call must(nvshmemrs_atomic_compare_swap64(rt, c_loc(words(1)), 0_c_int64_t, int(me + 1, c_int64_t), 0, old64), &
              'atomic_compare_swap64')
    call must(nvshmemrs_atomic_compare_swap32(rt, c_loc(halves(1)), 0_c_int32_t, me + 1, 0, old32), &
              'atomic_compare_swap32')
    call barrier()
    winner64 = 0
    winner32 = 0
    call must(nvshmemrs_g64(rt, c_loc(words(1)), 0, winner64), 'g64')
    call must(nvshmemrs_g32(rt, c_loc(halves(1)), 0, winner32), 'g32')
    call check(winner64 >= 1 .and. winner64 <= n .and. winner32 >= 1 .and. winner32 <= n, 'one PE won each swap')
    call check(old64 == merge(0_c_int64_t, winner64, winner64 == me + 1), 'compare_swap64 gives the old value')
    call check(old32 == merge(0_c_int32_t, winner32, winner32 == me + 1), 'compare_swap32 gives the old value')
    counted = merge(n, 0_c_int32_t, me == 0)
    call check(words(0) == counted .and. halves(0) == counted, 'PE 0 counted every PE')
    call check(words(2) == 0 .and. halves(2) == 0, 'the words beside are untouched')
    call barrier()
    call release(c_loc(halves(0)))
    call release(c_loc(words(0)))
  end subroutine atomics

  subroutine get_and_nonblocking()
    real(c_double), pointer :: mine(:), received(:)
    ! Read and written behind the compiler's back between put_nbi, get_nbi and quiet.
    real(c_double), target, asynchronous :: row(0:5), other(0:2)
    integer :: i
    call c_f_pointer(allocate_zeroed(8, double_bytes), mine, [8])
    call c_f_pointer(allocate_zeroed(8, double_bytes), received, [8])
    mine(0:) => mine
    received(0:) => received
    mine = [(me * 10.0_c_double + i, i=0, 7)]
    call barrier()
    row = -1
    call must(nvshmemrs_get(rt, c_loc(row(1)), c_loc(mine(2)), 4 * double_bytes, right), 'get')
    call check(all(same(row(1:4), [(right * 10.0_c_double + i, i=2, 5)])), 'get reads the right PE''s elements')
    call check(all(same(row([0, 5]), -1.0_c_double)), 'get writes nothing beside them')

    call must(nvshmemrs_put_nbi(rt, c_loc(received(2)), c_loc(row(1)), 4 * double_bytes, right), 'put_nbi')
    other = -1
    call must(nvshmemrs_get_nbi(rt, c_loc(other(1)), c_loc(mine(7)), double_bytes, left), 'get_nbi')
    call must(nvshmemrs_quiet(rt), 'quiet')
    call check(all(same(other, [-1.0_c_double, left * 10.0_c_double + 7, -1.0_c_double])), 'get_nbi and quiet')
    call barrier()
    ! The left neighbour sent what it had got from this PE.
    call check(all(same(received(2:5), mine(2:5))), 'put_nbi and quiet')
    call check(all(same(received([0, 1, 6, 7]), 0.0_c_double)), 'put_nbi writes nothing beside its elements')
    call must(nvshmemrs_fence(rt), 'fence')
    call barrier()
    call release(c_loc(received(0)))
    call release(c_loc(mine(0)))
  end subroutine get_and_nonblocking

  ! `dest` and `source` have six elements, of which the last must stay as it is. They may be the same.
  subroutine reduce_doubles(dest, source)
    real(c_double), pointer, intent(in) :: dest(:), source(:)
    integer(c_int32_t), parameter :: ops(3) = [NVSHMEMRS_OP_SUM, NVSHMEMRS_OP_MIN, NVSHMEMRS_OP_MAX]
    real(c_double) :: expected(5, 3)
    integer :: i, o
    expected(:, 1) = [(n * (n + 1) / 2 * real(i, c_double), i=1, 5)]
    expected(:, 2) = [(real(i, c_double), i=1, 5)]
    expected(:, 3) = [(n * real(i, c_double), i=1, 5)]
    do o = 1, 3
      source(1:5) = [((me + 1) * real(i, c_double), i=1, 5)]
      source(6) = -7
      dest(6) = -7
      call must(nvshmemrs_reduce(rt, world, c_loc(dest(1)), c_loc(source(1)), 5_c_size_t, NVSHMEMRS_DTYPE_DOUBLE, &
                                 ops(o)), 'reduce of doubles')
      call check(all(same(dest(1:5), expected(:, o))), 'reduce of doubles gives the sum, the least, the most')
      call check(same(dest(6), -7.0_c_double), 'reduce of doubles writes nothing behind')
      call barrier()
    end do
  end subroutine reduce_doubles

  subroutine reduce_integers(dest, source)
    integer(c_int32_t), pointer, intent(in) :: dest(:), source(:)
    integer(c_int32_t), parameter :: ops(3) = [NVSHMEMRS_OP_SUM, NVSHMEMRS_OP_MIN, NVSHMEMRS_OP_MAX]
    integer(c_int32_t) :: expected(5, 3)
    integer :: i, o
    expected(:, 1) = [(n * (n - 1) / 2 - n * i, i=0, 4)]
    expected(:, 2) = [(-i, i=0, 4)]
    expected(:, 3) = [(n - 1 - i, i=0, 4)]
    do o = 1, 3
      source(1:5) = [(me - i, i=0, 4)]
      source(6) = -7
      dest(6) = -7
      call must(nvshmemrs_reduce(rt, world, c_loc(dest(1)), c_loc(source(1)), 5_c_size_t, NVSHMEMRS_DTYPE_INT32, &
                                 ops(o)), 'reduce of integers')
      call check(all(dest(1:5) == expected(:, o)), 'reduce of integers gives the sum, the least, the most')
      call check(dest(6) == -7, 'reduce of integers writes nothing behind')
      call barrier()
    end do
  end subroutine reduce_integers

  subroutine collectives()
    real(c_double), pointer :: doubles(:), double_dest(:), double_source(:)
    integer(c_int32_t), pointer :: integers(:), integer_dest(:), integer_source(:)
    integer(c_int64_t), pointer :: words(:)
    type(nvshmemrs_heap_stats_t) :: stats
    integer :: i
    call c_f_pointer(allocate_zeroed(12, double_bytes), doubles, [12])
    double_dest => doubles(1:6)
    double_source => doubles(7:12)
    call reduce_doubles(double_dest, double_source)
    call reduce_doubles(double_dest, double_dest)
    call c_f_pointer(allocate_zeroed(12, 4_c_size_t), integers, [12])
    integer_dest => integers(1:6)
    integer_source => integers(7:12)
    call reduce_integers(integer_dest, integer_source)
    call reduce_integers(integer_dest, integer_dest)

    call c_f_pointer(allocate_zeroed(10, 8_c_size_t), words, [10])
    words(0:) => words
    words(5:9) = [(me * 1000 + i, i=0, 4)]
    call barrier()
    call must(nvshmemrs_broadcast(rt, world, c_loc(words(0)), c_loc(words(5)), 32_c_size_t, n - 1), 'broadcast')
    call must(nvshmemrs_broadcast(rt, world, c_loc(words(5)), c_loc(words(5)), 32_c_size_t, n - 1), 'broadcast in place')
    call check(all(words(0:3) == [((n - 1) * 1000 + i, i=0, 3)]), 'broadcast copies the last PE''s words')
    call check(all(words(5:8) == [((n - 1) * 1000 + i, i=0, 3)]), 'broadcast in place copies the last PE''s words')
    call check(words(4) == 0 .and. words(9) == me * 1000 + 4, 'broadcast writes nothing behind')
    call must(nvshmemrs_sync(rt, world), 'sync')

    call must(nvshmemrs_heap_stats(rt, stats), 'heap_stats')
    call check(stats%allocations == 3 .and. stats%used_bytes >= 96 + 48 + 80, 'three allocations are counted')
    call check(stats%used_bytes + stats%free_bytes == stats%heap_bytes, 'used and free are the whole heap')
    call release(c_loc(words(0)))
    call release(c_loc(integers(1)))
    call release(c_loc(doubles(1)))
  end subroutine collectives
end program ring
