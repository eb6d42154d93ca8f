/* gate_new.c - building a gate, and giving it new numbers. */
#include "core/gate_internal.h"

#include <stdlib.h>

#include "core/num.h"

#define TICKETS_MAX (UINT32_C(1) << 24)
#define FLOWS_MAX   (UINT32_C(1) << 20)

static bool class_is_valid(const struct pst_gate_class *c)
{
    for (int length = 0; length < PST_LENGTH_COUNT; length++) {
        if (c->on_full_length[length] >= PST_ON_FULL_COUNT)
            return false;
    }
    return c->guard_ppm <= PST_PPM &&
           (c->on_full == PST_ON_FULL_REJECT || c->on_full == PST_ON_FULL_WAIT);
}

static bool pool_is_valid(const struct pst_gate_pool *p)
{
    return p->policy < PST_POLICY_COUNT && p->slots > 0 && p->slots <= UINT16_MAX &&
           p->length_short_tokens <= p->length_long_tokens && p->long_share_ppm <= PST_PPM;
}

static bool is_valid(const struct pst_gate_config *config)
{
    if (config->tickets_max == 0 || config->tickets_max > TICKETS_MAX || config->flows_max == 0 ||
        config->flows_max > FLOWS_MAX || config->replicas_max == 0 ||
        config->replicas_max > PST_REPLICAS_MAX || config->classes_count == 0 ||
        config->classes_count > PST_CLASSES_MAX || config->pools_count == 0 ||
        config->pools_count > PST_POOLS_MAX)
        return false;
    for (uint32_t c = 0; c < config->classes_count; c++) {
        if (!class_is_valid(&config->classes[c]))
            return false;
    }
    for (uint32_t p = 0; p < config->pools_count; p++) {
        if (!pool_is_valid(&config->pools[p]))
            return false;
    }
    return true;
}

static void pool_done(struct pst_pool *pool)
{
    for (uint32_t c = 0; c < PST_CLASSES_MAX; c++)
        pst_waitq_done(&pool->queue[c]);
    pst_room_done(&pool->room);
}

/* Takes half-built pools along: what is zero needs no undoing. */
static int pool_init(struct pst_gate *gate, uint32_t index, const struct pst_gate_config *config)
{
    struct pst_pool *pool = &gate->pools[index];
    bool fifo = config->pools[index].policy == PST_POLICY_FIXED;

    pool->config = &gate->config.pools[index];
    pool->classes = gate->config.classes;
    pool->classes_count = config->classes_count;
    pool->fleet = gate->fleet;
    pool->capacity = pst_fleet_capacity(gate->fleet, (uint16_t)index);
    pool->index = (uint16_t)index;
    pool->long_max = UINT32_MAX;
    for (uint32_t c = 0; c < config->classes_count; c++) {
        if (pst_waitq_init(&pool->queue[c], &gate->flows, index * config->classes_count + c,
                           fifo) != PST_OK)
            return PST_E_NOMEM;
    }
    return pst_room_init(&pool->room, config->tickets_max);
}

static void apply(struct pst_gate *gate, const struct pst_gate_config *config)
{
    gate->config = *config;
    gate->bodies.bytes_max = config->bytes_max;
    gate->bodies.body_max = config->body_max;
}

int pst_gate_new(const struct pst_gate_config *config, struct pst_gate **ret_gate)
{
    struct pst_gate *gate;
    int rc = PST_E_NOMEM;

    if (!is_valid(config))
        return PST_E_INVALID;
    gate = calloc(1, sizeof *gate);
    if (gate == NULL)
        return PST_E_NOMEM;
    apply(gate, config);
    gate->phase = PST_PHASE_COUNT;
    pst_prng_init(&gate->prng, config->seed);
    rc = pst_fleet_new(config, &gate->fleet);
    if (rc != PST_OK)
        goto fail;
    rc = PST_E_NOMEM;
    if (pst_slab_init(&gate->slab, config->tickets_max) != PST_OK ||
        pst_heap_init(&gate->first_byte, config->tickets_max) != PST_OK ||
        pst_estimate_init(&gate->estimate, config->flows_max) != PST_OK ||
        pst_flows_init(&gate->flows, config->flows_max, PST_POOLS_MAX * config->classes_count) !=
            PST_OK)
        goto fail;
    for (uint32_t p = 0; p < config->pools_count; p++) {
        if (pool_init(gate, p, config) != PST_OK)
            goto fail;
    }
    *ret_gate = gate;
    return PST_OK;

fail:
    pst_gate_free(gate);
    return rc;
}

void pst_gate_free(struct pst_gate *gate)
{
    if (gate == NULL)
        return;
    for (uint32_t p = 0; p < PST_POOLS_MAX; p++)
        pool_done(&gate->pools[p]);
    pst_flows_done(&gate->flows);
    pst_estimate_done(&gate->estimate);
    pst_heap_done(&gate->first_byte);
    pst_slab_done(&gate->slab);
    pst_fleet_free(gate->fleet);
    free(gate);
}

/* The queue under its new policy: everybody keeps rank and place. */
static void requeue_all(struct pst_waitq *q, bool fifo)
{
    struct pst_ticket_list all = {NULL, NULL};
    struct pst_ticket *ticket;

    while ((ticket = q->age.head) != NULL) {
        pst_waitq_remove(q, ticket);
        pst_ticket_append(&all, PST_CHAIN_AGE, ticket);
    }
    q->fifo = fifo;
    while ((ticket = all.head) != NULL) {
        pst_ticket_unlink(&all, PST_CHAIN_AGE, ticket);
        pst_waitq_push(q, ticket, false);
    }
}

int pst_gate_reconfigure(struct pst_gate *gate, const struct pst_gate_config *config)
{
    uint32_t had = gate->config.pools_count;
    int rc = PST_OK;

    if (!is_valid(config) || config->tickets_max != gate->config.tickets_max ||
        config->flows_max != gate->config.flows_max ||
        config->replicas_max != gate->config.replicas_max ||
        config->classes_count != gate->config.classes_count || config->pools_count < had)
        return PST_E_INVALID;
    for (uint32_t p = had; p < config->pools_count && rc == PST_OK; p++)
        rc = pool_init(gate, p, config);
    if (rc == PST_OK)
        rc = pst_fleet_reconfigure(gate->fleet, config);
    if (rc != PST_OK) {
        for (uint32_t p = had; p < config->pools_count; p++)
            pool_done(&gate->pools[p]);
        return rc;
    }
    for (uint32_t p = 0; p < had; p++) {
        bool fifo = config->pools[p].policy == PST_POLICY_FIXED;

        if (fifo == (gate->config.pools[p].policy == PST_POLICY_FIXED))
            continue;
        for (uint32_t c = 0; c < config->classes_count; c++)
            requeue_all(&gate->pools[p].queue[c], fifo);
    }
    apply(gate, config);
    pst_gate_start_over(gate); /* a higher limit may let somebody go */
    return PST_OK;
}
