! Allocates through the typed layer and frees nothing: whoever lists allocations must name these lines, and not the layer's.
module field
  use nvshmemrs
  implicit none
  type(nvshmemrs_real64_array2), save :: grid

contains

  subroutine make()
    call grid%allocate(5, 20) ! make
  end subroutine make

end module field

program sites
  use field
  implicit none
  type(nvshmemrs_signal) :: signal
  call nvshmemrs_init()
  call make()
  call signal%allocate() ! main
  call nvshmemrs_finalize()
end program sites
