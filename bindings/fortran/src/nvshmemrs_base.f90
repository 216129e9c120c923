!> Shared parts of the modules of the typed layer: this process's runtime, error reporting, the layout of arrays in
!> memory, and the copies of arrays. Programs use the module `nvshmemrs`.
module nvshmemrs_base
  use, intrinsic :: iso_c_binding
  use nvshmemrs_ffi, only: NVSHMEMRS_SUCCESS, NVSHMEMRS_ERROR_INVALID_VALUE, NVSHMEMRS_ERROR_NOT_SYMMETRIC, &
    NVSHMEMRS_ERROR_OUT_OF_BOUNDS, NVSHMEMRS_ERROR_PE_RANGE, NVSHMEMRS_ERROR_MISMATCH, NVSHMEMRS_ERROR_PEER_ARGUMENT, &
    NVSHMEMRS_ERROR_BAD_FREE, nvshmemrs_error_text, &
    c_put => nvshmemrs_put, c_get => nvshmemrs_get, c_put_nbi => nvshmemrs_put_nbi, c_get_nbi => nvshmemrs_get_nbi, &
    c_iput => nvshmemrs_iput, c_iget => nvshmemrs_iget, c_ibput => nvshmemrs_ibput, c_ibget => nvshmemrs_ibget, &
    c_fence => nvshmemrs_fence, c_put_signal => nvshmemrs_put_signal, &
    c_put_signal_nbi => nvshmemrs_put_signal_nbi, c_signal_op => nvshmemrs_signal_op, &
    c_is_symmetric => nvshmemrs_is_symmetric, NVSHMEMRS_SIGNAL_SET, NVSHMEMRS_SIGNAL_ADD
  implicit none
  private
  public :: current_runtime, set_runtime, conclude, refuse, refuse_after, concerns_arguments, layout, lay_out
  public :: to_address, to_pointer, put_array, get_array, put_array_signal, shape_text

  !> The runtime of this process: 0 before init. After finalize it stays, and the library says of it that it is over.
  integer(c_int64_t), protected, save :: current_runtime = 0

  !> How an array of rank 1 to 3 lies in memory.
  type :: layout
    !> Of the first element; 0 for an array without elements.
    integer(c_intptr_t) :: address = 0
    !> Bytes of an element.
    integer(c_size_t) :: element_bytes = 0
    !> The extents; 1 beyond the rank.
    integer(c_size_t) :: extents(3) = 1
    !> Bytes from one element to the next along each dimension.
    integer(c_ptrdiff_t) :: strides(3) = 0
    !> How many of these there are.
    integer :: rank = 0
  end type layout

contains

  subroutine set_runtime(runtime)
    integer(c_int64_t), intent(in) :: runtime
    current_runtime = runtime
  end subroutine set_runtime

  !> Ends a call that the library answered with `status`. An error without `stat` stops the program with the
  !> library's text.
  subroutine conclude(status, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: text
    if (present(stat)) stat = status
    if (status == NVSHMEMRS_SUCCESS) return
    text = library_text()
    if (present(errmsg)) errmsg = text
    if (.not. present(stat)) error stop text
  end subroutine conclude

  !> The library's text for the last error, in which `allocate` replaces the C function that allocates.
  function library_text() result(text)
    character(*), parameter :: theirs = '`nvshmemrs_malloc()`', ours = '`allocate` of a symmetric array'
    character(:), allocatable :: text
    integer :: at
    text = nvshmemrs_error_text()
    at = index(text, theirs)
    if (at > 0) text = text(:at - 1) // ours // text(at + len(theirs):)
  end function library_text

  !> Ends a call whose arguments this layer refuses, with INVALID_VALUE and `text`.
  subroutine refuse(text, stat, errmsg)
    character(*), intent(in) :: text
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (present(stat)) stat = NVSHMEMRS_ERROR_INVALID_VALUE
    if (present(errmsg)) errmsg = text
    if (.not. present(stat)) error stop text
  end subroutine refuse

  !> Ends a collective whose arguments this layer rejects. To notify the other members, the library has been called with
  !> an argument that it rejects, too, and returned `status`. `text` replaces the library's error, unless the status has
  !> another cause, such as a PE that died.
  subroutine refuse_after(status, text, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    character(*), intent(in) :: text
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (concerns_arguments(status)) then
      call refuse(text, stat, errmsg)
    else
      call conclude(status, stat, errmsg)
    end if
  end subroutine refuse_after

  !> Whether a call was queued, or failed because of a member's arguments.
  pure logical function concerns_arguments(status)
    integer(c_int32_t), intent(in) :: status
    concerns_arguments = any(status == [NVSHMEMRS_SUCCESS, NVSHMEMRS_ERROR_INVALID_VALUE, NVSHMEMRS_ERROR_NOT_SYMMETRIC, &
                                        NVSHMEMRS_ERROR_OUT_OF_BOUNDS, NVSHMEMRS_ERROR_PE_RANGE, NVSHMEMRS_ERROR_MISMATCH, &
                                        NVSHMEMRS_ERROR_PEER_ARGUMENT, NVSHMEMRS_ERROR_BAD_FREE])
  end function concerns_arguments

  pure integer(c_intptr_t) function to_address(pointer)
    type(c_ptr), intent(in) :: pointer
    to_address = transfer(pointer, 0_c_intptr_t)
  end function to_address

  pure type(c_ptr) function to_pointer(address)
    integer(c_intptr_t), intent(in) :: address
    to_pointer = transfer(address, c_null_ptr)
  end function to_pointer

  !> The layout of an array. `next` has the addresses of the second element along each dimension; it is ignored where
  !> the extent is below 2.
  pure type(layout) function lay_out(extents, element_bytes, first, next) result(found)
    integer, intent(in) :: extents(:)
    integer(c_size_t), intent(in) :: element_bytes
    integer(c_intptr_t), intent(in) :: first, next(:)
    integer :: d
    found%rank = size(extents)
    found%element_bytes = element_bytes
    found%address = first
    do d = 1, found%rank
      found%extents(d) = extents(d)
      if (extents(d) > 1) found%strides(d) = next(d) - first
    end do
  end function lay_out

  !> A shape as Fortran writes it: [3, 4].
  pure function shape_text(extents) result(text)
    integer(c_size_t), intent(in) :: extents(:)
    character(:), allocatable :: text
    character(24) :: number
    integer :: d
    text = '['
    do d = 1, size(extents)
      write (number, '(i0)') extents(d)
      if (d > 1) text = text // ', '
      text = text // trim(number)
    end do
    text = text // ']'
  end function shape_text

  !> Whether two arrays have the same shape; if not, the call is concluded.
  logical function same_shape(dest, source, stat, errmsg)
    type(layout), intent(in) :: dest, source
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    same_shape = all(dest%extents == source%extents)
    if (same_shape) return
    call refuse('`source` has the shape ' // shape_text(source%extents(:source%rank)) // ', and `dest` has the shape ' // &
                shape_text(dest%extents(:dest%rank)) // '; give both the same shape', stat, errmsg)
  end function same_shape

  !> Puts an array. Arrays with gaps go through the strided calls, which end when `source` may be reused.
  subroutine put_array(lane, dest, source, pe, nbi, stat, errmsg)
    integer(c_int64_t), intent(in) :: lane
    type(layout), intent(in) :: dest, source
    integer(c_int32_t), intent(in) :: pe
    logical, intent(in) :: nbi
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    if (.not. same_shape(dest, source, stat, errmsg)) return
    call move(lane, .true., nbi, dest, source, pe, status)
    call conclude(status, stat, errmsg)
  end subroutine put_array

  !> Gets an array. Arrays with gaps go through the strided calls, which end when the data has arrived.
  subroutine get_array(lane, dest, source, pe, nbi, stat, errmsg)
    integer(c_int64_t), intent(in) :: lane
    type(layout), intent(in) :: dest, source
    integer(c_int32_t), intent(in) :: pe
    logical, intent(in) :: nbi
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    if (.not. same_shape(dest, source, stat, errmsg)) return
    call move(lane, .false., nbi, dest, source, pe, status)
    call conclude(status, stat, errmsg)
  end subroutine get_array

  !> Puts an array, and then updates a signal. With gaps there is a fence in between.
  subroutine put_array_signal(lane, dest, source, signal, value, signal_op, pe, nbi, stat, errmsg)
    integer(c_int64_t), intent(in) :: lane
    type(layout), intent(in) :: dest, source
    type(c_ptr), intent(in) :: signal
    integer(c_int64_t), intent(in) :: value
    integer(c_int32_t), intent(in) :: signal_op, pe
    logical, intent(in) :: nbi
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    integer(c_size_t) :: bytes
    type(layout) :: to, from
    if (.not. same_shape(dest, source, stat, errmsg)) return
    to = dest
    from = source
    call coalesce(to, from)
    bytes = product(to%extents) * to%element_bytes
    if (is_whole(to) .and. is_whole(from)) then
      if (nbi) then
        status = c_put_signal_nbi(lane, to_pointer(to%address), to_pointer(from%address), bytes, signal, value, signal_op, pe)
      else
        status = c_put_signal(lane, to_pointer(to%address), to_pointer(from%address), bytes, signal, value, signal_op, pe)
      end if
    else
      status = NVSHMEMRS_SUCCESS
      ! With an invalid signal nothing must be written; the library's error describes it.
      if (is_signal(signal, signal_op)) then
        call move(lane, .true., .false., to, from, pe, status)
        if (status == NVSHMEMRS_SUCCESS) status = c_fence(lane)
      end if
      if (status == NVSHMEMRS_SUCCESS) status = c_signal_op(lane, signal, value, signal_op, pe)
    end if
    call conclude(status, stat, errmsg)
  end subroutine put_array_signal

  !> Whether an update of a signal finds one.
  logical function is_signal(signal, signal_op)
    type(c_ptr), intent(in) :: signal
    integer(c_int32_t), intent(in) :: signal_op
    integer(c_int32_t) :: symmetric
    symmetric = 0
    is_signal = .false.
    if (signal_op /= NVSHMEMRS_SIGNAL_SET .and. signal_op /= NVSHMEMRS_SIGNAL_ADD) return
    if (c_is_symmetric(current_runtime, signal, 8_c_size_t, symmetric) /= NVSHMEMRS_SUCCESS) return
    is_signal = symmetric /= 0
  end function is_signal

  !> Whether the elements of a coalesced array lie side by side.
  pure logical function is_whole(array)
    type(layout), intent(in) :: array
    is_whole = all(array%extents(2:) == 1) .and. &
               (array%extents(1) == 1 .or. array%strides(1) == int(array%element_bytes, c_ptrdiff_t))
  end function is_whole

  !> Describes two arrays of one shape with as few dimensions as possible: leaves out those of extent 1, and joins
  !> neighbours that continue each other in both arrays. An array without elements has the extent 0 alone.
  pure subroutine coalesce(a, b)
    type(layout), intent(inout) :: a, b
    integer(c_size_t) :: extents(3)
    integer(c_ptrdiff_t) :: of_a(3), of_b(3), run
    integer :: d, last
    extents = a%extents
    of_a = a%strides
    of_b = b%strides
    a%extents = 1
    a%strides = 0
    b%strides = 0
    last = 0
    do d = 1, 3
      if (extents(d) == 0) then
        a%extents = [0, 1, 1]
        exit
      end if
      if (extents(d) == 1) cycle
      if (last > 0) then
        run = int(a%extents(last), c_ptrdiff_t)
        if (of_a(d) == run * a%strides(last) .and. of_b(d) == run * b%strides(last)) then
          a%extents(last) = a%extents(last) * extents(d)
          cycle
        end if
      end if
      last = last + 1
      a%extents(last) = extents(d)
      a%strides(last) = of_a(d)
      b%strides(last) = of_b(d)
    end do
    b%extents = a%extents
  end subroutine coalesce

  !> Copies between a symmetric array on `pe` and a local one of the same shape: one call where the elements lie side by
  !> side, else one strided call for each run of elements or of blocks.
  subroutine move(lane, putting, nbi, dest, source, pe, status)
    integer(c_int64_t), intent(in) :: lane
    logical, intent(in) :: putting, nbi
    type(layout), intent(in) :: dest, source
    integer(c_int32_t), intent(in) :: pe
    integer(c_int32_t), intent(out) :: status
    type(layout) :: to, from
    type(c_ptr) :: to_here, from_here
    integer(c_size_t) :: unit, block, j, k
    integer :: inner, d
    to = dest
    from = source
    call coalesce(to, from)
    if (is_whole(to) .and. is_whole(from)) then
      to_here = to_pointer(to%address)
      from_here = to_pointer(from%address)
      block = to%extents(1) * to%element_bytes
      if (putting .and. nbi) then
        status = c_put_nbi(lane, to_here, from_here, block, pe)
      else if (putting) then
        status = c_put(lane, to_here, from_here, block, pe)
      else if (nbi) then
        status = c_get_nbi(lane, to_here, from_here, block, pe)
      else
        status = c_get(lane, to_here, from_here, block, pe)
      end if
      return
    end if

    ! The first dimension is one block if its elements lie side by side in both arrays.
    inner = 1
    block = 1
    if (to%strides(1) == int(to%element_bytes, c_ptrdiff_t) .and. &
        from%strides(1) == int(from%element_bytes, c_ptrdiff_t)) then
      inner = 2
      block = to%extents(1)
    end if
    ! A part of a derived type may have a stride that is no multiple of its size: then the bytes are the elements.
    unit = to%element_bytes
    do d = inner, 3
      if (modulo(to%strides(d), int(unit, c_ptrdiff_t)) /= 0 .or. modulo(from%strides(d), int(unit, c_ptrdiff_t)) /= 0) then
        block = block * unit
        unit = 1
      end if
    end do
    status = NVSHMEMRS_SUCCESS
    do k = 0, merge(to%extents(3), 1_c_size_t, inner < 3) - 1
      do j = 0, merge(to%extents(2), 1_c_size_t, inner < 2) - 1
        to_here = to_pointer(to%address + int(j, c_ptrdiff_t) * to%strides(2) + int(k, c_ptrdiff_t) * to%strides(3))
        from_here = to_pointer(from%address + int(j, c_ptrdiff_t) * from%strides(2) + int(k, c_ptrdiff_t) * from%strides(3))
        call move_run(lane, putting, to_here, from_here, to%strides(inner) / int(unit, c_ptrdiff_t), &
                      from%strides(inner) / int(unit, c_ptrdiff_t), unit, block, to%extents(inner), pe, status)
        if (status /= NVSHMEMRS_SUCCESS) return
      end do
    end do
  end subroutine move

  !> Copies `count` elements of `unit` bytes, or blocks of `block` of them.
  subroutine move_run(lane, putting, dest, source, dest_stride, source_stride, unit, block, count, pe, status)
    integer(c_int64_t), intent(in) :: lane
    logical, intent(in) :: putting
    type(c_ptr), intent(in) :: dest, source
    integer(c_ptrdiff_t), intent(in) :: dest_stride, source_stride
    integer(c_size_t), intent(in) :: unit, block, count
    integer(c_int32_t), intent(in) :: pe
    integer(c_int32_t), intent(out) :: status
    if (block == 1 .and. putting) then
      status = c_iput(lane, dest, source, dest_stride, source_stride, unit, count, pe)
    else if (block == 1) then
      status = c_iget(lane, dest, source, dest_stride, source_stride, unit, count, pe)
    else if (putting) then
      status = c_ibput(lane, dest, source, dest_stride, source_stride, unit, block, count, pe)
    else
      status = c_ibget(lane, dest, source, dest_stride, source_stride, unit, block, count, pe)
    end if
  end subroutine move_run
end module nvshmemrs_base
