!> Copies of contiguous arrays with a stream, or with a status. They are apart from the copies without: those are short,
!> and save no register for what may be absent. Programs use the module `nvshmemrs`.
module nvshmemrs_lanes
  use, intrinsic :: iso_c_binding
  use nvshmemrs_base
  use nvshmemrs_streams
  use nvshmemrs_ffi, only: c_put => nvshmemrs_put, c_get => nvshmemrs_get, c_put_nbi => nvshmemrs_put_nbi, &
    c_get_nbi => nvshmemrs_get_nbi, c_p8 => nvshmemrs_p8, c_p16 => nvshmemrs_p16, c_p32 => nvshmemrs_p32, &
    c_p64 => nvshmemrs_p64
  implicit none
  private
  public :: lane_put, lane_get, lane_put_nbi, lane_get_nbi, lane_p8, lane_p16, lane_p32, lane_p64

contains

  subroutine lane_put(dest, source, bytes, pe, stream, stat, errmsg)
    type(c_ptr), intent(in) :: dest, source
    integer(c_size_t), intent(in) :: bytes
    integer(c_int32_t), intent(in) :: pe
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_put(lane_of(stream), dest, source, bytes, pe), stat, errmsg)
  end subroutine lane_put

  subroutine lane_get(dest, source, bytes, pe, stream, stat, errmsg)
    type(c_ptr), intent(in) :: dest, source
    integer(c_size_t), intent(in) :: bytes
    integer(c_int32_t), intent(in) :: pe
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_get(lane_of(stream), dest, source, bytes, pe), stat, errmsg)
  end subroutine lane_get

  subroutine lane_put_nbi(dest, source, bytes, pe, stream, stat, errmsg)
    type(c_ptr), intent(in) :: dest, source
    integer(c_size_t), intent(in) :: bytes
    integer(c_int32_t), intent(in) :: pe
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_put_nbi(lane_of(stream), dest, source, bytes, pe), stat, errmsg)
  end subroutine lane_put_nbi

  subroutine lane_get_nbi(dest, source, bytes, pe, stream, stat, errmsg)
    type(c_ptr), intent(in) :: dest, source
    integer(c_size_t), intent(in) :: bytes
    integer(c_int32_t), intent(in) :: pe
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_get_nbi(lane_of(stream), dest, source, bytes, pe), stat, errmsg)
  end subroutine lane_get_nbi

  subroutine lane_p8(dest, value, pe, stream, stat, errmsg)
    type(c_ptr), intent(in) :: dest
    integer(c_int8_t), intent(in) :: value
    integer(c_int32_t), intent(in) :: pe
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_p8(lane_of(stream), dest, value, pe), stat, errmsg)
  end subroutine lane_p8

  subroutine lane_p16(dest, value, pe, stream, stat, errmsg)
    type(c_ptr), intent(in) :: dest
    integer(c_int16_t), intent(in) :: value
    integer(c_int32_t), intent(in) :: pe
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_p16(lane_of(stream), dest, value, pe), stat, errmsg)
  end subroutine lane_p16

  subroutine lane_p32(dest, value, pe, stream, stat, errmsg)
    type(c_ptr), intent(in) :: dest
    integer(c_int32_t), intent(in) :: value
    integer(c_int32_t), intent(in) :: pe
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_p32(lane_of(stream), dest, value, pe), stat, errmsg)
  end subroutine lane_p32

  subroutine lane_p64(dest, value, pe, stream, stat, errmsg)
    type(c_ptr), intent(in) :: dest
    integer(c_int64_t), intent(in) :: value
    integer(c_int32_t), intent(in) :: pe
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_p64(lane_of(stream), dest, value, pe), stat, errmsg)
  end subroutine lane_p64
end module nvshmemrs_lanes
