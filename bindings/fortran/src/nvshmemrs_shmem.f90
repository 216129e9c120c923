!> The names that OpenSHMEM 1.4 had for Fortran, where their arguments are the same. Programs use the module `nvshmemrs`.
module nvshmemrs_shmem
  use nvshmemrs_job, only: shmem_init => nvshmemrs_init, shmem_finalize => nvshmemrs_finalize, &
    shmem_my_pe => nvshmemrs_my_pe, shmem_n_pes => nvshmemrs_n_pes, shmem_quiet => nvshmemrs_quiet, &
    shmem_fence => nvshmemrs_fence
  use nvshmemrs_teams, only: shmem_barrier_all => nvshmemrs_barrier, shmem_sync_all => nvshmemrs_sync
  implicit none
  public
end module nvshmemrs_shmem
