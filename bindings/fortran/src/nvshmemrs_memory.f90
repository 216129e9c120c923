!> The owner of a symmetric allocation, and signals. Programs use the module `nvshmemrs`.
module nvshmemrs_memory
  use, intrinsic :: iso_c_binding
  use nvshmemrs_base
  use nvshmemrs_streams
  use nvshmemrs_teams
  use nvshmemrs_ffi, only: NVSHMEMRS_SUCCESS, c_calloc => nvshmemrs_calloc, c_free => nvshmemrs_free, &
    c_align => nvshmemrs_align, c_realloc => nvshmemrs_realloc, c_release => nvshmemrs_release, &
    c_team_ptr => nvshmemrs_team_ptr, c_signal_op => nvshmemrs_signal_op, c_signal_wait => nvshmemrs_signal_wait, &
    c_signal_fetch => nvshmemrs_signal_fetch
  implicit none
  private
  public :: allocation, nvshmemrs_signal, nvshmemrs_signal_op, signal_address

  !> An allocation, and how many names it has.
  type :: counted
    type(c_ptr) :: address = c_null_ptr
    integer(c_int64_t) :: runtime = 0
    integer :: names = 0
  end type counted

  !> A name of an allocation. When the last one goes, its finalization records a release: no PE waits, and the next
  !> collective allocation frees the memory that all PEs have released.
  type :: allocation
    private
    type(counted), pointer :: shared => null()
    !> The address of this component while the name is counted. `allocate` with `source` and structure constructors
    !> copy the bytes and call no assignment: such a copy is at another address, is not counted, and ends nothing.
    integer(c_intptr_t) :: place = 0
  contains
    procedure :: make
    procedure :: free
    procedure :: resize
    procedure :: share
    procedure :: made
    procedure :: on
    final :: drop
  end type allocation

  !> A signal: a symmetric 64-bit integer that PEs set or add to, and that its owner waits for. A signal is made by
  !> `allocate`, or names an element of a symmetric array after `at`. Copies name the same signal.
  type :: nvshmemrs_signal
    type(allocation), private :: memory
    !> This PE's own copy.
    integer(c_int64_t), pointer :: word => null()
  contains
    !> Allocates a signal that is 0 on every PE. Collective over all PEs.
    procedure :: allocate => signal_allocate
    !> Frees it. Collective over all PEs.
    procedure :: deallocate => signal_deallocate
    !> Names an element of a symmetric array. Local.
    procedure :: at => signal_at
    !> Waits until this PE's copy compares to `value` by `cmp`, one of NVSHMEMRS_CMP_*. The sender's earlier puts are
    !> visible then. `seen` gets the value that matched. Local. OpenSHMEM 1.5 section 9.10.15.
    !> Errors: PE_DIED, TIMEOUT, INTERRUPTED, NOT_SYMMETRIC, INVALID_VALUE.
    procedure :: wait => signal_wait
    !> This PE's copy, read atomically. Local. OpenSHMEM 1.5 section 9.8.5.
    procedure :: fetch => signal_fetch
    procedure, private :: signal_share
    generic :: assignment(=) => signal_share
  end type nvshmemrs_signal

  ! gfortran takes a procedure for the C function of its name, so the names are generic.

  !> Sets `signal` on PE `pe` to `value`, or adds `value` to it, as `signal_op` says: NVSHMEMRS_SIGNAL_SET or
  !> NVSHMEMRS_SIGNAL_ADD. This PE's earlier puts to `pe` are visible to a PE that sees the new value. With `stream` it is
  !> queued.
  !>
  !> One-sided. NVSHMEM `nvshmemx_signal_op`.
  !> Errors: PE_RANGE, NOT_SYMMETRIC, INVALID_VALUE; nothing is written.
  interface nvshmemrs_signal_op
    procedure do_signal_op
  end interface nvshmemrs_signal_op

contains

  !> Allocates zeroed memory for `count` elements. Collective over all PEs.
  subroutine make(memory, extents, element_bytes, address, stat, errmsg)
    class(allocation), intent(inout), target :: memory
    integer, intent(in) :: extents(:)
    integer(c_size_t), intent(in) :: element_bytes
    type(c_ptr), intent(out) :: address
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    address = c_null_ptr
    if (memory%made()) then
      ! There is no such alignment: the other PEs hear that this one cannot take part.
      status = c_align(current_runtime, 3_c_size_t, 0_c_size_t, address)
      call refuse_after(status, 'the array is allocated already; deallocate it first', stat, errmsg)
      return
    end if
    status = c_calloc(current_runtime, count_of(extents), element_bytes, address)
    if (status == NVSHMEMRS_SUCCESS) then
      allocate (memory%shared)
      memory%shared = counted(address, current_runtime, 1)
      memory%place = transfer(c_loc(memory%place), memory%place)
    end if
    call conclude(status, stat, errmsg)
  end subroutine make

  !> The elements of an array. One without elements has an address of its own, too. More elements than 2**58 fit no heap,
  !> and their bytes no integer.
  pure integer(c_size_t) function count_of(extents) result(count)
    integer, intent(in) :: extents(:)
    count = 2_c_size_t**58
    if (product(max(real(extents, c_double), 0.0_c_double)) < 2.0_c_double**58) &
      count = max(1_c_size_t, product(max(0_c_size_t, int(extents, c_size_t))))
  end function count_of

  !> Makes the memory `extents` elements long. Collective over all PEs. An array with several names is refused, because
  !> the others would keep the old address.
  subroutine resize(memory, extents, element_bytes, address, stat, errmsg)
    class(allocation), intent(inout) :: memory
    integer, intent(in) :: extents(:)
    integer(c_size_t), intent(in) :: element_bytes
    type(c_ptr), intent(out) :: address
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer, target :: local
    integer(c_int32_t) :: status
    logical :: alone
    address = c_null_ptr
    alone = .false.
    if (memory%made()) alone = memory%shared%names == 1
    if (.not. alone) then
      ! No symmetric address: the other PEs hear that this one cannot take part.
      status = c_realloc(current_runtime, c_loc(local), 1_c_size_t, address)
      if (memory%made()) then
        call refuse_after(status, 'the array has other names, made by assignment; reallocate it before', stat, errmsg)
      else
        call refuse_after(status, 'the array is not allocated', stat, errmsg)
      end if
      return
    end if
    status = c_realloc(memory%shared%runtime, memory%shared%address, count_of(extents) * element_bytes, address)
    if (status == NVSHMEMRS_SUCCESS) memory%shared%address = address
    call conclude(status, stat, errmsg)
  end subroutine resize

  !> Frees the memory for all its names. Collective over all PEs.
  subroutine free(memory, stat, errmsg)
    class(allocation), intent(inout) :: memory
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer, target :: local
    integer(c_int32_t) :: status
    if (.not. memory%made()) then
      ! No symmetric address: the other PEs hear that this one cannot take part.
      status = c_free(current_runtime, c_loc(local))
      call refuse_after(status, 'the array is not allocated', stat, errmsg)
      return
    end if
    status = c_free(memory%shared%runtime, memory%shared%address)
    if (status == NVSHMEMRS_SUCCESS) then
      memory%shared%address = c_null_ptr
      call drop(memory)
    end if
    call conclude(status, stat, errmsg)
  end subroutine free

  !> Makes `memory` another name of `other`.
  impure elemental subroutine share(memory, other)
    class(allocation), intent(inout), target :: memory
    type(allocation), intent(in) :: other
    type(counted), pointer :: shared
    shared => other%shared
    if (associated(shared)) shared%names = shared%names + 1
    call drop(memory)
    memory%shared => shared
    memory%place = transfer(c_loc(memory%place), memory%place)
  end subroutine share

  !> Whether there is memory.
  logical function made(memory)
    class(allocation), intent(in) :: memory
    made = .false.
    if (associated(memory%shared)) made = c_associated(memory%shared%address)
  end function made

  !> The address of the copy of `pe` if this PE can load and store it, else null.
  type(c_ptr) function on(memory, pe, team, stat, errmsg)
    class(allocation), intent(in) :: memory
    integer(c_int32_t), intent(in) :: pe
    type(nvshmemrs_team), intent(in), optional :: team
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    on = c_null_ptr
    if (.not. memory%made()) then
      call refuse('the array is not allocated', stat, errmsg)
    else
      call conclude(c_team_ptr(current_runtime, team_of(team), memory%shared%address, pe, on), stat, errmsg)
    end if
  end function on

  !> Lets a name go. The last one records the release; an error means that finalize has freed the memory.
  impure elemental subroutine drop(memory)
    type(allocation), intent(inout), target :: memory
    integer(c_int32_t) :: ignored
    if (.not. associated(memory%shared)) return
    if (memory%place == transfer(c_loc(memory%place), memory%place)) then
      memory%shared%names = memory%shared%names - 1
      if (memory%shared%names == 0) then
        if (c_associated(memory%shared%address)) ignored = c_release(memory%shared%runtime, memory%shared%address)
        deallocate (memory%shared)
      end if
    end if
    memory%shared => null()
  end subroutine drop

  !> The address of a signal, null if it has none, which the library refuses.
  type(c_ptr) function signal_address(signal)
    type(nvshmemrs_signal), intent(in) :: signal
    signal_address = c_null_ptr
    if (associated(signal%word)) signal_address = c_loc(signal%word)
  end function signal_address

  subroutine do_signal_op(signal, value, signal_op, pe, stream, stat, errmsg)
    type(nvshmemrs_signal), intent(in) :: signal
    integer(c_int64_t), intent(in) :: value
    integer(c_int32_t), intent(in) :: signal_op, pe
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_signal_op(lane_of(stream), signal_address(signal), value, signal_op, pe), stat, errmsg)
  end subroutine do_signal_op

  subroutine signal_allocate(signal, stat, errmsg)
    class(nvshmemrs_signal), intent(inout) :: signal
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: address
    call signal%memory%make([1], 8_c_size_t, address, stat, errmsg)
    if (c_associated(address)) call c_f_pointer(address, signal%word)
  end subroutine signal_allocate

  subroutine signal_deallocate(signal, stat, errmsg)
    class(nvshmemrs_signal), intent(inout) :: signal
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call signal%memory%free(stat, errmsg)
    if (.not. signal%memory%made()) signal%word => null()
  end subroutine signal_deallocate

  subroutine signal_at(signal, element)
    class(nvshmemrs_signal), intent(inout) :: signal
    integer(c_int64_t), intent(in), target :: element
    type(allocation) :: none
    call signal%memory%share(none)
    call c_f_pointer(c_loc(element), signal%word)
  end subroutine signal_at

  impure elemental subroutine signal_share(signal, other)
    class(nvshmemrs_signal), intent(inout) :: signal
    type(nvshmemrs_signal), intent(in) :: other
    integer(c_int64_t), pointer :: word
    word => other%word
    call signal%memory%share(other%memory)
    signal%word => word
  end subroutine signal_share

  subroutine signal_wait(signal, cmp, value, seen, stream, stat, errmsg)
    class(nvshmemrs_signal), intent(in) :: signal
    integer(c_int32_t), intent(in) :: cmp
    integer(c_int64_t), intent(in) :: value
    integer(c_int64_t), intent(inout), optional :: seen
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_signal_wait(lane_of(stream), signal_address(signal), cmp, value, seen), stat, errmsg)
  end subroutine signal_wait

  integer(c_int64_t) function signal_fetch(signal, stat, errmsg) result(value)
    class(nvshmemrs_signal), intent(in) :: signal
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    value = 0
    call conclude(c_signal_fetch(current_runtime, signal_address(signal), value), stat, errmsg)
  end function signal_fetch
end module nvshmemrs_memory
