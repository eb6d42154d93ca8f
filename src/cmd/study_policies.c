/* study_policies.c - which policies are compared; see study.h. */
#include "cmd/study.h"

#include <stdio.h>
#include <string.h>

#include "config/scenario.h"
#include "sim/pilot.h"

#define GRID ":grid" /* after a policy's name */

static bool is_named(const struct pst_scenario_policy *policy, const char *name, size_t len)
{
    return strlen(policy->name) == len && memcmp(policy->name, name, len) == 0;
}

static int add(struct pst_study *study, const struct pst_scenario_policy *policy, uint32_t index,
               const char **ret_why)
{
    for (uint32_t i = 0; i < study->policies_count; i++)
        if (is_named(policy, study->policies[i].policy.name,
                     strlen(study->policies[i].policy.name)))
            return PST_OK; /* once is enough */
    if (study->policies_count == PST_STUDY_COMPARED_MAX) {
        *ret_why = "too many policies to compare";
        return PST_E_SYNTAX;
    }
    study->policies[study->policies_count++] = (struct pst_study_policy){*policy, index};
    return PST_OK;
}

/* It divides by a number, which has to come from somewhere. */
static bool lacks_qps(const struct pst_scenario *scenario, const struct pst_scenario_policy *policy)
{
    bool lacks = false;

    for (uint32_t p = 0; p < scenario->scaler.pools_count; p++)
        lacks = lacks || scenario->scaler.pools[p].qps_milli == 0;
    return lacks && policy->pilot == PST_PILOT_QPS && policy->target == 0;
}

static int add_by_parts(struct pst_study *study, const char *parts, size_t len,
                        const char **ret_why)
{
    struct pst_scenario_policy policy;
    char text[PST_SCENARIO_NAME_MAX];
    int rc;

    *ret_why = "the file has no policy of this name, and it is too long for GATE+PILOT";
    if (len >= sizeof text)
        return PST_E_SYNTAX;
    memcpy(text, parts, len);
    text[len] = '\0';
    rc = pst_scenario_policy_read(text, &policy, ret_why);
    if (rc == PST_OK && lacks_qps(study->scenario, &policy)) {
        *ret_why = "qps needs a target, as qps:8, or `scaler.qps` of every pool";
        rc = PST_E_SYNTAX;
    }
    return rc == PST_OK ? add(study, &policy, PST_STUDY_EXTERNAL, ret_why) : rc;
}

static int add_named(struct pst_study *study, const char *name, size_t len, const char **ret_why)
{
    const struct pst_scenario *scenario = study->scenario;

    for (uint32_t i = 0; i < scenario->policies_count; i++)
        if (is_named(&scenario->policies[i], name, len))
            return add(study, &scenario->policies[i], i, ret_why);
    return add_by_parts(study, name, len, ret_why);
}

/* Aims it, and says so behind its name as a target is written: "70%", "3.5", "4". False: too long. */
static bool aim(struct pst_scenario_policy *policy, const char *name, size_t len, uint64_t target)
{
    const uint64_t scale = pst_scenario_target_scale(policy->pilot);
    const bool is_share = scale == PST_PPM;
    const int written =
        snprintf(policy->name, sizeof policy->name, "%.*s:%.4g%s", (int)len, name,
                 (double)target / (is_share ? 1e4 : (double)scale), is_share ? "%" : "");

    if (policy->pilot == PST_PILOT_STATIC)
        policy->replicas = (uint32_t)target;
    else
        policy->target = target;
    return (size_t)written < sizeof policy->name;
}

/* A peer at every target that its best is looked for among. */
static int add_grid(struct pst_study *study, const char *name, size_t len, const char **ret_why)
{
    uint32_t at = study->policies_count;
    int rc = add_named(study, name, len, ret_why);
    struct pst_scenario_policy policy;
    uint64_t targets[PST_PILOT_GRID_MAX];
    uint32_t count;

    if (rc != PST_OK || study->policies_count == at)
        return rc;
    policy = study->policies[--study->policies_count].policy;
    count = pst_pilot_grid(policy.pilot, &study->scenario->scaler.pools[0], targets);
    *ret_why = "a rule without a target has no grid of them";
    rc = count > 0 ? PST_OK : PST_E_SYNTAX;
    for (uint32_t i = 0; i < count && rc == PST_OK; i++) {
        *ret_why = "with a target behind it the name is too long";
        rc = aim(&policy, name, len, targets[i]) ? add(study, &policy, PST_STUDY_EXTERNAL, ret_why)
                                                 : PST_E_SYNTAX;
    }
    return rc;
}

static bool ends_in_grid(const char *name, size_t len)
{
    return len > sizeof GRID - 1 &&
           memcmp(name + len - (sizeof GRID - 1), GRID, sizeof GRID - 1) == 0;
}

/* The reader gives a file without policies the one that its configuration describes. */
static int add_all(struct pst_study *study, const char **ret_why)
{
    int rc = PST_OK;

    for (uint32_t i = 0; i < study->scenario->policies_count && rc == PST_OK; i++)
        rc = add(study, &study->scenario->policies[i], i, ret_why);
    return rc;
}

int pst_study_choose(struct pst_study *study, const char *names, const char **ret_why,
                     const char **ret_name, size_t *ret_len)
{
    *ret_name = "";
    *ret_len = 0;
    study->policies_count = 0;
    if (names == NULL)
        return add_all(study, ret_why);
    for (;;) {
        int rc;

        *ret_name = names;
        *ret_len = strcspn(names, ",");
        if (ends_in_grid(names, *ret_len))
            rc = add_grid(study, names, *ret_len - (sizeof GRID - 1), ret_why);
        else
            rc = add_named(study, names, *ret_len, ret_why);
        if (rc != PST_OK || names[*ret_len] == '\0')
            return rc;
        names += *ret_len + 1;
    }
}
