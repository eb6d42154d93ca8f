/* study_course.c - see study_course.h. */
#include "cmd/study_course.h"

typedef double (*figure)(const struct pst_report_point *point, int which);

static double at_of(const struct pst_report_point *point, int which)
{
    (void)which;
    return (double)point->at / PST_S;
}

static double queued_of(const struct pst_report_point *point, int which)
{
    return point->queued[which];
}

static double wait_of(const struct pst_report_point *point, int which)
{
    return (double)point->worst_wait[which] / PST_S;
}

static double replicas_of(const struct pst_report_point *point, int which)
{
    return point->replicas[which];
}

static double desired_of(const struct pst_report_point *point, int which)
{
    (void)which;
    return point->desired;
}

static double inflight_of(const struct pst_report_point *point, int which)
{
    (void)which;
    return point->inflight;
}

static double slots_of(const struct pst_report_point *point, int which)
{
    (void)which;
    return point->slots;
}

static void put_column(const struct pst_sim_report *report, figure of, int which,
                       struct pst_text *text)
{
    for (uint32_t i = 0; i < report->points_count; i++)
        pst_text_print(text, "%s%.7g", i == 0 ? "[" : ",", of(&report->points[i], which));
    pst_text_put(text, report->points_count == 0 ? "[]" : "]");
}

static void put_named_column(const struct pst_sim_report *report, const char *name, figure of,
                             struct pst_text *text)
{
    pst_text_print(text, ",\"%s\":", name);
    put_column(report, of, 0, text);
}

static void put_of_classes(const struct pst_study *study, const struct pst_sim_report *report,
                           const char *name, figure of, struct pst_text *text)
{
    pst_text_print(text, ",\"%s\":[", name);
    for (uint32_t c = 0; c < study->scenario->gate.classes_count; c++) {
        pst_text_put(text, c > 0 ? "," : "");
        put_column(report, of, (int)c, text);
    }
    pst_text_put(text, "]");
}

static void put_of_states(const struct pst_sim_report *report, struct pst_text *text)
{
    pst_text_put(text, ",\"replicas\":{");
    for (int s = PST_REPLICA_GONE + 1; s < PST_REPLICA_STATE_COUNT; s++) {
        pst_text_print(text, "%s\"%s\":", s > PST_REPLICA_GONE + 1 ? "," : "",
                       pst_replica_state_name((enum pst_replica_state)s));
        put_column(report, replicas_of, s, text);
    }
    pst_text_put(text, "}");
}

static void put_reasons(const struct pst_scaler_action *action, struct pst_text *text)
{
    const char *comma = "";

    pst_text_print(text,
                   ",\"ready\":%u,\"starting\":%u,\"warm\":%u,\"draining\":%u,\"winner\":\"%s\""
                   ",\"backlog_s\":%.7g,\"start_s\":%.7g,\"terms\":{",
                   action->u.decision.ready, action->u.decision.starting, action->u.decision.warm,
                   action->u.decision.draining,
                   pst_term_name((enum pst_term)action->u.decision.winner),
                   action->u.decision.backlog_ms / 1e3, action->u.decision.start_ms / 1e3);
    for (int t = 0; t < PST_TERM_COUNT; t++) {
        if (action->u.decision.terms[t] == 0)
            continue;
        pst_text_print(text, "%s\"%s\":%u", comma, pst_term_name((enum pst_term)t),
                       action->u.decision.terms[t]);
        comma = ",";
    }
    pst_text_put(text, "},\"vetoes\":[");
    comma = "";
    for (int v = 0; v < PST_VETO_COUNT; v++) {
        if ((action->u.decision.vetoes >> v & 1u) == 0)
            continue;
        pst_text_print(text, "%s\"%s\"", comma, pst_veto_name((enum pst_veto)v));
        comma = ",";
    }
    pst_text_put(text, "]");
}

static void put_decision(const struct pst_report_decision *decision, struct pst_text *text)
{
    pst_text_print(text, "{\"at\":%.12g,\"pool\":%u,\"before\":%u,\"desired\":%u",
                   (double)decision->at / PST_S, decision->action.pool,
                   decision->action.u.decision.before, decision->action.u.decision.desired);
    if (!decision->peer) /* a peer's rule has no more to say */
        put_reasons(&decision->action, text);
    pst_text_put(text, "}");
}

void pst_study_course(const struct pst_study *study, const struct pst_study_run *run,
                      struct pst_text *text)
{
    const struct pst_sim_report *report = run->report;

    pst_text_put(text, "{\"policy\":");
    pst_text_quote(text, run->policy->policy.name);
    pst_text_print(text, ",\"seed\":%llu,\"at\":", (unsigned long long)run->seed);
    put_column(report, at_of, 0, text);
    put_of_classes(study, report, "queued", queued_of, text);
    put_of_classes(study, report, "worst_wait_s", wait_of, text);
    put_of_states(report, text);
    put_named_column(report, "desired", desired_of, text);
    put_named_column(report, "inflight", inflight_of, text);
    put_named_column(report, "slots", slots_of, text);
    pst_text_put(text, ",\"decisions\":[");
    for (uint32_t i = 0; i < report->decisions_count; i++) {
        pst_text_put(text, i > 0 ? "," : "");
        put_decision(&report->decisions[i], text);
    }
    pst_text_put(text, "]}");
}
