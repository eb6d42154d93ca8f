/*
 * admin_explain.c - GET /explain: why requests of a pool wait, and how many replicas there should be, in
 * words and figures; see admin.h.
 */
#include <stdlib.h>

#include "core/num.h"
#include "observe/admin_room.h"
#include "observe/decision.h"
#include "observe/query.h"
#include "observe/reply.h"

/* How far each bound is used, in parts per million; the one nearest to full refuses next. */
struct bound {
    const char *name;
    uint64_t used, of;
    bool is_time;
};

struct pool_now {
    const struct pst_view *view;
    const struct pst_gate_config *config;
    uint16_t pool;
    struct pst_gate_pool_view gate;
    struct pst_gate_counters counters;
    uint64_t tokens; /* queued, all classes */
};

static uint64_t used_ppm(const struct bound *bound)
{
    return bound->used == PST_NEVER ? UINT64_MAX : pst_muldiv(bound->used, PST_PPM, bound->of);
}

static void write_seconds(struct pst_text *text, pst_ns ns)
{
    if (ns == PST_NEVER)
        pst_text_slice(text, PST_SLICE("unknown (nothing serves it)"));
    else
        pst_text_print(text, "%llu.%03llu s", (unsigned long long)(ns / PST_S),
                       (unsigned long long)(ns % PST_S / PST_MS));
}

static void write_bound(struct pst_text *text, const struct bound *bound)
{
    uint64_t ppm = used_ppm(bound);

    pst_text_print(text, "    %s: ", bound->name);
    if (bound->is_time) {
        write_seconds(text, bound->used);
        pst_text_slice(text, PST_SLICE(" of "));
        write_seconds(text, bound->of);
    } else {
        pst_text_print(text, "%llu of %llu", (unsigned long long)bound->used,
                       (unsigned long long)bound->of);
    }
    if (ppm != UINT64_MAX)
        pst_text_print(text, " (%llu.%llu %%)", (unsigned long long)(ppm / 10000),
                       (unsigned long long)(ppm % 10000 / 1000));
    pst_text_slice(text, PST_SLICE("\n"));
}

static uint32_t queued_of(const struct pst_gate_class_view *now)
{
    uint32_t queued = 0;

    for (int length = 0; length < PST_LENGTH_COUNT; length++)
        queued += now->queued[length];
    return queued;
}

static void write_bounds(struct pst_text *text, const struct pool_now *at, uint8_t class_,
                         const struct pst_gate_class_view *now)
{
    const struct pst_gate_config *config = at->config;
    const struct pst_gate_pool *pool = &config->pools[at->pool];
    bool is_fixed = pool->policy == PST_POLICY_FIXED;
    const struct bound bounds[] = {
        is_fixed ? (struct bound){"queue (count)", queued_of(now), pool->fixed_queue[class_], false}
                 : (struct bound){"work (predicted wait)", now->predicted_wait,
                                  config->classes[class_].max_wait, true},
        {"body bytes held", at->counters.bytes_held, config->bytes_max, false},
        {"tickets", at->counters.tickets, config->tickets_max, false},
        {"estimated tokens queued", at->tokens, is_fixed ? 0 : pool->kv_tokens_max, false},
    };
    const struct bound *next = &bounds[0];

    for (size_t i = 0; i < PST_COUNT_OF(bounds); i++) {
        if (bounds[i].of == 0)
            continue; /* no such bound */
        write_bound(text, &bounds[i]);
        if (used_ppm(&bounds[i]) > used_ppm(next))
            next = &bounds[i];
    }
    pst_text_print(text, "    next to refuse: %s", next->name);
    if (!is_fixed && next == &bounds[0] && config->classes[class_].on_full == PST_ON_FULL_WAIT)
        pst_text_slice(text, PST_SLICE(" (does not refuse: on_full is wait, up to the ttl)"));
    pst_text_slice(text, PST_SLICE("\n"));
}

static void write_class(struct pst_text *text, const struct pool_now *at, uint8_t class_)
{
    struct pst_gate_class_view now;

    pst_gate_class_view(pst_drive_gate(at->view->drive), at->pool, class_,
                        pst_loop_now(at->view->loop), &now);
    pst_text_print(text, "\n  class %s: %u waiting (%u short, %u mid, %u long), %u in flight\n",
                   at->view->registry->classes[class_], queued_of(&now),
                   now.queued[PST_LENGTH_SHORT], now.queued[PST_LENGTH_MID],
                   now.queued[PST_LENGTH_LONG], now.inflight);
    pst_text_slice(text, PST_SLICE("    backlog (its work and all above it, by the drain rate): "));
    write_seconds(text, now.backlog);
    pst_text_slice(text, PST_SLICE("\n    a request that joined now would wait: "));
    write_seconds(text, now.predicted_wait);
    pst_text_slice(text, PST_SLICE("\n    its oldest has waited: "));
    write_seconds(text, now.oldest);
    pst_text_print(text, "\n    slots kept free of it for the classes above: %u\n",
                   now.reserved_slots);
    write_bounds(text, at, class_, &now);
}

static uint64_t tokens_queued(const struct pool_now *at)
{
    uint64_t tokens = 0;

    for (uint8_t class_ = 0; class_ < at->view->registry->classes_count; class_++) {
        struct pst_gate_class_view now;

        pst_gate_class_view(pst_drive_gate(at->view->drive), at->pool, class_,
                            pst_loop_now(at->view->loop), &now);
        tokens += now.queued_tokens;
    }
    return tokens;
}

static void write_pool(struct pst_text *text, const struct pst_view *view, uint16_t pool)
{
    struct pool_now at = {.view = view, .config = &view->config->gate, .pool = pool};

    pst_gate_pool_view(pst_drive_gate(view->drive), pool, &at.gate);
    pst_gate_counters(pst_drive_gate(view->drive), &at.counters);
    at.tokens = tokens_queued(&at);
    pst_text_print(text, "pool %s (policy %s)\n", view->registry->pools[pool],
                   at.config->pools[pool].policy == PST_POLICY_FIXED ? "fixed" : "adaptive");
    pst_text_print(text, "  drained by %u ready replicas with %u slots, %u of them in use\n",
                   at.gate.replicas[PST_REPLICA_READY], at.gate.slots, at.gate.inflight);
    pst_text_print(text, "  on the way: %u starting, %u loading; suspect: %u; draining: %u\n",
                   at.gate.replicas[PST_REPLICA_STARTING], at.gate.replicas[PST_REPLICA_LOADING],
                   at.gate.replicas[PST_REPLICA_SUSPECT], at.gate.replicas[PST_REPLICA_DRAINING]);
    if (at.gate.waiting_no_replica > 0)
        pst_text_print(text, "  waiting because no replica is ready: %u\n",
                       at.gate.waiting_no_replica);
    for (uint8_t class_ = 0; class_ < view->registry->classes_count; class_++)
        write_class(text, &at, class_);
}

/* What was asked for. */
struct wanted {
    const struct pst_view *view;
    const char *pool; /* NULL: all */
    uint32_t decisions;
    bool json;
};

static bool is_wanted(const struct wanted *wanted, uint16_t pool)
{
    return wanted->pool == NULL || strcmp(wanted->view->registry->pools[pool], wanted->pool) == 0;
}

static void write_decisions(struct pst_text *text, const struct wanted *wanted, uint16_t pool)
{
    struct pst_capacity_decision decision;
    pst_ns now = pst_loop_now(wanted->view->loop);

    for (uint32_t i = 0;
         i < wanted->decisions && pst_capacity_decision(wanted->view->capacity, pool, i, &decision);
         i++) {
        if (i == 0)
            pst_text_put(text, "  the last decisions\n");
        pst_decision_brief(text, &decision, now);
    }
}

static void write_json(struct pst_text *text, const struct wanted *wanted, uint16_t pool)
{
    char buffer[PST_DECISION_LINE_MAX];
    struct pst_capacity_decision decision;
    bool decided = pst_decision_last(wanted->view, pool, &decision);

    pst_text_put(text, "{\"pool\":");
    pst_text_quote(text, wanted->view->registry->pools[pool]);
    pst_text_put(text, ",\"now\":");
    if (decided)
        pst_text_slice(text, pst_decision_line(&decision, wanted->view->registry, buffer));
    else
        pst_text_put(text, "null");
    pst_text_put(text, ",\"decisions\":[");
    for (uint32_t i = 0;
         i < wanted->decisions && pst_capacity_decision(wanted->view->capacity, pool, i, &decision);
         i++) {
        if (i > 0)
            pst_text_put(text, ",");
        pst_text_slice(text, pst_decision_line(&decision, wanted->view->registry, buffer));
    }
    pst_text_put(text, "]}");
}

/* The pools that were asked for; how many. */
static uint32_t write_all(struct pst_text *text, const struct wanted *wanted)
{
    uint32_t count = 0;

    for (uint16_t pool = 0; pool < wanted->view->registry->pools_count; pool++) {
        if (!is_wanted(wanted, pool))
            continue;
        if (wanted->json) {
            pst_text_put(text, count == 0 ? "{\"pools\":[" : ",");
            write_json(text, wanted, pool);
        } else {
            write_pool(text, wanted->view, pool);
            pst_decision_explain(text, wanted->view, pool);
            write_decisions(text, wanted, pool);
            pst_text_put(text, "\n");
        }
        count++;
    }
    if (wanted->json)
        pst_text_put(text, "]}\n");
    return count;
}

/* False: no number, or more than are kept. */
static bool read_count(const char *text, uint32_t *ret_count)
{
    char *end;
    unsigned long count = strtoul(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end != '\0' || count > PST_CAPACITY_KEPT)
        return false;
    *ret_count = (uint32_t)count;
    return true;
}

void pst_admin_explain(const struct pst_admin_ask *ask)
{
    struct wanted wanted = {.view = ask->admin->view};
    char name[PST_ADMIN_NAME_MAX], word[16];
    struct pst_text text = {NULL, 0, 0, false};
    int given = pst_query_find(ask->query, "pool", name, sizeof name);

    if (given == PST_OK)
        wanted.pool = name;
    if (pst_query_find(ask->query, "decisions", word, sizeof word) != PST_E_AGAIN &&
        !read_count(word, &wanted.decisions)) {
        pst_reply_error(ask->x, 400, NULL, "decisions: 0 to 256");
        return;
    }
    wanted.json = ask->wants_json;
    if (pst_query_find(ask->query, "format", word, sizeof word) == PST_OK)
        wanted.json = strcmp(word, "json") == 0;
    if (given == PST_E_SYNTAX || write_all(&text, &wanted) == 0) {
        pst_text_done(&text);
        pst_reply_error(ask->x, 404, NULL, "no such pool");
        return;
    }
    pst_reply_text(ask->x, 200, wanted.json ? PST_TYPE_JSON : PST_TYPE_TEXT, &text);
}
