/*
 * scaler_world.h - a scaler under test, with a fake clock and replicas that start, fail, drain and go.
 *
 * A script drives it second by second; what the scaler says is written down with its time, and must
 * be exactly what the row promises. Invariants are asserted after every step. Script, by words:
 *
 *   +N        N seconds, a TICK in each, after the pool was observed
 *   rN        N replicas are ready that nobody here started
 *   warmN     N replicas load that somebody else started for the warm pool
 *   fN        a floor: N replicas are needed from now on
 *   iR:N      replica R has N in flight          oN  so many in flight in the pool, as observed
 *   aN        N tickets a second of class 0, each 1 s of work
 *   qN        so many tickets of class 0 are queued, as observed
 *   blind see the observations stop, and come again
 *   ok quota fail stuck mute    what becomes of STARTs from now on: fine, RESULT QUOTA, a crash after
 *             10 s, never ready, never heard of
 *   coldN     starts take N seconds
 *   crashR goneR suspectR readyR oldR loadR   of a replica: crashes, is removed by others, changes state,
 *             has an older revision, has to load again
 *   gpuN errN latN rolloutN haveN      signals (N %, …); gpu- is missing
 *   scaleN    others set N
 *   wake      a first ticket
 *   nodrain   replicas stay busy until the deadline
 *   stay      REMOVE takes another replica than the one that was named
 *   ?N:a,b    the last decision asks for N, with exactly these vetoes
 *   #         what was said so far is forgotten
 */
#ifndef PST_TEST_CORE_SCALER_WORLD_H
#define PST_TEST_CORE_SCALER_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scaler.h"

#define WORLD_BEGIN (1000 * PST_S) /* the clock's first second */
#define WORLD_LOG   8192

enum world_start {
    WORLD_START_OK,
    WORLD_START_QUOTA,
    WORLD_START_FAIL,
    WORLD_START_STUCK,
    WORLD_START_MUTE
};

struct world;

/* Whoever acts in place of replicas that do as they are told; the header's words and its own. */
struct world_keeper {
    void (*obey)(struct world *w, const struct pst_scaler_action *action);
    void (*second)(struct world *w); /* after each TICK */
    bool (*word)(struct world *w, const char *word);
};

struct world_replica {
    bool is_there, will_crash, warm, is_old; /* warm: its first place is the warm pool */
    bool wants_mark, is_marked, is_going;    /* by its keeper */
    pst_ns gone_at;
    uint8_t state;
    uint32_t op, inflight;
    pst_ns loaded_at;  /* PST_NEVER: nothing will change */
    pst_ns drained_at; /* PST_NEVER: it does not drain */
};

struct world {
    const struct world_keeper *keeper; /* NULL: nobody */
    struct pst_scaler *scaler;
    struct pst_scaler_config config;
    struct world_replica replicas[PST_REPLICAS_MAX];
    enum world_start start;
    pst_ns now, cold;
    uint32_t inflight, queued, arrivals;
    bool is_blind, never_drains, removes_another, has_gpu;
    uint64_t gpu_ppm;
    uint64_t replica_seconds;
    uint32_t most;              /* replicas that existed at once, warm ones included */
    uint32_t starts, ins, outs; /* STARTs; changes of the number */
    uint32_t decisions;         /* that were said */
    const char *name;
    char log[WORLD_LOG];
};

static inline struct pst_scaler_config world_config(void)
{
    return (struct pst_scaler_config){
        .classes_count = 2,
        .pools_count = 1,
        .replicas_max = 32,
        .classes =
            {{.target = 100 * PST_MS, .max_wait = 5 * PST_S, .depth_weight = 2, .envelope = 1},
             {.target = 10 * PST_S, .max_wait = 60 * PST_S, .depth_weight = 1}},
        .pools = {{
            .min = 1,
            .max = 8,
            .slots = 10,
            .rule = PST_RULE_AHEAD,
            .actuate = PST_ACTUATE_OWN,
            .out_above = 2 * PST_S,
            .in_below = 500 * PST_MS,
            .in_after = 60 * PST_S,
            .start_time = 100 * PST_S,
            .warm_time = 5 * PST_S,
            .start_timeout = 300 * PST_S,
            .drain_deadline = 60 * PST_S,
            .stale_after = 15 * PST_S,
            .utilisation_ppm = 900000,
            .inflight_guard_ppm = 800000,
        }},
    };
}

static inline void world_assert_hook(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, condition);
}

static inline void world_fail(const struct world *w, const char *what)
{
    fail_msg("%s: %s at %us; said:%s", w->name, what, (unsigned)((w->now - WORLD_BEGIN) / PST_S),
             w->log);
}

static void world_step(struct world *w, struct pst_scaler_event event);

static inline void world_tell(struct world *w, uint16_t r, bool crashed)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_REPLICA};
    const struct world_replica *replica = &w->replicas[r];

    event.u.replica.replica = r;
    event.u.replica.state = replica->is_there ? replica->state : PST_REPLICA_GONE;
    event.u.replica.crashed = crashed;
    event.u.replica.op = replica->op;
    event.u.replica.revision = replica->is_old ? 1 : 2;
    event.u.replica.inflight = replica->inflight;
    event.u.replica.going = replica->is_going;
    event.u.replica.warm = replica->warm;
    world_step(w, event);
}

static inline void world_set(struct world *w, uint16_t r, enum pst_replica_state state)
{
    w->replicas[r].state = (uint8_t)state;
    world_tell(w, r, false);
}

static inline void world_vanish(struct world *w, uint16_t r, bool crashed)
{
    w->replicas[r].is_there = false;
    world_tell(w, r, crashed);
}

static inline uint16_t world_enter(struct world *w, struct world_replica replica)
{
    uint16_t r = 0;

    while (w->replicas[r].is_there)
        r++;
    assert_true(r < w->config.replicas_max);
    replica.is_there = true;
    replica.drained_at = replica.gone_at = PST_NEVER;
    w->replicas[r] = replica;
    world_tell(w, r, false);
    return r;
}

static inline uint16_t world_appear(struct world *w, enum pst_replica_state state, uint32_t op)
{
    return world_enter(
        w, (struct world_replica){.state = (uint8_t)state, .op = op, .loaded_at = PST_NEVER});
}

static inline void world_find_warm(struct world *w)
{
    world_enter(w, (struct world_replica){
                       .state = PST_REPLICA_LOADING, .warm = true, .loaded_at = w->now + w->cold});
}

static inline void world_result(struct world *w, enum pst_scaler_action_kind action, uint16_t r,
                                uint32_t op, enum pst_result error)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_RESULT};

    event.u.result.action = (uint8_t)action;
    event.u.result.error = (uint8_t)error;
    event.u.result.replica = r;
    event.u.result.op = op;
    world_step(w, event);
}

static inline void world_start(struct world *w, const struct pst_scaler_action *action)
{
    uint16_t r;

    w->starts++;
    if (w->start == WORLD_START_QUOTA) {
        world_result(w, PST_SCALER_START, 0, action->u.start.op, PST_RESULT_QUOTA);
        return;
    }
    if (w->start == WORLD_START_MUTE)
        return;
    r = world_appear(w, PST_REPLICA_STARTING, action->u.start.op);
    w->replicas[r].warm = action->u.start.warm;
    w->replicas[r].will_crash = w->start == WORLD_START_FAIL;
    if (w->start == WORLD_START_OK)
        w->replicas[r].loaded_at = w->now + w->cold;
    else if (w->start == WORLD_START_FAIL)
        w->replicas[r].loaded_at = w->now + 10 * PST_S;
}

static inline void world_remove(struct world *w, uint16_t r)
{
    if (w->removes_another) {
        w->removes_another = false;
        for (r = 0; !w->replicas[r].is_there || w->replicas[r].state != PST_REPLICA_READY;)
            r++;
    }
    world_vanish(w, r, false);
}

static inline void world_obey(struct world *w, const struct pst_scaler_action *action)
{
    uint16_t r = action->u.replica.replica;

    switch ((enum pst_scaler_action_kind)action->kind) {
    case PST_SCALER_START:
        world_start(w, action);
        break;
    case PST_SCALER_PROMOTE:
        w->replicas[r].warm = false;
        w->replicas[r].loaded_at = w->now + 3 * PST_S;
        break;
    case PST_SCALER_CANCEL:
        world_vanish(w, r, false);
        break;
    case PST_SCALER_REMOVE:
        world_remove(w, r);
        break;
    case PST_SCALER_DRAIN:
        w->replicas[r].drained_at = w->never_drains ? PST_NEVER : w->now + 10 * PST_S;
        world_set(w, r, PST_REPLICA_DRAINING);
        break;
    case PST_SCALER_UNDRAIN:
        w->replicas[r].drained_at = PST_NEVER;
        world_set(w, r, PST_REPLICA_READY);
        break;
    case PST_SCALER_DECISION:
        w->outs += action->u.decision.desired > action->u.decision.before;
        w->ins += action->u.decision.desired < action->u.decision.before;
        break;
    case PST_SCALER_MARK:
    case PST_SCALER_ACTION_COUNT:
        break;
    }
}

static inline void world_log(struct world *w, const struct pst_scaler_action *action)
{
    static const char letters[PST_SCALER_ACTION_COUNT + 1] = "SPCMDURd";
    size_t used = strlen(w->log);
    bool is_start = action->kind == PST_SCALER_START;
    char letter = letters[action->kind];

    if (action->kind == PST_SCALER_DECISION) {
        w->decisions++;
        return;
    }
    assert_true(used + 32 < sizeof w->log);
    if (is_start && action->u.start.warm)
        letter = 'W';
    snprintf(w->log + used, sizeof w->log - used, " %u:%c%u",
             (unsigned)((w->now - WORLD_BEGIN) / PST_S), letter,
             is_start ? action->u.start.op : action->u.replica.replica);
}

static inline void world_step(struct world *w, struct pst_scaler_event event)
{
    struct pst_scaler_action actions[PST_REPLICAS_MAX];
    uint32_t count = 0;

    event.now = w->now;
    pst_scaler_step(w->scaler, &event);
    while (pst_scaler_poll(w->scaler, &actions[count]))
        assert_true(++count < PST_REPLICAS_MAX);
    pst_scaler_verify(w->scaler);
    for (uint32_t i = 0; i < count; i++) {
        world_log(w, &actions[i]);
        if (w->keeper != NULL)
            w->keeper->obey(w, &actions[i]);
        else
            world_obey(w, &actions[i]);
    }
}

static inline void world_signal(struct world *w, enum pst_signal kind, uint64_t value, pst_ns age)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_SIGNAL};

    event.u.signal.kind = (uint8_t)kind;
    event.u.signal.value = value;
    event.u.signal.age = age;
    world_step(w, event);
}

static inline void world_observe(struct world *w)
{
    uint32_t ready = 0;

    for (uint16_t r = 0; r < PST_REPLICAS_MAX; r++)
        ready += w->replicas[r].is_there && w->replicas[r].state == PST_REPLICA_READY;
    for (uint8_t c = 0; c < w->config.classes_count; c++) {
        struct pst_scaler_event event = {.kind = PST_SCALER_OBSERVE_CLASS, .class_ = c};

        if (c == 0) {
            event.u.observe_class.arrived = w->arrivals;
            event.u.observe_class.arrived_work = w->arrivals * PST_S;
            event.u.observe_class.waited = w->arrivals;
            event.u.observe_class.queued = w->queued;
            event.u.observe_class.queued_work = w->queued * PST_S;
            event.u.observe_class.inflight = w->inflight;
        }
        world_step(w, event);
    }
    struct pst_scaler_event event = {.kind = PST_SCALER_OBSERVE_POOL};

    event.u.observe_pool.served = w->arrivals;
    event.u.observe_pool.service = w->arrivals * PST_S;
    event.u.observe_pool.service_square = w->arrivals * UINT64_C(2000000000000);
    event.u.observe_pool.slots = ready * w->config.pools[0].slots;
    event.u.observe_pool.inflight = w->inflight;
    event.u.observe_pool.tickets = w->inflight + w->queued > 0;
    world_step(w, event);
}

/* What is due of the replicas' own doing. */
static inline void world_pass(struct world *w)
{
    uint32_t there = 0;

    for (uint16_t r = 0; r < PST_REPLICAS_MAX; r++) {
        struct world_replica *replica = &w->replicas[r];

        if (!replica->is_there)
            continue;
        if (w->now >= replica->loaded_at) {
            replica->loaded_at = PST_NEVER;
            if (replica->will_crash)
                world_vanish(w, r, true);
            else
                world_set(w, r, replica->warm ? PST_REPLICA_WARM : PST_REPLICA_READY);
        } else if (w->now >= replica->drained_at) {
            replica->drained_at = PST_NEVER;
            world_result(w, PST_SCALER_DRAIN, r, 0, PST_RESULT_OK);
        }
        there += replica->is_there;
    }
    w->replica_seconds += there;
    w->most = there > w->most ? there : w->most;
}

static inline void world_second(struct world *w)
{
    struct pst_scaler_event tick = {.kind = PST_SCALER_TICK};

    world_pass(w);
    if (!w->is_blind)
        world_observe(w);
    if (w->has_gpu)
        world_signal(w, PST_SIGNAL_GPU, w->gpu_ppm, 0);
    world_step(w, tick);
    if (w->keeper != NULL)
        w->keeper->second(w);
    w->now += PST_S;
    assert_true(pst_scaler_deadline(w->scaler) == w->now);
}

static inline void world_floor(struct world *w, enum pst_floor source, uint32_t replicas,
                               pst_ns from, pst_ns until)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_FLOOR};

    event.u.floor.source = (uint8_t)source;
    event.u.floor.replicas = replicas;
    event.u.floor.from = from;
    event.u.floor.until = until;
    world_step(w, event);
}

static inline void world_expect_decision(const struct world *w, const char *word)
{
    struct pst_scaler_action action;
    char seen[256];
    int used;

    assert_true(pst_scaler_decision(w->scaler, 0, &action));
    used = snprintf(seen, sizeof seen, "?%u:", action.u.decision.desired);
    for (int v = 0; v < PST_VETO_COUNT; v++) {
        if (action.u.decision.vetoes & 1u << v)
            used += snprintf(seen + used, sizeof seen - (size_t)used, "%s%s",
                             seen[used - 1] == ':' ? "" : ",", pst_veto_name((enum pst_veto)v));
    }
    if (strcmp(seen, word) != 0) {
        fprintf(stderr, "%s: wanted %s, have %s\n", w->name, word, seen);
        world_fail(w, "another decision");
    }
}

static inline void world_start_word(struct world *w, const char *word)
{
    static const char *const words[] = {"ok", "quota", "fail", "stuck", "mute"};

    for (uint32_t i = 0; i < PST_COUNT_OF(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            w->start = (enum world_start)i;
            return;
        }
    }
    world_fail(w, word);
}

static inline void world_word(struct world *w, const char *word)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_EVENT_COUNT};
    unsigned n = 0, m = 0;

    if (w->keeper != NULL && w->keeper->word(w, word))
        return;
    if (sscanf(word, "+%u", &n) == 1) {
        while (n-- > 0)
            world_second(w);
    } else if (sscanf(word, "ready%u", &n) == 1) {
        world_set(w, (uint16_t)n, PST_REPLICA_READY);
    } else if (sscanf(word, "rollout%u", &n) == 1) {
        world_signal(w, PST_SIGNAL_ROLLOUT, n, 0);
    } else if (sscanf(word, "r%u", &n) == 1) {
        while (n-- > 0)
            world_appear(w, PST_REPLICA_READY, 0);
    } else if (sscanf(word, "warm%u", &n) == 1) {
        while (n-- > 0)
            world_find_warm(w);
    } else if (sscanf(word, "f%u", &n) == 1) {
        world_floor(w, PST_FLOOR_PROFILE, n, 0, PST_NEVER);
    } else if (sscanf(word, "i%u:%u", &n, &m) == 2) {
        w->replicas[n].inflight = m;
        world_tell(w, (uint16_t)n, false);
    } else if (sscanf(word, "old%u", &n) == 1) {
        w->replicas[n].is_old = true;
        world_tell(w, (uint16_t)n, false);
    } else if (sscanf(word, "o%u", &n) == 1) {
        w->inflight = n;
    } else if (sscanf(word, "a%u", &n) == 1) {
        w->arrivals = n;
    } else if (sscanf(word, "q%u", &n) == 1) {
        w->queued = n;
    } else if (sscanf(word, "cold%u", &n) == 1) {
        w->cold = n * PST_S;
    } else if (sscanf(word, "load%u", &n) == 1) {
        w->replicas[n].loaded_at = w->now + w->cold;
        world_set(w, (uint16_t)n, PST_REPLICA_LOADING);
    } else if (sscanf(word, "crash%u", &n) == 1) {
        world_vanish(w, (uint16_t)n, true);
    } else if (strcmp(word, "gpu-") == 0) {
        w->has_gpu = false;
    } else if (sscanf(word, "gpu%u", &n) == 1) {
        w->has_gpu = true;
        w->gpu_ppm = n * 10000;
    } else if (sscanf(word, "gone%u", &n) == 1) {
        world_vanish(w, (uint16_t)n, false);
    } else if (sscanf(word, "suspect%u", &n) == 1) {
        world_set(w, (uint16_t)n, PST_REPLICA_SUSPECT);
    } else if (sscanf(word, "err%u", &n) == 1) {
        world_signal(w, PST_SIGNAL_ERRORS, n * 10000, 0);
    } else if (sscanf(word, "lat%u", &n) == 1) {
        world_signal(w, PST_SIGNAL_LATENCY, n, 0);
    } else if (sscanf(word, "have%u", &n) == 1) {
        world_signal(w, PST_SIGNAL_QUOTA, n, 0);
    } else if (sscanf(word, "scale%u", &n) == 1) {
        event.kind = PST_SCALER_SCALE;
        event.u.scale.replicas = n;
        world_step(w, event);
    } else if (strcmp(word, "wake") == 0) {
        event.kind = PST_SCALER_WAKE;
        world_step(w, event);
    } else if (strcmp(word, "blind") == 0 || strcmp(word, "see") == 0) {
        w->is_blind = word[0] == 'b';
    } else if (strcmp(word, "nodrain") == 0) {
        w->never_drains = true;
    } else if (strcmp(word, "stay") == 0) {
        w->removes_another = true;
    } else if (strcmp(word, "#") == 0) {
        w->log[0] = '\0';
    } else if (word[0] == '?') {
        world_expect_decision(w, word);
    } else {
        world_start_word(w, word);
    }
}

static inline void world_play(struct world *w, const char *script)
{
    char copy[1024], *next = copy, *word;

    assert_true(strlen(script) < sizeof copy);
    strcpy(copy, script);
    while ((word = strsep(&next, " ")) != NULL) {
        if (*word != '\0')
            world_word(w, word);
    }
}

static inline void world_init(struct world *w, const struct pst_scaler_config *config,
                              const char *name)
{
    *w = (struct world){.config = *config, .now = WORLD_BEGIN, .cold = 100 * PST_S, .name = name};
    pst_assert_hook = world_assert_hook;
    assert_int_equal(pst_scaler_new(config, &w->scaler), PST_OK);
}

static inline void world_done(struct world *w)
{
    pst_scaler_free(w->scaler);
}

struct world_row {
    const char *name;
    const char *script;
    const char *said; /* all actions but decisions, "second:action" each */
    void (*change)(struct pst_scaler_pool *pool);
};

static inline void world_run(const struct world_row *row, const struct world_keeper *keeper)
{
    struct pst_scaler_config config = world_config();
    struct world w;

    if (row->change != NULL)
        row->change(&config.pools[0]);
    world_init(&w, &config, row->name);
    w.keeper = keeper;
    world_play(&w, row->script);
    if (strcmp(w.log[0] == ' ' ? w.log + 1 : w.log, row->said) != 0) {
        fprintf(stderr, "%s: wanted: %s\n", row->name, row->said);
        world_fail(&w, "other actions");
    }
    world_done(&w);
}

#define WORLD_RUN(rows)                                                                            \
    for (size_t row_ = 0; row_ < PST_COUNT_OF(rows); row_++)                                       \
    world_run(&(rows)[row_], NULL)

#endif
