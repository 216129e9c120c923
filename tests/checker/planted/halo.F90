! Heat in a rod, two time steps. Each PE has a part of the rod, and a cell beside it for its left neighbour's edge.
!
! Bug: the PEs meet in sync, which completes no put; the edge may be used before it has come.
! Expect: read early or write early: put at A, load at B
program halo
  use, intrinsic :: iso_c_binding
  use nvshmemrs_ffi
  implicit none

  integer, parameter :: cells = 16
  integer(nvshmemrs_team_t), parameter :: world = NVSHMEMRS_TEAM_WORLD
  type(nvshmemrs_init_attr_t) :: attr
  integer(nvshmemrs_runtime_t) :: rt
  integer(c_int32_t) :: me, n
  type(c_ptr) :: memory
  real(c_double), pointer :: rod(:)
  real(c_double), target :: edge

  call must(nvshmemrs_init_attr_default(attr))
  call must(nvshmemrs_init(attr, rt))
  call must(nvshmemrs_my_pe(rt, me))
  call must(nvshmemrs_n_pes(rt, n))
  call must(nvshmemrs_calloc(rt, int(cells + 1, c_size_t), 8_c_size_t, memory))
  call c_f_pointer(memory, rod, [cells + 1])

  edge = 10 * me
  call must(nvshmemrs_put(rt, c_loc(rod(1)), c_loc(edge), 8_c_size_t, modulo(me + 1, n))) ! A
#ifdef MENDED
  call must(nvshmemrs_quiet(rt))
#endif
  call must(nvshmemrs_sync(rt, world))
  call step(rod)
  call must(nvshmemrs_barrier(rt, world))

  call must(nvshmemrs_free(rt, memory))
  if (nvshmemrs_finalize(rt) /= NVSHMEMRS_SUCCESS) continue
  print '(a, i0, a, i0)', 'done PE ', me, ' of ', n

contains

  subroutine step(rod)
    real(c_double), intent(inout) :: rod(:)
    rod(2) = rod(2) + rod(1) / 2 ! B
#ifdef MENDED
    if (rod(2) /= 10 * modulo(me - 1, n) / 2.0) error stop 'wrong result'
#endif
  end subroutine step

  subroutine must(status)
    integer(c_int32_t), intent(in) :: status
    if (status /= NVSHMEMRS_SUCCESS) error stop 'a call failed'
  end subroutine must

end program halo
