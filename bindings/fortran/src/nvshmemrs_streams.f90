!> Streams and events: ordered queues of operations, and marks in them. Programs use the module `nvshmemrs`.
module nvshmemrs_streams
  use, intrinsic :: iso_c_binding
  use nvshmemrs_base
  use nvshmemrs_ffi, only: c_stream_new => nvshmemrs_stream_new, c_stream_free => nvshmemrs_stream_free, &
    c_stream_release => nvshmemrs_stream_release, c_stream_from_cuda => nvshmemrs_stream_from_cuda, &
    c_stream_synchronize => nvshmemrs_stream_synchronize, c_stream_query => nvshmemrs_stream_query, &
    c_stream_call => nvshmemrs_stream_call, c_stream_wait_event => nvshmemrs_stream_wait_event, &
    c_event_new => nvshmemrs_event_new, c_event_free => nvshmemrs_event_free, c_event_record => nvshmemrs_event_record, &
    c_event_synchronize => nvshmemrs_event_synchronize, c_event_query => nvshmemrs_event_query, &
    c_event_elapsed => nvshmemrs_event_elapsed
  implicit none
  private
  public :: nvshmemrs_stream, nvshmemrs_event, lane_of

  !> An ordered queue of operations. Pass it as `stream=` to have an operation queued: the call returns at once, and
  !> buffers must stay valid and unchanged until the stream has run it. Give buffers the attributes `target` and
  !> `asynchronous`. Copies name the same stream.
  type :: nvshmemrs_stream
    private
    integer(c_int64_t) :: handle = -1
  contains
    !> Makes a stream. Local. NVSHMEM has CUDA's streams here.
    procedure :: create => stream_create
    !> Makes a stream from a `cudaStream_t`, for a heap in device memory. Local.
    procedure :: from_cuda => stream_from_cuda
    !> Waits for all queued operations, and frees the stream. Local.
    procedure :: free => stream_free
    !> Frees the stream without waiting; queued operations still run. Local.
    procedure :: release => stream_release
    !> Waits for all that was queued. The first error of a queued operation comes from here, once. Local.
    procedure :: synchronize => stream_synchronize
    !> Whether all that was queued has run. Local.
    procedure :: query => stream_query
    !> Queues a call of a procedure with `bind(C)`, of the interface `nvshmemrs_host_function_t`. Local.
    procedure :: call => stream_call
    !> Makes operations queued later wait for the event's latest record. Local.
    procedure :: wait_event => stream_wait_event
  end type nvshmemrs_stream

  !> A mark in a stream. Copies name the same event.
  type :: nvshmemrs_event
    private
    integer(c_int64_t) :: handle = -1
  contains
    !> Makes an event. Local.
    procedure :: create => event_create
    !> Frees the event. Local.
    procedure :: free => event_free
    !> Records the event behind the operations queued on `stream`. Local.
    procedure :: record => event_record
    !> Waits until the latest record was reached. Local.
    procedure :: synchronize => event_synchronize
    !> Whether the latest record was reached. Local.
    procedure :: query => event_query
    !> Milliseconds from the record of this event to that of `finish`. Local.
    procedure :: elapsed => event_elapsed
  end type nvshmemrs_event

contains

  !> The handle for a call: the stream, if there is one, else the runtime.
  integer(c_int64_t) function lane_of(stream)
    type(nvshmemrs_stream), intent(in), optional :: stream
    lane_of = current_runtime
    if (present(stream)) lane_of = stream%handle
  end function lane_of

  subroutine stream_create(stream, stat, errmsg)
    class(nvshmemrs_stream), intent(inout) :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_stream_new(current_runtime, stream%handle), stat, errmsg)
  end subroutine stream_create

  subroutine stream_from_cuda(stream, cuda_stream, stat, errmsg)
    class(nvshmemrs_stream), intent(inout) :: stream
    type(c_ptr), intent(in) :: cuda_stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_stream_from_cuda(current_runtime, cuda_stream, stream%handle), stat, errmsg)
  end subroutine stream_from_cuda

  subroutine stream_free(stream, stat, errmsg)
    class(nvshmemrs_stream), intent(in) :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_stream_free(stream%handle), stat, errmsg)
  end subroutine stream_free

  subroutine stream_release(stream, stat, errmsg)
    class(nvshmemrs_stream), intent(in) :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_stream_release(stream%handle), stat, errmsg)
  end subroutine stream_release

  subroutine stream_synchronize(stream, stat, errmsg)
    class(nvshmemrs_stream), intent(in) :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_stream_synchronize(stream%handle), stat, errmsg)
  end subroutine stream_synchronize

  logical function stream_query(stream, stat, errmsg) result(done)
    class(nvshmemrs_stream), intent(in) :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: answer
    answer = 0
    call conclude(c_stream_query(stream%handle, answer), stat, errmsg)
    done = answer /= 0
  end function stream_query

  subroutine stream_call(stream, procedure, user, stat, errmsg)
    class(nvshmemrs_stream), intent(in) :: stream
    type(c_funptr), intent(in) :: procedure
    type(c_ptr), intent(in) :: user
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_stream_call(stream%handle, procedure, user), stat, errmsg)
  end subroutine stream_call

  subroutine stream_wait_event(stream, event, stat, errmsg)
    class(nvshmemrs_stream), intent(in) :: stream
    type(nvshmemrs_event), intent(in) :: event
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_stream_wait_event(stream%handle, event%handle), stat, errmsg)
  end subroutine stream_wait_event

  subroutine event_create(event, stat, errmsg)
    class(nvshmemrs_event), intent(inout) :: event
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_event_new(current_runtime, event%handle), stat, errmsg)
  end subroutine event_create

  subroutine event_free(event, stat, errmsg)
    class(nvshmemrs_event), intent(in) :: event
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_event_free(event%handle), stat, errmsg)
  end subroutine event_free

  subroutine event_record(event, stream, stat, errmsg)
    class(nvshmemrs_event), intent(in) :: event
    type(nvshmemrs_stream), intent(in) :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_event_record(event%handle, stream%handle), stat, errmsg)
  end subroutine event_record

  subroutine event_synchronize(event, stat, errmsg)
    class(nvshmemrs_event), intent(in) :: event
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_event_synchronize(event%handle), stat, errmsg)
  end subroutine event_synchronize

  logical function event_query(event, stat, errmsg) result(done)
    class(nvshmemrs_event), intent(in) :: event
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: answer
    answer = 0
    call conclude(c_event_query(event%handle, answer), stat, errmsg)
    done = answer /= 0
  end function event_query

  real(c_double) function event_elapsed(event, finish, stat, errmsg) result(milliseconds)
    class(nvshmemrs_event), intent(in) :: event
    type(nvshmemrs_event), intent(in) :: finish
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    milliseconds = 0
    call conclude(c_event_elapsed(event%handle, finish%handle, milliseconds), stat, errmsg)
  end function event_elapsed
end module nvshmemrs_streams
