/* decision_text.c - a decision in words, and what would have to change for another one; see decision.h. */
#include "observe/decision.h"

/* What each question asks. */
static const char *const questions[PST_TERM_COUNT] = {
    [PST_TERM_NOW] = "for what runs and arrives now",
    [PST_TERM_AHEAD] = "to keep every class's deadline over the forecast",
    [PST_TERM_BACKLOG] = "to work off what is queued",
    [PST_TERM_SLA] = "to bring waits back within the targets",
    [PST_TERM_ENVELOPE] = "for bursts as large as those of the last hour",
    [PST_TERM_CRON] = "by the calendar",
    [PST_TERM_PROFILE] = "by what was needed at this time before",
    [PST_TERM_CANARY] = "for a canary",
    [PST_TERM_MIN] = "as `min` says",
};

/* Why the number is not what the questions ask for, and what would change that. */
static const struct {
    const char *why, *then;
} vetoes[PST_VETO_COUNT] = {
    [PST_VETO_MAX] = {"more is needed than may be", "raise `scaler.max`"},
    [PST_VETO_BUDGET] = {"the budget allows no more", "raise `scaler.budget`"},
    [PST_VETO_QUOTA] = {"no more can be had: no place, GPU or quota is free", "free or add some"},
    [PST_VETO_BACK_OFF] = {"starts failed",
                           "the next try comes by itself, later each time; see why "
                           "they fail"},
    [PST_VETO_PENDING] = {"replicas have been starting for too long, and are not counted on",
                          "see why they do not become ready"},
    [PST_VETO_WORTH] = {"the need would be over before a replica is ready",
                        "it has to last longer than a start"},
    [PST_VETO_HOLD] = {"less would do, but not for `in_after` yet", "it has to last"},
    [PST_VETO_NEEDED_SOON] = {"less would do now, but not until a start from now",
                              "the forecast has to fall"},
    [PST_VETO_INFLIGHT] = {"too much is in flight for the slots that would remain",
                           "it has to end, or `inflight_guard` be raised"},
    [PST_VETO_GPU] = {"the GPUs are busier than `gpu_guard`", "they have to calm down"},
    [PST_VETO_GUARD] = {"errors or latency are not green", "they have to be"},
    [PST_VETO_ROLLOUT] = {"a rollout runs", "it has to end"},
    [PST_VETO_STALE] = {"what it decides by is missing or old", "it has to come again"},
    [PST_VETO_RESTART] = {"the scaler is fresh, and asks for nothing less than what runs",
                          "it lasts for the longest start or drain"},
    [PST_VETO_WAIT] = {"with fewer, a class would wait beyond its target", "load has to fall"},
};

static const char *actor(uint8_t actuate)
{
    switch ((enum pst_actuate)actuate) {
    case PST_ACTUATE_OWN:
        return "its own engines on this host";
    case PST_ACTUATE_MARKED:
        return "whoever keeps the number of pods is told it; who goes first is marked";
    case PST_ACTUATE_NUMBER:
        return "whoever keeps the number is told it";
    case PST_ACTUATE_NONE:
    case PST_ACTUATE_COUNT:
        break;
    }
    return "nobody; this is advice";
}

static void put_ms(struct pst_text *text, uint32_t ms)
{
    if (ms == UINT32_MAX)
        pst_text_put(text, "not known");
    else
        pst_text_print(text, "%u.%03u s", ms / 1000, ms % 1000);
}

static void put_terms(struct pst_text *text, const struct pst_scaler_action *action)
{
    for (int t = 0; t < PST_TERM_COUNT; t++)
        pst_text_print(text, "    %-8s %4u  %s%s\n", pst_term_name((enum pst_term)t),
                       action->u.decision.terms[t], questions[t],
                       t == action->u.decision.winner ? "  <- the most" : "");
}

static void put_vetoes(struct pst_text *text, uint32_t bits)
{
    pst_text_put(text,
                 bits == 0 ? "    nothing stands in the way\n" : "    what stands in the way\n");
    for (int v = 0; v < PST_VETO_COUNT; v++) {
        if ((bits & 1u << v) != 0)
            pst_text_print(text, "      %s: %s; %s\n", pst_veto_name((enum pst_veto)v),
                           vetoes[v].why, vetoes[v].then);
    }
}

/* When this number was decided, as far back as decisions are kept. */
static pst_ns wanted_since(const struct pst_view *view, uint16_t pool,
                           const struct pst_capacity_decision *last)
{
    struct pst_capacity_decision decision;
    pst_ns since = last->at;

    for (uint32_t i = 0; pst_capacity_decision(view->capacity, pool, i, &decision) &&
                         decision.action.u.decision.desired == last->action.u.decision.desired;
         i++)
        since = decision.at;
    return since;
}

/* The measures behind it, and since when it is so. */
static void put_measures(struct pst_text *text, const struct pst_scaler_action *action,
                         pst_ns wanted_for)
{
    pst_text_put(text, "    backlog: ");
    put_ms(text, action->u.decision.backlog_ms);
    pst_text_put(text, "; a start takes: ");
    put_ms(text, action->u.decision.start_ms);
    pst_text_put(text, "; age of the oldest input: ");
    put_ms(text, action->u.decision.oldest_input_ms);
    pst_text_print(text, "\n    %u wanted, for %llu s now\n", action->u.decision.desired,
                   (unsigned long long)(wanted_for / PST_S));
}

static void put_age(struct pst_text *text, pst_ns age)
{
    if (age == PST_NEVER)
        pst_text_put(text, " not known");
    else
        pst_text_print(text, " %llu.%03u s old", (unsigned long long)(age / PST_S),
                       (unsigned)(age % PST_S / PST_MS));
}

/* What is configured or was ever told, and how old it is. */
static void put_inputs(struct pst_text *text, const struct pst_scaler_inputs *inputs)
{
    pst_text_put(text, "inputs: own counts");
    put_age(text, inputs->own_age);
    for (int s = 0; s < PST_SIGNAL_COUNT; s++) {
        enum pst_signal signal = (enum pst_signal)s;
        unsigned long long value = inputs->values[s];

        if (!pst_decision_has_signal(inputs, signal))
            continue;
        pst_text_print(text, "; %s", pst_signal_name(signal));
        if (inputs->ages[s] != PST_NEVER && pst_decision_is_share(signal))
            pst_text_print(text, " %llu.%03llu,", value / PST_PPM, value % PST_PPM / 1000);
        else if (inputs->ages[s] != PST_NEVER)
            pst_text_print(text, " %llu,", value);
        put_age(text, inputs->ages[s]);
    }
    pst_text_put(text, "\n");
}

static void put_number(struct pst_text *text, const struct pst_view *view, uint16_t pool)
{
    uint8_t actuate = view->config->scaler.pools[pool].actuate;
    uint32_t number;

    if (actuate != PST_ACTUATE_MARKED && actuate != PST_ACTUATE_NUMBER)
        return; /* nobody is told one */
    pst_text_put(text, "    told to whoever keeps the number: ");
    if (pst_scaler_number(pst_capacity_scaler(view->capacity), pool, &number))
        pst_text_print(text, "%u\n", number);
    else
        pst_text_put(text, "not known, so that it stays\n");
}

void pst_decision_explain(struct pst_text *text, const struct pst_view *view, uint16_t pool)
{
    const struct pst_scaler_pool *config = &view->config->scaler.pools[pool];
    struct pst_capacity_decision last;
    const struct pst_scaler_action *action = &last.action;

    pst_text_print(text, "\n  replicas (rule %s, %u to %u, %u warm; acts: %s)\n",
                   pst_rule_name(config->rule), config->min, config->max, config->warm,
                   actor(config->actuate));
    if (!pst_decision_last(view, pool, &last)) {
        pst_text_put(text, "    nothing was decided yet: not all is known of what there is\n");
        return;
    }
    pst_text_print(text, "    %u wanted, %u before; %u ready, %u starting, %u warm, %u leaving\n",
                   action->u.decision.desired, action->u.decision.before, action->u.decision.ready,
                   action->u.decision.starting, action->u.decision.warm,
                   action->u.decision.draining);
    put_terms(text, action);
    put_vetoes(text, action->u.decision.vetoes);
    put_measures(text, action, last.at - wanted_since(view, pool, &last));
    pst_text_put(text, "    ");
    put_inputs(text, &last.inputs);
    put_number(text, view, pool);
}

void pst_decision_brief(struct pst_text *text, const struct pst_capacity_decision *decision,
                        pst_ns now)
{
    const struct pst_scaler_action *action = &decision->action;

    pst_text_print(text, "    %llu s ago: %u, was %u, by %s;",
                   (unsigned long long)((now - decision->at) / PST_S), action->u.decision.desired,
                   action->u.decision.before, pst_term_name(action->u.decision.winner));
    for (int t = 0; t < PST_TERM_COUNT; t++)
        pst_text_print(text, " %s %u", pst_term_name((enum pst_term)t),
                       action->u.decision.terms[t]);
    pst_text_print(text, "; %u ready, %u starting", action->u.decision.ready,
                   action->u.decision.starting);
    for (int v = 0; v < PST_VETO_COUNT; v++) {
        if ((action->u.decision.vetoes & 1u << v) != 0)
            pst_text_print(text, ", %s", pst_veto_name((enum pst_veto)v));
    }
    pst_text_put(text, "; ");
    put_inputs(text, &decision->inputs);
}
