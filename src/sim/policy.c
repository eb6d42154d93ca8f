/* policy.c - what a policy makes of the scenario's configurations: the gate's, and the scaler's. */
#include "core/num.h"
#include "sim/world.h"

#define LOSS_FREE_TICKETS (UINT32_C(1) << 20)
#define UNBOUNDED_NS      (UINT64_C(365) * 24 * 3600 * PST_S)

/* One queue for everybody, in order of arrival, that loses nobody: the gate's own, told so. */
static void make_fifo(struct pst_gate_config *gate)
{
    gate->classes_count = 1;
    gate->classes[0] = (struct pst_gate_class){
        .target = UNBOUNDED_NS,
        .max_wait = UNBOUNDED_NS,
        .ttl = UNBOUNDED_NS,
        .on_full = PST_ON_FULL_WAIT,
        .on_full_length = {PST_ON_FULL_INHERIT, PST_ON_FULL_INHERIT, PST_ON_FULL_INHERIT},
    };
    gate->bytes_max = UINT64_MAX;
    gate->tickets_max = LOSS_FREE_TICKETS;
    for (uint32_t p = 0; p < gate->pools_count; p++) {
        struct pst_gate_pool *pool = &gate->pools[p];

        pool->policy = PST_POLICY_ADAPTIVE;
        pool->length_short_tokens = UINT32_MAX; /* nothing is long: no bin goes first */
        pool->length_long_tokens = UINT32_MAX;
        pool->long_share_ppm = PST_PPM;
        pool->kv_tokens_max = 0;
        pool->no_replica_ttl = UNBOUNDED_NS;
    }
}

static void configure_gate(struct pst_sim *sim)
{
    struct pst_gate_config *gate = &sim->gate_config;
    const struct pst_scenario_policy *policy = sim->policy;

    *gate = sim->scenario->gate;
    for (uint32_t c = 0; c < gate->classes_count; c++) {
        if (policy->max_wait[c] > 0)
            gate->classes[c].max_wait = policy->max_wait[c];
    }
    switch (policy->gate) {
    case PST_SCENARIO_ADAPTIVE:
    case PST_SCENARIO_FIXED:
        for (uint32_t p = 0; p < gate->pools_count; p++)
            gate->pools[p].policy =
                policy->gate == PST_SCENARIO_FIXED ? PST_POLICY_FIXED : PST_POLICY_ADAPTIVE;
        break;
    case PST_SCENARIO_FIFO:
        make_fifo(gate);
        break;
    case PST_SCENARIO_NONE:
    case PST_SCENARIO_GATE_COUNT:
        PST_ASSERT(!"judged before");
    }
    sim->one_class = policy->gate == PST_SCENARIO_FIFO;
}

/* The core's rule of that pilot; false: it is a peer's. */
static bool rule_of(enum pst_scenario_pilot pilot, enum pst_scaler_rule *ret_rule)
{
    switch (pilot) {
    case PST_PILOT_AHEAD:
        *ret_rule = PST_RULE_AHEAD;
        return true;
    case PST_PILOT_BACKLOG:
        *ret_rule = PST_RULE_BACKLOG;
        return true;
    case PST_PILOT_QPS:
        *ret_rule = PST_RULE_QPS;
        return true;
    case PST_PILOT_DEPTH:
        *ret_rule = PST_RULE_DEPTH;
        return true;
    case PST_PILOT_STATIC: /* there is nothing to decide */
    case PST_PILOT_HPA_OCCUPANCY:
    case PST_PILOT_HPA_INFLIGHT:
    case PST_PILOT_HPA_QUEUE:
    case PST_PILOT_KPA:
    case PST_PILOT_APA:
    case PST_PILOT_COUNT:
        break;
    }
    return false;
}

static enum pst_actuate actuate_of(enum pst_scenario_actuator actuator)
{
    switch (actuator) {
    case PST_ACTUATOR_DIRECT:
        return PST_ACTUATE_OWN;
    case PST_ACTUATOR_MARKED:
        return PST_ACTUATE_MARKED;
    case PST_ACTUATOR_HPA:
    case PST_ACTUATOR_KEDA:
    case PST_ACTUATOR_COUNT:
        break;
    }
    return PST_ACTUATE_NONE;
}

static void configure_rule(struct pst_scaler_pool *pool, const struct pst_scenario_policy *policy,
                           enum pst_scaler_rule rule)
{
    pool->rule = (uint8_t)rule;
    pool->actuate = (uint8_t)actuate_of(policy->actuator);
    if (policy->warm != UINT32_MAX)
        pool->warm = policy->warm;
    if (pool->actuate == PST_ACTUATE_MARKED)
        pool->warm = 0;
    if (policy->target > 0 && rule == PST_RULE_QPS)
        pool->qps_milli = (uint32_t)pst_min_u64(policy->target, UINT32_MAX);
    if (policy->target > 0 && rule == PST_RULE_BACKLOG)
        pool->out_above = policy->target;
}

/* True: there is a scaler. */
static bool configure_scaler(struct pst_sim *sim)
{
    struct pst_scaler_config *scaler = &sim->scaler_config;
    const struct pst_scenario_policy *policy = sim->policy;
    enum pst_scaler_rule rule;
    bool own = rule_of(policy->pilot, &rule);

    *scaler = sim->scenario->scaler;
    if (sim->one_class) {
        scaler->classes_count = 1;
        scaler->classes[0].sheds = 0;
    }
    for (uint32_t c = 0; c < scaler->classes_count; c++) {
        if (policy->max_wait[c] > 0)
            scaler->classes[c].max_wait = policy->max_wait[c];
    }
    for (uint32_t p = 0; p < scaler->pools_count; p++)
        scaler->pools[p].reserves = policy->gate == PST_SCENARIO_ADAPTIVE;
    for (uint32_t p = 0; own && p < scaler->pools_count; p++)
        configure_rule(&scaler->pools[p], policy, rule);
    return own;
}

/* Room for those that go while others come. */
static uint32_t replicas_max(const struct pst_sim *sim)
{
    uint64_t sum = 4;

    for (uint32_t p = 0; p < sim->gate_config.pools_count; p++) {
        const struct pst_scaler_pool *pool = &sim->scaler_config.pools[p];

        sum += 2 * ((uint64_t)pool->max + pool->warm) + sim->scenario->pools[p].initial +
               sim->policy->replicas;
    }
    return (uint32_t)pst_min_u64(sum, PST_REPLICAS_MAX);
}

bool pst_policy_configure(struct pst_sim *sim)
{
    bool scales;

    configure_gate(sim);
    scales = configure_scaler(sim);
    sim->gate_config.replicas_max = replicas_max(sim);
    sim->scaler_config.replicas_max = sim->gate_config.replicas_max;
    return scales;
}
