!> This process's membership in the job, order and completion, and the heap as a whole. Programs use the module
!> `nvshmemrs`.
module nvshmemrs_job
  use, intrinsic :: iso_c_binding
  use nvshmemrs_base
  use nvshmemrs_streams
  use nvshmemrs_ffi, only: NVSHMEMRS_SUCCESS, NVSHMEMRS_ERROR_BUSY, NVSHMEMRS_ERROR_FORKED, nvshmemrs_check_library, &
    nvshmemrs_init_attr_t, nvshmemrs_heap_stats_t, &
    c_attr_default => nvshmemrs_init_attr_default, c_init => nvshmemrs_init, c_finalize => nvshmemrs_finalize, &
    c_my_pe => nvshmemrs_my_pe, c_n_pes => nvshmemrs_n_pes, c_quiet => nvshmemrs_quiet, c_fence => nvshmemrs_fence, &
    c_runtime_check => nvshmemrs_runtime_check, c_heap_stats => nvshmemrs_heap_stats, c_unfreed => nvshmemrs_unfreed
  implicit none
  private
  public :: nvshmemrs_init, nvshmemrs_finalize, nvshmemrs_initialized, nvshmemrs_runtime, nvshmemrs_my_pe, nvshmemrs_n_pes
  public :: nvshmemrs_quiet, nvshmemrs_fence, nvshmemrs_runtime_check, nvshmemrs_heap_stats, nvshmemrs_unfreed

  !> How often init has been called, and finalize not yet.
  integer, save :: inits = 0

  ! gfortran takes a procedure for the C function of its name, so the names are generic.

  !> Joins the job. `memory_kind` is one of NVSHMEMRS_MEMORY_*, `heap_bytes` the symmetric heap of each PE, `timeout_s`
  !> how long a wait may last, `init_timeout_s` how long init may last, and `device` the GPU. Absent arguments default to the
  !> environment (docs/settings.md). It may be called again, with the same arguments or without them: such a call
  !> returns at once, and needs a further call of `nvshmemrs_finalize`.
  !>
  !> Collective over all PEs, with the same `memory_kind` and `heap_bytes`. OpenSHMEM 1.5 section 9.1.1.
  !> Errors: BOOTSTRAP, MISMATCH, INVALID_VALUE, NOT_SUPPORTED for a library of another version, OUT_OF_MEMORY, BUSY.
  interface nvshmemrs_init
    procedure do_init
  end interface nvshmemrs_init

  !> Leaves the job when every PE has come here. Of as many calls as init has had, the last one does so.
  !> Memory of the symmetric heap is gone then: arrays must not be used
  !> any more. Operations return NOT_INITIALIZED.
  !>
  !> Collective over all PEs. OpenSHMEM 1.5 section 9.1.4.
  !> Errors: NOT_INITIALIZED, also before init; PE_DIED, TIMEOUT, INTERRUPTED, CHECK_FAILED: the process has left, too.
  !> BUSY from a hook or a stream's procedure, and FORKED: the job goes on.
  interface nvshmemrs_finalize
    procedure do_finalize
  end interface nvshmemrs_finalize

  !> Whether init has been called, and finalize not yet. Local.
  interface nvshmemrs_initialized
    procedure do_initialized
  end interface nvshmemrs_initialized

  !> The handle of the runtime, which the functions of `nvshmemrs_ffi` take. It is 0 before init. After finalize it
  !> is stale: they return NOT_INITIALIZED. Local.
  interface nvshmemrs_runtime
    procedure do_runtime
  end interface nvshmemrs_runtime

  !> This PE's number: 0 to `nvshmemrs_n_pes() - 1`; -1 after an error.
  !>
  !> Local. OpenSHMEM 1.5 section 9.1.2. Errors: NOT_INITIALIZED.
  interface nvshmemrs_my_pe
    procedure do_my_pe
  end interface nvshmemrs_my_pe

  !> The number of PEs of the job; -1 after an error.
  !>
  !> Local. OpenSHMEM 1.5 section 9.1.3. Errors: NOT_INITIALIZED.
  interface nvshmemrs_n_pes
    procedure do_n_pes
  end interface nvshmemrs_n_pes

  !> Completes all operations that this PE issued before: puts are visible, and local buffers of `_nbi` operations may be
  !> used. With `stream` it is queued, and completes the operations queued there before.
  !>
  !> One-sided. OpenSHMEM 1.5 section 9.11.2. Errors: NOT_INITIALIZED, PE_DIED.
  interface nvshmemrs_quiet
    procedure do_quiet
  end interface nvshmemrs_quiet

  !> Orders puts: those before it are visible on each PE before those behind it. With `stream` it is queued.
  !>
  !> One-sided. OpenSHMEM 1.5 section 9.11.1. Errors: NOT_INITIALIZED.
  interface nvshmemrs_fence
    procedure do_fence
  end interface nvshmemrs_fence

  !> Checks the job: an error names a PE that died, or an earlier failure.
  !>
  !> Local. Errors: NOT_INITIALIZED, PE_DIED and those of earlier failures.
  interface nvshmemrs_runtime_check
    procedure do_runtime_check
  end interface nvshmemrs_runtime_check

  !> How full this PE's symmetric heap is.
  !>
  !> Local. Errors: NOT_INITIALIZED.
  interface nvshmemrs_heap_stats
    procedure do_heap_stats
  end interface nvshmemrs_heap_stats

  !> The allocations that are not freed, a line for each, with its call site.
  !>
  !> Local. Errors: NOT_INITIALIZED.
  interface nvshmemrs_unfreed
    procedure do_unfreed
  end interface nvshmemrs_unfreed

contains

  subroutine do_init(memory_kind, heap_bytes, timeout_s, init_timeout_s, device, stat, errmsg)
    integer(c_int32_t), intent(in), optional :: memory_kind, device
    integer(c_int64_t), intent(in), optional :: heap_bytes
    real(c_double), intent(in), optional :: timeout_s, init_timeout_s
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(nvshmemrs_init_attr_t) :: attr
    integer(c_int64_t) :: runtime
    integer(c_int32_t) :: status
    character(:), allocatable :: message
    call nvshmemrs_check_library(status, message)
    if (status /= NVSHMEMRS_SUCCESS) then
      call refuse(message, stat, errmsg)
      if (present(stat)) stat = status
      return
    end if
    status = c_attr_default(attr)
    if (present(memory_kind)) attr%memory_kind = memory_kind
    if (present(heap_bytes)) attr%heap_bytes = heap_bytes
    if (present(timeout_s)) attr%timeout_s = timeout_s
    if (present(init_timeout_s)) attr%init_timeout_s = init_timeout_s
    if (present(device)) attr%device = device
    runtime = 0
    if (status == NVSHMEMRS_SUCCESS) status = c_init(attr, runtime)
    if (status == NVSHMEMRS_SUCCESS) then
      inits = inits + 1
      call set_runtime(runtime)
    end if
    call conclude(status, stat, errmsg)
  end subroutine do_init

  subroutine do_finalize(stat, errmsg)
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = c_finalize(current_runtime)
    ! The handle 0 does nothing for the library; here it is a call that comes before init.
    if (current_runtime == 0) status = c_runtime_check(current_runtime)
    ! The handle stays: the library says of it that it was finalized. With these errors the job goes on.
    if (status /= NVSHMEMRS_ERROR_BUSY .and. status /= NVSHMEMRS_ERROR_FORKED) inits = max(inits - 1, 0)
    call conclude(status, stat, errmsg)
  end subroutine do_finalize

  logical function do_initialized()
    do_initialized = inits > 0
  end function do_initialized

  !> The handle for the functions of `nvshmemrs_ffi`. Local.
  integer(c_int64_t) function do_runtime()
    do_runtime = current_runtime
  end function do_runtime

  integer(c_int32_t) function do_my_pe(stat, errmsg) result(pe)
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    pe = -1
    call conclude(c_my_pe(current_runtime, pe), stat, errmsg)
  end function do_my_pe

  integer(c_int32_t) function do_n_pes(stat, errmsg) result(n_pes)
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    n_pes = -1
    call conclude(c_n_pes(current_runtime, n_pes), stat, errmsg)
  end function do_n_pes

  subroutine do_quiet(stream, stat, errmsg)
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_quiet(lane_of(stream)), stat, errmsg)
  end subroutine do_quiet

  subroutine do_fence(stream, stat, errmsg)
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_fence(lane_of(stream)), stat, errmsg)
  end subroutine do_fence

  subroutine do_runtime_check(stat, errmsg)
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_runtime_check(current_runtime), stat, errmsg)
  end subroutine do_runtime_check

  subroutine do_heap_stats(stats, stat, errmsg)
    type(nvshmemrs_heap_stats_t), intent(inout) :: stats
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_heap_stats(current_runtime, stats), stat, errmsg)
  end subroutine do_heap_stats

  function do_unfreed(stat, errmsg) result(text)
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: text
    character(kind=c_char), allocatable, target :: bytes(:)
    integer(c_size_t) :: length
    integer(c_int32_t) :: status
    length = 0
    allocate (bytes(1))
    status = c_unfreed(current_runtime, c_loc(bytes), 0_c_size_t, length)
    if (status == NVSHMEMRS_SUCCESS) then
      deallocate (bytes)
      allocate (bytes(length + 1))
      status = c_unfreed(current_runtime, c_loc(bytes), length + 1, length)
    end if
    allocate (character(min(length, size(bytes, kind=c_size_t))) :: text)
    if (status == NVSHMEMRS_SUCCESS) text = transfer(bytes(:len(text)), text)
    call conclude(status, stat, errmsg)
  end function do_unfreed
end module nvshmemrs_job
