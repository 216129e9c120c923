/* Teams, by the names that both standards have. */

#include "internal.h"

/* A query of an invalid team has a result. The handle of a destroyed team is an error. */
static bool no_team(const char *name, TEAM_T team, int32_t status, const void *place)
{
    if (status == NVSHMEMRS_SUCCESS)
        return false;
    if (team != CAPITALS(TEAM_INVALID))
        OWN(failed)(name, status, place);
    return true;
}

FUNCTION(int, STANDARD(team_my_pe), (TEAM_T team))
{
    ENTER_TEAM_QUERY(STANDARD_TEXT "team_my_pe");
    int32_t pe = -1;
    if (no_team(nvshmemrs_name, team, nvshmemrs_team_my_pe(rt, native, &pe), PLACE))
        return -1;
    return pe;
}

FUNCTION(int, STANDARD(team_n_pes), (TEAM_T team))
{
    ENTER_TEAM_QUERY(STANDARD_TEXT "team_n_pes");
    int32_t n_pes = -1;
    if (no_team(nvshmemrs_name, team, nvshmemrs_team_n_pes(rt, native, &n_pes), PLACE))
        return -1;
    return n_pes;
}

FUNCTION(int, STANDARD(team_translate_pe), (TEAM_T src_team, int src_pe, TEAM_T dest_team))
{
    const nvshmemrs_team_t from = OWN(native)(src_team), to = OWN(native)(dest_team);
    int32_t pe = -1;
    const int32_t status = nvshmemrs_team_translate_pe(OWN(now)(), from, src_pe, to, &pe);
    if (src_team == CAPITALS(TEAM_INVALID) || dest_team == CAPITALS(TEAM_INVALID) || status == NVSHMEMRS_ERROR_PE_RANGE)
        return -1;
    return no_team(STANDARD_TEXT "team_translate_pe", src_team, status, PLACE) ? -1 : pe;
}

FUNCTION(int, STANDARD(team_split_strided),
    (TEAM_T parent_team, int start, int stride, int size, const CONFIG_T *config, long config_mask, TEAM_T *new_team))
{
    nvshmemrs_team_config_t native;
    nvshmemrs_team_t made = NVSHMEMRS_TEAM_INVALID;
    if (new_team == NULL)
        return NVSHMEMRS_ERROR_INVALID_VALUE;
    *new_team = CAPITALS(TEAM_INVALID);
    /* The stride of a team of one member has no meaning. */
    if (stride == 0 && size == 1)
        stride = 1;
    const nvshmemrs_runtime_t rt = OWN(complete)(STANDARD_TEXT "team_split_strided");
    const int32_t status = WITH(rt, nvshmemrs_team_split_strided(rt, OWN(native)(parent_team), start, stride, size,
        OWN(config_of)(config, &native), config_mask, &made));
    if (status == NVSHMEMRS_SUCCESS)
        *new_team = OWN(from_native)(made);
    return status;
}

FUNCTION(int, STANDARD(team_split_2d),
    (TEAM_T parent_team, int xrange, const CONFIG_T *xaxis_config, long xaxis_mask, TEAM_T *xaxis_team,
        const CONFIG_T *yaxis_config, long yaxis_mask, TEAM_T *yaxis_team))
{
    nvshmemrs_team_config_t x, y;
    nvshmemrs_team_t x_made = NVSHMEMRS_TEAM_INVALID, y_made = NVSHMEMRS_TEAM_INVALID;
    if (xaxis_team == NULL || yaxis_team == NULL)
        return NVSHMEMRS_ERROR_INVALID_VALUE;
    *xaxis_team = *yaxis_team = CAPITALS(TEAM_INVALID);
    const nvshmemrs_runtime_t rt = OWN(complete)(STANDARD_TEXT "team_split_2d");
    const int32_t status = WITH(rt, nvshmemrs_team_split_2d(rt, OWN(native)(parent_team), xrange,
        OWN(config_of)(xaxis_config, &x), xaxis_mask, OWN(config_of)(yaxis_config, &y), yaxis_mask, &x_made, &y_made));
    if (status == NVSHMEMRS_SUCCESS) {
        *xaxis_team = OWN(from_native)(x_made);
        *yaxis_team = OWN(from_native)(y_made);
    }
    return status;
}
