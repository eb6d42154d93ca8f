/* scenario_policy.c - what is compared: policies of the file, and those named by their parts. */
#include <string.h>

#include "config/likely.h"
#include "config/scalar.h"
#include "config/scenario_draft.h"

static const char *target_form(enum pst_scenario_pilot pilot)
{
    const uint64_t scale = pst_scenario_target_scale(pilot);

    return scale == 0         ? "this pilot takes no target"
           : scale == PST_PPM ? "a share of the slots is expected, as 70%"
           : scale == 1       ? "a number of replicas is expected, as 4"
                              : "a number for each replica is expected, as 8 or 2.5";
}

static bool read_target(enum pst_scenario_pilot pilot, const char *text, uint64_t *ret_target)
{
    const uint64_t scale = pst_scenario_target_scale(pilot);
    uint32_t ppm = 0;
    double value = 0;

    if (scale == PST_PPM && pst_scalar_share(text, &ppm) == PST_OK)
        value = (double)ppm / (double)scale;
    else if (scale == 0 || scale == PST_PPM || pst_scalar_real(text, &value) != PST_OK)
        return false;
    *ret_target = (uint64_t)(value * (double)scale + 0.5);
    return *ret_target > 0;
}

/* What STATIC aims at is its number. */
static bool take_target(struct pst_scenario_policy *policy, const char *text)
{
    if (!read_target(policy->pilot, text, &policy->target) ||
        (policy->pilot == PST_PILOT_STATIC && policy->target > PST_REPLICAS_MAX))
        return false;
    if (policy->pilot == PST_PILOT_STATIC) {
        policy->replicas = (uint32_t)policy->target;
        policy->target = 0;
    }
    return true;
}

static void resolve_limits(struct pst_scenario_reader *r, const struct pst_draft_policy *draft,
                           struct pst_scenario_policy *policy)
{
    const struct pst_draft_limit *limits = draft->max_wait.items;

    for (size_t i = 0; i < draft->max_wait.count; i++) {
        uint8_t class_;
        if (limits[i].name != NULL &&
            pst_scenario_class(r, limits[i].node, limits[i].name, &class_))
            policy->max_wait[class_] = limits[i].wait;
    }
}

/* Lines of `expect` and options name it between blanks and commas. */
static void check_name(struct pst_scenario_reader *r, const struct pst_draft_policy *draft)
{
    if (strpbrk(draft->name, " \t,") != NULL)
        PST_SCENARIO_ERROR(r, draft->node,
                           "policy '%.80s': a name without blanks and commas is "
                           "expected",
                           draft->name);
}

/* Rules that divide by a number need one from somewhere. */
static void check_qps(struct pst_scenario_reader *r, const struct pst_draft_policy *draft)
{
    const struct pst_scaler_config *scaler = &r->scenario->scaler;

    if (draft->own.pilot != PST_PILOT_QPS || draft->target != NULL)
        return;
    for (uint32_t i = 0; i < scaler->pools_count; i++) {
        if (scaler->pools[i].qps_milli == 0) {
            PST_SCENARIO_ERROR(r, draft->node,
                               "pilot qps needs a `target`, or `scaler.qps` of every pool: "
                               "requests per second of one replica");
            return;
        }
    }
}

static void resolve_policy(struct pst_scenario_reader *r, struct pst_draft_policy *draft)
{
    struct pst_scenario_policy *own = &draft->own;
    const struct pst_tree_node *target = pst_tree_at(draft->node, "target");

    if (draft->name != NULL) {
        pst_scenario_name(r, draft->node, draft->name, own->name);
        check_name(r, draft);
    }
    own->gate = (enum pst_scenario_gate)draft->gate;
    own->pilot = (enum pst_scenario_pilot)draft->pilot;
    own->actuator = (enum pst_scenario_actuator)draft->actuator;
    if (pst_tree_get(draft->node, "warm") == NULL)
        own->warm = UINT32_MAX;
    if (draft->target != NULL && !take_target(own, draft->target))
        PST_SCENARIO_ERROR(r, target, "target: '%.80s' for pilot %s: %s", draft->target,
                           pst_scenario_pilot_name(own->pilot), target_form(own->pilot));
    if (pst_tree_get(draft->node, "replicas") != NULL && own->pilot != PST_PILOT_STATIC)
        PST_SCENARIO_ERROR(r, pst_tree_at(draft->node, "replicas"),
                           "replicas: is of the pilot `static`");
    resolve_limits(r, draft, own);
    check_qps(r, draft);
}

/* What a gateway with this configuration would do. */
static struct pst_scenario_policy configured(const struct pst_scenario *scenario)
{
    static const enum pst_scenario_pilot pilots[PST_RULE_COUNT] = {
        [PST_RULE_AHEAD] = PST_PILOT_AHEAD,   [PST_RULE_BACKLOG] = PST_PILOT_BACKLOG,
        [PST_RULE_QPS] = PST_PILOT_QPS,       [PST_RULE_DEPTH] = PST_PILOT_DEPTH,
        [PST_RULE_STATIC] = PST_PILOT_STATIC,
    };
    struct pst_scenario_policy policy = {.name = "configured", .warm = UINT32_MAX};

    policy.gate = scenario->gate.pools[0].policy == PST_POLICY_FIXED ? PST_SCENARIO_FIXED
                                                                     : PST_SCENARIO_ADAPTIVE;
    policy.pilot = pilots[scenario->scaler.pools[0].rule];
    return policy;
}

void pst_scenario_resolve_policies(struct pst_scenario_reader *r)
{
    struct pst_draft_policy *drafts = r->draft->policies.items;
    const size_t count = r->draft->policies.count;
    struct pst_scenario_policy *list = pst_arena_take(r->arena, (count + 1) * sizeof *list);

    if (list == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        resolve_policy(r, &drafts[i]);
        list[i] = drafts[i].own;
    }
    if (count == 0)
        list[0] = configured(r->scenario);
    r->scenario->policies = list;
    r->scenario->policies_count = count == 0 ? 1 : (uint32_t)count;
}

static bool find_name(const char *const *names, unsigned count, const char *text,
                      unsigned *ret_index)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(names[i], text) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

/* Cuts `text` at the sign; what is behind it, or NULL. */
static char *cut(char *text, char sign)
{
    char *at = strchr(text, sign);

    if (at == NULL)
        return NULL;
    *at = '\0';
    return at + 1;
}

int pst_scenario_policy_read(const char *text, struct pst_scenario_policy *ret_policy,
                             const char **ret_why)
{
    struct pst_scenario_policy policy = {.warm = UINT32_MAX};
    char parts[PST_SCENARIO_NAME_MAX];
    char *pilot, *target, *actuator;
    unsigned index = 0;

    *ret_why = "GATE+PILOT[:TARGET][@ACTUATOR] is expected, as fifo+hpa-occupancy:70%";
    if (strlen(text) >= PST_SCENARIO_NAME_MAX)
        return PST_E_SYNTAX;
    memcpy(parts, text, strlen(text) + 1);
    memcpy(policy.name, text, strlen(text) + 1);
    actuator = cut(parts, '@');
    target = cut(parts, ':');
    pilot = cut(parts, '+');
    if (pilot == NULL)
        return PST_E_SYNTAX;
    *ret_why = "the gate is one of adaptive, fixed, fifo, none";
    if (!find_name(pst_scenario_gate_names, PST_SCENARIO_GATE_COUNT, parts, &index))
        return PST_E_SYNTAX;
    policy.gate = (enum pst_scenario_gate)index;
    *ret_why = "the pilot is one of ahead, backlog, qps, depth, static, hpa-occupancy, "
               "hpa-inflight, hpa-queue, kpa, apa";
    if (!find_name(pst_scenario_pilot_names, PST_PILOT_COUNT, pilot, &index))
        return PST_E_SYNTAX;
    policy.pilot = (enum pst_scenario_pilot)index;
    *ret_why = "the actuator is one of direct, hpa, keda, marked";
    index = PST_ACTUATOR_DIRECT;
    if (actuator != NULL &&
        !find_name(pst_scenario_actuator_names, PST_ACTUATOR_COUNT, actuator, &index))
        return PST_E_SYNTAX;
    policy.actuator = (enum pst_scenario_actuator)index;
    *ret_why = target_form(policy.pilot);
    if (target != NULL && !take_target(&policy, target))
        return PST_E_SYNTAX;
    *ret_policy = policy;
    return PST_OK;
}
