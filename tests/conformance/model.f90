! Conformance, scenario "model": teams, strided copies, atomics, waits and tests, collectives on the world and on a team
! made by a split, streams and events, memory that changes its size or comes from elsewhere. A check that fails says what
! it found. The same steps, in the same order, are in the programs of this name in the other languages.
module model_host_function
  use, intrinsic :: iso_c_binding
  implicit none
contains
  ! What a stream calls: counts up the number that it is given.
  function count_up(user) result(status) bind(C)
    type(c_ptr), value :: user
    integer(c_int32_t) :: status
    integer(c_int32_t), pointer :: calls
    call c_f_pointer(user, calls)
    calls = calls + 1
    status = 0
  end function count_up
end module model_host_function

program model
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use model_host_function
  use nvshmemrs_ffi
  implicit none

  interface same
    procedure same_i32, same_i64, same_real
  end interface same

  interface
    function posix_memalign(memory, alignment, bytes) result(status) bind(C)
      import
      type(c_ptr), intent(out) :: memory
      integer(c_size_t), value :: alignment, bytes
      integer(c_int) :: status
    end function posix_memalign

    subroutine free_local(memory) bind(C, name='free')
      import
      type(c_ptr), value :: memory
    end subroutine free_local
  end interface

  integer(nvshmemrs_team_t), parameter :: world = NVSHMEMRS_TEAM_WORLD
  ! What a search gives that finds nothing: the largest number, in C.
  integer(c_size_t), parameter :: nowhere = -1
  integer(nvshmemrs_runtime_t) :: rt = 0
  integer(c_int32_t) :: me = -1, n = 0, left, right
  type(nvshmemrs_heap_stats_t) :: stats

  call must(nvshmemrs_init(runtime=rt), 'init')
  call must(nvshmemrs_my_pe(rt, me), 'my_pe')
  call must(nvshmemrs_n_pes(rt, n), 'n_pes')
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  call same('thread_support', [nvshmemrs_thread_support()], [NVSHMEMRS_THREAD_MULTIPLE])

  call teams()
  call strided()
  call atomics32()
  call atomics64()
  call atomics_float()
  call atomics_double()
  call waits()
  call collectives()
  call streams()
  call memory()

  call must(nvshmemrs_heap_stats(rt, stats), 'heap_stats')
  call same('allocations', [stats%allocations], [0_c_int64_t])
  call must(nvshmemrs_finalize(rt), 'finalize')
  print '(a, i0, a, i0, a)', 'model ok PE ', me, ' of ', n, ' (Fortran)'

contains

  subroutine expect(status, wanted, what)
    integer(c_int32_t), intent(in) :: status, wanted
    character(*), intent(in) :: what
    if (status == wanted) return
    write (error_unit, '(a, i0, a, i0, 3a, i0, a, i0, 2a)') 'model: PE ', me, ' of ', n, ': ', what, ': status ', status, &
      ', not ', wanted, ': ', nvshmemrs_text(nvshmemrs_last_error())
    stop 1, quiet=.true.
  end subroutine expect

  subroutine must(status, what)
    integer(c_int32_t), intent(in) :: status
    character(*), intent(in) :: what
    call expect(status, NVSHMEMRS_SUCCESS, what)
  end subroutine must

  subroutine same_i64(what, found, wanted)
    character(*), intent(in) :: what
    integer(c_int64_t), intent(in) :: found(:), wanted(:)
    integer :: i
    do i = 1, size(wanted)
      if (found(i) == wanted(i)) cycle
      write (error_unit, '(a, i0, a, i0, 3a, i0, 2(a, i0))') 'model: PE ', me, ' of ', n, ': ', what, ': [', i - 1, &
        '] is ', found(i), ', not ', wanted(i)
      stop 1, quiet=.true.
    end do
  end subroutine same_i64

  subroutine same_i32(what, found, wanted)
    character(*), intent(in) :: what
    integer(c_int32_t), intent(in) :: found(:), wanted(:)
    call same_i64(what, int(found, c_int64_t), int(wanted, c_int64_t))
  end subroutine same_i32

  subroutine same_real(what, found, wanted)
    character(*), intent(in) :: what
    real(c_double), intent(in) :: found(:), wanted(:)
    integer :: i
    do i = 1, size(wanted)
      if (abs(found(i) - wanted(i)) <= 0) cycle
      write (error_unit, '(a, i0, a, i0, 3a, i0, 2(a, g0))') 'model: PE ', me, ' of ', n, ': ', what, ': [', i - 1, &
        '] is ', found(i), ', not ', wanted(i)
      stop 1, quiet=.true.
    end do
  end subroutine same_real

  subroutine barrier()
    call must(nvshmemrs_barrier(rt, world), 'barrier')
  end subroutine barrier

  function allocate_zeroed(count, bytes) result(memory)
    integer, intent(in) :: count, bytes
    type(c_ptr) :: memory
    memory = c_null_ptr
    call must(nvshmemrs_calloc(rt, int(count, c_size_t), int(bytes, c_size_t), memory), 'calloc')
  end function allocate_zeroed

  subroutine release(memory)
    type(c_ptr), intent(in) :: memory
    call barrier()
    call must(nvshmemrs_free(rt, memory), 'free')
  end subroutine release

  ! The last PE, the one before the one before it, and so on to PE 0 or 1; TEAM_INVALID on the others.
  subroutine split_back(team, mine)
    integer(nvshmemrs_team_t), intent(out) :: team
    integer(c_int32_t), intent(out) :: mine
    type(nvshmemrs_team_config_t) :: config
    team = 0
    call must(nvshmemrs_team_config_default(config), 'team_config_default')
    call same('version', [config%version], [65536 + 64])
    config%num_contexts = 3
    call must(nvshmemrs_team_split_strided(rt, world, n - 1, -2, (n + 1) / 2, config, &
              NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS, team), 'team_split_strided')
    mine = -1
    if (modulo(n - 1 - me, 2) == 0) mine = (n - 1 - me) / 2
  end subroutine split_back

  function my_pe_in(team) result(pe)
    integer(nvshmemrs_team_t), intent(in) :: team
    integer(c_int32_t) :: pe
    pe = -99
    call must(nvshmemrs_team_my_pe(rt, team, pe), 'team_my_pe')
  end function my_pe_in

  function n_pes_in(team) result(pes)
    integer(nvshmemrs_team_t), intent(in) :: team
    integer(c_int32_t) :: pes
    pes = -99
    call must(nvshmemrs_team_n_pes(rt, team, pes), 'team_n_pes')
  end function n_pes_in

  function translate(source, pe, dest) result(found)
    integer(nvshmemrs_team_t), intent(in) :: source, dest
    integer(c_int32_t), intent(in) :: pe
    integer(c_int32_t) :: found
    found = -99
    call must(nvshmemrs_team_translate_pe(rt, source, pe, dest, found), 'team_translate_pe')
  end function translate

  subroutine teams()
    integer(nvshmemrs_team_t) :: back, row, column, turned
    integer(c_int32_t) :: mine, found
    integer(c_int64_t), pointer :: words(:), peers(:)
    type(nvshmemrs_team_config_t) :: config
    type(c_ptr) :: peer
    call split_back(back, mine)
    call same('team_my_pe', [my_pe_in(back)], [mine])
    call same('team_n_pes', [n_pes_in(back)], [merge(-1, (n + 1) / 2, mine < 0)])
    call same('team_translate_pe', [translate(world, me, back)], [mine])
    if (mine < 0) then
      call same('the team of a non-member', [back], [NVSHMEMRS_TEAM_INVALID])
      call expect(nvshmemrs_sync(rt, back), NVSHMEMRS_ERROR_BAD_HANDLE, 'sync of no team')
    else
      call same('team_translate_pe to WORLD', [translate(back, 0, world)], [n - 1])
      call must(nvshmemrs_team_get_config(rt, back, NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS, config), &
                'team_get_config')
      call same('num_contexts', [config%num_contexts], [3])
    end if

    row = 0
    column = 0
    call must(nvshmemrs_team_split_2d(rt, world, 2, xconfig_mask=0_c_int64_t, yconfig_mask=0_c_int64_t, xteam=row, &
              yteam=column), 'team_split_2d')
    call same('row', [my_pe_in(row), n_pes_in(row)], [modulo(me, 2), min(2, n - me / 2 * 2)])
    call same('column', [my_pe_in(column), n_pes_in(column)], [me / 2, (n - modulo(me, 2) + 1) / 2])

    ! PE 0 hands a number out, and the PEs meet by it in another order.
    call c_f_pointer(allocate_zeroed(2, 8), words, [2])
    if (me == 0) call must(nvshmemrs_team_unique_id(rt, words(1)), 'team_unique_id')
    call must(nvshmemrs_broadcast(rt, world, c_loc(words), c_loc(words), 8_c_size_t, 0), 'broadcast')
    call must(nvshmemrs_team_config_default(config), 'team_config_default')
    config%uniqueid = words(1)
    turned = 0
    call must(nvshmemrs_team_init(rt, config, NVSHMEMRS_TEAM_CONFIG_UNIQUEID, n, right, turned), 'team_init')
    call same('team_my_pe after team_init', [my_pe_in(turned)], [right])
    call same('team_translate_pe after team_init', [translate(turned, 0, world)], [n - 1])
    call must(nvshmemrs_team_get_config(rt, turned, NVSHMEMRS_TEAM_CONFIG_UNIQUEID, config), 'team_get_config')
    call same('uniqueid', [config%uniqueid], words(1:1))

    ! This PE's number in WORLD is its left neighbour's in the team.
    words(2) = 100 + me
    call barrier()
    peer = c_null_ptr
    call must(nvshmemrs_team_ptr(rt, turned, c_loc(words), me, peer), 'team_ptr')
    call c_f_pointer(peer, peers, [2])
    call same('team_ptr', peers(2:2), [int(100 + left, c_int64_t)])
    call release(c_loc(words))

    call must(nvshmemrs_team_destroy(rt, turned), 'team_destroy')
    call expect(nvshmemrs_team_my_pe(rt, turned, found), NVSHMEMRS_ERROR_BAD_HANDLE, 'team_my_pe of a stale team')
    call expect(nvshmemrs_barrier(rt, turned), NVSHMEMRS_ERROR_BAD_HANDLE, 'barrier of a stale team')
    call must(nvshmemrs_team_destroy(rt, row), 'team_destroy')
    call must(nvshmemrs_team_destroy(rt, column), 'team_destroy')
    call must(nvshmemrs_team_destroy(rt, back), 'team_destroy') ! does nothing where it is TEAM_INVALID
    call expect(nvshmemrs_team_destroy(rt, world), NVSHMEMRS_ERROR_INVALID_VALUE, 'team_destroy of WORLD')
  end subroutine teams

  ! Fortran arrays here count from 0, as the addresses do.
  subroutine strided()
    real(c_double), pointer :: field(:), arrived(:)
    integer(c_int32_t), pointer :: blocks(:)
    integer(c_int64_t), pointer :: signal(:)
    real(c_double), target :: row(0:7), got(0:3)
    integer(c_int32_t), target :: source(0:11), back(0:7)
    real(c_double) :: spread(0:15)
    integer(c_int32_t) :: wanted(0:23)
    integer :: i
    call c_f_pointer(allocate_zeroed(16, 8), field, [16])
    field(0:) => field
    row = [(real(me * 100 + i, c_double), i=0, 7)]
    call must(nvshmemrs_iput(rt, c_loc(field(1)), c_loc(row), 3_c_ptrdiff_t, 2_c_ptrdiff_t, 8_c_size_t, 4_c_size_t, right), &
              'iput')
    call barrier()
    spread = 0
    spread(1:10:3) = [(left * 100 + i * 2, i=0, 3)]
    call same('iput', field, spread)
    call must(nvshmemrs_iget(rt, c_loc(got), c_loc(field(10)), 1_c_ptrdiff_t, -3_c_ptrdiff_t, 8_c_size_t, 4_c_size_t, &
              right), 'iget')
    call same('iget', got, [(real(me * 100 + i * 2, c_double), i=3, 0, -1)])
    call release(c_loc(field))

    call c_f_pointer(allocate_zeroed(24, 4), blocks, [24])
    blocks(0:) => blocks
    source = [(me * 100 + i, i=0, 11)]
    call must(nvshmemrs_ibput(rt, c_loc(blocks(2)), c_loc(source), 5_c_ptrdiff_t, 3_c_ptrdiff_t, 4_c_size_t, 2_c_size_t, &
              4_c_size_t, right), 'ibput')
    call barrier()
    wanted = 0
    wanted(2:17:5) = [(left * 100 + i, i=0, 9, 3)]
    wanted(3:18:5) = [(left * 100 + i, i=1, 10, 3)]
    call same('ibput', blocks, wanted)
    call must(nvshmemrs_ibget(rt, c_loc(back), c_loc(blocks(2)), 2_c_ptrdiff_t, 5_c_ptrdiff_t, 4_c_size_t, 2_c_size_t, &
              4_c_size_t, right), 'ibget')
    call same('ibget', back, [(me * 100 + (i - modulo(i, 2)) / 2 * 3 + modulo(i, 2), i=0, 7)])
    call release(c_loc(blocks))

    call c_f_pointer(allocate_zeroed(4, 8), arrived, [4])
    call c_f_pointer(allocate_zeroed(1, 8), signal, [1])
    call must(nvshmemrs_put_signal_nbi(rt, c_loc(arrived), c_loc(row), 24_c_size_t, c_loc(signal), 7_c_int64_t, &
              NVSHMEMRS_SIGNAL_ADD, right), 'put_signal_nbi')
    call must(nvshmemrs_signal_wait(rt, c_loc(signal), NVSHMEMRS_CMP_EQ, 7_c_int64_t), 'signal_wait')
    call same('put_signal_nbi', arrived, [(real(left * 100 + i, c_double), i=0, 2), 0.0_c_double])
    call must(nvshmemrs_quiet(rt), 'quiet')
    call release(c_loc(signal))
    call release(c_loc(arrived))
  end subroutine strided

  ! In all these the left neighbour alone writes to this PE's words, so every old value is known.
  subroutine atomics32()
    integer(c_int32_t), pointer :: words(:)
    integer(c_int32_t), target :: fetched
    integer(c_int32_t) :: old
    call c_f_pointer(allocate_zeroed(2, 4), words, [2])
    call must(nvshmemrs_atomic_set32(rt, c_loc(words), 5_c_int32_t, right), 'atomic_set32')
    call must(nvshmemrs_atomic_fetch32(rt, c_loc(words), right, old), 'atomic_fetch32')
    call same('atomic_fetch32', [old], [5_c_int32_t])
    call must(nvshmemrs_atomic_swap32(rt, c_loc(words), 7_c_int32_t, right, old), 'atomic_swap32')
    call same('atomic_swap32', [old], [5_c_int32_t])
    call must(nvshmemrs_atomic_compare_swap32(rt, c_loc(words), 7_c_int32_t, 12_c_int32_t, right, old), 'atomic_compare_swap32')
    call same('atomic_compare_swap32', [old], [7_c_int32_t])
    call must(nvshmemrs_atomic_compare_swap32(rt, c_loc(words), 7_c_int32_t, 1_c_int32_t, right, old), 'atomic_compare_swap32')
    call same('atomic_compare_swap32', [old], [12_c_int32_t])
    call must(nvshmemrs_atomic_inc32(rt, c_loc(words), right), 'atomic_inc32')
    call must(nvshmemrs_atomic_fetch_inc32(rt, c_loc(words), right, old), 'atomic_fetch_inc32')
    call same('atomic_fetch_inc32', [old], [13_c_int32_t])
    call must(nvshmemrs_atomic_add32(rt, c_loc(words), 4_c_int32_t, right), 'atomic_add32')
    call must(nvshmemrs_atomic_fetch_add32(rt, c_loc(words), 2_c_int32_t, right, old), 'atomic_fetch_add32')
    call same('atomic_fetch_add32', [old], [18_c_int32_t])
    call must(nvshmemrs_atomic_or32(rt, c_loc(words), 3_c_int32_t, right), 'atomic_or32')
    call must(nvshmemrs_atomic_fetch_or32(rt, c_loc(words), 8_c_int32_t, right, old), 'atomic_fetch_or32')
    call same('atomic_fetch_or32', [old], [23_c_int32_t])
    call must(nvshmemrs_atomic_and32(rt, c_loc(words), 29_c_int32_t, right), 'atomic_and32')
    call must(nvshmemrs_atomic_fetch_and32(rt, c_loc(words), 21_c_int32_t, right, old), 'atomic_fetch_and32')
    call same('atomic_fetch_and32', [old], [29_c_int32_t])
    call must(nvshmemrs_atomic_xor32(rt, c_loc(words), 1_c_int32_t, right), 'atomic_xor32')
    call must(nvshmemrs_atomic_fetch_xor32(rt, c_loc(words), 255_c_int32_t, right, old), 'atomic_fetch_xor32')
    call same('atomic_fetch_xor32', [old], [20_c_int32_t])
    call must(nvshmemrs_atomic_fetch_add32_nbi(rt, c_loc(fetched), c_loc(words), 1_c_int32_t, right), &
              'atomic_fetch_add32_nbi')
    call must(nvshmemrs_quiet(rt), 'quiet')
    call same('atomic_fetch_add32_nbi', [fetched], [235_c_int32_t])
    call barrier()
    call same('words after atomics32', words, [236_c_int32_t, 0_c_int32_t])
    call release(c_loc(words))
  end subroutine atomics32

  subroutine atomics64()
    integer(c_int64_t), pointer :: words(:)
    integer(c_int64_t), target :: fetched
    integer(c_int64_t) :: old
    call c_f_pointer(allocate_zeroed(2, 8), words, [2])
    call must(nvshmemrs_atomic_set64(rt, c_loc(words), 5_c_int64_t, right), 'atomic_set64')
    call must(nvshmemrs_atomic_fetch64(rt, c_loc(words), right, old), 'atomic_fetch64')
    call same('atomic_fetch64', [old], [5_c_int64_t])
    call must(nvshmemrs_atomic_swap64(rt, c_loc(words), 7_c_int64_t, right, old), 'atomic_swap64')
    call same('atomic_swap64', [old], [5_c_int64_t])
    call must(nvshmemrs_atomic_compare_swap64(rt, c_loc(words), 7_c_int64_t, 12_c_int64_t, right, old), 'atomic_compare_swap64')
    call same('atomic_compare_swap64', [old], [7_c_int64_t])
    call must(nvshmemrs_atomic_compare_swap64(rt, c_loc(words), 7_c_int64_t, 1_c_int64_t, right, old), 'atomic_compare_swap64')
    call same('atomic_compare_swap64', [old], [12_c_int64_t])
    call must(nvshmemrs_atomic_inc64(rt, c_loc(words), right), 'atomic_inc64')
    call must(nvshmemrs_atomic_fetch_inc64(rt, c_loc(words), right, old), 'atomic_fetch_inc64')
    call same('atomic_fetch_inc64', [old], [13_c_int64_t])
    call must(nvshmemrs_atomic_add64(rt, c_loc(words), 4_c_int64_t, right), 'atomic_add64')
    call must(nvshmemrs_atomic_fetch_add64(rt, c_loc(words), 2_c_int64_t, right, old), 'atomic_fetch_add64')
    call same('atomic_fetch_add64', [old], [18_c_int64_t])
    call must(nvshmemrs_atomic_or64(rt, c_loc(words), 3_c_int64_t, right), 'atomic_or64')
    call must(nvshmemrs_atomic_fetch_or64(rt, c_loc(words), 8_c_int64_t, right, old), 'atomic_fetch_or64')
    call same('atomic_fetch_or64', [old], [23_c_int64_t])
    call must(nvshmemrs_atomic_and64(rt, c_loc(words), 29_c_int64_t, right), 'atomic_and64')
    call must(nvshmemrs_atomic_fetch_and64(rt, c_loc(words), 21_c_int64_t, right, old), 'atomic_fetch_and64')
    call same('atomic_fetch_and64', [old], [29_c_int64_t])
    call must(nvshmemrs_atomic_xor64(rt, c_loc(words), 1_c_int64_t, right), 'atomic_xor64')
    call must(nvshmemrs_atomic_fetch_xor64(rt, c_loc(words), 255_c_int64_t, right, old), 'atomic_fetch_xor64')
    call same('atomic_fetch_xor64', [old], [20_c_int64_t])
    call must(nvshmemrs_atomic_fetch_add64_nbi(rt, c_loc(fetched), c_loc(words), 1_c_int64_t, right), &
              'atomic_fetch_add64_nbi')
    call must(nvshmemrs_quiet(rt), 'quiet')
    call same('atomic_fetch_add64_nbi', [fetched], [235_c_int64_t])
    call barrier()
    call same('words after atomics64', words, [236_c_int64_t, 0_c_int64_t])
    call release(c_loc(words))
  end subroutine atomics64

  subroutine atomics_float()
    real(c_float), pointer :: words(:)
    real(c_float), target :: fetched
    real(c_float) :: old
    call c_f_pointer(allocate_zeroed(2, 4), words, [2])
    call must(nvshmemrs_atomic_set_float(rt, c_loc(words), 1.5_c_float, right), 'atomic_set_float')
    call must(nvshmemrs_atomic_fetch_float(rt, c_loc(words), right, old), 'atomic_fetch_float')
    call same('atomic_fetch_float', [real(old, c_double)], [1.5_c_double])
    call must(nvshmemrs_atomic_swap_float(rt, c_loc(words), 2.5_c_float, right, old), 'atomic_swap_float')
    call same('atomic_swap_float', [real(old, c_double)], [1.5_c_double])
    call must(nvshmemrs_atomic_add_float(rt, c_loc(words), 0.25_c_float, right), 'atomic_add_float')
    call must(nvshmemrs_atomic_fetch_add_float(rt, c_loc(words), 1.0_c_float, right, old), 'atomic_fetch_add_float')
    call same('atomic_fetch_add_float', [real(old, c_double)], [2.75_c_double])
    call must(nvshmemrs_atomic_fetch_add_float_nbi(rt, c_loc(fetched), c_loc(words), 0.25_c_float, right), &
              'atomic_fetch_add_float_nbi')
    call must(nvshmemrs_quiet(rt), 'quiet')
    call same('atomic_fetch_add_float_nbi', [real(fetched, c_double)], [3.75_c_double])
    call barrier()
    call same('words after atomics_float', real(words, c_double), [4.0_c_double, 0.0_c_double])
    call release(c_loc(words))
  end subroutine atomics_float

  subroutine atomics_double()
    real(c_double), pointer :: words(:)
    real(c_double), target :: fetched
    real(c_double) :: old
    call c_f_pointer(allocate_zeroed(2, 8), words, [2])
    call must(nvshmemrs_atomic_set_double(rt, c_loc(words), 1.5_c_double, right), 'atomic_set_double')
    call must(nvshmemrs_atomic_fetch_double(rt, c_loc(words), right, old), 'atomic_fetch_double')
    call same('atomic_fetch_double', [old], [1.5_c_double])
    call must(nvshmemrs_atomic_swap_double(rt, c_loc(words), 2.5_c_double, right, old), 'atomic_swap_double')
    call same('atomic_swap_double', [old], [1.5_c_double])
    call must(nvshmemrs_atomic_add_double(rt, c_loc(words), 0.25_c_double, right), 'atomic_add_double')
    call must(nvshmemrs_atomic_fetch_add_double(rt, c_loc(words), 1.0_c_double, right, old), 'atomic_fetch_add_double')
    call same('atomic_fetch_add_double', [old], [2.75_c_double])
    call must(nvshmemrs_atomic_fetch_add_double_nbi(rt, c_loc(fetched), c_loc(words), 0.25_c_double, right), &
              'atomic_fetch_add_double_nbi')
    call must(nvshmemrs_quiet(rt), 'quiet')
    call same('atomic_fetch_add_double_nbi', [fetched], [3.75_c_double])
    call barrier()
    call same('words after atomics_double', words, [4.0_c_double, 0.0_c_double])
    call release(c_loc(words))
  end subroutine atomics_double

  ! The left neighbour writes 1, 3, 5, 9 into this PE's four words, in an order in which every answer is known.
  subroutine waits()
    integer(c_int32_t), parameter :: i32 = NVSHMEMRS_DTYPE_INT32, ge = NVSHMEMRS_CMP_GE, eq = NVSHMEMRS_CMP_EQ
    integer(c_size_t), parameter :: four = 4
    integer(c_int32_t), target :: one(4) = 1, five = 5, values(4) = [1, 3, 5, 9], others(4) = [0, 0, 5, 0]
    integer(c_int32_t), target :: two(4) = [1, 0, 5, 0], third(4) = [7, 7, 5, 7], odd(4) = [7, 0, 5, 0]
    integer(c_int32_t), target :: not_first(4) = [1, 0, 0, 0], not_odd(4) = [0, 1, 0, 1]
    real(c_double), target :: half = 0.5, sent = 2.5
    integer(c_int64_t), target :: zero = 0
    integer(c_size_t), target :: which(4)
    integer(c_int32_t), pointer :: words(:)
    real(c_double), pointer :: number
    integer(c_int64_t), pointer :: word
    integer(c_int32_t) :: answer
    integer(c_size_t) :: at, found
    type(c_ptr) :: all_words
    which = 99
    all_words = allocate_zeroed(4, 4)
    call c_f_pointer(all_words, words, [4])
    words(0:) => words
    call must(nvshmemrs_test(rt, c_loc(words(0)), eq, c_loc(one), i32, answer), 'test')
    call same('test', [answer], [0])
    call barrier()
    call must(nvshmemrs_p32(rt, c_loc(words(0)), 1, right), 'p32')
    call must(nvshmemrs_wait_until(rt, c_loc(words(0)), eq, c_loc(one), i32), 'wait_until')
    call must(nvshmemrs_test(rt, c_loc(words(0)), eq, c_loc(one), i32, answer), 'test')
    call same('test', [answer], [1])
    call must(nvshmemrs_test_any(rt, all_words, four, c_null_ptr, ge, c_loc(five), i32, at), 'test_any')
    call same('test_any of none', [at], [nowhere])
    call barrier()

    call must(nvshmemrs_p32(rt, c_loc(words(2)), 5, right), 'p32')
    call must(nvshmemrs_wait_until_any(rt, all_words, four, c_loc(not_first), ge, c_loc(one), i32, at), 'wait_until_any')
    call same('wait_until_any', [at], [2_c_size_t])
    call must(nvshmemrs_test_any(rt, all_words, four, c_null_ptr, ge, c_loc(five), i32, at), 'test_any')
    call same('test_any', [at], [2_c_size_t])
    call must(nvshmemrs_wait_until_some(rt, all_words, four, c_loc(which), c_null_ptr, ge, c_loc(one), i32, found), &
              'wait_until_some')
    call same('wait_until_some', [found, which(1:2)], [2_c_size_t, 0_c_size_t, 2_c_size_t])
    call must(nvshmemrs_test_some(rt, all_words, four, c_loc(which), c_loc(not_first), ge, c_loc(one), i32, found), &
              'test_some')
    call same('test_some', [found, which(1)], [1_c_size_t, 2_c_size_t])
    call must(nvshmemrs_test_all(rt, all_words, four, c_null_ptr, ge, c_loc(one), i32, answer), 'test_all')
    call same('test_all', [answer], [0])
    call must(nvshmemrs_test_all(rt, all_words, four, c_loc(not_odd), ge, c_loc(one), i32, answer), 'test_all')
    call same('test_all of some', [answer], [1])
    call must(nvshmemrs_wait_until_any(rt, all_words, four, c_loc(one), ge, c_loc(one), i32, at), 'wait_until_any')
    call same('wait_until_any of none', [at], [nowhere])
    call must(nvshmemrs_wait_until_any_vector(rt, all_words, four, c_null_ptr, eq, c_loc(third), i32, at), &
              'wait_until_any_vector')
    call same('wait_until_any_vector', [at], [2_c_size_t])
    call must(nvshmemrs_test_any_vector(rt, all_words, four, c_loc(not_odd), eq, c_loc(odd), i32, at), 'test_any_vector')
    call same('test_any_vector', [at], [2_c_size_t])
    call barrier()

    call must(nvshmemrs_p32(rt, c_loc(words(1)), 3, right), 'p32')
    call must(nvshmemrs_p32(rt, c_loc(words(3)), 9, right), 'p32')
    call must(nvshmemrs_wait_until_all(rt, all_words, four, c_null_ptr, ge, c_loc(one), i32), 'wait_until_all')
    call must(nvshmemrs_wait_until_all_vector(rt, all_words, four, c_null_ptr, eq, c_loc(values), i32), &
              'wait_until_all_vector')
    call must(nvshmemrs_test_all_vector(rt, all_words, four, c_null_ptr, eq, c_loc(values), i32, answer), 'test_all_vector')
    call same('test_all_vector', [answer], [1])
    call must(nvshmemrs_test_all_vector(rt, all_words, four, c_null_ptr, eq, c_loc(others), i32, answer), 'test_all_vector')
    call same('test_all_vector of others', [answer], [0])
    call must(nvshmemrs_wait_until_some_vector(rt, all_words, four, c_loc(which), c_null_ptr, eq, c_loc(two), i32, found), &
              'wait_until_some_vector')
    call same('wait_until_some_vector', [found, which(1:2)], [2_c_size_t, 0_c_size_t, 2_c_size_t])
    call must(nvshmemrs_test_some_vector(rt, all_words, four, c_loc(which), c_null_ptr, eq, c_loc(others), i32, found), &
              'test_some_vector')
    call same('test_some_vector', [found, which(1)], [1_c_size_t, 2_c_size_t])
    call release(all_words)

    call c_f_pointer(allocate_zeroed(1, 8), number)
    call c_f_pointer(allocate_zeroed(1, 8), word)
    call must(nvshmemrs_put(rt, c_loc(number), c_loc(sent), 8_c_size_t, right), 'put')
    call must(nvshmemrs_wait_until(rt, c_loc(number), NVSHMEMRS_CMP_GT, c_loc(half), NVSHMEMRS_DTYPE_DOUBLE), 'wait_until')
    call same('double waited for', [number], [sent])
    call must(nvshmemrs_atomic_add64(rt, c_loc(word), 3_c_int64_t, right), 'atomic_add64')
    call must(nvshmemrs_wait_until(rt, c_loc(word), NVSHMEMRS_CMP_NE, c_loc(zero), NVSHMEMRS_DTYPE_UINT64), 'wait_until')
    call same('uint64 waited for', [word], [3_c_int64_t])
    call release(c_loc(word))
    call release(c_loc(number))
  end subroutine waits

  ! What no member writes to stays -7.
  subroutine fill(team, m, dest, source)
    integer(nvshmemrs_team_t), intent(in) :: team
    integer(c_int32_t), intent(in) :: m
    integer(c_int64_t), pointer, intent(in) :: dest(:), source(:)
    integer :: i
    call must(nvshmemrs_sync(rt, team), 'sync')
    dest = -7
    source = [(m * 100 + i, i=0, 63)]
    call must(nvshmemrs_sync(rt, team), 'sync')
  end subroutine fill

  ! Member `m` of `k`.
  subroutine moves(team, m, k, dest, source)
    integer(nvshmemrs_team_t), intent(in) :: team
    integer(c_int32_t), intent(in) :: m, k
    integer(c_int64_t), pointer, intent(in) :: dest(:), source(:)
    integer(c_int64_t) :: wanted(0:63)
    integer :: i, pe, last
    wanted = -7
    call fill(team, m, dest, source)
    call must(nvshmemrs_broadcast(rt, team, c_loc(dest), c_loc(source), 24_c_size_t, k - 1), 'broadcast')
    wanted(0:2) = [((k - 1) * 100 + i, i=0, 2)]
    call same('broadcast', dest, wanted(0:3))

    call fill(team, m, dest, source)
    call must(nvshmemrs_fcollect(rt, team, c_loc(dest), c_loc(source), 24_c_size_t), 'fcollect')
    wanted(0:k * 3 - 1) = [(i / 3 * 100 + modulo(i, 3), i=0, k * 3 - 1)]
    call same('fcollect', dest, wanted(0:k * 3))
    call fill(team, m, dest, source)
    call must(nvshmemrs_fcollect(rt, team, c_loc(source), c_loc(source(m * 3 + 1)), 24_c_size_t), 'fcollect in place')
    call same('fcollect in place', source, [(int(i / 3 * 100 + i, c_int64_t), i=0, k * 3 - 1)])

    call fill(team, m, dest, source) ! member m gives m + 1 elements
    call must(nvshmemrs_collect(rt, team, c_loc(dest), c_loc(source), int((m + 1) * 8, c_size_t)), 'collect')
    wanted = -7
    last = 0
    do pe = 0, k - 1
      wanted(last:last + pe) = [(pe * 100 + i, i=0, pe)]
      last = last + pe + 1
    end do
    call same('collect', dest, wanted(0:last))

    wanted = -7
    wanted(0:k * 2 - 1) = [(i / 2 * 100 + m * 2 + modulo(i, 2), i=0, k * 2 - 1)]
    call fill(team, m, dest, source)
    call must(nvshmemrs_alltoall(rt, team, c_loc(dest), c_loc(source), 16_c_size_t), 'alltoall')
    call same('alltoall', dest, wanted(0:k * 2))
    call fill(team, m, dest, source)
    call must(nvshmemrs_alltoall(rt, team, c_loc(source), c_loc(source), 16_c_size_t), 'alltoall in place')
    call same('alltoall in place', source, wanted(0:k * 2 - 1))
    call fill(team, m, dest, source)
    call must(nvshmemrs_alltoalls(rt, team, c_loc(dest), c_loc(source), 2_c_ptrdiff_t, 3_c_ptrdiff_t, 8_c_size_t, &
              2_c_size_t), 'alltoalls')
    wanted = -7
    wanted(0:k * 4 - 2:2) = [(i / 2 * 100 + (m * 2 + modulo(i, 2)) * 3, i=0, k * 2 - 1)]
    call same('alltoalls', dest, wanted(0:k * 4 - 1))
  end subroutine moves

  subroutine fill_for_scan(team, m, dest, source)
    integer(nvshmemrs_team_t), intent(in) :: team
    integer(c_int32_t), intent(in) :: m
    integer(c_int32_t), pointer, intent(in) :: dest(:), source(:)
    integer :: i
    call must(nvshmemrs_sync(rt, team), 'sync')
    dest = -7
    source = [((m + 1) * i, i=1, 16)]
    call must(nvshmemrs_sync(rt, team), 'sync')
  end subroutine fill_for_scan

  subroutine scans(team, m, k, dest, source)
    integer(nvshmemrs_team_t), intent(in) :: team
    integer(c_int32_t), intent(in) :: m, k
    integer(c_int32_t), pointer, intent(in) :: dest(:), source(:)
    integer(c_int32_t), parameter :: i32 = NVSHMEMRS_DTYPE_INT32, add = NVSHMEMRS_OP_SUM
    integer(c_size_t), parameter :: two = 2
    integer(c_int32_t) :: all, before, to_me
    all = k * (k + 1) / 2
    before = m * (m + 1) / 2
    to_me = (m + 1) * (m + 2) / 2
    call fill_for_scan(team, m, dest, source)
    call must(nvshmemrs_reducescatter(rt, team, c_loc(dest), c_loc(source), two, i32, add), 'reducescatter')
    call same('reducescatter', dest, [all * (m * 2 + 1), all * (m * 2 + 2), -7])
    call fill_for_scan(team, m, dest, source)
    call must(nvshmemrs_reducescatter(rt, team, c_loc(source(m * 2 + 1)), c_loc(source), two, i32, add), &
              'reducescatter in place')
    call same('reducescatter in place', source(m * 2 + 1:), [all * (m * 2 + 1), all * (m * 2 + 2)])
    call fill_for_scan(team, m, dest, source)
    call must(nvshmemrs_inscan(rt, team, c_loc(dest), c_loc(source), two, i32, add), 'inscan')
    call same('inscan', dest, [to_me, to_me * 2, -7])
    call fill_for_scan(team, m, dest, source)
    call must(nvshmemrs_inscan(rt, team, c_loc(source), c_loc(source), two, i32, add), 'inscan in place')
    call same('inscan in place', source, [to_me, to_me * 2, (m + 1) * 3])
    call fill_for_scan(team, m, dest, source)
    call must(nvshmemrs_exscan(rt, team, c_loc(dest), c_loc(source), two, i32, add), 'exscan')
    call same('exscan', dest, [before, before * 2, -7])
    call fill_for_scan(team, m, dest, source)
    call must(nvshmemrs_exscan(rt, team, c_loc(source), c_loc(source), 1_c_size_t, i32, NVSHMEMRS_OP_MIN), 'exscan in place')
    call same('exscan in place', source, [merge(huge(1_c_int32_t), 1_c_int32_t, m == 0)])
  end subroutine scans

  ! Reduces two elements, of `bytes` bytes each, from the start of `memory` to those from byte 32 on, and in place.
  subroutine reduce_two(team, memory, bytes, dtype, op, mine, wanted)
    integer(nvshmemrs_team_t), intent(in) :: team
    type(c_ptr), intent(in) :: memory
    integer, intent(in) :: bytes
    integer(c_int32_t), intent(in) :: dtype, op
    integer(c_int8_t), intent(in) :: mine(:), wanted(:)
    integer(c_int8_t), pointer :: source(:), dest(:)
    character(24) :: what
    call c_f_pointer(memory, source, [72])
    dest => source(33:72)
    write (what, '(a, i0)') 'reduce of dtype ', dtype
    source(1:bytes) = mine
    source(bytes + 1:2 * bytes) = mine
    dest = 77
    call must(nvshmemrs_sync(rt, team), 'sync')
    call must(nvshmemrs_reduce(rt, team, c_loc(dest), c_loc(source), 2_c_size_t, dtype, op), trim(what))
    call same(trim(what), int(dest), int([wanted, wanted, 77_c_int8_t]))
    call must(nvshmemrs_reduce(rt, team, c_loc(source), c_loc(source), 2_c_size_t, dtype, op), trim(what))
    call same(trim(what) // ' in place', int(source), int([wanted, wanted]))
  end subroutine reduce_two

  ! A number's bytes are `transfer(number, bytes)`.
  subroutine reductions(team, m, k, memory)
    integer(nvshmemrs_team_t), intent(in) :: team
    integer(c_int32_t), intent(in) :: m, k
    type(c_ptr), intent(in) :: memory
    integer(c_int8_t), parameter :: b(1) = 0
    integer(c_int64_t), parameter :: factorial(4) = [1, 2, 6, 24]
    complex(c_float_complex), parameter :: i = (0.0, 1.0)
    complex(c_double_complex) :: mine, total
    integer(c_int64_t) :: sign, bits
    integer(c_int32_t) :: low
    sign = merge(-1, 1, modulo(k, 2) == 1)
    bits = shiftl(1_c_int64_t, k) - 1
    low = shiftl(1, k) - 1
    mine = cmplx(m, 1, c_double_complex)
    total = cmplx(k * (k - 1) / 2, k, c_double_complex)
    ! Without the top bit, which Fortran's 8-bit integers cannot say.
    call reduce_two(team, memory, 1, NVSHMEMRS_DTYPE_UINT8, NVSHMEMRS_OP_XOR, [int(shiftl(1, m) + 64, c_int8_t)], &
                    [int(low + 64 * modulo(k, 2), c_int8_t)])
    call reduce_two(team, memory, 2, NVSHMEMRS_DTYPE_INT16, NVSHMEMRS_OP_MIN, transfer(int(-m, c_int16_t), b), &
                    transfer(int(1 - k, c_int16_t), b))
    call reduce_two(team, memory, 4, NVSHMEMRS_DTYPE_UINT32, NVSHMEMRS_OP_AND, transfer(not(shiftl(1, m)), b), &
                    transfer(not(low), b))
    call reduce_two(team, memory, 8, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_OR, transfer(shiftl(1_c_int64_t, 40 + m), b), &
                    transfer(shiftl(bits, 40), b))
    call reduce_two(team, memory, 8, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_PROD, transfer(int(-(m + 1), c_int64_t), b), &
                    transfer(sign * factorial(k), b))
    call reduce_two(team, memory, 4, NVSHMEMRS_DTYPE_FLOAT, NVSHMEMRS_OP_MAX, transfer(m + 0.5_c_float, b), &
                    transfer(k - 0.5_c_float, b))
    call reduce_two(team, memory, 8, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM, transfer((m + 1) * 0.25_c_double, b), &
                    transfer(k * (k + 1) / 2 * 0.25_c_double, b))
    call reduce_two(team, memory, 8, NVSHMEMRS_DTYPE_COMPLEXF, NVSHMEMRS_OP_PROD, transfer(i, b), transfer(powers(k), b))
    call reduce_two(team, memory, 16, NVSHMEMRS_DTYPE_COMPLEXD, NVSHMEMRS_OP_SUM, transfer(mine, b), transfer(total, b))
  end subroutine reductions

  ! What a left fold of `k` imaginary units comes to, with the zeros' signs.
  function powers(k) result(product)
    integer(c_int32_t), intent(in) :: k
    complex(c_float_complex) :: product
    integer :: step
    product = (0.0, 1.0)
    do step = 2, k
      product = product * (0.0, 1.0)
    end do
  end function powers

  subroutine collectives()
    integer(c_int64_t), pointer :: words(:), dest(:), source(:)
    integer(c_int32_t), pointer :: numbers(:), scan_dest(:), scan_source(:)
    integer(nvshmemrs_team_t) :: back
    integer(c_int32_t) :: mine
    type(c_ptr) :: memory
    memory = allocate_zeroed(128, 8)
    call c_f_pointer(memory, words, [128])
    call c_f_pointer(memory, numbers, [32])
    dest => words(1:64)
    source => words(65:128)
    scan_dest => numbers(1:16)
    scan_source => numbers(17:32)
    call split_back(back, mine)
    call moves(world, me, n, dest, source)
    call scans(world, me, n, scan_dest, scan_source)
    call reductions(world, me, n, memory)
    call barrier()
    if (mine >= 0) then
      call moves(back, mine, (n + 1) / 2, dest, source)
      call scans(back, mine, (n + 1) / 2, scan_dest, scan_source)
      call reductions(back, mine, (n + 1) / 2, memory)
      call must(nvshmemrs_barrier(rt, back), 'barrier of a team')
    end if
    call must(nvshmemrs_team_destroy(rt, back), 'team_destroy')
    call release(memory)
  end subroutine collectives

  subroutine streams()
    real(c_double), pointer :: values(:)
    integer(c_int64_t), pointer :: words(:)
    real(c_double), target :: row(3)
    integer(c_int32_t), target :: calls
    integer(nvshmemrs_stream_t) :: first, second
    integer(nvshmemrs_event_t) :: start, finish
    integer(c_int64_t) :: old
    integer(c_int32_t) :: done
    real(c_double) :: milliseconds
    integer :: i
    call c_f_pointer(allocate_zeroed(4, 8), values, [4])
    call c_f_pointer(allocate_zeroed(2, 8), words, [2])
    row = [(real(me * 10 + i, c_double), i=0, 2)]
    calls = 0
    old = 99
    call must(nvshmemrs_stream_new(rt, first), 'stream_new')
    call must(nvshmemrs_stream_new(rt, second), 'stream_new')
    call must(nvshmemrs_event_new(rt, start), 'event_new')
    call must(nvshmemrs_event_new(rt, finish), 'event_new')
    call must(nvshmemrs_event_record(start, first), 'event_record')
    call must(nvshmemrs_put_signal(first, c_loc(values), c_loc(row), 24_c_size_t, c_loc(words), 1_c_int64_t, &
              NVSHMEMRS_SIGNAL_SET, right), 'put_signal on a stream')
    call must(nvshmemrs_signal_wait(first, c_loc(words), NVSHMEMRS_CMP_EQ, 1_c_int64_t), 'signal_wait on a stream')
    call must(nvshmemrs_event_record(finish, first), 'event_record')
    call must(nvshmemrs_stream_wait_event(second, finish), 'stream_wait_event')
    call must(nvshmemrs_stream_call(second, c_funloc(count_up), c_loc(calls)), 'stream_call')
    call must(nvshmemrs_stream_synchronize(second), 'stream_synchronize')
    call same('calls', [calls], [1])
    call same('put_signal on a stream', values, [(real(left * 10 + i, c_double), i=0, 2), 0.0_c_double])
    call must(nvshmemrs_event_synchronize(finish), 'event_synchronize')
    call must(nvshmemrs_event_query(finish, done), 'event_query')
    call same('event_query', [done], [1])
    milliseconds = -1
    call must(nvshmemrs_event_elapsed(start, finish, milliseconds), 'event_elapsed')
    call same('event_elapsed', [milliseconds], [max(0.0_c_double, min(60e3_c_double, milliseconds))])

    ! An error is kept until the stream is synchronized, once; what is queued behind it runs.
    call must(nvshmemrs_put(first, c_loc(values), c_loc(row), 8_c_size_t, n), 'put on a stream')
    call must(nvshmemrs_atomic_fetch_add64(first, c_loc(words(2)), 4_c_int64_t, right, old), 'fetch_add on a stream')
    call same('fetch_add on a stream', [old], [0_c_int64_t])
    call expect(nvshmemrs_stream_synchronize(first), NVSHMEMRS_ERROR_PE_RANGE, 'stream_synchronize')
    call must(nvshmemrs_stream_synchronize(first), 'stream_synchronize again')
    call must(nvshmemrs_barrier(first, world), 'barrier on a stream')
    call must(nvshmemrs_stream_synchronize(first), 'stream_synchronize')
    call same('fetch_add on a stream', words(2:2), [4_c_int64_t])
    call must(nvshmemrs_stream_query(first, done), 'stream_query')
    call same('stream_query', [done], [1])
    call must(nvshmemrs_event_free(start), 'event_free')
    call must(nvshmemrs_event_free(finish), 'event_free')
    call must(nvshmemrs_stream_free(second), 'stream_free')
    call must(nvshmemrs_stream_free(first), 'stream_free')
    call release(c_loc(words))
    call release(c_loc(values))
  end subroutine streams

  subroutine memory()
    integer(c_size_t), parameter :: bytes = 65536
    integer(c_int64_t), pointer :: grown(:), buffer(:), symmetric(:)
    type(c_ptr) :: found
    integer :: i
    call c_f_pointer(allocate_zeroed(4, 8), grown, [4])
    grown = [(me * 10 + i, i=0, 3)]
    call must(nvshmemrs_realloc(rt, c_loc(grown), 4000_c_size_t, found), 'realloc')
    call c_f_pointer(found, grown, [500])
    call same('realloc', grown, [(int(me * 10 + i, c_int64_t), i=0, 3)])
    call must(nvshmemrs_p64(rt, c_loc(grown(500)), int(77 + me, c_int64_t), right), 'p64')
    call barrier()
    call same('behind realloc', grown(500:), [int(77 + left, c_int64_t)])
    call must(nvshmemrs_realloc(rt, c_loc(grown), 0_c_size_t, found), 'realloc to 0')
    call same('realloc to 0 gives NULL', [merge(1, 0, c_associated(found))], [0])

    ! The caller's own memory becomes symmetric where it is, and private again.
    call same('posix_memalign', [posix_memalign(found, bytes, bytes)], [0])
    call c_f_pointer(found, buffer, [bytes / 8])
    buffer = 0
    buffer(2) = me * 10 + 1
    call must(nvshmemrs_buffer_register(rt, c_loc(buffer), bytes, c_null_ptr, found), 'buffer_register')
    call c_f_pointer(found, symmetric, [bytes / 8])
    call same('registered', symmetric(2:2), [int(me * 10 + 1, c_int64_t)])
    call must(nvshmemrs_p64(rt, c_loc(symmetric(6)), int(50 + me, c_int64_t), right), 'p64')
    call must(nvshmemrs_p64(rt, c_loc(buffer(7)), int(60 + me, c_int64_t), right), 'p64')
    call barrier()
    call same('buffer', buffer(6:6), [int(50 + left, c_int64_t)])
    call same('symmetric', symmetric(7:7), [int(60 + left, c_int64_t)])
    call barrier()
    call must(nvshmemrs_buffer_unregister(rt, c_loc(symmetric)), 'buffer_unregister')
    call same('unregistered', [buffer(2), buffer(7)], [int(me * 10 + 1, c_int64_t), int(60 + left, c_int64_t)])
    call expect(nvshmemrs_p64(rt, c_loc(buffer), 1_c_int64_t, right), NVSHMEMRS_ERROR_NOT_SYMMETRIC, 'p64 to a local array')
    call free_local(c_loc(buffer))
  end subroutine memory
end program model
