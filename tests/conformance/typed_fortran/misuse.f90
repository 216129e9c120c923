! Mistakes of a caller of the typed layer come back by `stat` and `errmsg`. Nothing is written, no PE is stranded, and
! the job goes on.
program misuse
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use nvshmemrs
  implicit none
  integer :: me = -1, n = 0, stat, numbers(2) = 0
  character(400) :: errmsg

  errmsg = 'unset'
  call expect(nvshmemrs_my_pe(stat, errmsg), -1, 'my_pe before init')
  call failed(NVSHMEMRS_ERROR_NOT_INITIALIZED, '`nvshmemrs_init()`', 'my_pe before init')
  call nvshmemrs_fcollect(numbers, [1, 2], stat=stat, errmsg=errmsg)
  call failed(NVSHMEMRS_ERROR_NOT_INITIALIZED, 'init', 'fcollect before init')
  call nvshmemrs_finalize(stat, errmsg)
  call failed(NVSHMEMRS_ERROR_NOT_INITIALIZED, 'init', 'finalize before init')
  errmsg = 'set'
  call nvshmemrs_init(stat=stat, errmsg=errmsg)
  call expect(stat, NVSHMEMRS_SUCCESS, 'init')
  call check(errmsg(1:5) /= 'unset', 'an error has a message')
  errmsg = 'unset'
  call nvshmemrs_quiet(stat=stat, errmsg=errmsg)
  call check(stat == 0 .and. errmsg == 'unset', 'success leaves errmsg as it is')
  me = nvshmemrs_my_pe()
  n = nvshmemrs_n_pes()
  call nvshmemrs_init(stat=stat, errmsg=errmsg)
  call expect(stat, NVSHMEMRS_SUCCESS, 'init again')
  call nvshmemrs_finalize(stat, errmsg)
  call expect(stat, NVSHMEMRS_SUCCESS, 'finalize of the second init')
  call one_sided()
  call collective()
  call teams()
  call arrays()
  call after_finalize()
  print '(a, i0, a, i0, a)', 'misuse ok PE ', me, ' of ', n, ' (Fortran)'

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    write (error_unit, '(a, i0, a, i0, 4a)') 'misuse: PE ', me, ' of ', n, ': failed: ', what, ': ', trim(errmsg)
    stop 1, quiet=.true.
  end subroutine check

  subroutine expect(found, wanted, what)
    integer, intent(in) :: found, wanted
    character(*), intent(in) :: what
    call check(found == wanted, what)
  end subroutine expect

  ! The last call had the status, and its message has the words in it.
  subroutine failed(wanted, words, what)
    integer(c_int32_t), intent(in) :: wanted
    character(*), intent(in) :: words, what
    call check(stat == wanted .and. index(errmsg, words) > 0, what)
    stat = -99
    errmsg = ''
  end subroutine failed

  function text_of(number) result(text)
    integer, intent(in) :: number
    character(:), allocatable :: text
    character(12) :: digits
    write (digits, '(i0)') number
    text = trim(digits)
  end function text_of

  subroutine one_sided()
    type(nvshmemrs_real64_array2) :: field
    type(nvshmemrs_int32_array1) :: words
    type(nvshmemrs_signal) :: none
    type(nvshmemrs_stream) :: no_stream
    real(c_double) :: row(4), value
    integer :: found, indices(2)
    logical :: yes
    call field%allocate(3, 4)
    call words%allocate(6)
    row = 5
    call nvshmemrs_put(field%values(1, :), row, n, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_PE_RANGE, 'PE ' // text_of(n), 'put of a row to PE n')
    call nvshmemrs_put(field%values(1, 1), row(1), -1, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_PE_RANGE, '`pe`', 'put of an element to PE -1')
    call nvshmemrs_put(field%values(:, 1), row, me, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`source` has the shape [4], and `dest` has the shape [3]', 'put of another shape')
    call nvshmemrs_get(row(1:3), field%values(1, :), me, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'shape', 'get of another shape')
    call nvshmemrs_put(row(1:2), row(3:4), me, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_NOT_SYMMETRIC, '`allocate` of a symmetric array', 'put to a local array')
    call nvshmemrs_put(row(1:4:2), row(1:4:2), me, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_NOT_SYMMETRIC, '`dest`', 'put to a local array with gaps')
    call nvshmemrs_put_signal(field%values(1, 1:4), row, none, 1_c_int64_t, NVSHMEMRS_SIGNAL_SET, me, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_NOT_SYMMETRIC, '`signal`', 'a signal that is none')
    call nvshmemrs_put(field%values(1, 1), row(1), me, stream=no_stream, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_BAD_HANDLE, 'runtime', 'a stream that is none')
    value = nvshmemrs_g(field%values(1, 1), n, stat=stat, errmsg=errmsg)
    call check(.not. abs(value) > 0, 'g of PE n gives 0')
    call failed(NVSHMEMRS_ERROR_PE_RANGE, '`pe`', 'g of PE n')
    call nvshmemrs_iput(field%values(1, 1), row(1), 1, 1, -1, me, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'negative', 'iput of -1 elements')
    call nvshmemrs_iput(field%values(1, 1), row(1), 0, 1, 2, me, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'stride', 'iput that writes one element twice')
    call nvshmemrs_test_any(words%values(1:6:2), NVSHMEMRS_CMP_EQ, 0, found, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'contiguous', 'test_any with gaps')
    call nvshmemrs_test_some(words%values, NVSHMEMRS_CMP_EQ, 0, indices, found, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`indices` has 2 elements', 'test_some without room')
    call nvshmemrs_test_all_vector(words%values, NVSHMEMRS_CMP_EQ, [0, 0], yes, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`values` has 2 elements', 'test_all_vector with two values')
    call nvshmemrs_test_all(words%values, NVSHMEMRS_CMP_EQ, 0, yes, excluded=[.true.], stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`excluded` has 1 elements', 'test_all with one flag')
    call nvshmemrs_test(words%values(1), 99, 0, yes, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`cmp`', 'test with cmp 99')
    call nvshmemrs_test(words%values(1), NVSHMEMRS_CMP_EQ, 0, yes, dtype=NVSHMEMRS_DTYPE_INT8, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`dtype`', 'test with a dtype of another size')
    call nvshmemrs_barrier()
    call check(all(words%values == 0) .and. .not. any(abs(field%values) > 0), 'nothing was written')
    call nvshmemrs_barrier()
  end subroutine one_sided

  ! A member's mistake is an error of every member, and the team goes on.
  subroutine collective()
    type(nvshmemrs_real64_array2) :: field
    call field%allocate(8, 8)
    field%values = me
    call nvshmemrs_barrier()
    call nvshmemrs_reduce(field%values(1, :), field%values(:, 2), NVSHMEMRS_OP_SUM, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`dest` has gaps', 'reduce to a row')
    call nvshmemrs_reduce(field%values(:, 1), field%values(2, :), NVSHMEMRS_OP_SUM, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`source` has gaps', 'reduce of a row')
    call nvshmemrs_reduce(field%values(1:3, 1), field%values(1:4, 2), NVSHMEMRS_OP_SUM, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`dest` has a size of [3], and `source` has a size of [4]', 'reduce of another size')
    if (me == 0) then
      call nvshmemrs_fcollect(field%values(1:1, 1), field%values(1:4, 2), stat=stat, errmsg=errmsg)
      call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'room for', 'fcollect without room')
    else
      call nvshmemrs_fcollect(field%values(1:2 * n, 1), field%values(1:2, 2), stat=stat, errmsg=errmsg)
      call failed(NVSHMEMRS_ERROR_PEER_ARGUMENT, 'PE 0', 'fcollect with a member without room')
    end if
    call nvshmemrs_broadcast(field%values(:, 1), field%values(:, 2), n, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_PE_RANGE, '`root`', 'broadcast from PE n')
    call nvshmemrs_alltoall(field%values(1:2 * n + 1, 1), field%values(1:2 * n + 1, 2), stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'a multiple', 'alltoall of odd parts')
    call nvshmemrs_alltoalls(field%values(1:2, 1), field%values(:, 2), 1, 1, 2, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`count` elements', 'alltoalls without room')
    call nvshmemrs_gather(field%values(1:2 * n + 1, 1), field%values(1:2, 2), 0, stat=stat, errmsg=errmsg)
    call of_root(0, 'room for', 'gather without the right room')
    call nvshmemrs_gather(field%values(1:2 * n:2, 1), field%values(1:1, 2), 0, stat=stat, errmsg=errmsg)
    call of_root(0, 'contiguous', 'gather with gaps')
    call nvshmemrs_gather(field%values(:, 1), field%values(1:1, 2), n, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_PE_RANGE, '`root`', 'gather to PE n')
    call nvshmemrs_scatter(field%values(1:2, 1), field%values(1:2 * n + 1, 2), n - 1, stat=stat, errmsg=errmsg)
    call of_root(n - 1, 'one part per member', 'scatter of odd parts')
    call nvshmemrs_reducescatter(field%values(1:2, 1), field%values(1:2, 2), NVSHMEMRS_OP_SUM, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'one part per member', 'reducescatter of one part')
    call nvshmemrs_reduce(field%values(:, 1), field%values(:, 2), NVSHMEMRS_OP_XOR, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`op`', 'reduce of reals with xor')
    call nvshmemrs_reduce(field%values(:, 1), field%values(:, 2), NVSHMEMRS_OP_SUM, dtype=NVSHMEMRS_DTYPE_INT64, stat=stat, &
                          errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`dtype`', 'reduce of reals as integers')
    call nvshmemrs_barrier()
    call check(all(nint(field%values) == me), 'nothing was written')
    call nvshmemrs_barrier()
    call nvshmemrs_reduce(field%values(:, 1), field%values(:, 2), NVSHMEMRS_OP_SUM)
    call check(all(nint(field%values(:, 1)) == n * (n - 1) / 2), 'reduce after all that')
    call nvshmemrs_barrier()
  end subroutine collective

  ! The root refuses the last call, and the others hear of it.
  subroutine of_root(root, words, what)
    integer, intent(in) :: root
    character(*), intent(in) :: words, what
    if (me == root) then
      call failed(NVSHMEMRS_ERROR_INVALID_VALUE, words, what)
    else
      call failed(NVSHMEMRS_ERROR_PEER_ARGUMENT, 'PE', what)
    end if
  end subroutine of_root

  subroutine teams()
    type(nvshmemrs_team) :: team, copy, none
    type(nvshmemrs_int32_array1) :: words
    call words%allocate(2)
    call expect(none%my_pe(), -1, 'my_pe of no team')
    call check(none%none(), 'no team')
    call nvshmemrs_world%split_strided(0, 1, n, team)
    copy = team
    call team%destroy()
    call nvshmemrs_barrier(copy, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_BAD_HANDLE, 'destroyed', 'barrier of a destroyed team')
    call nvshmemrs_reduce(words%values, words%values, NVSHMEMRS_OP_SUM, copy, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_BAD_HANDLE, '`team`', 'reduce of a destroyed team')
    call nvshmemrs_fcollect(words%values, words%values, copy, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_BAD_HANDLE, '`team`', 'fcollect of a destroyed team')
    call nvshmemrs_reducescatter(words%values(1:1), words%values, NVSHMEMRS_OP_SUM, copy, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_BAD_HANDLE, '`team`', 'reducescatter of a destroyed team')
    call nvshmemrs_gather(words%values(1:1), words%values, 0, copy, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_BAD_HANDLE, '`team`', 'gather of a destroyed team')
    call nvshmemrs_alltoall(words%values(1:1), words%values, copy, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_BAD_HANDLE, '`team`', 'alltoall of a destroyed team')
    call check(NVSHMEMRS_ERROR_TEAM_BROKEN /= NVSHMEMRS_SUCCESS, 'a broken team has a status')
    call expect(copy%my_pe(stat, errmsg), -1, 'my_pe of a destroyed team')
    call failed(NVSHMEMRS_ERROR_BAD_HANDLE, '`team`', 'my_pe of a destroyed team')
    call nvshmemrs_world%split_strided(0, 1, n + 1, team, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`size`', 'a split beyond the last PE')
    call nvshmemrs_world%destroy(stat, errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, '`team`', 'destroy of WORLD')
    call nvshmemrs_barrier()
  end subroutine teams

  subroutine arrays()
    type(nvshmemrs_int64_array2) :: field, other
    call field%deallocate(stat, errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'not allocated', 'deallocate of what is not allocated')
    call check(.not. associated(field%on(me, stat=stat, errmsg=errmsg)), 'on of what is not allocated')
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'not allocated', 'on of what is not allocated')
    call field%allocate(huge(1), huge(1), stat, errmsg)
    call failed(NVSHMEMRS_ERROR_OUT_OF_MEMORY, 'heap', 'more than any heap')
    call check(.not. field%allocated(), 'what could not be allocated')
    call field%allocate(2, 2)
    call field%allocate(2, 2, stat, errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'already', 'allocate again')
    ! PE 0 alone is wrong, and the others hear of it.
    if (me == 0) then
      call field%allocate(2, 2, stat, errmsg)
      call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'already', 'allocate again, alone')
      call other%deallocate(stat, errmsg)
      call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'not allocated', 'deallocate of what is not allocated, alone')
    else
      call other%allocate(2, 2, stat, errmsg)
      call failed(NVSHMEMRS_ERROR_PEER_ARGUMENT, 'PE 0', 'allocate with a PE that cannot')
      call field%deallocate(stat, errmsg)
      call failed(NVSHMEMRS_ERROR_PEER_ARGUMENT, 'PE 0', 'deallocate with a PE that cannot')
    end if
    call check(field%allocated() .and. .not. other%allocated(), 'all is as it was')
    call nvshmemrs_barrier()
    call field%deallocate()
    call field%deallocate(stat, errmsg)
    call failed(NVSHMEMRS_ERROR_INVALID_VALUE, 'not allocated', 'deallocate again')
  end subroutine arrays

  subroutine after_finalize()
    type(nvshmemrs_real64_array1) :: field, next
    call field%allocate(3)
    call nvshmemrs_finalize()
    call nvshmemrs_put(field%values(1), 3.0_c_double, 0, stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_NOT_INITIALIZED, 'finalize', 'put to an array after finalize')
    call nvshmemrs_barrier(stat=stat, errmsg=errmsg)
    call failed(NVSHMEMRS_ERROR_NOT_INITIALIZED, 'finalize', 'barrier after finalize')
    call next%allocate(3, stat, errmsg)
    call failed(NVSHMEMRS_ERROR_NOT_INITIALIZED, 'finalize', 'allocate after finalize')
    call nvshmemrs_finalize(stat, errmsg)
    call failed(NVSHMEMRS_ERROR_NOT_INITIALIZED, 'finalize', 'finalize again')
    ! The array of the job that is over goes out of scope here, and says nothing.
  end subroutine after_finalize
end program misuse
