/* resolve_signals.c - what is asked of whom, by engine and by what is written; requests of warm-up. */
#include "config/resolve.h"

#define ENGINE_EVERY (5 * PST_S)

/* Lights: one that nobody can read any more is no green one. `gpu` is asked for by gpu_guard. */
#define LIGHTS (1u << PST_SIGNAL_ERRORS | 1u << PST_SIGNAL_LATENCY | 1u << PST_SIGNAL_ROLLOUT)

static void resolve_queries(struct pst_draft_pool *pool, struct pst_arena *arena)
{
    struct pst_config_signals *signals = &pool->own.signals;
    struct pst_config_query *queries = pst_arena_take(arena, PST_SIGNAL_COUNT * sizeof *queries);
    size_t count = 0;

    if (queries == NULL)
        return;
    for (uint8_t i = 0; i < PST_SIGNAL_COUNT; i++) {
        if (pool->queries[i] == NULL)
            continue;
        queries[count++] = (struct pst_config_query){i, pool->queries[i]};
        pool->scaler.awaits_signals |= (uint8_t)(1u << i & LIGHTS);
    }
    signals->queries = queries;
    signals->queries_count = count;
}

void pst_resolve_signals(struct pst_draft_pool *pool, struct pst_arena *arena)
{
    const struct pst_tree_node *node = pst_tree_get(pool->node, "signals");
    struct pst_config_signals *signals = &pool->own.signals;

    if (pst_tree_get(node, "engine") == NULL && pool->own.engine != PST_ENGINE_OPENAI)
        signals->engine_every = ENGINE_EVERY;
    if (pst_tree_get(node, "nvidia_smi") == NULL)
        signals->nvidia_smi = pool->own.local.gpus_count > 0;
    resolve_queries(pool, arena);
    pool->own.warmup.prompts = pool->prompts.items;
    pool->own.warmup.prompts_count = pool->prompts.count;
}
