! Conformance, scenario "misuse": a caller's mistake comes back as a status and a message that names the
! argument and the value; nothing is written, no PE is stranded, and the job goes on. The same steps, in the same
! order, are in misuse.c, misuse.cpp and misuse.jl.
program misuse
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use nvshmemrs_ffi
  implicit none

  ! The interfaces do not let an output be NULL, so these go around them.
  abstract interface
    function get_number(runtime, answer) result(status) bind(C)
      import
      integer(c_int64_t), value :: runtime
      type(c_ptr), value :: answer
      integer(c_int32_t) :: status
    end function get_number

    function get_memory(runtime, bytes, answer) result(status) bind(C)
      import
      integer(c_int64_t), value :: runtime
      integer(c_size_t), value :: bytes
      type(c_ptr), value :: answer
      integer(c_int32_t) :: status
    end function get_memory
  end interface

  integer(nvshmemrs_team_t), parameter :: world = NVSHMEMRS_TEAM_WORLD
  integer(c_size_t), parameter :: count = 8, bytes = 8
  procedure(get_number), pointer :: my_pe_of_null
  procedure(get_memory), pointer :: malloc_of_null
  integer(nvshmemrs_runtime_t) :: rt = 0
  integer(c_int32_t) :: me = -1, n = 0, nobody = -5
  integer(nvshmemrs_team_t) :: team
  integer(nvshmemrs_stream_t) :: stream
  integer(nvshmemrs_event_t) :: event
  real(c_double) :: milliseconds
  type(c_ptr) :: memory = c_null_ptr
  real(c_double), pointer :: values(:), dest(:)
  real(c_double), target :: row(count + 1)
  character(16) :: too_high
  integer :: i

  call c_f_procpointer(c_funloc(nvshmemrs_my_pe), my_pe_of_null)
  call c_f_procpointer(c_funloc(nvshmemrs_malloc), malloc_of_null)

  call expect(nvshmemrs_my_pe(0_c_int64_t, nobody), NVSHMEMRS_ERROR_NOT_INITIALIZED, 'runtime', '', 'my_pe before init')
  call check(nobody == -5, 'my_pe before init writes nothing')

  call must(nvshmemrs_init(runtime=rt), 'init')
  call must(nvshmemrs_my_pe(rt, me), 'my_pe')
  call must(nvshmemrs_n_pes(rt, n), 'n_pes')
  call check(n >= 2, 'there are two PEs: a mismatch takes two')
  write (too_high, '(i0)') n

  call must(nvshmemrs_calloc(rt, count, bytes, memory), 'calloc')
  call c_f_pointer(memory, values, [count])
  row = [(real(i, c_double), i=1, 9)]

  call expect(nvshmemrs_put(rt, c_loc(values), c_loc(row), bytes, n), NVSHMEMRS_ERROR_PE_RANGE, '`pe`', &
              trim(too_high), 'put to PE n')
  call expect(nvshmemrs_put(rt, c_loc(values), c_loc(row), bytes, -1), NVSHMEMRS_ERROR_PE_RANGE, '`pe`', '-1', &
              'put to PE -1')
  call expect(nvshmemrs_put(rt, c_loc(values), c_loc(row), (count + 1) * bytes, 0), NVSHMEMRS_ERROR_OUT_OF_BOUNDS, &
              '`dest`', '72', 'put past the end')
  call expect(nvshmemrs_put(rt, c_loc(row), c_loc(values), bytes, 0), NVSHMEMRS_ERROR_NOT_SYMMETRIC, '`dest`', &
              '`nvshmemrs_malloc()`', 'put to a local variable')
  call expect(my_pe_of_null(rt, c_null_ptr), NVSHMEMRS_ERROR_INVALID_VALUE, '`pe`', '`c_null_ptr`', 'my_pe to NULL')
  call expect(malloc_of_null(rt, 64_c_size_t, c_null_ptr), NVSHMEMRS_ERROR_INVALID_VALUE, '`ptr`', '`c_null_ptr`', &
              'malloc to NULL')
  call must(nvshmemrs_barrier(rt, world), 'barrier')
  call check(.not. any(abs(values) > 0), 'the puts wrote nothing')

  call must(nvshmemrs_malloc(rt, 64_c_size_t, memory), 'malloc')
  call must(nvshmemrs_free(rt, memory), 'free')
  call expect(nvshmemrs_free(rt, memory), NVSHMEMRS_ERROR_BAD_FREE, '`ptr`', 'free', 'free again')

  values(1:4) = me + 1
  values(5:8) = -7
  dest => values(5:8)
  call expect(nvshmemrs_reduce(rt, world, c_loc(dest), c_loc(values), 4_c_size_t, 77, NVSHMEMRS_OP_SUM), &
              NVSHMEMRS_ERROR_INVALID_VALUE, '`dtype`', '77', 'reduce with dtype 77')
  call expect(nvshmemrs_reduce(rt, world, c_loc(dest), c_loc(values), 4_c_size_t, NVSHMEMRS_DTYPE_DOUBLE, 88), &
              NVSHMEMRS_ERROR_INVALID_VALUE, '`op`', '88', 'reduce with op 88')
  call expect(nvshmemrs_reduce(rt, world, c_loc(dest), c_loc(values), merge(3_c_size_t, 4_c_size_t, me == n - 1), &
                               NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM), &
              NVSHMEMRS_ERROR_MISMATCH, 'count', '3', 'reduce with different counts')
  call must(nvshmemrs_barrier(rt, world), 'barrier')
  call check(all(nint(dest) == -7), 'the reductions wrote nothing')

  ! The type does not have the operation, the buffers overlap, the team has fewer than no members, or is gone.
  call expect(nvshmemrs_reduce(rt, world, c_loc(dest), c_loc(values), 4_c_size_t, NVSHMEMRS_DTYPE_DOUBLE, &
                               NVSHMEMRS_OP_XOR), NVSHMEMRS_ERROR_INVALID_VALUE, '`op` is xor', &
              '`real(c_double)`', 'reduce with xor')
  call expect(nvshmemrs_reduce(rt, world, c_loc(values(2)), c_loc(values), 4_c_size_t, NVSHMEMRS_DTYPE_DOUBLE, &
                               NVSHMEMRS_OP_SUM), NVSHMEMRS_ERROR_INVALID_VALUE, '`dest`', 'clear of `source`', &
              'reduce over itself')
  team = 77
  call expect(nvshmemrs_team_split_strided(rt, world, 0, 1, -1, config_mask=0_c_int64_t, team=team), &
              NVSHMEMRS_ERROR_INVALID_VALUE, '`size`', '-1', 'team_split_strided with -1 members')
  call check(team == 77, 'team_split_strided with -1 members writes nothing')
  call must(nvshmemrs_team_split_strided(rt, world, 0, 1, n, config_mask=0_c_int64_t, team=team), 'team_split_strided')
  call must(nvshmemrs_team_destroy(rt, team), 'team_destroy')
  call expect(nvshmemrs_barrier(rt, team), NVSHMEMRS_ERROR_BAD_HANDLE, '`team`', 'destroyed', 'barrier of a stale team')
  call check(nint(values(2)) == me + 1 .and. nint(dest(1)) == -7, 'these reductions wrote nothing')

  ! A stream is no runtime where something is made; an event that was never recorded has no time.
  call must(nvshmemrs_stream_new(rt, stream), 'stream_new')
  call must(nvshmemrs_event_new(rt, event), 'event_new')
  call expect(nvshmemrs_malloc(stream, 64_c_size_t, memory), NVSHMEMRS_ERROR_BAD_HANDLE, '`runtime`', 'live runtime', &
              'malloc on a stream')
  milliseconds = -5
  call expect(nvshmemrs_event_elapsed(event, event, milliseconds), NVSHMEMRS_ERROR_INVALID_VALUE, '`start`', 'recorded', &
              'event_elapsed of an event never recorded')
  call check(nint(milliseconds) == -5, 'event_elapsed of an event never recorded writes nothing')
  call must(nvshmemrs_event_free(event), 'event_free')
  call must(nvshmemrs_stream_free(stream), 'stream_free')
  call expect(nvshmemrs_stream_synchronize(stream), NVSHMEMRS_ERROR_BAD_HANDLE, '`stream`', 'live stream', &
              'stream_synchronize after stream_free')

  ! After all that the job works.
  call must(nvshmemrs_reduce(rt, world, c_loc(dest), c_loc(values), 4_c_size_t, NVSHMEMRS_DTYPE_DOUBLE, &
                             NVSHMEMRS_OP_SUM), 'reduce')
  call check(nint(dest(1)) == n * (n + 1) / 2, 'reduce gives the sum')
  call must(nvshmemrs_barrier(rt, world), 'barrier')
  call must(nvshmemrs_free(rt, c_loc(values)), 'free')
  call must(nvshmemrs_finalize(rt), 'finalize')
  call expect(nvshmemrs_my_pe(rt, nobody), NVSHMEMRS_ERROR_NOT_INITIALIZED, '`nvshmemrs_init()`', &
              'finalize', 'my_pe after finalize')
  call check(nobody == -5, 'my_pe after finalize writes nothing')
  print '(a, i0, a, i0, a)', 'misuse ok PE ', me, ' of ', n, ' (Fortran)'

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    write (error_unit, '(a, i0, a, i0, 2a)') 'misuse: PE ', me, ' of ', n, ': failed: ', what
    stop 1, quiet=.true.
  end subroutine check

  subroutine must(status, what)
    integer(c_int32_t), intent(in) :: status
    character(*), intent(in) :: what
    if (status == NVSHMEMRS_SUCCESS) return
    write (error_unit, '(a, i0, a, i0, 3a, i0, 2a)') 'misuse: PE ', me, ' of ', n, ': ', what, ': status ', status, &
      ': ', nvshmemrs_error_text()
    stop 1, quiet=.true.
  end subroutine must

  ! The call must return `wanted`, and the message must have both words in it: the names are those of Fortran.
  subroutine expect(status, wanted, word, value, what)
    integer(c_int32_t), intent(in) :: status, wanted
    character(*), intent(in) :: word, value, what
    character(:), allocatable :: text
    text = nvshmemrs_error_text()
    if (status == wanted .and. index(text, word) > 0 .and. index(text, value) > 0) return
    write (error_unit, '(a, i0, a, i0, 3a, i0, a, i0, 7a)') 'misuse: PE ', me, ' of ', n, ': ', what, ': status ', &
      status, ' (expected ', wanted, '), message "', text, '" (expected ', word, ' and ', value, ' in it)'
    stop 1, quiet=.true.
  end subroutine expect
end program misuse
