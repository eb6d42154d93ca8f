/* warn_capacity.c - what makes a number of replicas flap, stand still or come too late, with the reason. */
#include "config/warn.h"

#include <string.h>

#include "core/export.h"

/* A pool, seen from here. */
struct sight {
    const struct pst_warner *w;
    const struct pst_draft_pool *draft;
    const struct pst_config_pool *own;
    const struct pst_scaler_pool *scaler;
    const struct pst_tree_node *node;   /* of `scaler`; the pool's where there is none */
    const struct pst_tree_node *source; /* of `replicas` */
};

#define POOL(s) ((s)->own->name)

static void warn_slots(const struct sight *s)
{
    const uint32_t whole = s->draft->slots_whole, gateways = s->w->config->gateways;
    const struct pst_tree_node *node = pst_tree_at(s->draft->node, "slots");

    if (gateways <= 1)
        return;
    if (whole < gateways)
        PST_WARN(
            s->w, node,
            "pool %s: %u slots among %u gateways: each takes one, which is more than there are",
            POOL(s), whole, gateways);
    else if (whole % gateways != 0)
        PST_WARN(s->w, node, "pool %s: %u slots among %u gateways: %u of each replica stay unused",
                 POOL(s), whole, gateways, whole % gateways);
}

/* Who cannot be had, or not in time. */
static void warn_bounds(const struct sight *s)
{
    const struct pst_scaler_pool *p = s->scaler;
    const bool says_min = pst_tree_get(s->node, "min") != NULL;

    if (p->actuate == PST_ACTUATE_NONE)
        return;
    if (s->draft->places > 0 && p->max + p->warm > s->draft->places)
        PST_WARN(s->w, pst_tree_at(s->node, "max"),
                 "pool %s: max and warm ask for %u replicas, and there are places for %u", POOL(s),
                 p->max + p->warm, s->draft->places);
    if (p->min == 1 && says_min && p->max > 1)
        PST_WARN(s->w, pst_tree_at(s->node, "min"),
                 "pool %s: min: 1 pays for a replica at night, and nothing serves while it is "
                 "replaced; say 2, or 0 where a first request may wait for a start",
                 POOL(s));
    if (p->min == 0 && p->warm == 0 && p->start_time > s->draft->gate.no_replica_ttl)
        PST_WARN(s->w, pst_tree_at(s->node, "min"),
                 "pool %s: min: 0: the first request waits for a start of start_time, and "
                 "no_replica_ttl ends before",
                 POOL(s));
}

static void warn_warm(const struct sight *s)
{
    if (s->own->dns.name != NULL && s->scaler->warm > 0)
        PST_WARN(
            s->w, pst_tree_at(s->node, "warm"),
            "pool %s: warm has no effect with `dns`: a name says of no replica that it is to be "
            "kept warm; `local` and `kubernetes` do",
            POOL(s));
}

/* What comes and goes faster than a replica starts. */
static void warn_times(const struct sight *s)
{
    const struct pst_scaler_pool *p = s->scaler;
    const pst_ns warming = s->own->warmup.prompts_count * s->own->warmup.timeout;

    if (p->actuate == PST_ACTUATE_NONE)
        return;
    if (p->start_timeout > 0 && p->start_timeout <= p->start_time)
        PST_WARN(s->w, pst_tree_at(s->node, "start_timeout"),
                 "pool %s: start_timeout is not longer than start_time: replicas are given up just "
                 "before they are ready, and started again",
                 POOL(s));
    else if (p->start_timeout > 0 && warming >= p->start_timeout)
        PST_WARN(s->w, pst_tree_at(s->draft->node, "warmup"),
                 "pool %s: the warm-up's time-outs add up to more than start_timeout", POOL(s));
    if (p->in_after < p->start_time &&
        (p->rule == PST_RULE_BACKLOG || p->rule == PST_RULE_QPS || p->rule == PST_RULE_DEPTH))
        PST_WARN(s->w, pst_tree_at(s->node, "in_after"),
                 "pool %s: in_after is shorter than start_time, and this rule does not look ahead: "
                 "what leaves is missed before its successor is ready",
                 POOL(s));
    if (p->drain_deadline < s->draft->gate.first_byte)
        PST_WARN(s->w, pst_tree_at(s->node, "drain_deadline"),
                 "pool %s: drain_deadline is shorter than first_byte: a request that may still run "
                 "is begun again elsewhere when its replica leaves",
                 POOL(s));
}

static void warn_local(const struct sight *s)
{
    const struct pst_config_local *local = &s->own->local;
    const struct pst_tree_node *node = pst_tree_get(s->source, "local");

    if (local->command == NULL || local->gpus_count == 0)
        return;
    if (local->gpus_count % local->gpus_each != 0)
        PST_WARN(s->w, pst_tree_at(node, "gpus"),
                 "pool %s: %zu GPUs, %u for each engine: %zu stay unused", POOL(s),
                 local->gpus_count, local->gpus_each, local->gpus_count % local->gpus_each);
}

static bool has_query(const struct pst_config_signals *signals, enum pst_signal signal)
{
    for (size_t i = 0; i < signals->queries_count; i++) {
        if (signals->queries[i].signal == signal)
            return true;
    }
    return false;
}

static void warn_signals(const struct sight *s)
{
    const struct pst_config_signals *signals = &s->own->signals;
    const struct pst_tree_node *node = pst_tree_get(s->draft->node, "signals");
    const bool asks = signals->dcgm != NULL || signals->nvidia_smi || signals->queries_count > 0;

    if (s->scaler->gpu_guard_ppm > 0 && signals->dcgm == NULL && !signals->nvidia_smi &&
        !has_query(signals, PST_SIGNAL_GPU))
        PST_WARN(s->w, pst_tree_at(s->node, "gpu_guard"),
                 "pool %s: gpu_guard: nothing says the utilisation, so no replica ever leaves; "
                 "give `signals` a dcgm, nvidia_smi or prometheus",
                 POOL(s));
    if (asks && signals->every >= s->scaler->stale_after)
        PST_WARN(s->w, pst_tree_at(node, "every"),
                 "pool %s: signals.every is not shorter than scaler.stale_after: a value is old "
                 "before the next comes, and no replica leaves",
                 POOL(s));
    if (signals->prometheus_token_file != NULL && strncmp(signals->prometheus, "http:", 5) == 0)
        PST_WARN(s->w, pst_tree_at(pst_tree_get(node, "prometheus"), "token_file"),
                 "pool %s: the token goes over the network as it is; use https://", POOL(s));
}

static void warn_export(const struct sight *s)
{
    const struct pst_tree_node *node = pst_tree_get(s->draft->node, "export");

    if (pst_tree_get(node, "tolerance") != NULL && s->own->export_.band == PST_EXPORT_EXACT)
        PST_WARN(s->w, pst_tree_at(node, "tolerance"),
                 "pool %s: `tolerance` has no effect with band exact", POOL(s));
    if (s->scaler->actuate == PST_ACTUATE_MARKED && s->w->config->keda.listen == NULL &&
        s->w->config->metrics == NULL)
        PST_WARN(s->w, pst_tree_at(s->source, "kubernetes"),
                 "pool %s: nobody is told how many replicas there should be: neither `keda` nor "
                 "`metrics` listens",
                 POOL(s));
}

static void warn_cron(const struct sight *s)
{
    const struct pst_draft_cron *cron = s->draft->cron.items;

    for (size_t i = 0; i < s->draft->cron.count; i++) {
        if (cron[i].own.replicas > s->scaler->max)
            PST_WARN(s->w, pst_tree_at(cron[i].node, "replicas"),
                     "pool %s: this rule asks for %u, and max is %u", POOL(s), cron[i].own.replicas,
                     s->scaler->max);
        if (strcmp(cron[i].own.from, cron[i].own.until) == 0)
            PST_WARN(s->w, pst_tree_at(cron[i].node, "until"),
                     "pool %s: this rule begins when it ends: it holds all the time", POOL(s));
    }
}

void pst_warn_capacity(const struct pst_warner *w, size_t i)
{
    const struct pst_draft_pool *draft = (const struct pst_draft_pool *)w->draft->pools.items + i;
    const struct sight s = {
        .w = w,
        .draft = draft,
        .own = &w->config->pools[i],
        .scaler = &w->config->scaler.pools[i],
        .node = pst_tree_at(draft->node, "scaler"),
        .source = pst_tree_get(draft->node, "replicas"),
    };

    warn_slots(&s);
    warn_bounds(&s);
    warn_warm(&s);
    warn_times(&s);
    warn_local(&s);
    warn_signals(&s);
    warn_export(&s);
    warn_cron(&s);
}
