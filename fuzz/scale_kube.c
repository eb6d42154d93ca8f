/*
 * scale_kube.c - any objects as pods, listed and watched: whatever an API server says, what is told of it
 * can go over the wire, and a key lives once.
 *
 * Input: lines. The first byte says how the JSON behind it is meant: 'L' an item of a list, 'E' the list's
 * end (its JSON is not looked at), 'D' deleted, 'A' asks for a mark on the newest replica, else: changed.
 */
#include <stdlib.h>
#include <string.h>

#include "scale/kube.h"
#include "scale/wire_layout.h"

#define INPUT_MAX (1 << 16)
#define KEYS_MAX  (INPUT_MAX + 2) /* at most two a line */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pst_loop *loop;
static uint32_t key, live;
static uint8_t state_of[KEYS_MAX];

static uint32_t next_key(void *user)
{
    (void)user;
    PST_ASSERT(key + 1 < KEYS_MAX);
    state_of[++key] = PST_REPLICA_STATE_COUNT; /* not told of yet */
    return key;
}

static void found(void *user, const struct pst_wire_replica *replica)
{
    const struct pst_wire_message message = {
        .kind = PST_WIRE_REPLICA, .fd = -1, .u.replica = *replica};
    uint8_t packet[PST_WIRE_PACKET_MAX], *state = &state_of[replica->key];

    (void)user;
    (void)pst_wire_pack(&message, packet); /* asserts every range */
    PST_ASSERT(replica->key <= key && *state != PST_REPLICA_GONE);
    PST_ASSERT(replica->state != PST_REPLICA_LOADING || replica->url[0] != '\0');
    live += *state == PST_REPLICA_STATE_COUNT;
    live -= replica->state == PST_REPLICA_GONE;
    PST_ASSERT(live <= PST_REPLICAS_MAX);
    *state = replica->state;
}

static void event(void *user, uint32_t about, const struct pst_scaler_event *e)
{
    const struct pst_wire_message message = {
        .kind = PST_WIRE_EVENT, .fd = -1, .key = about, .u.event = *e};
    uint8_t packet[PST_WIRE_PACKET_MAX];

    (void)user;
    (void)pst_wire_pack(&message, packet);
}

static void synced(void *user, uint16_t pool)
{
    (void)user;
    PST_ASSERT(pool == 0);
}

static void mark_later(struct pst_timer *timer)
{
    (void)timer; /* nobody is there to be asked */
}

static void take_line(struct pst_kube *kube, uint8_t how, const char *json, size_t len)
{
    const struct pst_kube_watch_handlers *h = &pst_kube_fleet_handlers;
    cJSON *object;

    if (how == 'A' && kube->count > 0) {
        pst_kube_mark(kube, &kube->replicas[kube->count - 1], true);
        return;
    }
    if (how == 'E') {
        h->end(kube);
        h->begin(kube);
        return;
    }
    object = cJSON_ParseWithLength(json, len);
    if (how == 'L')
        h->item(kube, object);
    else
        h->changed(kube, object, how == 'D');
    cJSON_Delete(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pst_config_pool pool;
    static const struct pst_config config = {.pools = &pool, .pools_count = 1};
    static char name[] = "chat";
    struct pst_source_host host = {
        .config = &config, .next_key = next_key, .found = found, .event = event, .synced = synced};
    struct pst_kube *kube = calloc(1, sizeof *kube);

    PST_ASSERT(kube != NULL && (loop != NULL || pst_loop_new(&loop) == PST_OK));
    pool.name = name;
    host.loop = loop;
    key = live = 0;
    kube->source.host = &host;
    kube->config.port = 8000;
    kube->mark_next.fire = mark_later;
    kube->list = calloc(PST_KUBE_LIST_MAX, sizeof *kube->list);
    PST_ASSERT(kube->list != NULL);
    while (size > 0 && size <= INPUT_MAX) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t len = end == NULL ? size : (size_t)(end - data), used = len + (end != NULL);

        if (len > 0)
            take_line(kube, data[0], (const char *)data + 1, len - 1);
        data += used;
        size -= used;
    }
    pst_kube_fleet_leave(kube, PST_CAUSE_CONFIG);
    PST_ASSERT(kube->count == 0 && live == 0);
    pst_timer_cancel(loop, &kube->mark_next);
    free(kube->list);
    free(kube);
    return 0;
}
