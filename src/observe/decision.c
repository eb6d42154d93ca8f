/* decision.c - a decision as one JSON object; see decision.h. */
#include "observe/decision.h"

#include <stdio.h>

#include "base/clock.h"
#include "observe/line.h"

bool pst_decision_last(const struct pst_view *view, uint16_t pool,
                       struct pst_capacity_decision *ret_decision)
{
    struct pst_capacity_decision last = {
        .at = pst_loop_now(view->loop),
        .wall_ns = pst_clock_wall_ns(),
    };

    if (!pst_scaler_decision(pst_capacity_scaler(view->capacity), pool, &last.action))
        return false;
    *ret_decision = last;
    return true;
}

static void put_terms(struct pst_line *line, const struct pst_scaler_action *action)
{
    char buffer[512];
    struct pst_line terms;

    pst_line_begin(&terms, buffer, sizeof buffer);
    for (int t = 0; t < PST_TERM_COUNT; t++)
        pst_line_number(&terms, pst_term_name((enum pst_term)t), action->u.decision.terms[t]);
    pst_line_json(line, "terms", pst_line_end(&terms));
}

static void put_vetoes(struct pst_line *line, const struct pst_scaler_action *action)
{
    char list[512] = "[";
    size_t len = 1;

    for (int v = 0; v < PST_VETO_COUNT; v++) {
        if ((action->u.decision.vetoes & 1u << v) != 0)
            len += (size_t)snprintf(list + len, sizeof list - len, "%s\"%s\"", len > 1 ? "," : "",
                                    pst_veto_name((enum pst_veto)v));
    }
    (void)snprintf(list + len, sizeof list - len, "]");
    pst_line_json(line, "vetoes", pst_slice_of(list));
}

/* What is not known, or has no end, is null. */
static void put_ms(struct pst_line *line, const char *name, uint32_t ms)
{
    if (ms == UINT32_MAX)
        pst_line_json(line, name, PST_SLICE("null"));
    else
        pst_line_number(line, name, ms);
}

struct pst_slice pst_decision_line(const struct pst_capacity_decision *decision,
                                   const struct pst_registry *registry,
                                   char buffer[PST_DECISION_LINE_MAX])
{
    const struct pst_scaler_action *action = &decision->action;
    struct pst_line line;

    pst_line_begin(&line, buffer, PST_DECISION_LINE_MAX);
    if (decision->wall_ns != 0)
        pst_line_time(&line, "time", decision->wall_ns);
    pst_line_ms(&line, "at_ms", decision->at);
    pst_line_text(&line, "pool", pst_slice_of(registry->pools[action->pool]), 256);
    pst_line_number(&line, "desired", action->u.decision.desired);
    pst_line_number(&line, "before", action->u.decision.before);
    pst_line_number(&line, "ready", action->u.decision.ready);
    pst_line_number(&line, "starting", action->u.decision.starting);
    pst_line_number(&line, "warm", action->u.decision.warm);
    pst_line_number(&line, "draining", action->u.decision.draining);
    pst_line_text(&line, "winner", pst_slice_of(pst_term_name(action->u.decision.winner)), 32);
    put_terms(&line, action);
    put_vetoes(&line, action);
    put_ms(&line, "backlog_ms", action->u.decision.backlog_ms);
    put_ms(&line, "start_ms", action->u.decision.start_ms);
    put_ms(&line, "oldest_input_ms", action->u.decision.oldest_input_ms);
    return pst_line_end(&line);
}
