! Conformance, scenario "model": teams, strided copies, atomics, waits and tests, collectives on the world and on a team
! made by a split, streams and events, memory that changes its size or comes from elsewhere. A check that fails says what
! it found. The same steps, in the same order, are in the programs of this name in the other languages. This one uses the
! typed layer; its parts are in the folder fortran.
module model_host_function
  use, intrinsic :: iso_c_binding
  implicit none
contains
  ! The function that a stream calls: increments the number that it is given.
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
  use nvshmemrs
  ! The low layer's functions that the typed layer lacks: threads, sizes that change, the caller's own memory.
  use nvshmemrs_ffi, only: nvshmemrs_thread_support, nvshmemrs_calloc, nvshmemrs_realloc, nvshmemrs_buffer_register, &
    nvshmemrs_buffer_unregister
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

  integer :: me = -1, n = 0, left, right
  character(100) :: done = ''
  type(nvshmemrs_heap_stats_t) :: stats

  call nvshmemrs_init()
  me = nvshmemrs_my_pe()
  n = nvshmemrs_n_pes()
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  call same('thread_support', [nvshmemrs_thread_support()], [NVSHMEMRS_THREAD_MULTIPLE])

  call teams()
  call ran('teams')
  call strided()
  call ran('strided')
  call atomics32()
  call atomics64()
  call atomics_float()
  call atomics_double()
  call ran('atomics')
  call waits()
  call ran('waits')
  call collectives()
  call ran('collectives')
  call streams()
  call ran('streams')
  call memory()
  call ran('memory')

  call nvshmemrs_heap_stats(stats)
  call same('allocations', [stats%allocations], [0_c_int64_t])
  call nvshmemrs_finalize()
  print '(a, i0, a, i0, 2a)', 'model ok PE ', me, ' of ', n, ' (Fortran):', trim(done)

contains

  subroutine ran(scenario)
    character(*), intent(in) :: scenario
    done(len_trim(done) + 2:) = scenario
  end subroutine ran

  ! The last call with `stat` and `errmsg` had the expected result.
  subroutine expect(status, errmsg, wanted, what)
    integer(c_int32_t), intent(in) :: status, wanted
    character(*), intent(in) :: errmsg, what
    if (status == wanted) return
    write (error_unit, '(a, i0, a, i0, 3a, i0, a, i0, 2a)') 'model: PE ', me, ' of ', n, ': ', what, ': status ', status, &
      ', not ', wanted, ': ', trim(errmsg)
    stop 1, quiet=.true.
  end subroutine expect

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

  include 'fortran/model_teams.inc'
  include 'fortran/model_one_sided.inc'
  include 'fortran/model_waits.inc'
  include 'fortran/model_collectives.inc'
  include 'fortran/model_memory.inc'
end program model
