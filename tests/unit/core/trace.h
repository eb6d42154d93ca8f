/*
 * trace.h - golden traces: a script of events and of the actions they must cause, in order.
 *
 *   h1 m2 l3   tickets 1, 2, 3 arrive with class high, medium, low      h*50   fifty, numbered on
 *   +15000     so many ms pass                                          .1     ticket 1 is answered
 *   c1         its client leaves                                        R0 X0  replica 0 comes, goes
 *   f1         ticket 1's attempt is answered "full"                    b1     its first byte comes
 *
 *   =1         dispatched            !1  refused: queue full            ?1     expired: ttl
 *   %1         expired: no replica   #1  cancelled (closed first, if it ran)
 *   g1         dispatched by guard   x1  its attempt is closed         W   wake                           =*8    eight, any
 *   ,          nothing has happened that was not said
 *
 * Letters after an arrival: w wide (4 slots), L long prompt, a or b flow 1 or 2, T its own ttl of 2 s.
 */
#ifndef PST_TEST_CORE_TRACE_H
#define PST_TEST_CORE_TRACE_H

#include "harness.h"

struct trace_row {
    const char *promise;
    const char *script;
    uint32_t slots; /* of each replica; 0: the default */
    uint8_t scope_replica;
};

struct trace {
    struct harness h;
    const struct trace_row *row;
    uint32_t last; /* ticket number given */
};

#define TRACE_FAIL(t, at, ...)                                                                     \
    do {                                                                                           \
        fprintf(stderr, "row \"%s\"\n  at \"%s\": ", (t)->row->promise, (at));                     \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fprintf(stderr, "\n");                                                                     \
        fail();                                                                                    \
    } while (0)

static inline void trace_arrive(struct trace *t, uint8_t class_, uint32_t ticket, const char *how)
{
    struct pst_gate_event event;

    harness_offer(&t->h, ticket, PST_POOL_NONE, class_, 1000);
    harness_drop_last(&t->h, PST_ACTION_CONTINUE);
    event = harness_arrival(&t->h, ticket, class_);
    for (; *how != '\0' && *how != ' '; how++) {
        if (*how == 'w')
            event.u.arrive.sequences = 4;
        else if (*how == 'L')
            event.u.arrive.prompt_bytes = 40000;
        else if (*how == 'a' || *how == 'b')
            event.u.arrive.flow = (uint32_t)(*how - 'a' + 1);
        else if (*how == 'T')
            event.u.arrive.ttl_ms = 2000;
    }
    harness_step(&t->h, &event);
}

static inline void trace_expect(struct trace *t, char what, uint32_t ticket, const char *at)
{
    struct pst_gate_action action = {0};
    bool ok = false;

    if (!harness_next(&t->h, &action))
        TRACE_FAIL(t, at, "nothing happened");
    if (what == '#' && action.kind == PST_ACTION_CLOSE && !harness_next(&t->h, &action))
        TRACE_FAIL(t, at, "closed, but not finished");
    switch (what) {
    case '=':
    case 'g':
        ok = action.kind == PST_ACTION_DISPATCH &&
             (ticket == UINT32_MAX || action.u.dispatch.id.index == ticket) &&
             ((action.u.dispatch.flags & PST_DISPATCH_GUARD) != 0) == (what == 'g');
        break;
    case 'x':
        ok = action.kind == PST_ACTION_CLOSE && action.u.close.id.index == ticket;
        break;
    case 'W':
        ok = action.kind == PST_ACTION_WAKE;
        break;
    default:
        ok = action.kind == PST_ACTION_FINISH && action.u.finish.id.index == ticket;
        if (what == '!')
            ok = ok && action.u.finish.outcome == PST_OUTCOME_REFUSED &&
                 action.u.finish.reason == PST_REASON_QUEUE_FULL &&
                 action.u.finish.retry_after_ms >= 1000 && action.u.finish.retry_after_ms <= 59000;
        else if (what == '?')
            ok = ok && action.u.finish.outcome == PST_OUTCOME_EXPIRED &&
                 action.u.finish.reason == PST_REASON_TTL;
        else if (what == '%')
            ok = ok && action.u.finish.outcome == PST_OUTCOME_EXPIRED &&
                 action.u.finish.reason == PST_REASON_NO_REPLICA;
        else if (what == '#')
            ok = ok && action.u.finish.outcome == PST_OUTCOME_CANCELLED;
        else if (what == '.')
            ok = ok && action.u.finish.outcome == PST_OUTCOME_DONE;
        break;
    }
    if (!ok)
        TRACE_FAIL(t, at, "action %u of ticket %u, reason %u", action.kind,
                   action.kind == PST_ACTION_FINISH ? action.u.finish.id.index
                                                    : action.u.dispatch.id.index,
                   action.kind == PST_ACTION_FINISH ? action.u.finish.reason : 0);
}

static inline void trace_nothing(struct trace *t, const char *at)
{
    struct pst_gate_action action = {0};

    if (harness_next(&t->h, &action))
        TRACE_FAIL(t, at, "unexpected action %u of ticket %u", action.kind,
                   action.u.ticket.id.index);
}

static inline void trace_word(struct trace *t, const char *at)
{
    static const char classes[] = "hml";
    const char *class_ = strchr(classes, at[0]);
    bool many = at[1] == '*';
    char *rest;
    uint32_t n = (uint32_t)strtoul(at + 1 + many, &rest, 10);

    if (class_ != NULL) {
        trace_nothing(t, at);
        for (uint32_t i = many ? 0 : n - 1; i < n; i++) {
            t->last = many ? t->last + 1 : n;
            trace_arrive(t, (uint8_t)(class_ - classes), t->last, rest);
        }
    } else if (at[0] == '+') {
        trace_nothing(t, at);
        harness_time(&t->h, t->h.now + n * PST_MS);
    } else if (at[0] == '.') {
        trace_nothing(t, at);
        harness_end(&t->h, n, PST_END_DONE);
        trace_expect(t, '.', n, at);
    } else if (at[0] == 'f') {
        trace_nothing(t, at);
        harness_end(&t->h, n, PST_END_FULL);
    } else if (at[0] == 'b') {
        struct pst_gate_event event = harness_event(PST_EVENT_FIRST, t->h.now);

        event.u.first.id = harness_id(&t->h, n);
        event.u.first.attempt = t->h.attempt[n];
        harness_step(&t->h, &event);
    } else if (at[0] == 'c') {
        trace_nothing(t, at);
        harness_cancel(&t->h, n);
        trace_expect(t, '#', n, at);
    } else if (at[0] == 'R' || at[0] == 'X') {
        harness_replica(&t->h, (uint16_t)n, 0,
                        at[0] == 'R' ? PST_REPLICA_LOADING : PST_REPLICA_GONE,
                        at[0] == 'R' ? PST_CAUSE_CONFIG : PST_CAUSE_REMOVED);
    } else if (at[0] == ',') {
        trace_nothing(t, at);
    } else if (many) {
        for (uint32_t i = 0; i < n; i++)
            trace_expect(t, at[0], UINT32_MAX, at);
    } else {
        trace_expect(t, at[0], n, at);
    }
    pst_gate_verify(t->h.gate);
}

static inline void trace_run(const struct trace_row *row, const struct pst_gate_config *config)
{
    static struct trace t;
    struct pst_gate_config changed = *config;

    memset(&t, 0, sizeof t);
    t.row = row;
    if (row->slots != 0)
        changed.pools[0].slots = row->slots;
    changed.pools[0].fixed_scope_replica = row->scope_replica;
    harness_init(&t.h, &changed);
    for (const char *at = row->script; *at != '\0'; at += strcspn(at, " "), at += strspn(at, " "))
        trace_word(&t, at);
    trace_nothing(&t, "the end");
    harness_done(&t.h);
}

#endif
