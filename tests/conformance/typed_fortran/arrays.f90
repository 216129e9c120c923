! Symmetric arrays as allocatable ones: copies, scopes, shapes, the copies of other PEs, sections that no stride of whole
! elements describes, and unsigned numbers.
program arrays
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use nvshmemrs
  implicit none
  type :: holder
    integer :: number = 0
    type(nvshmemrs_int32_array1) :: array
  end type holder
  integer :: me, n, left, right
  call shmem_init()
  me = shmem_my_pe()
  n = shmem_n_pes()
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  call scopes()
  call copies()
  call lengths()
  call others()
  call parts()
  call bounds()
  call unsigned_numbers()
  call words_of_arrays()
  call shmem_barrier_all()
  call shmem_finalize()
  call check(.not. nvshmemrs_initialized(), 'the job is over')
  print '(a, i0, a, i0, a)', 'arrays ok PE ', me, ' of ', n, ' (Fortran)'

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    write (error_unit, '(a, i0, a, i0, 2a)') 'arrays: PE ', me, ' of ', n, ': failed: ', what
    stop 1, quiet=.true.
  end subroutine check

  subroutine count_live(allocations, released, what)
    integer, intent(in) :: allocations, released
    character(*), intent(in) :: what
    type(nvshmemrs_heap_stats_t) :: stats
    call nvshmemrs_heap_stats(stats)
    call check(stats%allocations == allocations .and. stats%released == released, what)
  end subroutine count_live

  subroutine one_scope()
    type(nvshmemrs_int32_array2) :: here
    type(nvshmemrs_real64_array1), allocatable :: several(:)
    call here%allocate(3, 4)
    allocate (several(2))
    call several(1)%allocate(5)
    call several(2)%allocate(0)
    call check(here%allocated() .and. all(shape(here%values) == [3, 4]), 'an array has its shape')
    call check(several(2)%allocated() .and. size(several(2)%values) == 0, 'an array without elements')
    call count_live(3, 0, 'three arrays are allocated')
  end subroutine one_scope

  ! Arrays that go out of scope are recorded; the next allocation, which is collective, frees them.
  subroutine scopes()
    type(nvshmemrs_int8_array1) :: next
    call count_live(0, 0, 'nothing is allocated')
    call one_scope()
    call count_live(3, 3, 'three arrays are released')
    call nvshmemrs_sync()
    call next%allocate(1)
    call count_live(1, 0, 'they are free')
    call next%deallocate()
    call check(.not. (next%allocated() .or. associated(next%values)), 'a deallocated array')
    call count_live(0, 0, 'all is free')
  end subroutine scopes

  subroutine copies()
    type(nvshmemrs_int32_array1) :: first, second, third(2)
    call first%allocate(4)
    first%values = 7
    second = first
    second = second
    third(1) = second
    third(2) = third(1)
    call check(all(third(2)%values == 7) .and. third(2)%allocated(), 'a copy names the same array')
    call more(first)
    third = [first, first]
    call check(third(1)%values(1) == 8, 'so does a copy of several')
    call count_live(1, 0, 'it is there as long as it has a name')
    call by_bytes(first)
    call check(first%allocated() .and. first%values(1) == 8, 'nor does a copy that is no assignment end it')
    call count_live(1, 0, 'and it is not released')
    call nvshmemrs_barrier()
    call first%deallocate()
    call check(.not. third(1)%allocated(), 'all names know that it is gone')
    call count_live(0, 0, 'and it is free')
  end subroutine copies

  ! `allocate` with `source`, and constructors, copy the bytes of an array's name.
  subroutine by_bytes(array)
    type(nvshmemrs_int32_array1), intent(in) :: array
    type(holder), allocatable :: one, other
    type(nvshmemrs_int32_array1), allocatable :: several(:)
    type(nvshmemrs_int32_array1) :: listed(2)
    class(*), allocatable :: anything
    one = holder(1, array)
    allocate (other, source=one)
    allocate (several(2), source=array)
    allocate (anything, source=array)
    listed = [array, array]
    call check(other%array%values(1) == 8 .and. several(2)%values(1) == 8, 'they name the same elements')
    call check(listed(2)%values(1) == 8, 'so does a list')
  end subroutine by_bytes

  subroutine more(array)
    type(nvshmemrs_int32_array1), intent(in) :: array
    type(nvshmemrs_int32_array1) :: mine
    mine = array
    mine%values(1) = 8
  end subroutine more

  ! Another length: the elements stay, and the other PEs find the new ones.
  subroutine lengths()
    type(nvshmemrs_int64_array1) :: array, second, none
    integer :: stat
    call array%allocate(4)
    array%values = me
    call array%reallocate(1000)
    call check(size(array%values) == 1000 .and. all(array%values(:4) == me), 'a longer array has its elements')
    call nvshmemrs_put(array%values(1000), int(me, c_int64_t), right)
    call nvshmemrs_barrier()
    call check(array%values(1000) == left, 'the last element is symmetric')
    call nvshmemrs_barrier()
    call array%reallocate(2)
    call check(size(array%values) == 2 .and. all(array%values == me), 'a shorter one, too')
    if (me == 0) second = array
    call array%reallocate(5, stat)
    call check(stat == merge(NVSHMEMRS_ERROR_INVALID_VALUE, NVSHMEMRS_ERROR_PEER_ARGUMENT, me == 0), 'an array with two names')
    call check(size(array%values) == 2, 'it is as it was')
    second = none
    call array%reallocate(-1)
    call check(array%allocated() .and. size(array%values) == 0, 'one without elements')
    call count_live(1, 0, 'it is there once')
    call nvshmemrs_barrier()
    call array%deallocate()
    call array%reallocate(5, stat)
    call check(stat == NVSHMEMRS_ERROR_INVALID_VALUE, 'one that is not allocated')
  end subroutine lengths

  subroutine others()
    type(nvshmemrs_complex_real64_array2) :: field
    type(nvshmemrs_int64_array1) :: words
    type(nvshmemrs_signal) :: flag
    complex(c_double), pointer :: theirs(:, :)
    call field%allocate(2, 3)
    call words%allocate(3)
    field%values = cmplx(me, 1, c_double)
    call nvshmemrs_barrier()
    theirs => field%on(right)
    call check(associated(theirs), 'the memory of a PE of this host can be loaded')
    call check(all(shape(theirs) == [2, 3]) .and. all(theirs == cmplx(right, 1, c_double)), 'the copy of the right PE')
    theirs => field%on(0, nvshmemrs_world)
    call check(all(theirs == cmplx(0, 1, c_double)), 'the copy of member 0')
    call flag%at(words%values(2))
    call nvshmemrs_signal_op(flag, 6_c_int64_t, NVSHMEMRS_SIGNAL_SET, right)
    call flag%wait(NVSHMEMRS_CMP_EQ, 6_c_int64_t)
    call check(all(words%values == [0, 6, 0]), 'a signal that is an element')
    call nvshmemrs_barrier()
  end subroutine others

  ! A part of a derived type: its stride is no multiple of its size.
  subroutine parts()
    type :: particle
      sequence
      real(c_double) :: at
      integer(c_int32_t) :: mark(3)
    end type particle
    type(particle), target :: particles(6)
    type(nvshmemrs_real64_array1) :: received
    integer :: i
    call received%allocate(8)
    do i = 1, 6
      particles(i)%at = me * 100 + i
      particles(i)%mark = -i
    end do
    call nvshmemrs_barrier()
    call nvshmemrs_put(received%values(2:7), particles%at, right)
    call nvshmemrs_barrier()
    call check(all(nint(received%values) == [0, (left * 100 + i, i=1, 6), 0]), 'put from a part of a derived type')
    call nvshmemrs_get(particles(2:4)%at, received%values(7:5:-1), me)
    call check(all(nint(particles%at) == [me * 100 + 1, (left * 100 + i, i=6, 4, -1), me * 100 + 5, me * 100 + 6]), &
               'get into a part of a derived type')
    call check(all([(all(particles(i)%mark == -i), i=1, 6)]), 'the other parts are untouched')
    call nvshmemrs_barrier()
  end subroutine parts

  ! Lower bounds other than 1, arrays of one element, arrays of none, and transposed ones by their sections.
  subroutine bounds()
    type(nvshmemrs_int16_array2) :: field
    integer(c_int16_t), pointer :: from_zero(:, :)
    integer(c_int16_t) :: row(-3:2)
    integer :: i, stat
    call field%allocate(4, 6)
    from_zero(0:, 0:) => field%values
    row = [(int(me * 10 + i, c_int16_t), i=1, 6)]
    call nvshmemrs_barrier()
    call nvshmemrs_put(from_zero(2, :), row, right)
    call nvshmemrs_put(from_zero(0:0, 5), row(2:2), right)
    call nvshmemrs_put(from_zero(1:0, 5), row(2:1), right)
    call nvshmemrs_put(from_zero(1:0, 5), row(2:1), n, stat=stat)
    call check(stat == NVSHMEMRS_ERROR_PE_RANGE, 'a put of nothing looks at the PE')
    call nvshmemrs_barrier()
    call check(all(field%values(3, :) == [(left * 10 + i, i=1, 6)]), 'put to a row counted from 0')
    call check(field%values(1, 6) == left * 10 + 6, 'put of one element')
    call check(all(field%values([2, 4], :) == 0) .and. all(field%values(1, 1:5) == 0), 'the other rows are untouched')
    call nvshmemrs_barrier()
  end subroutine bounds

  ! Unsigned numbers travel in signed ones of their size, and `dtype` says what they are.
  subroutine unsigned_numbers()
    type(nvshmemrs_int8_array1) :: bytes
    logical :: yes
    call bytes%allocate(3)
    bytes%values = int([-1, me, 0], c_int8_t)
    call nvshmemrs_sync()
    call nvshmemrs_reduce(bytes%values, bytes%values, NVSHMEMRS_OP_MAX, dtype=NVSHMEMRS_DTYPE_UINT8)
    call check(all(bytes%values == [-1, n - 1, 0]), 'the largest unsigned number')
    call nvshmemrs_test(bytes%values(1), NVSHMEMRS_CMP_GT, 0_c_int8_t, yes, dtype=NVSHMEMRS_DTYPE_UINT8)
    call check(yes, '255 is more than 0')
    call nvshmemrs_test(bytes%values(1), NVSHMEMRS_CMP_GT, 0_c_int8_t, yes)
    call check(.not. yes, '-1 is not')
    call nvshmemrs_barrier()
  end subroutine unsigned_numbers

  ! NVSHMEMRS_TRACK is set: what is not freed is known with its line.
  subroutine words_of_arrays()
    type(nvshmemrs_int8_array1) :: kept
    character(:), allocatable :: text
    call kept%allocate(100) ! kept
    text = nvshmemrs_unfreed()
    call check(index(text, 'arrays.f90') > 0 .and. index(text, 'words_of_arrays') > 0, 'what is unfreed: ' // text)
    call nvshmemrs_barrier()
  end subroutine words_of_arrays
end program arrays
