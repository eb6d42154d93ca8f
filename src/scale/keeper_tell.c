/* keeper_tell.c - what sources say, and who is told; see keeper_room.h. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/num.h"
#include "scale/keeper_room.h"

static struct pst_wire_replica *find(struct pst_keeper *keeper, uint32_t key)
{
    for (size_t i = 0; i < keeper->replicas_count; i++)
        if (keeper->replicas[i].key == key)
            return &keeper->replicas[i];
    return NULL;
}

static void send_message(struct pst_keeper *keeper, const struct pst_wire_message *message)
{
    if (keeper->wire != NULL)
        (void)pst_wire_send(keeper->wire, message); /* when it fails, its end is told */
}

static void send_replica(struct pst_keeper *keeper, const struct pst_wire_replica *replica)
{
    const struct pst_wire_message message = {
        .kind = PST_WIRE_REPLICA, .fd = -1, .u.replica = *replica};

    send_message(keeper, &message);
}

static void send_event(struct pst_keeper *keeper, uint32_t key,
                       const struct pst_scaler_event *event)
{
    const struct pst_wire_message message = {
        .kind = PST_WIRE_EVENT, .fd = -1, .key = key, .u.event = *event};

    send_message(keeper, &message);
}

static void send_synced(struct pst_keeper *keeper, uint16_t pool)
{
    const struct pst_scaler_event event = {.kind = PST_SCALER_SYNCED, .pool = pool};

    send_event(keeper, 0, &event);
}

/* Once nothing is missing of any pool. */
static void send_all_synced(struct pst_keeper *keeper)
{
    const struct pst_wire_message message = {.kind = PST_WIRE_SYNCED, .fd = -1};

    for (size_t i = 0; i < keeper->config->pools_count; i++)
        if (keeper->pools[i].source != NULL && !keeper->pools[i].synced)
            return;
    send_message(keeper, &message);
}

static uint32_t next_key(void *user)
{
    struct pst_keeper *keeper = user;

    keeper->key++;
    PST_ASSERT(keeper->key < PST_WIRE_KEY_LISTED); /* a thousand years of restarts */
    return keeper->key;
}

static bool make_room(struct pst_keeper *keeper)
{
    size_t size = keeper->replicas_size == 0 ? 64 : 2 * keeper->replicas_size;
    void *bigger;

    if (keeper->replicas_count < keeper->replicas_size)
        return true;
    bigger = realloc(keeper->replicas, size * sizeof *keeper->replicas);
    if (bigger == NULL)
        return false;
    keeper->replicas = bigger;
    keeper->replicas_size = size;
    return true;
}

static void found(void *user, const struct pst_wire_replica *replica)
{
    struct pst_keeper *keeper = user;
    struct pst_wire_replica *kept = find(keeper, replica->key);

    if (replica->state == PST_REPLICA_GONE) {
        if (kept != NULL)
            *kept = keeper->replicas[--keeper->replicas_count];
    } else if (kept != NULL) {
        *kept = *replica;
    } else if (make_room(keeper)) {
        keeper->replicas[keeper->replicas_count++] = *replica;
    } else {
        pst_say(PST_LOG_ERROR, "%s: no memory to know of it", replica->name);
    }
    send_replica(keeper, replica);
}

static void keep(struct pst_keeper_word *word, const struct pst_scaler_event *event)
{
    word->said = true;
    word->event = *event;
}

static void event(void *user, uint32_t key, const struct pst_scaler_event *e)
{
    struct pst_keeper *keeper = user;
    struct pst_keeper_pool *pool = &keeper->pools[e->pool];

    if (e->kind == PST_SCALER_SIGNAL)
        keep(&pool->signals[e->u.signal.kind], e);
    else if (e->kind == PST_SCALER_SCALE)
        keep(&pool->scale, e);
    send_event(keeper, key, e);
}

static void synced(void *user, uint16_t pool)
{
    struct pst_keeper *keeper = user;

    keeper->pools[pool].synced = true;
    send_synced(keeper, pool);
    send_all_synced(keeper);
}

static void measured(void *user, const struct pst_scaler_event *e)
{
    event(user, 0, e);
}

static void past(void *user, const struct pst_wire_day *day)
{
    const struct pst_wire_message message = {.kind = PST_WIRE_PAST, .fd = -1, .u.past = *day};

    send_message(user, &message);
}

static bool has_pod(void *user, uint16_t pool, const char *pod)
{
    const struct pst_keeper *keeper = user;

    for (size_t i = 0; i < keeper->replicas_count; i++)
        if (keeper->replicas[i].pool == pool && strcmp(keeper->replicas[i].name, pod) == 0)
            return true;
    return false;
}

void pst_keeper_tell_init(struct pst_keeper *keeper)
{
    keeper->measure_host = (struct pst_measure_host){
        .loop = keeper->loop,
        .config = keeper->config,
        .user = keeper,
        .tell = measured,
        .past = past,
        .has_pod = has_pod,
    };
    keeper->host = (struct pst_source_host){
        .loop = keeper->loop,
        .config = keeper->config,
        .user = keeper,
        .next_key = next_key,
        .found = found,
        .event = event,
        .synced = synced,
    };
}

static void tell_again(struct pst_keeper *keeper, const struct pst_keeper_word *word)
{
    struct pst_scaler_event event_again = word->event;
    pst_ns now = pst_loop_now(keeper->loop);

    if (!word->said)
        return;
    if (event_again.kind == PST_SCALER_SIGNAL)
        event_again.u.signal.age = pst_add_sat(event_again.u.signal.age, now - event_again.now);
    send_event(keeper, 0, &event_again);
}

/* Who was to leave was the last gateway's to know; another one begins with all of them. */
static void take_marks_back(struct pst_keeper *keeper)
{
    for (size_t i = 0; i < keeper->replicas_count; i++) {
        const struct pst_wire_replica *replica = &keeper->replicas[i];
        const struct pst_scaler_action action = {.kind = PST_SCALER_UNDRAIN, .pool = replica->pool};
        struct pst_source *source = keeper->pools[replica->pool].source;

        if (source != NULL)
            source->kind->act(source, replica->key, &action);
    }
}

void pst_keeper_tell_all(struct pst_keeper *keeper)
{
    if (keeper->lives > 1)
        take_marks_back(keeper);
    for (size_t i = 0; i < keeper->replicas_count; i++) {
        struct pst_wire_replica replica = keeper->replicas[i];

        replica.op = 0; /* the scaler that asked for it is no more, and another counts anew */
        send_replica(keeper, &replica);
    }
    for (uint16_t p = 0; p < keeper->config->pools_count; p++) {
        const struct pst_keeper_pool *pool = &keeper->pools[p];

        for (size_t s = 0; s < PST_SIGNAL_COUNT; s++)
            tell_again(keeper, &pool->signals[s]);
        tell_again(keeper, &pool->scale);
        if (pool->source != NULL && pool->synced)
            send_synced(keeper, p);
    }
    send_all_synced(keeper);
    pst_measure_reload(keeper->measure); /* the past too is told again */
}

/* From the process that parses requests: nothing in it is taken on trust. */
static void act(struct pst_keeper *keeper, uint32_t key, const struct pst_scaler_action *action)
{
    struct pst_wire_replica *replica = find(keeper, key);
    struct pst_source *source =
        action->pool < keeper->config->pools_count ? keeper->pools[action->pool].source : NULL;

    if (source == NULL || keeper->ending)
        return;
    if (action->kind != PST_SCALER_START && (replica == NULL || replica->pool != action->pool))
        return; /* gone meanwhile */
    if (action->kind == PST_SCALER_PROMOTE)
        replica->warm = 0;
    source->kind->act(source, key, action);
}

void pst_keeper_received(void *user, const struct pst_wire_message *message)
{
    struct pst_keeper *keeper = user;

    switch ((enum pst_wire_kind)message->kind) {
    case PST_WIRE_ACTION:
        act(keeper, message->key, &message->u.action);
        return;
    case PST_WIRE_RELOAD:
        pst_keeper_reload(keeper);
        return;
    case PST_WIRE_CONFIG:
    case PST_WIRE_REPLICA:
    case PST_WIRE_EVENT:
    case PST_WIRE_PAST:
    case PST_WIRE_SYNCED:
    case PST_WIRE_COUNT:
        pst_say(PST_LOG_ERROR, "the gateway says what only its keeper may say: it is killed");
        if (message->kind == PST_WIRE_CONFIG && message->fd >= 0)
            close(message->fd);
        pst_keeper_child_signal(keeper, SIGKILL);
        return;
    }
}
