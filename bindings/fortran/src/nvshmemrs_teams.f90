!> Teams of PEs, and the collectives that move no data. Programs use the module `nvshmemrs`.
module nvshmemrs_teams
  use, intrinsic :: iso_c_binding
  use nvshmemrs_base
  use nvshmemrs_streams
  use nvshmemrs_ffi, only: nvshmemrs_team_config_t, NVSHMEMRS_SUCCESS, NVSHMEMRS_TEAM_WORLD, NVSHMEMRS_TEAM_SHARED, &
    NVSHMEMRS_TEAM_NODE, NVSHMEMRS_TEAM_SAME_MYPE_NODE, NVSHMEMRS_TEAM_SAME_GPU, NVSHMEMRS_TEAM_GPU_LEADERS, &
    NVSHMEMRS_TEAM_INVALID, NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS, NVSHMEMRS_TEAM_CONFIG_UNIQUEID, &
    c_team_my_pe => nvshmemrs_team_my_pe, c_team_n_pes => nvshmemrs_team_n_pes, &
    c_team_translate_pe => nvshmemrs_team_translate_pe, c_config_default => nvshmemrs_team_config_default, &
    c_split_strided => nvshmemrs_team_split_strided, c_split_2d => nvshmemrs_team_split_2d, &
    c_team_unique_id => nvshmemrs_team_unique_id, c_team_init => nvshmemrs_team_init, &
    c_get_config => nvshmemrs_team_get_config, c_team_destroy => nvshmemrs_team_destroy, &
    c_barrier => nvshmemrs_barrier, c_sync => nvshmemrs_sync
  implicit none
  private
  public :: nvshmemrs_team, team_of, nvshmemrs_barrier, nvshmemrs_sync, nvshmemrs_team_unique_id

  !> A team of PEs. A team that was not made, or of which this PE is no member, is `none`: its `my_pe` is -1, and
  !> operations on it are errors. A team is destroyed by `destroy` alone, because that is collective. Copies name the
  !> same team.
  type :: nvshmemrs_team
    private
    integer(c_int64_t) :: handle = NVSHMEMRS_TEAM_INVALID
  contains
    !> This PE's number in the team, -1 if it is no member. Local. OpenSHMEM 1.5 section 9.4.1.
    procedure :: my_pe => team_my_pe
    !> The number of members. Local. OpenSHMEM 1.5 section 9.4.2.
    procedure :: n_pes => team_n_pes
    !> The number in `dest_team` of the PE that is number `pe` here, -1 if it is no member there. Local. OpenSHMEM 1.5
    !> section 9.4.5.
    procedure :: translate_pe => team_translate_pe
    !> Makes `team` of the `size` members `start`, `start + stride` and so on; the others get no team. Collective over
    !> this team. OpenSHMEM 1.5 section 9.4.6.
    procedure :: split_strided => team_split_strided
    !> Lays the members out in rows of `xrange`, and makes a team of each row and of each column. Collective over this
    !> team. OpenSHMEM 1.5 section 9.4.7.
    procedure :: split_2d => team_split_2d
    !> Makes a team of the `n_pes` PEs that call it with the same `uniqueid`; the caller is number `my_index`.
    !> Collective over the new team. NVSHMEM `nvshmemx_team_init`.
    procedure :: init => team_init
    !> The number of contexts that the team was made with. Local. OpenSHMEM 1.5 section 9.4.4.
    procedure :: num_contexts => team_num_contexts
    !> The number by which the members of `init` found each other. Local.
    procedure :: uniqueid => team_uniqueid
    !> Destroys the team; does nothing where there is none. Collective over it. OpenSHMEM 1.5 section 9.4.8.
    procedure :: destroy => team_destroy
    !> Whether there is no team. Local; needs no runtime.
    procedure :: none => team_none
  end type nvshmemrs_team

  !> All PEs.
  type(nvshmemrs_team), parameter, public :: nvshmemrs_world = nvshmemrs_team(NVSHMEMRS_TEAM_WORLD)
  !> The PEs whose memory this PE can load and store.
  type(nvshmemrs_team), parameter, public :: nvshmemrs_shared = nvshmemrs_team(NVSHMEMRS_TEAM_SHARED)
  !> The PEs of this host.
  type(nvshmemrs_team), parameter, public :: nvshmemrs_node = nvshmemrs_team(NVSHMEMRS_TEAM_NODE)
  !> The PEs with this PE's number in their hosts.
  type(nvshmemrs_team), parameter, public :: nvshmemrs_same_mype_node = nvshmemrs_team(NVSHMEMRS_TEAM_SAME_MYPE_NODE)
  !> The PEs of this PE's GPU.
  type(nvshmemrs_team), parameter, public :: nvshmemrs_same_gpu = nvshmemrs_team(NVSHMEMRS_TEAM_SAME_GPU)
  !> The first PE of each GPU.
  type(nvshmemrs_team), parameter, public :: nvshmemrs_gpu_leaders = nvshmemrs_team(NVSHMEMRS_TEAM_GPU_LEADERS)

  ! gfortran takes a procedure for the C function of its name, so the names are generic.

  !> Waits until every member of `team`, or of WORLD, has arrived, and completes all operations that the members issued
  !> before: they are visible to every member. With `stream` it is queued.
  !>
  !> Collective over `team`. OpenSHMEM 1.5 section 9.9.1.
  !> Errors: BAD_HANDLE, PE_DIED, TIMEOUT, INTERRUPTED, MISMATCH when a member is in another collective.
  interface nvshmemrs_barrier
    procedure do_barrier
  end interface nvshmemrs_barrier

  !> Waits until every member of `team`, or of WORLD, has arrived. It completes no `_nbi` operation. With `stream` it is
  !> queued.
  !>
  !> Collective over `team`. OpenSHMEM 1.5 section 9.9.3.
  !> Errors: as `nvshmemrs_barrier`.
  interface nvshmemrs_sync
    procedure do_sync
  end interface nvshmemrs_sync

  !> A random number by which the members of `team%init` find each other. One of them calls it, and hands the number to
  !> the others.
  !>
  !> Local. NVSHMEM `nvshmemx_team_get_uniqueid`.
  interface nvshmemrs_team_unique_id
    procedure do_team_unique_id
  end interface nvshmemrs_team_unique_id

contains

  !> The handle of a team, WORLD's if there is none.
  integer(c_int64_t) function team_of(team)
    type(nvshmemrs_team), intent(in), optional :: team
    team_of = NVSHMEMRS_TEAM_WORLD
    if (present(team)) team_of = team%handle
  end function team_of

  subroutine do_barrier(team, stream, stat, errmsg)
    type(nvshmemrs_team), intent(in), optional :: team
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_barrier(lane_of(stream), team_of(team)), stat, errmsg)
  end subroutine do_barrier

  subroutine do_sync(team, stream, stat, errmsg)
    type(nvshmemrs_team), intent(in), optional :: team
    type(nvshmemrs_stream), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_sync(lane_of(stream), team_of(team)), stat, errmsg)
  end subroutine do_sync

  integer(c_int64_t) function do_team_unique_id(stat, errmsg) result(uniqueid)
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    uniqueid = 0
    call conclude(c_team_unique_id(current_runtime, uniqueid), stat, errmsg)
  end function do_team_unique_id

  integer(c_int32_t) function team_my_pe(team, stat, errmsg) result(pe)
    class(nvshmemrs_team), intent(in) :: team
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    pe = -1
    call conclude(c_team_my_pe(current_runtime, team%handle, pe), stat, errmsg)
  end function team_my_pe

  integer(c_int32_t) function team_n_pes(team, stat, errmsg) result(n_pes)
    class(nvshmemrs_team), intent(in) :: team
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    n_pes = -1
    call conclude(c_team_n_pes(current_runtime, team%handle, n_pes), stat, errmsg)
  end function team_n_pes

  integer(c_int32_t) function team_translate_pe(team, pe, dest_team, stat, errmsg) result(found)
    class(nvshmemrs_team), intent(in) :: team
    integer(c_int32_t), intent(in) :: pe
    type(nvshmemrs_team), intent(in) :: dest_team
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    found = -1
    call conclude(c_team_translate_pe(current_runtime, team%handle, pe, dest_team%handle, found), stat, errmsg)
  end function team_translate_pe

  subroutine team_split_strided(parent, start, stride, size, team, num_contexts, stat, errmsg)
    class(nvshmemrs_team), intent(in) :: parent
    integer(c_int32_t), intent(in) :: start, stride, size
    type(nvshmemrs_team), intent(inout) :: team
    integer(c_int32_t), intent(in), optional :: num_contexts
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(nvshmemrs_team_config_t) :: config
    integer(c_int64_t) :: mask
    integer(c_int32_t) :: status
    status = c_config_default(config)
    mask = 0
    if (present(num_contexts)) then
      mask = NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS
      config%num_contexts = num_contexts
    end if
    if (status == NVSHMEMRS_SUCCESS) &
      status = c_split_strided(current_runtime, parent%handle, start, stride, size, config, mask, team%handle)
    call conclude(status, stat, errmsg)
  end subroutine team_split_strided

  subroutine team_split_2d(parent, xrange, xteam, yteam, stat, errmsg)
    class(nvshmemrs_team), intent(in) :: parent
    integer(c_int32_t), intent(in) :: xrange
    type(nvshmemrs_team), intent(inout) :: xteam, yteam
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_split_2d(current_runtime, parent%handle, xrange, xconfig_mask=0_c_int64_t, yconfig_mask=0_c_int64_t, &
                             xteam=xteam%handle, yteam=yteam%handle), stat, errmsg)
  end subroutine team_split_2d

  subroutine team_init(team, uniqueid, n_pes, my_index, stat, errmsg)
    class(nvshmemrs_team), intent(inout) :: team
    integer(c_int64_t), intent(in) :: uniqueid
    integer(c_int32_t), intent(in) :: n_pes, my_index
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(nvshmemrs_team_config_t) :: config
    integer(c_int32_t) :: status
    status = c_config_default(config)
    config%uniqueid = uniqueid
    if (status == NVSHMEMRS_SUCCESS) &
      status = c_team_init(current_runtime, config, NVSHMEMRS_TEAM_CONFIG_UNIQUEID, n_pes, my_index, team%handle)
    call conclude(status, stat, errmsg)
  end subroutine team_init

  integer(c_int32_t) function team_num_contexts(team, stat, errmsg) result(num_contexts)
    class(nvshmemrs_team), intent(in) :: team
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(nvshmemrs_team_config_t) :: config
    config%num_contexts = -1
    call conclude(c_get_config(current_runtime, team%handle, NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS, config), stat, errmsg)
    num_contexts = config%num_contexts
  end function team_num_contexts

  integer(c_int64_t) function team_uniqueid(team, stat, errmsg) result(uniqueid)
    class(nvshmemrs_team), intent(in) :: team
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(nvshmemrs_team_config_t) :: config
    config%uniqueid = 0
    call conclude(c_get_config(current_runtime, team%handle, NVSHMEMRS_TEAM_CONFIG_UNIQUEID, config), stat, errmsg)
    uniqueid = config%uniqueid
  end function team_uniqueid

  subroutine team_destroy(team, stat, errmsg)
    class(nvshmemrs_team), intent(in) :: team
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_team_destroy(current_runtime, team%handle), stat, errmsg)
  end subroutine team_destroy

  logical function team_none(team)
    class(nvshmemrs_team), intent(in) :: team
    team_none = team%handle == NVSHMEMRS_TEAM_INVALID
  end function team_none
end module nvshmemrs_teams
