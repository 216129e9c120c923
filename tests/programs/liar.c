/* A plugin that stands between the library and the real one, and lies to the PEs of other hosts. In the environment: LIAR_PLUGIN, the real
 * one, and LIAR_SAYS, the lie:
 *
 * version, layout, wire, magic   what this PE says of itself when the job comes together
 * cut, odd, longer, outside      each small put: it ends early; at no whole word; its length or its place is another one
 * less, more                     the body of each large put
 * die N, sleep N                 nothing more: this PE dies, or sleeps, in exchange N of init; or, if N is 0, as it closes the wire */

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXCHANGE, SEND, IN_FLIGHT, SEND_FROM, CLOSE = 8, FUNCTIONS, PUT = 1, FACTS = 512 };

struct table {
    uint32_t version, size;
    void *ctx;
    const char *name;
    int32_t rank, n_ranks;
    size_t max_message;
    uint32_t max_tag, reserved;
    void *functions[FUNCTIONS];
};

typedef int32_t open_function(const void *, const struct table **, char *, size_t);
typedef int32_t exchange_function(void *, const uint8_t *, size_t, uint8_t *, uint64_t);
typedef int32_t send_function(void *, int32_t, const uint8_t *, size_t, const uint8_t *, size_t);
typedef int32_t close_function(void *, uint64_t);
typedef int32_t send_from_function(void *, int32_t, uint32_t, const uint8_t *, size_t, uint64_t *);

static const struct table *real;
static struct table table;
static const char *says;

static int lies(const char *how)
{
    return strcmp(says, how) == 0;
}

/* Does not come back if this is where the PE is to end. */
static void end_at(int here)
{
    int there;
    if (sscanf(says, "die %d", &there) == 1 && there == here)
        kill(getpid(), SIGKILL);
    while (sscanf(says, "sleep %d", &there) == 1 && there == here)
        pause();
}

static int32_t exchange(void *ctx, const uint8_t *mine, size_t len, uint8_t *all, uint64_t timeout_ms)
{
    uint8_t facts[FACTS];
    exchange_function *go_on = (exchange_function *)real->functions[EXCHANGE];
    static int exchanges;
    end_at(++exchanges);
    if (len != FACTS || exchanges > 1)
        return go_on(ctx, mine, len, all, timeout_ms);
    memcpy(facts, mine, len);
    if (lies("version"))
        strcpy((char *)facts + 8, "9.8.7");
    if (lies("layout"))
        facts[144] += 1;
    if (lies("wire"))
        facts[148] += 1;
    if (lies("magic"))
        facts[0] += 1;
    return go_on(ctx, facts, len, all, timeout_ms);
}

static int32_t send(void *ctx, int32_t to, const uint8_t *head, size_t head_len, const uint8_t *body, size_t body_len)
{
    send_function *go_on = (send_function *)real->functions[SEND];
    uint64_t message[8192];
    int32_t status;
    if (head_len < 24 || head_len > sizeof message || head[0] != PUT)
        return go_on(ctx, to, head, head_len, body, body_len);
    memcpy(message, head, head_len);
    if (lies("cut"))
        head_len = 16;
    if (lies("odd"))
        head_len -= 3;
    if (lies("longer"))
        message[0] += 1000 << 8;
    if (lies("outside"))
        message[1] = UINT64_C(1) << 40;
    status = go_on(ctx, to, (const uint8_t *)message, head_len, body, body_len);
    return status;
}

static int32_t send_from(void *ctx, int32_t to, uint32_t tag, const uint8_t *bytes, size_t len, uint64_t *token)
{
    send_from_function *go_on = (send_from_function *)real->functions[SEND_FROM];
    if (lies("less"))
        len -= 8;
    if (lies("more"))
        len += 8;
    return go_on(ctx, to, tag, bytes, len, token);
}

static int32_t close_(void *ctx, uint64_t timeout_ms)
{
    end_at(0);
    return ((close_function *)real->functions[CLOSE])(ctx, timeout_ms);
}

int32_t nvshmemrs_wire_open(const void *args, const struct table **wire, char *why, size_t why_len)
{
    void *plugin = dlopen(getenv("LIAR_PLUGIN"), RTLD_NOW);
    void *symbol = plugin == NULL ? NULL : dlsym(plugin, "nvshmemrs_wire_open");
    int32_t status = symbol == NULL ? -1 : ((open_function *)symbol)(args, &real, why, why_len);
    says = getenv("LIAR_SAYS");
    if (status != 0)
        return status;
    table = *real;
    table.functions[EXCHANGE] = (void *)exchange;
    table.functions[SEND] = (void *)send;
    table.functions[CLOSE] = (void *)close_;
    table.functions[SEND_FROM] = (void *)send_from;
    *wire = &table;
    return 0;
}
