//! Single functions. Host functions are in `bindings/nvshmem/src` and `bindings/names`.

use super::*;

/// Init, finalize and queries.
#[rustfmt::skip]
pub(super) fn setup() -> Vec<Name> {
    let asked = |function: &str, result: &str, about: &str| Name {
        body: format!("int32_t {result} = -1; DO(nvshmemrs_{function}(rt, &{result})); return {result};"),
        ..both(function, "int", "void", about)
    };
    let attr = "unsigned int flags, nvshmemx_init_attr_t *attributes";
    vec![
        host("init", "void", "void", "Joins the job; a second call counts, and as many `finalize` leave it."),
        host("init_thread", "int", "int requested, int *provided", "As `init`; `provided` becomes NVSHMEM_THREAD_MULTIPLE."),
        host("init_attr", "int", attr, "Joins the job that the attributes name. 0, or another number if it failed.").extension(),
        host("hostlib_init_attr", "int", attr, "As `nvshmemx_init_attr`.").extension(),
        host("finalize", "void", "void", "Leaves the job, with all PEs."),
        host("hostlib_finalize", "void", "void", "As `nvshmem_finalize`.").extension(),
        host("set_attr_uniqueid_args", "int", "const int myrank, const int nranks, const nvshmemx_uniqueid_t *uniqueid, nvshmemx_init_attr_t *attr",
            "Writes a unique id, and this PE's place in its job, to attributes.").extension(),
        host("set_attr_mpi_comm_args", "int", "void *mpi_comm, nvshmemx_init_attr_t *attr", "Writes the address of an `MPI_Comm` to attributes.").extension(),
        host("get_uniqueid", "int", "nvshmemx_uniqueid_t *uniqueid", "Makes a unique id, which one PE hands to all others.").extension(),
        host("init_status", "int", "void", "How far init has come; may be called at any time.").extension(),
        host("query_thread", "void", "int *provided", "The level of support for threads; may be called at any time."),
        asked("my_pe", "pe", "The number of this PE."),
        asked("n_pes", "n_pes", "The number of PEs."),
        both("info_get_version", "void", "int *major, int *minor", "The version of the standard; may be called at any time."),
        both("info_get_name", "void", "char *name", "The vendor string, in at most NVSHMEM_MAX_NAME_LEN bytes; may be called at any time."),
        both("vendor_get_version_info", "void", "int *major, int *minor, int *patch", "The version of NVSHMEM that the names are of; may be called at any time.").extension(),
        both("global_exit", "void", "int status", "Ends the processes of all PEs; any thread may call it."),
        host("qp_create", "int", "int num_qps, nvshmemx_qp_handle_t **out_qp_array", "Makes numbers of queue pairs, in an array of the library's.").extension(),
    ]
}

/// Allocation, addresses, and registration of the program's memory.
#[rustfmt::skip]
pub(super) fn memory() -> Vec<Name> {
    vec![
        host("malloc", "void *", "size_t size", "Collective over all PEs, with a barrier. NULL if there is no room."),
        host("calloc", "void *", "size_t count, size_t size", "As `malloc`, with zeros."),
        host("align", "void *", "size_t alignment, size_t size", "As `malloc`, aligned."),
        host("free", "void", "void *ptr", "Collective over all PEs; NULL is allowed."),
        both("ptr", "void *", "const void *dest, int pe", "Where this PE can load and store the copy of `pe`; NULL if it cannot."),
        both("mc_ptr", "void *", "nvshmem_team_t team, const void *ptr", "The multicast address of the copies of a team; NULL: there is none.").extension(),
        host("buffer_register", "int", "void *addr, size_t length", "Memory that this PE puts from and gets to. Any may be used without it, too.").extension(),
        host("buffer_unregister", "int", "void *addr", "Ends a registration.").extension(),
        host("buffer_unregister_all", "void", "void", "Ends all registrations of `nvshmemx_buffer_register`.").extension(),
        host("buffer_register_symmetric", "void *", "void *buf_ptr, size_t size, int flags", "Makes memory of the program's symmetric. Collective over all PEs; NULL if it failed.").extension(),
        host("buffer_register_symmetric_at_preferred_address", "void *", "void *buf_ptr, size_t size, void *preferred_address, int flags",
            "As `nvshmemx_buffer_register_symmetric`, at an unused address that is alike on all PEs.").extension(),
        host("buffer_unregister_symmetric", "int", "void *mmap_ptr, size_t size", "Makes it private again. Collective over all PEs.").extension(),
    ]
}

/// Teams.
#[rustfmt::skip]
pub(super) fn teams() -> Vec<Name> {
    let config = "nvshmem_team_config_t";
    vec![
        both("team_my_pe", "int", "nvshmem_team_t team", "The number of this PE in a team; -1 if it is no member."),
        both("team_n_pes", "int", "nvshmem_team_t team", "The number of members; -1 for NVSHMEM_TEAM_INVALID."),
        both("team_translate_pe", "int", "nvshmem_team_t src_team, int src_pe, nvshmem_team_t dest_team", "The number of a PE in another team; -1 if it is no member."),
        host("team_get_config", "void", &format!("nvshmem_team_t team, {config} *config"), "The configuration that a team was made with."),
        host("team_split_strided", "int", &format!("nvshmem_team_t parent_team, int PE_start, int PE_stride, int PE_size, \
            const {config} *config, long config_mask, nvshmem_team_t *new_team"), "Collective over the parent team."),
        host("team_split_2d", "int", &format!("nvshmem_team_t parent_team, int xrange, const {config} *xaxis_config, long xaxis_mask, \
            nvshmem_team_t *xaxis_team, const {config} *yaxis_config, long yaxis_mask, nvshmem_team_t *yaxis_team"), "Collective over the parent team."),
        host("team_destroy", "void", "nvshmem_team_t team", "Collective over the team."),
        host("team_get_uniqueid", "int", "nvshmemx_team_uniqueid_t *uniqueid", "A random number by which the members of a new team find each other.").extension(),
        host("team_init", "int", &format!("nvshmem_team_t *team, {config} *config, long config_mask, int npes, int pe_idx_in_team"),
            "Makes a team of the PEs that call it with the number in `config`.").extension(),
    ]
}

/// Ordering, and regions.
#[rustfmt::skip]
pub(super) fn ordering() -> Vec<Name> {
    let once = |function: &str, body: &str, about: &str| Name { prefix: "nvshmem_",
        ..name(function, Over::Once, "void", "void", body, about) }.at(Place::Both);
    let quiet = once("quiet", "DO(nvshmemrs_quiet(rt));", "Completes all operations.");
    let flush = once("flush", "DO(nvshmemrs_quiet(rt));", "As `nvshmem_quiet`, which also lets sources be used again.").extension().groups();
    vec![
        once("fence", "DO(nvshmemrs_fence(rt));", "Orders operations to each PE."),
        on_stream(&quiet),
        quiet,
        on_stream(&flush),
        flush,
        host("region_start", "int", "nvshmemx_region_handle_t *handle, const nvshmemx_region_attrs_t *attrs", "A hint that operations follow.").extension(),
        host("region_stop", "int", "nvshmemx_region_handle_t handle", "The end of the hint.").extension(),
        both("region_is_active", "int", "uint32_t hints, int *active", "Whether a region with one of these hints has begun and not ended.").extension(),
        device("region_start_block", Over::Once, "int", "nvshmemx_region_handle_t *handle, const nvshmemx_region_attrs_t *attrs", "Begins a region, by a block.").extension(),
        device("region_stop_block", Over::Once, "int", "nvshmemx_region_handle_t handle", "The end of the hint.").extension(),
    ]
}

/// Kernel launches, modules, and shared memory of blocks. Host functions are in `bindings/nvshmem/src/device.c`.
#[rustfmt::skip]
pub(super) fn kernels() -> Vec<Name> {
    let launch = "const void *func, dim3 gridDims, dim3 blockDims, void **args, size_t sharedMem, cudaStream_t stream";
    vec![
        host("collective_launch", "int", launch, "Starts a kernel on all PEs, whose blocks all run at a time.").extension(),
        host("collective_launch_query_gridsize", "int", "const void *func, dim3 blockDims, void **args, size_t sharedMem, int *gridsize",
            "How many blocks `nvshmemx_collective_launch` can start.").extension(),
        host("cumodule_init", "int", "CUmodule module", "Lets the kernels of a module call NVSHMEM's functions.").extension(),
        host("cumodule_finalize", "int", "CUmodule module", "Undoes `nvshmemx_cumodule_init`.").extension(),
        host("culibrary_init", "int", "CUlibrary library", "As `nvshmemx_cumodule_init`.").extension(),
        host("culibrary_finalize", "int", "CUlibrary library", "Undoes `nvshmemx_culibrary_init`.").extension(),
        device("ask_smem", Over::Once, "int", "int amount", "Bytes of shared memory for the library.").extension().at(Place::Both),
        device("give_smem", Over::Once, "void", "void *smem, size_t bytes", "Lends shared memory of a block.").extension(),
        device("release_smem", Over::Once, "void", "void", "Takes back the lent memory.").extension(),
    ]
}
