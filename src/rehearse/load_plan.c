#include "rehearse/load_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/heap.h"
#include "core/num.h"

struct traffic_dice {
    struct pst_prng gaps, lengths;
};

struct pst_load_plan {
    const struct pst_load_traffic *mix;
    size_t mix_count;
    struct traffic_dice *dice;
    struct pst_heap next; /* member: traffic, key: its next arrival */
    /* A trace instead. */
    FILE *file;
    char *line;
    size_t line_size;
    uint64_t line_number;
    struct pst_trace_format format;
    struct pst_prng choice;
    double scale;
    bool rates;
    struct pst_trace_row row, row_after; /* of a table of rates: the one that holds, and the next */
    bool row_is_last;
    pst_ns clock;
    const char *why;
};

static uint32_t draw_count(const struct pst_law *law, struct pst_prng *prng)
{
    return (uint32_t)pst_min_u64(pst_law_draw(law, prng, 0, 0), UINT32_C(1) << 24);
}

/* A tenant of the trace is known by its name, a client by its number. */
static void say_who(const struct pst_load_plan *plan, const struct pst_trace_row *row,
                    struct pst_load_arrival *arrival)
{
    if (row->tenant[0] != '\0')
        memcpy(arrival->key, row->tenant, sizeof arrival->key);
    else if (pst_trace_has_clients(&plan->format))
        (void)snprintf(arrival->key, sizeof arrival->key, "client-%u", row->client);
}

/* `row`: NULL without a trace. Lengths and keys the mix gives go before the trace's. */
static void make_arrival(struct pst_load_plan *plan, uint32_t index, pst_ns at,
                         const struct pst_trace_row *row, struct pst_load_arrival *ret_arrival)
{
    const struct pst_load_traffic *traffic = &plan->mix[index];
    struct pst_prng *lengths = &plan->dice[index].lengths;
    bool has_lengths = row != NULL && row->prompt_tokens > 0;
    uint32_t prompt = draw_count(&traffic->prompt, lengths);
    uint32_t output = draw_count(&traffic->output, lengths);

    if (has_lengths && !traffic->prompt_given)
        prompt = row->prompt_tokens;
    if (has_lengths && !traffic->output_given)
        output = row->output_tokens;
    *ret_arrival = (struct pst_load_arrival){
        .at = at,
        .traffic = index,
        .prompt_tokens = prompt == 0 ? 1 : prompt,
        .output_tokens = output,
    };
    if (row != NULL && traffic->tenant[0] == '\0')
        say_who(plan, row, ret_arrival);
}

static bool next_by_law(struct pst_load_plan *plan, struct pst_load_arrival *ret_arrival)
{
    uint32_t index = pst_heap_top(&plan->next);
    pst_ns at = pst_heap_top_key(&plan->next), gap;

    if (index == PST_HEAP_NONE)
        return false;
    make_arrival(plan, index, at, NULL, ret_arrival);
    gap = pst_law_draw(&plan->mix[index].gap, &plan->dice[index].gaps, 0, 0);
    pst_heap_put(&plan->next, index, pst_add_sat(at, gap), index);
    return true;
}

static bool read_row(struct pst_load_plan *plan, struct pst_trace_row *ret_row)
{
    ssize_t len;

    do {
        len = getline(&plan->line, &plan->line_size, plan->file);
        if (len < 0) {
            plan->why = ferror(plan->file) ? "it cannot be read" : NULL;
            return false;
        }
        plan->line_number++;
        while (len > 0 && (plan->line[len - 1] == '\n' || plan->line[len - 1] == '\r'))
            len--;
    } while (len == 0);
    return pst_trace_line(&plan->format, plan->line, (size_t)len, ret_row, &plan->why) == PST_OK;
}

static bool may_take(const struct pst_load_traffic *traffic, const struct pst_trace_row *row)
{
    return row->class_[0] == '\0' || strcmp(traffic->class_, row->class_) == 0;
}

/* By share among those of the row's class; a class that nobody has is everybody's. */
static uint32_t choose_traffic(struct pst_load_plan *plan, const struct pst_trace_row *row)
{
    struct pst_trace_row any = {0};
    double sum = 0.0, at;

    for (size_t i = 0; i < plan->mix_count; i++)
        sum += may_take(&plan->mix[i], row) ? plan->mix[i].share : 0.0;
    if (sum == 0.0 && row->class_[0] != '\0')
        return choose_traffic(plan, &any);
    at = pst_prng_unit(&plan->choice) * sum;
    for (size_t i = 0; i < plan->mix_count; i++) {
        if (!may_take(&plan->mix[i], row))
            continue;
        at -= plan->mix[i].share;
        if (at < 0.0)
            return (uint32_t)i;
    }
    return (uint32_t)(plan->mix_count - 1);
}

static bool next_recorded(struct pst_load_plan *plan, struct pst_load_arrival *ret_arrival)
{
    struct pst_trace_row row;
    pst_ns at;

    if (!read_row(plan, &row))
        return false;
    at = pst_to_u64((double)row.arrival / plan->scale);
    if (at < plan->clock) {
        plan->why = "arrivals must not go back in time";
        return false;
    }
    plan->clock = at;
    make_arrival(plan, choose_traffic(plan, &row), at, &row, ret_arrival);
    return true;
}

/* The row that holds ends where the next begins; the last one is as long as the one before it. */
static bool next_rate(struct pst_load_plan *plan)
{
    pst_ns length = plan->row_after.arrival - plan->row.arrival;

    if (plan->row_is_last)
        return false;
    plan->row = plan->row_after;
    if (!read_row(plan, &plan->row_after)) {
        plan->row_is_last = true;
        plan->row_after.arrival = plan->row.arrival + length;
        return plan->why == NULL;
    }
    if (plan->row_after.arrival <= plan->row.arrival) {
        plan->why = "times must ascend";
        return false;
    }
    return true;
}

/* Poisson within a row; having no memory, it begins anew at each. */
static bool next_by_rate(struct pst_load_plan *plan, struct pst_load_arrival *ret_arrival)
{
    for (;;) {
        double rate = (double)plan->row.rate_micro / 1e6 * plan->scale;
        struct pst_law gap = {.kind = PST_LAW_EXP, .mean = rate > 0.0 ? 1e9 / rate : 0.0};
        pst_ns at = PST_NEVER;

        if (rate > 0.0)
            at = pst_add_sat(plan->clock, pst_law_draw(&gap, &plan->choice, 0, 0));
        if (at < plan->row_after.arrival) {
            plan->clock = at;
            make_arrival(plan, choose_traffic(plan, &plan->row), at, NULL, ret_arrival);
            return true;
        }
        plan->clock = plan->row_after.arrival;
        if (!next_rate(plan))
            return false;
    }
}

bool pst_load_plan_next(struct pst_load_plan *plan, struct pst_load_arrival *ret_arrival)
{
    if (plan->file == NULL)
        return next_by_law(plan, ret_arrival);
    return plan->rates ? next_by_rate(plan, ret_arrival) : next_recorded(plan, ret_arrival);
}

const char *pst_load_plan_error(const struct pst_load_plan *plan, uint64_t *ret_line)
{
    *ret_line = plan->line_number;
    return plan->why;
}

static int open_trace(struct pst_load_plan *plan, const char *path, const char **ret_why)
{
    ssize_t len;

    plan->file = fopen(path, "re");
    if (plan->file == NULL) {
        *ret_why = strerror(errno);
        return PST_E_SYSTEM;
    }
    len = getline(&plan->line, &plan->line_size, plan->file);
    plan->line_number = 1;
    while (len > 0 && (plan->line[len - 1] == '\n' || plan->line[len - 1] == '\r'))
        len--;
    *ret_why = "there is no header line";
    if (len <= 0 || pst_trace_header(&plan->format, plan->line, (size_t)len, ret_why) != PST_OK)
        return PST_E_SYNTAX;
    *ret_why = "a column arrival_us, arrival_ms or t_s is missing";
    if (!pst_trace_has_times(&plan->format))
        return PST_E_SYNTAX;
    plan->line[len] = '\0';
    plan->rates = strstr(plan->line, "rate_per_s") != NULL;
    if (!plan->rates)
        return PST_OK;
    *ret_why =
        "rates of single clients are not followed: a table has their sum, t_s and rate_per_s";
    if (pst_trace_has_clients(&plan->format))
        return PST_E_SYNTAX;
    *ret_why = "a table of rates needs two rows at least";
    if (!read_row(plan, &plan->row) || !read_row(plan, &plan->row_after) ||
        plan->row_after.arrival <= plan->row.arrival)
        return PST_E_SYNTAX;
    plan->clock = plan->row.arrival;
    return PST_OK;
}

static int begin_laws(struct pst_load_plan *plan, const char **ret_why)
{
    bool any = false;

    for (uint32_t i = 0; i < plan->mix_count; i++) {
        if (plan->mix[i].rate <= 0.0)
            continue;
        any = true;
        pst_heap_put(&plan->next, i, pst_law_draw(&plan->mix[i].gap, &plan->dice[i].gaps, 0, 0), i);
    }
    *ret_why = "without a trace some traffic needs a rate";
    return any ? PST_OK : PST_E_INVALID;
}

int pst_load_plan_new(const struct pst_load_traffic *mix, size_t mix_count, const char *trace_path,
                      double scale, uint64_t seed, struct pst_load_plan **ret_plan,
                      const char **ret_why)
{
    struct pst_load_plan *plan;
    int rc = PST_E_NOMEM;

    *ret_why = "no traffic, or a scale that is not above 0";
    if (mix_count == 0 || mix_count > UINT16_MAX || !(scale > 0.0))
        return PST_E_INVALID;
    *ret_why = "out of memory";
    plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return PST_E_NOMEM;
    plan->mix = mix;
    plan->mix_count = mix_count;
    plan->scale = scale;
    plan->dice = calloc(mix_count, sizeof *plan->dice);
    if (plan->dice == NULL || pst_heap_init(&plan->next, (uint32_t)mix_count) != PST_OK)
        goto fail;
    for (size_t i = 0; i < mix_count; i++) {
        pst_prng_init(&plan->dice[i].gaps, pst_mix64(seed + 2 * i + 1));
        pst_prng_init(&plan->dice[i].lengths, pst_mix64(seed + 2 * i + 2));
    }
    pst_prng_init(&plan->choice, seed);
    rc = trace_path != NULL ? open_trace(plan, trace_path, ret_why) : begin_laws(plan, ret_why);
    if (rc != PST_OK)
        goto fail;
    *ret_plan = plan;
    return PST_OK;

fail:
    pst_load_plan_free(plan);
    return rc;
}

void pst_load_plan_free(struct pst_load_plan *plan)
{
    if (plan == NULL)
        return;
    if (plan->file != NULL)
        fclose(plan->file);
    pst_heap_done(&plan->next);
    free(plan->dice);
    free(plan->line);
    free(plan);
}
