! Puts sections to a PE that is not there: the log of failed calls must name these lines, and not the layer's.
module field
  use nvshmemrs
  implicit none
  type(nvshmemrs_real64_array2), save :: grid
  integer, save :: status

contains

  subroutine send()
    call nvshmemrs_put(grid%values(2, :), [1d0, 2d0, 3d0, 4d0], nvshmemrs_n_pes(), stat=status) ! send
  end subroutine send

end module field

program sites
  use field
  implicit none
  call nvshmemrs_init()
  call grid%allocate(5, 4)
  call send()
  call nvshmemrs_get(grid%values(2:3, :), grid%values(3:4, :), -1, stat=status) ! main
  call nvshmemrs_finalize()
end program sites
