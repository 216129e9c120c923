//! Single functions. Their code is in `bindings/openshmem/src`.

use super::*;

/// Init, finalize and queries.
#[rustfmt::skip]
pub(super) fn setup() -> Vec<Name> {
    vec![
        by_hand("init", "void", "void", "Joins the job; a second call counts, and as many `finalize` leave it. Section 9.1.1."),
        by_hand("init_thread", "int", "int requested, int *provided", "As `init`; `provided` becomes SHMEM_THREAD_MULTIPLE. Section 9.2.1."),
        by_hand("query_thread", "void", "int *provided", "The level of support for threads. Section 9.2.2."),
        by_hand("query_initialized", "void", "int *initialized", "Whether the library is initialized; may be called at any time. OpenSHMEM 1.6."),
        by_hand("finalize", "void", "void", "Leaves the job, with all PEs. Section 9.1.4."),
        by_hand("global_exit", "void", "int status", "Ends the processes of all PEs; any thread may call it. Section 9.1.5."),
        name("my_pe", Over::Once, "int", "void", "int32_t pe = -1; DO(nvshmemrs_my_pe(rt, &pe)); return pe;",
            "The number of this PE. Section 9.1.2.").hot(),
        name("n_pes", Over::Once, "int", "void", "int32_t n_pes = -1; DO(nvshmemrs_n_pes(rt, &n_pes)); return n_pes;",
            "The number of PEs. Section 9.1.3.").hot(),
        by_hand("pe_accessible", "int", "int pe", "1 if `pe` is a PE of the job, else 0. Section 9.1.6."),
        by_hand("addr_accessible", "int", "const void *addr, int pe", "1 if `addr` is symmetric and `pe` a PE, else 0. Section 9.1.7."),
        by_hand("ptr", "void *", "const void *dest, int pe", "Where this PE can load and store the copy of `pe`; NULL if it cannot. Section 9.1.8."),
        by_hand("team_ptr", "void *", "shmem_team_t team, const void *dest, int pe", "As `ptr` for a member of a team. OpenSHMEM 1.6."),
        by_hand("info_get_version", "void", "int *major, int *minor", "The version of the standard. Section 9.1.9."),
        by_hand("info_get_name", "void", "char *name", "The vendor string, in at most SHMEM_MAX_NAME_LEN bytes. Section 9.1.10."),
        by_hand("pcontrol", "void", "int level, ...", "For tools that measure; nothing else looks at it. Section 10.2."),
    ]
}

/// Allocation.
#[rustfmt::skip]
pub(super) fn memory() -> Vec<Name> {
    vec![
        by_hand("malloc", "void *", "size_t size", "Collective over all PEs, with a barrier. NULL if there is no room. Section 9.3.1."),
        by_hand("calloc", "void *", "size_t count, size_t size", "As `malloc`, with zeros. Section 9.3.3."),
        by_hand("align", "void *", "size_t alignment, size_t size", "As `malloc`, aligned. Section 9.3.1."),
        by_hand("realloc", "void *", "void *ptr, size_t size", "Collective over all PEs. Section 9.3.1."),
        by_hand("malloc_with_hints", "void *", "size_t size, long hints", "As `malloc`; `hints` change nothing. Section 9.3.2."),
        by_hand("free", "void", "void *ptr", "Collective over all PEs; NULL is allowed. Section 9.3.1."),
    ]
}

/// Teams.
#[rustfmt::skip]
pub(super) fn teams() -> Vec<Name> {
    vec![
        by_hand("team_my_pe", "int", "shmem_team_t team", "The number of this PE in a team; -1 if it is no member. Section 9.4.1."),
        by_hand("team_n_pes", "int", "shmem_team_t team", "The number of members; -1 for SHMEM_TEAM_INVALID. Section 9.4.2."),
        by_hand("team_get_config", "int", "shmem_team_t team, long config_mask, shmem_team_config_t *config", "Section 9.4.4."),
        by_hand("team_translate_pe", "int", "shmem_team_t src_team, int src_pe, shmem_team_t dest_team", "The number of a PE in another team; -1 if it is no member. Section 9.4.5."),
        by_hand("team_split_strided", "int", "shmem_team_t parent_team, int start, int stride, int size, \
            const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team", "Collective over the parent team. Section 9.4.6."),
        by_hand("team_split_2d", "int", "shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, \
            long xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask, \
            shmem_team_t *yaxis_team", "Collective over the parent team. Section 9.4.7."),
        by_hand("team_destroy", "void", "shmem_team_t team", "Collective over the team; its contexts end with it. Section 9.4.8."),
    ]
}

/// Contexts.
#[rustfmt::skip]
pub(super) fn contexts() -> Vec<Name> {
    vec![
        by_hand("ctx_create", "int", "long options, shmem_ctx_t *ctx", "A context of all PEs; 0, or another number if there is none. Section 9.5.1."),
        by_hand("team_create_ctx", "int", "shmem_team_t team, long options, shmem_ctx_t *ctx", "A context whose PE numbers are those of a team. Section 9.5.2."),
        by_hand("ctx_destroy", "void", "shmem_ctx_t ctx", "Completes the operations of a context, and ends it. Section 9.5.3."),
        by_hand("ctx_get_team", "int", "shmem_ctx_t ctx, shmem_team_t *team", "The team of a context. Section 9.5.4."),
        by_hand("ctx_session_start", "void", "shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask", "A hint that operations follow. OpenSHMEM 1.6."),
        by_hand("ctx_session_stop", "void", "shmem_ctx_t ctx", "The end of the hint. OpenSHMEM 1.6."),
    ]
}

/// Ordering, locks, and deprecated functions.
#[rustfmt::skip]
pub(super) fn ordering() -> Vec<Name> {
    let nothing = "Deprecated; does nothing. Section 9.13.";
    vec![
        name("fence", Over::Once, "void", "void", "DO(nvshmemrs_fence(rt));", "Orders operations to each PE. Section 9.11.1.").hot(),
        name("quiet", Over::Once, "void", "void", "DO(nvshmemrs_quiet(rt));", "Completes all operations. Section 9.11.2.").hot(),
        by_hand("ctx_fence", "void", "shmem_ctx_t ctx", "As `fence` for a context. Section 9.11.1."),
        by_hand("ctx_quiet", "void", "shmem_ctx_t ctx", "As `quiet` for a context. Section 9.11.2."),
        by_hand("pe_quiet", "void", "const int *target_pes, size_t npes", "As `quiet` for operations to some PEs. OpenSHMEM 1.6."),
        by_hand("ctx_pe_quiet", "void", "shmem_ctx_t ctx, const int *target_pes, size_t npes", "As `pe_quiet` for a context. OpenSHMEM 1.6."),
        by_hand("set_lock", "void", "volatile long *lock", "Waits for a lock, in the order of arrival. Section 9.12.1."),
        by_hand("clear_lock", "void", "volatile long *lock", "Completes all operations, and hands the lock on. Section 9.12.1."),
        by_hand("test_lock", "int", "volatile long *lock", "0 if it has taken the lock, 1 if another PE has it. Section 9.12.1."),
        by_hand("clear_cache_inv", "void", "void", nothing),
        by_hand("set_cache_inv", "void", "void", nothing),
        by_hand("clear_cache_line_inv", "void", "void *dest", nothing),
        by_hand("set_cache_line_inv", "void", "void *dest", nothing),
        by_hand("udcflush", "void", "void", nothing),
        by_hand("udcflush_line", "void", "void *dest", nothing),
    ]
}
