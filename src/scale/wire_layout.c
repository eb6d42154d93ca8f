/* wire_layout.c - see wire_layout.h. */
#include "scale/wire_layout.h"

#include <string.h>

/* A walk over the fields of a message, into a packet or out of it. */
struct walk {
    uint8_t *out;      /* packing */
    const uint8_t *in; /* or reading */
    size_t at, len;
    bool bad; /* too short, or a value out of its range */
};

static void field(struct walk *walk, void *value, size_t size)
{
    if (walk->len - walk->at < size) {
        walk->bad = true;
        return;
    }
    if (walk->in != NULL)
        memcpy(value, walk->in + walk->at, size);
    else
        memcpy(walk->out + walk->at, value, size);
    walk->at += size;
}

#define FIELD(walk, value) field((walk), &(value), sizeof(value))

static void must(struct walk *walk, bool holds)
{
    walk->bad = walk->bad || !holds;
}

/* An enum or index: less than `count`. */
static void choice8(struct walk *walk, uint8_t *value, uint32_t count)
{
    FIELD(walk, *value);
    must(walk, *value < count);
}

static void pool(struct walk *walk, uint16_t *value)
{
    FIELD(walk, *value);
    must(walk, *value < PST_POOLS_MAX);
}

/* Text is sent as its length and its bytes. Visible ASCII: it ends up in logs, labels and headers. */
static void text(struct walk *walk, char *value, size_t size, bool spaces)
{
    uint16_t len = walk->in == NULL ? (uint16_t)strnlen(value, size) : 0;

    FIELD(walk, len);
    must(walk, len < size);
    if (walk->bad)
        return;
    field(walk, value, len);
    if (walk->bad)
        return;
    if (walk->in != NULL)
        value[len] = '\0';
    for (uint16_t i = 0; i < len; i++)
        must(walk, value[i] > (spaces ? '\x1f' : ' ') && value[i] < 0x7f);
}

/* Messages may quote what people wrote, in any language. */
static void message_text(struct walk *walk, char *value, size_t size)
{
    uint16_t len = walk->in == NULL ? (uint16_t)strnlen(value, size) : 0;

    FIELD(walk, len);
    must(walk, len < size);
    if (walk->bad)
        return;
    field(walk, value, len);
    if (!walk->bad && walk->in != NULL) {
        value[len] = '\0';
        must(walk, memchr(value, '\0', len) == NULL);
    }
}

static void replica(struct walk *walk, struct pst_wire_replica *r)
{
    FIELD(walk, r->key);
    must(walk, r->key != 0);
    pool(walk, &r->pool);
    choice8(walk, &r->state, PST_REPLICA_STATE_COUNT);
    choice8(walk, &r->cause, PST_CAUSE_COUNT);
    choice8(walk, &r->warm, 2);
    FIELD(walk, r->op);
    FIELD(walk, r->revision);
    FIELD(walk, r->until);
    text(walk, r->name, sizeof r->name, true);
    text(walk, r->url, sizeof r->url, false);
    must(walk, r->name[0] != '\0');
}

static void result(struct walk *walk, struct pst_scaler_event *e)
{
    choice8(walk, &e->u.result.action, PST_SCALER_ACTION_COUNT);
    choice8(walk, &e->u.result.error, PST_RESULT_COUNT);
    FIELD(walk, e->u.result.op);
}

static void event(struct walk *walk, struct pst_scaler_event *e)
{
    choice8(walk, &e->kind, PST_SCALER_EVENT_COUNT);
    choice8(walk, &e->class_, PST_CLASSES_MAX);
    pool(walk, &e->pool);
    if (walk->bad)
        return;
    switch ((enum pst_scaler_event_kind)e->kind) {
    case PST_SCALER_SIGNAL:
        choice8(walk, &e->u.signal.kind, PST_SIGNAL_COUNT);
        FIELD(walk, e->u.signal.value);
        FIELD(walk, e->u.signal.age);
        return;
    case PST_SCALER_FLOOR:
        choice8(walk, &e->u.floor.source, PST_FLOOR_COUNT);
        FIELD(walk, e->u.floor.replicas);
        FIELD(walk, e->u.floor.from);
        FIELD(walk, e->u.floor.until);
        return;
    case PST_SCALER_SCALE:
        FIELD(walk, e->u.scale.replicas);
        return;
    case PST_SCALER_RESULT:
        result(walk, e);
        return;
    case PST_SCALER_HISTORY:
        FIELD(walk, e->u.history.span);
        FIELD(walk, e->u.history.work);
        return;
    case PST_SCALER_SYNCED:
        return;
    case PST_SCALER_TICK:
    case PST_SCALER_OBSERVE_CLASS:
    case PST_SCALER_OBSERVE_POOL:
    case PST_SCALER_REPLICA:
    case PST_SCALER_WAKE:
    case PST_SCALER_EVENT_COUNT:
        walk->bad = true; /* nobody else's word */
        return;
    }
}

static void past(struct walk *walk, struct pst_wire_day *day)
{
    pool(walk, &day->pool);
    FIELD(walk, day->from_s);
    FIELD(walk, day->replicas);
}

static void action(struct walk *walk, struct pst_scaler_action *a)
{
    choice8(walk, &a->kind, PST_SCALER_ACTION_COUNT);
    pool(walk, &a->pool);
    if (walk->bad)
        return;
    switch ((enum pst_scaler_action_kind)a->kind) {
    case PST_SCALER_START:
        FIELD(walk, a->u.start.op);
        choice8(walk, &a->u.start.warm, 2);
        return;
    case PST_SCALER_PROMOTE:
    case PST_SCALER_CANCEL:
    case PST_SCALER_MARK:
    case PST_SCALER_UNDRAIN:
    case PST_SCALER_REMOVE:
        FIELD(walk, a->u.replica.until);
        return;
    case PST_SCALER_DRAIN:
    case PST_SCALER_DECISION:
    case PST_SCALER_ACTION_COUNT:
        walk->bad = true; /* the gate's, or a page's */
        return;
    }
}

static void message(struct walk *walk, struct pst_wire_message *m)
{
    choice8(walk, &m->kind, PST_WIRE_COUNT);
    if (walk->bad)
        return;
    switch ((enum pst_wire_kind)m->kind) {
    case PST_WIRE_REPLICA:
        replica(walk, &m->u.replica);
        must(walk, (m->u.replica.key & PST_WIRE_KEY_LISTED) == 0);
        return;
    case PST_WIRE_EVENT:
        FIELD(walk, m->key);
        event(walk, &m->u.event);
        return;
    case PST_WIRE_PAST:
        past(walk, &m->u.past);
        return;
    case PST_WIRE_ACTION:
        FIELD(walk, m->key);
        action(walk, &m->u.action);
        must(walk, (m->key == 0) == (m->u.action.kind == PST_SCALER_START));
        return;
    case PST_WIRE_CONFIG:
        choice8(walk, &m->ok, 2);
        message_text(walk, m->u.message, sizeof m->u.message);
        return;
    case PST_WIRE_SYNCED:
    case PST_WIRE_RELOAD:
    case PST_WIRE_COUNT:
        return;
    }
}

size_t pst_wire_pack(const struct pst_wire_message *given, uint8_t packet[PST_WIRE_PACKET_MAX])
{
    struct pst_wire_message copy = *given; /* the walk reads it only */
    struct walk walk = {.out = packet, .len = PST_WIRE_PACKET_MAX};

    message(&walk, &copy);
    PST_ASSERT(!walk.bad);
    return walk.at;
}

int pst_wire_unpack(const uint8_t *packet, size_t len, struct pst_wire_message *ret_message)
{
    struct pst_wire_message read = {.fd = -1};
    struct walk walk = {.in = packet, .len = len};

    message(&walk, &read);
    if (walk.bad || walk.at != len)
        return PST_E_SYNTAX;
    *ret_message = read;
    return PST_OK;
}
