/* Queries, attributes of init, and functions of teams that OpenSHMEM lacks. */

#include "internal.h"

int nvshmemx_init_status(void)
{
    const struct nvshmemrs_nvshmem_member *member = nvshmemrs_nvshmem_member();
    const nvshmemrs_runtime_t rt = nvshmemrs_nvshmem_now();
    if (rt == 0)
        return NVSHMEM_STATUS_NOT_INITIALIZED;
    if (member != NULL && !member->complete)
        return NVSHMEM_STATUS_IS_BOOTSTRAPPED;
    int32_t sharing = 1;
    nvshmemrs_team_n_pes(rt, NVSHMEMRS_TEAM_SAME_GPU, &sharing);
    return sharing > 1 ? NVSHMEM_STATUS_LIMITED_MPG : NVSHMEM_STATUS_IS_INITIALIZED;
}

void nvshmem_query_thread(int *provided)
{
    if (provided == NULL)
        nvshmemrs_nvshmem_misused("nvshmem_query_thread", PLACE, "argument `provided` is NULL");
    else
        *provided = nvshmemrs_thread_support();
}

void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    if (major != NULL)
        *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    if (minor != NULL)
        *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    if (patch != NULL)
        *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

/* ---- Attributes of init ---- */

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *uniqueid)
{
    _Static_assert(sizeof(nvshmemx_uniqueid_t) == sizeof(nvshmemrs_unique_id_t), "unique ids are the library's");
    return nvshmemrs_unique_id_new((nvshmemrs_unique_id_t *)uniqueid);
}

int nvshmemx_set_attr_uniqueid_args(const int myrank, const int nranks, const nvshmemx_uniqueid_t *uniqueid, nvshmemx_init_attr_t *attr)
{
    if (attr == NULL || uniqueid == NULL || nranks < 1 || myrank < 0 || myrank >= nranks)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    nvshmemx_uniqueid_args_t args = NVSHMEMX_UNIQUEID_ARGS_INITIALIZER;
    args.id = (nvshmemx_uniqueid_t *)uniqueid;
    args.myrank = myrank;
    args.nranks = nranks;
    attr->args.uid_args = args;
    return NVSHMEMX_SUCCESS;
}

int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm, nvshmemx_init_attr_t *attr)
{
    if (attr == NULL || mpi_comm == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    attr->mpi_comm = mpi_comm;
    return NVSHMEMX_SUCCESS;
}

/* ---- Teams ---- */

const nvshmemrs_team_config_t *nvshmemrs_nvshmem_config_of(const nvshmem_team_config_t *config, nvshmemrs_team_config_t *native)
{
    if (config == NULL)
        return NULL;
    nvshmemrs_team_config_default(native);
    native->num_contexts = config->num_contexts;
    native->uniqueid = config->uniqueid;
    return native;
}

void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config)
{
    ENTER_TEAM_QUERY("nvshmem_team_get_config");
    nvshmemrs_team_config_t found;
    if (config == NULL) {
        nvshmemrs_nvshmem_misused(nvshmemrs_name, PLACE, "argument `config` is NULL");
        return;
    }
    const int32_t status =
        nvshmemrs_team_get_config(rt, native, NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS | NVSHMEMRS_TEAM_CONFIG_UNIQUEID, &found);
    DO(status);
    if (status == NVSHMEMRS_SUCCESS) {
        config->num_contexts = found.num_contexts;
        config->uniqueid = found.uniqueid != 0 ? found.uniqueid : NVSHMEM_TEAM_UNIQUID_INITIALIZER;
    }
}

void nvshmem_team_destroy(nvshmem_team_t team)
{
    ENTER_TEAM("nvshmem_team_destroy");
    DO(nvshmemrs_team_destroy(rt, native));
}

int nvshmemx_team_get_uniqueid(nvshmemx_team_uniqueid_t *uniqueid)
{
    return nvshmemrs_team_unique_id(nvshmemrs_nvshmem_now(), uniqueid);
}

int nvshmemx_team_init(nvshmem_team_t *team, nvshmem_team_config_t *config, long config_mask, int npes, int pe_idx_in_team)
{
    nvshmemrs_team_config_t native;
    nvshmemrs_team_t made = NVSHMEMRS_TEAM_INVALID;
    if (team == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *team = NVSHMEM_TEAM_INVALID;
    ENTER_COLLECTIVE("nvshmemx_team_init");
    const int32_t status =
        WITH(rt, nvshmemrs_team_init(rt, nvshmemrs_nvshmem_config_of(config, &native), config_mask, npes, pe_idx_in_team, &made));
    if (status == NVSHMEMRS_SUCCESS)
        *team = nvshmemrs_nvshmem_from_native(made);
    return status;
}

/* ---- Signals ---- */

void nvshmemx_signal_counted_reset(uint64_t *sig_addr)
{
    ENTER("nvshmemx_signal_counted_reset");
    int32_t pe = -1;
    DO(nvshmemrs_my_pe(rt, &pe));
    DO(nvshmemrs_signal_op(rt, sig_addr, 0, NVSHMEMRS_SIGNAL_SET, pe));
}
