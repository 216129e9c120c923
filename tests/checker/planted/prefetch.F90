! A module that keeps a copy of the neighbour's table, fetched ahead of its use.
!
! Bug: nothing completes the get before the copy is looked at.
! Expect: dest used: get_nbi at A, load at B
module tables
  use, intrinsic :: iso_c_binding
  use nvshmemrs_ffi
  implicit none
  integer(nvshmemrs_runtime_t) :: rt
  integer(c_int64_t), target :: copy(8) = -1

contains

  subroutine fetch(table, pe)
    type(c_ptr), intent(in) :: table
    integer(c_int32_t), intent(in) :: pe
    call must(nvshmemrs_get_nbi(rt, c_loc(copy), table, 64_c_size_t, pe)) ! A
  end subroutine fetch

  integer(c_int64_t) function entry(place)
    integer, intent(in) :: place
    entry = copy(place) ! B
  end function entry

  subroutine must(status)
    integer(c_int32_t), intent(in) :: status
    if (status /= NVSHMEMRS_SUCCESS) error stop 'a call failed'
  end subroutine must

end module tables

program prefetch
  use tables
  implicit none
  type(nvshmemrs_init_attr_t) :: attr
  integer(c_int32_t) :: me, n
  type(c_ptr) :: memory
  integer(c_int64_t), pointer :: table(:)
  integer(c_int64_t) :: found
  integer :: i

  call must(nvshmemrs_init_attr_default(attr))
  call must(nvshmemrs_init(attr, rt))
  call must(nvshmemrs_my_pe(rt, me))
  call must(nvshmemrs_n_pes(rt, n))
  call must(nvshmemrs_calloc(rt, 8_c_size_t, 8_c_size_t, memory))
  call c_f_pointer(memory, table, [8])
  table = [(100 * me + i, i = 1, 8)]
  call must(nvshmemrs_barrier(rt, int(NVSHMEMRS_TEAM_WORLD, nvshmemrs_team_t)))

  call fetch(memory, modulo(me + 1, n))
#ifdef MENDED
  call must(nvshmemrs_quiet(rt))
#endif
  found = entry(3)
#ifdef MENDED
  if (found /= 100 * modulo(me + 1, n) + 3) error stop 'wrong result'
#endif

  call must(nvshmemrs_barrier(rt, int(NVSHMEMRS_TEAM_WORLD, nvshmemrs_team_t)))
  call must(nvshmemrs_free(rt, memory))
  if (nvshmemrs_finalize(rt) /= NVSHMEMRS_SUCCESS) continue
  if (found /= huge(found)) print '(a, i0, a, i0)', 'done PE ', me, ' of ', n
end program prefetch
