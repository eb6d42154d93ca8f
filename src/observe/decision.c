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
    pst_scaler_inputs(pst_capacity_scaler(view->capacity), pool, last.at, &last.inputs);
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

bool pst_decision_has_signal(const struct pst_scaler_inputs *inputs, enum pst_signal signal)
{
    return (inputs->awaited >> signal & 1) != 0 || inputs->ages[signal] != PST_NEVER;
}

bool pst_decision_is_share(enum pst_signal signal)
{
    return signal == PST_SIGNAL_GPU || signal == PST_SIGNAL_ERRORS ||
           signal == PST_SIGNAL_GPU_MEMORY;
}

static void put_value(struct pst_line *line, enum pst_signal signal, uint64_t value)
{
    char text[32];

    if (pst_decision_is_share(signal))
        (void)snprintf(text, sizeof text, "%llu.%06u", (unsigned long long)(value / PST_PPM),
                       (unsigned)(value % PST_PPM));
    else
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    pst_line_json(line, "value", pst_slice_of(text));
}

static void put_age(struct pst_line *line, pst_ns age)
{
    if (age == PST_NEVER)
        pst_line_json(line, "age_ms", PST_SLICE("null"));
    else
        pst_line_number(line, "age_ms", age / PST_MS);
}

static void put_inputs(struct pst_line *line, const struct pst_scaler_inputs *given)
{
    char buffer[512], part[128];
    struct pst_line inputs, input;

    pst_line_begin(&inputs, buffer, sizeof buffer);
    pst_line_begin(&input, part, sizeof part);
    put_age(&input, given->own_age);
    pst_line_json(&inputs, "own", pst_line_end(&input));
    for (int s = 0; s < PST_SIGNAL_COUNT; s++) {
        if (!pst_decision_has_signal(given, (enum pst_signal)s))
            continue;
        pst_line_begin(&input, part, sizeof part);
        if (given->ages[s] == PST_NEVER)
            pst_line_json(&input, "value", PST_SLICE("null"));
        else
            put_value(&input, (enum pst_signal)s, given->values[s]);
        put_age(&input, given->ages[s]);
        pst_line_json(&inputs, pst_signal_name((enum pst_signal)s), pst_line_end(&input));
    }
    pst_line_json(line, "inputs", pst_line_end(&inputs));
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
    put_inputs(&line, &decision->inputs);
    return pst_line_end(&line);
}
