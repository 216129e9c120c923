/* The calls of hostile.h that create or destroy objects, or would end the job with the wrong argument. Each is a call of its own:
 * SPECIAL in tests/faults/hostile.rs lists them. They draw from the sequence that all PEs share. */

static uint64_t pick_of(uint64_t *kept, int *which)
{
    *which = -1;
    if (!percent(70))
        return strange_handle();
    *which = (int)below(KEPT);
    return kept[*which];
}

/* Where a new object's handle goes; -1 if there is no room. */
static int room(const uint64_t *kept, int many)
{
    for (int i = 0; i < many; i++)
        if (kept[i] == 0)
            return i;
    return -1;
}

static int pool_room(void)
{
    for (int i = 0; i < POOL; i++)
        if (pool[i].at == NULL)
            return i;
    return -1;
}

/* The result of an allocating call, if it was this job's. */
static int32_t keep_memory(int32_t status, uint64_t runtime, size_t bytes)
{
    void *at;
    check_output(0, sizeof at, status == NVSHMEMRS_SUCCESS);
    if (status == NVSHMEMRS_SUCCESS) {
        memcpy(&at, outputs[0], sizeof at);
        if (runtime == rt && at != NULL) {
            int free_place = pool_room();
            if (free_place < 0) {
                CHECK(nvshmemrs_free(rt, at));
            } else {
                pool[free_place].at = at;
                pool[free_place].bytes = bytes;
            }
        } else if (at != NULL) {
            CHECK(nvshmemrs_free(runtime, at));
        }
    }
    return status;
}

static size_t pick_allocation(void)
{
    return percent(80) ? below(LARGEST) : percent(50) ? 0 : percent(50) ? huge() : (size_t)1 << 23;
}

static int32_t special_malloc(void)
{
    uint64_t runtime = pick_runtime();
    size_t bytes = pick_allocation();
    return keep_memory(nvshmemrs_malloc(runtime, bytes, pick_output(0)), runtime, bytes);
}

static int32_t special_calloc(void)
{
    uint64_t runtime = pick_runtime();
    /* Nothing is larger than LARGEST, so that local buffers suffice. */
    size_t bytes = percent(90) ? below(LARGEST / 4) : huge(), count = percent(90) ? below(4) : huge();
    return keep_memory(nvshmemrs_calloc(runtime, count, bytes, pick_output(0)), runtime, count * bytes);
}

static int32_t special_align(void)
{
    uint64_t runtime = pick_runtime();
    size_t bytes = pick_allocation(), alignment = percent(80) ? (size_t)1 << below(24) : pick_size();
    return keep_memory(nvshmemrs_align(runtime, alignment, bytes, pick_output(0)), runtime, bytes);
}

static void drop_memory(char *at)
{
    for (int i = 0; i < POOL; i++)
        if (pool[i].at == at)
            pool[i].at = NULL;
    freed[below(STALE)] = at;
}

/* The start of an allocation, or something else. Not the start of a canary. */
static char *pick_start(void)
{
    char *at = pool[below(POOL)].at;
    return percent(60) ? at : percent(50) ? stray_address() : at ? at + 8 : NULL;
}

static int32_t special_realloc(void)
{
    uint64_t runtime = pick_runtime();
    char *at = pick_start();
    size_t bytes = pick_allocation();
    int32_t status = nvshmemrs_realloc(runtime, at, bytes, pick_output(0));
    if (status == NVSHMEMRS_SUCCESS && runtime == rt && at != NULL)
        drop_memory(at);
    return keep_memory(status, runtime, bytes);
}

static int32_t special_free(void)
{
    uint64_t runtime = pick_runtime();
    char *at = pick_start();
    int32_t status = nvshmemrs_free(runtime, at);
    if (status == NVSHMEMRS_SUCCESS && at != NULL)
        drop_memory(at);
    return status;
}

static int32_t special_release(void)
{
    uint64_t runtime = pick_runtime();
    char *at = pick_start();
    int32_t status = nvshmemrs_release(runtime, at);
    if (status == NVSHMEMRS_SUCCESS && at != NULL)
        drop_memory(at);
    return status;
}

static void keep_team(uint64_t team)
{
    int which = (int)below(TEAMS);
    if (teams[which] != NVSHMEMRS_TEAM_INVALID) {
        /* Its members destroy it, all of them, now; the others know of none. */
        check_status(nvshmemrs_team_destroy(rt, teams[which]));
        retire(teams[which]);
    }
    teams[which] = team;
}

static int32_t special_team_split_strided(void)
{
    uint64_t runtime = pick_runtime(), parent = pick_team(), team;
    int32_t start = pick_pe(), stride = (int32_t)below(5) - 2, size = pick_number(1, n_pes), status;
    const nvshmemrs_team_config_t *config = pick_config();
    int64_t mask = pick_mask();
    status = nvshmemrs_team_split_strided(runtime, parent, start, stride, size, config, mask, pick_output(0));
    check_output(0, sizeof team, status == NVSHMEMRS_SUCCESS);
    memcpy(&team, outputs[0], sizeof team);
    if (runtime == rt) {
        keep_team(status == NVSHMEMRS_SUCCESS ? team : NVSHMEMRS_TEAM_INVALID);
    } else if (status == NVSHMEMRS_SUCCESS) {
        CHECK(nvshmemrs_team_destroy(runtime, team));
    }
    return status;
}

static int32_t special_team_split_2d(void)
{
    uint64_t runtime = pick_runtime(), parent = pick_team(), made[2];
    int32_t width = pick_number(1, n_pes + 1), status;
    const nvshmemrs_team_config_t *config = pick_config();
    int64_t mask = pick_mask();
    void *x = pick_output(0), *y = pick_output(1);
    status = nvshmemrs_team_split_2d(runtime, parent, width, config, mask, config, pick_mask(), x, y);
    check_output(0, sizeof made[0], status == NVSHMEMRS_SUCCESS);
    check_output(1, sizeof made[1], status == NVSHMEMRS_SUCCESS);
    for (int i = 0; i < 2; i++) {
        memcpy(&made[i], outputs[i], sizeof made[i]);
        if (runtime == rt)
            keep_team(status == NVSHMEMRS_SUCCESS ? made[i] : NVSHMEMRS_TEAM_INVALID);
        else if (status == NVSHMEMRS_SUCCESS)
            CHECK(nvshmemrs_team_destroy(runtime, made[i]));
    }
    return status;
}

static int32_t special_team_init(void)
{
    uint64_t runtime = pick_runtime(), team;
    nvshmemrs_team_config_t config;
    /* All PEs, or each alone under an id of its own, or a number that cannot be. */
    int alone = runtime != rt || percent(30);
    int32_t size = alone ? 1 : n_pes, index = alone ? 0 : n_pes - 1 - me, status;
    CHECK(nvshmemrs_team_config_default(&config));
    config.uniqueid = next() + (alone ? (uint64_t)me << 32 : 0);
    if (percent(20))
        index = percent(50) ? -1 : INT32_MAX;
    else if (percent(20))
        size = percent(50) ? 0 : INT32_MAX;
    if (percent(5))
        config.version = 0;
    status = nvshmemrs_team_init(runtime, percent(95) ? &config : NULL,
                                 percent(90) ? NVSHMEMRS_TEAM_CONFIG_UNIQUEID : pick_mask(), size, index,
                                 pick_output(0));
    check_output(0, sizeof team, status == NVSHMEMRS_SUCCESS);
    if (status == NVSHMEMRS_SUCCESS) {
        memcpy(&team, outputs[0], sizeof team);
        if (runtime == rt)
            keep_team(team);
        else
            CHECK(nvshmemrs_team_destroy(runtime, team));
    }
    compared = 0;
    return status;
}

static int32_t special_team_destroy(void)
{
    int which = (int)below(TEAMS);
    uint64_t runtime = pick_runtime(), team = percent(60) ? teams[which] : pick_team();
    int32_t status = nvshmemrs_team_destroy(runtime, team);
    compared = 0;
    for (int i = 0; i < TEAMS; i++)
        if (teams[i] == team && status == NVSHMEMRS_SUCCESS && runtime == rt) {
            retire(team);
            teams[i] = NVSHMEMRS_TEAM_INVALID;
        }
    return status;
}

/* A new object's handle: kept while there is room. */
static int32_t keep_handle(int32_t status, uint64_t *kept, int32_t (*end)(uint64_t))
{
    uint64_t handle;
    int place = room(kept, KEPT);
    check_output(0, sizeof handle, status == NVSHMEMRS_SUCCESS);
    if (status != NVSHMEMRS_SUCCESS)
        return status;
    memcpy(&handle, outputs[0], sizeof handle);
    if (place >= 0)
        kept[place] = handle;
    else
        check_status(end(handle));
    return status;
}

static int32_t end_kept(uint64_t *kept, int32_t (*end)(uint64_t))
{
    int which;
    uint64_t handle = pick_of(kept, &which);
    int32_t status;
    /* A live object of this kind leaves its place, too. */
    for (int i = 0; i < KEPT; i++)
        if (handle != 0 && handle == kept[i])
            which = i;
    status = end(handle);
    if (which >= 0 && handle != 0)
        forget(&kept[which]);
    return status;
}

static int32_t special_stream_new(void)
{
    uint64_t runtime = percent(80) ? rt : pick_runtime();
    return keep_handle(nvshmemrs_stream_new(runtime, pick_output(0)), streams, nvshmemrs_stream_free);
}

static int32_t special_stream_free(void)
{
    return end_kept(streams, nvshmemrs_stream_free);
}

/* The queued operation may be collective, and the next direct call is, too. */
static int32_t synchronize_and_release(uint64_t stream)
{
    int32_t synchronized = nvshmemrs_stream_synchronize(stream), released = nvshmemrs_stream_release(stream);
    return released != NVSHMEMRS_SUCCESS ? released : synchronized;
}

static int32_t special_stream_release(void)
{
    return end_kept(streams, synchronize_and_release);
}

static int32_t special_event_new(void)
{
    return keep_handle(nvshmemrs_event_new(pick_runtime(), pick_output(0)), events, nvshmemrs_event_free);
}

static int32_t special_event_free(void)
{
    return end_kept(events, nvshmemrs_event_free);
}

static int32_t special_heap_keep(void)
{
    return keep_handle(nvshmemrs_heap_keep(pick_runtime(), pick_output(0)), mappings, nvshmemrs_heap_drop);
}

static int32_t special_heap_drop(void)
{
    return end_kept(mappings, nvshmemrs_heap_drop);
}

/* NVSHMEMRS_TRACK is not set. */
static int32_t special_unfreed(void)
{
    char *text = (char *)outputs[1];
    return nvshmemrs_unfreed(pick_runtime(), percent(80) ? text : NULL, below(sizeof outputs[1]), pick_output(0));
}

static int32_t job_sizes[KEPT];

static int32_t special_local_job_new(void)
{
    static const int32_t sizes[6] = {0, -1, INT32_MAX, INT32_MIN, 2, 3};
    nvshmemrs_init_attr_t attr;
    int place = room(jobs, KEPT);
    int32_t size;
    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.heap_bytes = percent(80) ? 1 << 20 : percent(50) ? UINT64_MAX : UINT64_MAX / 2;
    attr.timeout_s = 20;
    if (percent(5))
        attr.memory_kind = pick_number(2, 9);
    if (percent(5))
        attr.version = 0;
    size = percent(70) ? 1 : sizes[below(6)];
    if (place >= 0)
        job_sizes[place] = size;
    return keep_handle(nvshmemrs_local_job_new(size, &attr, pick_output(0)), jobs, nvshmemrs_local_job_free);
}

static int32_t special_local_job_join(void)
{
    int which;
    uint64_t job = pick_of(jobs, &which);
    /* PE 0 of a job of one PE waits for no other PE; other numbers are wrong in any job here. */
    static const int32_t wrong[4] = {-1, 99, INT32_MAX, INT32_MIN};
    int32_t pe = percent(70) ? 0 : wrong[below(4)];
    /* A job of more PEs than one would wait for the others. */
    for (int i = 0; i < KEPT; i++)
        if (job != 0 && job == jobs[i] && job_sizes[i] != 1 && pe == 0)
            pe = -1;
    return keep_handle(nvshmemrs_local_job_join(job, pe, pick_output(0)), others, nvshmemrs_finalize);
}

static int32_t special_local_job_free(void)
{
    return end_kept(jobs, nvshmemrs_local_job_free);
}

/* Only of runtimes that are jobs of one; streams that belong to them end with them. */
static int32_t special_finalize(void)
{
    uint64_t handle = percent(60) ? others[below(KEPT)] : strange_handle();
    int32_t status;
    if (handle == rt)
        handle = 0;
    status = nvshmemrs_finalize(handle);
    for (int i = 0; i < KEPT; i++)
        if (handle != 0 && handle == others[i])
            forget(&others[i]);
    return status;
}

static int32_t special_leave(void)
{
    uint64_t handle = percent(60) ? others[below(KEPT)] : strange_handle();
    int32_t status;
    if (handle == rt)
        handle = 0;
    status = nvshmemrs_leave(handle);
    for (int i = 0; i < KEPT; i++)
        if (handle != 0 && handle == others[i])
            forget(&others[i]);
    return status;
}

static int32_t special_current(void)
{
    return nvshmemrs_current(pick_output(0));
}

/* A live runtime's would end the program. */
static int32_t special_global_exit(void)
{
    return nvshmemrs_global_exit(percent(50) ? 0 : next() | UINT64_C(1) << 63, (int32_t)next());
}

/* This process has a place in its job already: arguments that are refused before anybody is asked. */
static int32_t special_init(void)
{
    nvshmemrs_init_attr_t attr;
    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.version = (uint32_t)next() | 1u << 31;
    return percent(50) ? nvshmemrs_init(&attr, pick_output(0)) : nvshmemrs_init(&attr, NULL);
}

/* No communicator at all, or attributes that are refused before it is looked at. */
static int32_t special_init_mpi_comm(void)
{
    nvshmemrs_init_attr_t attr;
    CHECK(nvshmemrs_init_attr_default(&attr));
    if (percent(50))
        return nvshmemrs_init_mpi_comm(NULL, percent(50) ? &attr : NULL, pick_output(0));
    attr.version = (uint32_t)next() | 1u << 31;
    return nvshmemrs_init_mpi_comm(&attr, &attr, pick_output(0));
}

static int32_t special_init_mpi_fortran(void)
{
    nvshmemrs_init_attr_t attr;
    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.version = (uint32_t)next() | 1u << 31;
    return nvshmemrs_init_mpi_fortran(pick_number(1, 9), &attr, percent(50) ? NULL : pick_output(0));
}

static int32_t special_init_unique_id(void)
{
    nvshmemrs_unique_id_t id;
    nvshmemrs_runtime_t runtime;
    int32_t status;
    CHECK(nvshmemrs_unique_id_new(&id));
    if (percent(50))
        return nvshmemrs_init_unique_id(percent(50) ? NULL : &id, pick_number(1, 9), 1, NULL, pick_output(0));
    if (percent(30))
        id.version = (uint32_t)next();
    status = nvshmemrs_init_unique_id(&id, 0, percent(50) ? 1 : -1, NULL, pick_output(0));
    check_output(0, sizeof runtime, status == NVSHMEMRS_SUCCESS);
    if (status == NVSHMEMRS_SUCCESS) {
        memcpy(&runtime, outputs[0], sizeof runtime);
        CHECK(nvshmemrs_finalize(runtime));
    }
    return status;
}

static int32_t special_interrupt(void)
{
    uint64_t handle = percent(40) ? rt : strange_handle();
    int32_t status = nvshmemrs_interrupt(handle);
    if (status == NVSHMEMRS_SUCCESS)
        CHECK(nvshmemrs_interrupt_clear(handle));
    return status;
}

static int32_t never(void *user)
{
    (void)user;
    return 0;
}

static int32_t special_interrupt_hook(void)
{
    return nvshmemrs_interrupt_hook(pick_runtime(), percent(50) ? never : NULL, NULL);
}

static int32_t special_interrupt_hook_on(void)
{
    return nvshmemrs_interrupt_hook_on(pick_runtime(), percent(50) ? 0 : -1, percent(50) ? never : NULL, NULL);
}

static int32_t special_init_interrupt_hook(void)
{
    return nvshmemrs_init_interrupt_hook(percent(50) ? never : NULL, NULL);
}

/* Without the checker no place is asked for, and no access looked at. */
static int32_t no_place(void *user, const void *address, char *text, size_t bytes)
{
    (void)user, (void)address, (void)text, (void)bytes;
    return 1;
}

static int32_t special_site_hook(void)
{
    return nvshmemrs_site_hook(pick_runtime(), percent(50) ? no_place : NULL, NULL);
}

static int32_t special_site_hook_in(void)
{
    return nvshmemrs_site_hook_in(pick_runtime(), percent(50) ? no_place : NULL, NULL, (int32_t)below(8) - 1);
}

static int32_t special_check_access(void)
{
    static const int32_t wrong[4] = {5, -1, INT32_MAX, INT32_MIN};
    const void *anywhere = (const void *)(uintptr_t)next();
    return nvshmemrs_check_access(anywhere, (size_t)next(), percent(60) ? (int32_t)below(5) : wrong[below(4)], anywhere);
}

static int32_t special_error_set(void)
{
    static char text[100];
    for (size_t at = 0; at < sizeof text; at++)
        text[at] = (char)next();
    return nvshmemrs_error_set(percent(90) ? text : NULL, percent(80) ? below(sizeof text) : 4097 + (size_t)next() % (SIZE_MAX / 2));
}

/* Every deadline is far away, and ended again: the waits of other calls are to go their own ways. */
static int32_t special_deadline_begin(void)
{
    static const double wrong[4] = {0, -1, 2e9, -1e300};
    uint64_t previous;
    int32_t status = nvshmemrs_deadline_begin(percent(60) ? 1000 + (double)below(1000) : wrong[below(4)], pick_output(0));
    check_output(0, sizeof previous, status == NVSHMEMRS_SUCCESS);
    if (status == NVSHMEMRS_SUCCESS) {
        memcpy(&previous, outputs[0], sizeof previous);
        CHECK(nvshmemrs_deadline_end(previous));
    }
    return status;
}

static int32_t special_deadline_end(void)
{
    uint64_t previous;
    CHECK(nvshmemrs_deadline_begin(1000, &previous));
    return nvshmemrs_deadline_end(previous);
}

static int32_t special_stream_call(void)
{
    uint64_t stream = pick_kept(streams);
    return nvshmemrs_stream_call(stream, percent(80) ? never : NULL, NULL);
}

/* Two buffers of 64 KiB that can be registered, and where they are when they are. */
static char *buffers[2];
static void *registered[2];

static int32_t special_buffer_register(void)
{
    int which = (int)below(2);
    uint64_t runtime = pick_runtime();
    char *buffer, *preferred = NULL;
    size_t bytes = percent(60) ? LARGEST : percent(50) ? pick_size() & 0xffff : huge();
    int32_t status;
    if (buffers[which] == NULL) {
        buffers[which] = mmap(NULL, LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (buffers[which] == MAP_FAILED)
            WRONG("mmap");
    }
    buffer = buffers[which];
    if (percent(25))
        buffer = below(2) ? buffer + 1 : below(2) ? NULL : pool[below(POOL)].at;
    if (percent(20))
        preferred = below(2) ? (char *)1 : (char *)(uintptr_t)(next() & ~(uint64_t)4095);
    status = nvshmemrs_buffer_register(runtime, buffer, bytes, preferred, pick_output(0));
    check_output(0, sizeof(void *), status == NVSHMEMRS_SUCCESS);
    if (status == NVSHMEMRS_SUCCESS) {
        void *at;
        memcpy(&at, outputs[0], sizeof at);
        if (runtime == rt)
            registered[which] = at;
        else
            CHECK(nvshmemrs_buffer_unregister(runtime, at));
    }
    return status;
}

static int32_t special_buffer_unregister(void)
{
    int which = (int)below(2);
    void *at = percent(70) ? registered[which] : stray_address();
    int32_t status = nvshmemrs_buffer_unregister(pick_runtime(), at);
    for (int i = 0; i < 2; i++)
        if (status == NVSHMEMRS_SUCCESS && at != NULL && at == registered[i]) {
            freed[below(STALE)] = at;
            registered[i] = NULL;
        }
    return status;
}

/* The program's variables stay private: this program takes their addresses for such that are not symmetric. */
static int32_t special_static_data_register(void)
{
    return nvshmemrs_static_data_register(strange_handle());
}

/* The calls without a status. */
static int32_t special_plain(void)
{
    if (nvshmemrs_abi_version() != NVSHMEMRS_ABI_VERSION || nvshmemrs_api_hash() != NVSHMEMRS_API_HASH)
        WRONG("another ABI");
    if (nvshmemrs_name() == NULL || nvshmemrs_last_error() == NULL)
        WRONG("a text is NULL");
    if (nvshmemrs_last_error_in((int32_t)((uint32_t)pick_number(0, 10) - 3)) == NULL)
        WRONG("no text of an error in a language");
    if (nvshmemrs_place_string(pick_local()) == NULL)
        WRONG("a place has no text");
    if (nvshmemrs_status_string(pick_number(0, 100)) == NULL)
        WRONG("a status has no text");
    if (nvshmemrs_thread_support() != NVSHMEMRS_THREAD_MULTIPLE)
        WRONG("threads");
    if (nvshmemrs_pool_alloc(pick_size(), pick_pe(), pick_local()) != NULL)
        WRONG("memory of a GPU");
    return NVSHMEMRS_SUCCESS;
}

/* Everything ends in order, also with live objects. */
static void end_all(void)
{
    for (int i = 0; i < KEPT; i++) {
        check_status(nvshmemrs_stream_free(streams[i]));
        check_status(nvshmemrs_context_free(contexts[i]));
        check_status(nvshmemrs_event_free(events[i]));
        check_status(nvshmemrs_finalize(others[i]));
        check_status(nvshmemrs_local_job_free(jobs[i]));
        check_status(nvshmemrs_heap_drop(mappings[i]));
    }
    for (int i = 0; i < TEAMS; i++)
        check_status(nvshmemrs_team_destroy(rt, teams[i]));
    for (int i = 0; i < 2; i++)
        if (registered[i] != NULL)
            CHECK(nvshmemrs_buffer_unregister(rt, registered[i]));
    for (int i = 0; i < POOL; i++)
        CHECK(nvshmemrs_free(rt, pool[i].at));
}
