! Allocates from several places and frees nothing: whoever lists allocations must name these lines.
module field
  use, intrinsic :: iso_c_binding
  use nvshmemrs_ffi
  implicit none

contains

  subroutine make(rt, bytes)
    integer(nvshmemrs_runtime_t), intent(in) :: rt
    integer(c_size_t), intent(in) :: bytes
    type(c_ptr) :: memory
    if (nvshmemrs_malloc(rt, bytes, memory) /= NVSHMEMRS_SUCCESS) error stop ! make
  end subroutine make

end module field

program sites
  use field
  implicit none
  integer(nvshmemrs_runtime_t) :: rt
  type(nvshmemrs_init_attr_t) :: attr
  type(c_ptr) :: memory
  if (nvshmemrs_init_attr_default(attr) /= NVSHMEMRS_SUCCESS) error stop
  if (nvshmemrs_init(attr, rt) /= NVSHMEMRS_SUCCESS) error stop
  call make(rt, 100_c_size_t)
  if (nvshmemrs_calloc(rt, 25_c_size_t, 8_c_size_t, memory) /= NVSHMEMRS_SUCCESS) error stop ! main
  if (nvshmemrs_finalize(rt) /= NVSHMEMRS_SUCCESS) error stop
end program sites
