! Without `stat` an error stops the program with the library's text.
program stops
  use nvshmemrs
  implicit none
  integer :: none
  call nvshmemrs_init()
  call nvshmemrs_put(none, 3, nvshmemrs_n_pes())
  print '(a)', 'not reached'
end program stops
