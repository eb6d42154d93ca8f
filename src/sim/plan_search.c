/* plan_search.c - see plan.h: the least number that passes in simulation. */
#include <stdlib.h>

#include "core/num.h"
#include "sim/plan.h"
#include "sim/queue.h"

bool pst_plan_class_passes(const struct pst_sim_report *report, const struct pst_scenario *scenario,
                           uint8_t class_)
{
    double share;

    if (report->classes[class_].arrived == 0)
        return true;
    return pst_report_value(report, scenario, class_, PST_MEASURE_ATTAINMENT, &share) &&
           share >= PST_PLAN_SHARE_PPM;
}

bool pst_plan_passes(const struct pst_sim_report *report, const struct pst_scenario *scenario)
{
    for (uint8_t c = 0; c < scenario->gate.classes_count; c++)
        if (!pst_plan_class_passes(report, scenario, c))
            return false;
    return true;
}

/* From the start in doubling strides until one passes and one fails. */
static int bracket(pst_plan_try attempt, void *user, uint32_t from, uint32_t most,
                   uint32_t *ret_fails, uint32_t *ret_passes)
{
    uint32_t fails = 0, passes = 0, at = from, stride = 1;

    while (passes == 0 || (fails == 0 && passes > 1)) {
        bool good = false;
        int rc = attempt(user, at, &good);

        if (rc != PST_OK)
            return rc;
        if (good)
            passes = at;
        else
            fails = at;
        if (fails == most)
            return PST_E_FULL;
        if (good)
            at = at > stride ? at - stride : 1;
        else
            at = (uint32_t)pst_min_u64((uint64_t)at + stride, most);
        stride *= 2;
    }
    *ret_fails = fails;
    *ret_passes = passes;
    return PST_OK;
}

int pst_plan_search(pst_plan_try attempt, void *user, uint32_t from, uint32_t most,
                    uint32_t *ret_replicas)
{
    uint32_t fails = 0, passes = 0;
    int rc;

    PST_ASSERT(from > 0 && from <= most);
    rc = bracket(attempt, user, from, most, &fails, &passes);
    while (rc == PST_OK && passes - fails > 1) {
        uint32_t middle = fails + (passes - fails) / 2;
        bool good = false;

        rc = attempt(user, middle, &good);
        if (good)
            passes = middle;
        else
            fails = middle;
    }
    if (rc == PST_OK)
        *ret_replicas = passes;
    return rc;
}

struct plain {
    const struct pst_plan_scene *scene;
    double erlangs;
    uint64_t seed;
    struct pst_sim_report *report;
    const char *why;
};

static int try_plain(void *user, uint32_t replicas, bool *ret_passes)
{
    struct plain *plain = user;
    const struct pst_scenario *scenario = &plain->scene->scenario;
    const struct pst_scenario_policy policy = {.gate = PST_SCENARIO_NONE,
                                               .pilot = PST_PILOT_STATIC,
                                               .replicas = replicas,
                                               .warm = UINT32_MAX};
    int rc;

    *ret_passes = false;
    if ((double)replicas * scenario->gate.pools[0].slots < plain->erlangs)
        return PST_OK;
    rc = pst_queue_run(scenario, &policy, plain->seed, plain->report, &plain->why);
    if (rc == PST_OK)
        *ret_passes = pst_plan_passes(plain->report, scenario);
    return rc;
}

int pst_plan_search_queue(const struct pst_plan_scene *scene, const struct pst_plan_load *load,
                          uint64_t seed, uint32_t from, uint32_t most, uint32_t *ret_replicas,
                          const char **ret_why)
{
    struct plain plain = {.scene = scene, .seed = seed, .why = ""};
    int rc;

    plain.erlangs = load->upto[load->classes_count - 1].erlangs;
    plain.report = malloc(sizeof *plain.report);
    if (plain.report == NULL)
        return PST_E_NOMEM;
    rc = pst_plan_search(try_plain, &plain, from, most, ret_replicas);
    *ret_why = plain.why;
    free(plain.report);
    return rc;
}
