/* scenario_warn.c - allowed, and probably not meant: with the reason. */
#include "config/scenario_draft.h"

static bool is_used(const struct pst_scenario *s, uint32_t class_)
{
    for (uint32_t i = 0; i < s->streams_count; i++) {
        const struct pst_stream *stream = &s->streams[i];
        bool drawn = false;
        for (uint32_t c = 0; c < PST_CLASSES_MAX; c++)
            drawn = drawn || stream->class_ppm[c] > 0;
        if (stream->class_ppm[class_] > 0 || (!drawn && stream->class_ == class_) ||
            stream->recording != NULL)
            return true;
        for (uint64_t j = 0; j < stream->rows_count; j++) {
            if (stream->rows[j].class_ == class_)
                return true;
        }
    }
    return false;
}

static void warn_classes(const struct pst_scenario_reader *r)
{
    const struct pst_draft_class *classes = r->draft->base.classes.items;

    for (uint32_t i = 0; i < r->scenario->gate.classes_count; i++) {
        if (classes[i].node != NULL && !is_used(r->scenario, i))
            PST_SCENARIO_WARN(r, classes[i].node, "class %s: no stream uses it",
                              r->scenario->class_names[i]);
    }
}

static void warn_pools(const struct pst_scenario_reader *r)
{
    const struct pst_draft_pool *pools = r->draft->base.pools.items;
    const struct pst_scenario *s = r->scenario;

    for (uint32_t i = 0; i < s->gate.pools_count; i++) {
        bool used = false;
        for (uint32_t j = 0; j < s->streams_count; j++)
            used = used || s->streams[j].pool == i;
        if (!used)
            PST_SCENARIO_WARN(r, pools[i].node, "pool %s: no stream goes there", pools[i].own.name);
        if (pools[i].cron.count > 0 || pools[i].own.prescale.profile != PST_PROFILE_NONE)
            PST_SCENARIO_WARN(r, pst_tree_at(pools[i].node, "scaler"),
                              "pool %s: a scenario has no time of day: cron and profile have no "
                              "effect",
                              pools[i].own.name);
        if (s->pools[i].initial < s->scaler.pools[i].min)
            PST_SCENARIO_WARN(r, pst_tree_at(pst_tree_get(pools[i].node, "life"), "initial"),
                              "pool %s: fewer replicas at the beginning than scaler.min: the first "
                              "thing to be seen is a start",
                              pools[i].own.name);
    }
}

/* As warn.c says it of the classes' own. */
static void warn_policies(const struct pst_scenario_reader *r)
{
    const struct pst_draft_policy *drafts = r->draft->policies.items;
    const struct pst_scenario *s = r->scenario;

    for (size_t i = 0; i < r->draft->policies.count; i++) {
        for (uint32_t c = 0; c < s->gate.classes_count; c++) {
            if (s->policies[i].max_wait[c] > s->gate.classes[c].ttl)
                PST_SCENARIO_WARN(
                    r, pst_tree_at(drafts[i].node, "max_wait"),
                    "policy %s: max_wait of class %s is longer than its ttl: requests "
                    "are let in that can only expire",
                    s->policies[i].name, s->class_names[c]);
        }
    }
}

/* What lies behind the horizon is never seen. */
static void warn_times(const struct pst_scenario_reader *r)
{
    const struct pst_draft_stream *streams = r->draft->streams.items;
    const struct pst_draft_fault *faults = r->draft->faults.items;
    const struct pst_scenario *s = r->scenario;

    for (uint32_t i = 0; i < s->streams_count; i++) {
        if (s->streams[i].begin >= s->horizon)
            PST_SCENARIO_WARN(r, pst_tree_at(streams[i].node, "from"),
                              "stream %s: begins behind the horizon", s->streams[i].name);
        if (s->streams[i].rows_count > 0 && s->streams[i].rows[0].at >= s->horizon)
            PST_SCENARIO_WARN(r, pst_tree_at(streams[i].node, "trace"),
                              "stream %s: the trace begins behind the horizon", s->streams[i].name);
    }
    for (uint32_t i = 0; i < s->faults_count; i++) {
        if (s->faults[i].at >= s->horizon)
            PST_SCENARIO_WARN(r, pst_tree_at(faults[i].node, "at"),
                              "faults: this one begins behind the horizon");
    }
}

static void warn_expectations(const struct pst_scenario_reader *r)
{
    const struct pst_scenario *s = r->scenario;

    for (uint32_t i = 0; i < s->expectations_count; i++) {
        const struct pst_expectation *e = &s->expectations[i];
        bool priced = e->measure != PST_MEASURE_COST;
        for (uint32_t p = 0; p < s->scaler.pools_count; p++)
            priced = priced || s->scaler.pools[p].cost_micro > 0;
        if (!priced)
            pst_problems_add(r->problems, PST_PROBLEM_WARNING, e->line, 1,
                             "expect: cost is 0 without `scaler.cost_per_hour`");
    }
}

void pst_scenario_warn(const struct pst_scenario_reader *r)
{
    warn_classes(r);
    warn_pools(r);
    warn_policies(r);
    warn_times(r);
    warn_expectations(r);
}
