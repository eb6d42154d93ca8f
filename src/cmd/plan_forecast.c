/* plan_forecast.c - `penstock plan --forecast`: the forecasters side by side. */
#include "cmd/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd/commands.h"
#include "cmd/rates.h"
#include "sim/score.h"

#define CELL 16

/* What was asked, and what came of it. */
struct asked {
    const char *path;
    pst_ns ahead;
    struct pst_rates rates;
    struct pst_score score;
};

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* Minutes where they are whole ones. */
static const char *span(pst_ns length, char text[CELL])
{
    const uint64_t s = length / PST_S;

    if (s % 60 == 0)
        snprintf(text, CELL, "%" PRIu64 " min", s / 60);
    else
        snprintf(text, CELL, "%" PRIu64 " s", s);
    return text;
}

static const char *number(bool has, double value, char text[CELL])
{
    if (!has)
        return "-";
    snprintf(text, CELL, "%.2f", value);
    return text;
}

static const char *share(bool has, double value, char text[CELL])
{
    if (!has)
        return "-";
    snprintf(text, CELL, "%.2f %%", 100 * value);
    return text;
}

static void print_row(const struct pst_score_row *row, const char *name, bool chosen)
{
    const struct pst_score_half *first = &row->first, *second = &row->second;
    char text[6][CELL];

    printf("%c %-14s  %8s %6s  %8s %9s  %8s %6s\n", chosen ? '*' : ' ', name,
           number(first->exists, first->factor, text[0]),
           number(first->exists, first->capacity, text[1]),
           number(row->is_used, row->capacity, text[2]),
           share(row->is_used, row->short_share, text[3]),
           number(second->exists, second->factor, text[4]),
           number(second->exists, second->capacity, text[5]));
}

static void print_text(const struct asked *a)
{
    char step[CELL], ahead[CELL];

    printf("%s: %u steps of %s, forecast %s ahead\n", file_name(a->path), a->rates.count,
           span(a->rates.step, step), span(a->ahead, ahead));
    printf("scored: %u steps of the first half, %u of the second\n\n", a->score.first_steps,
           a->score.second_steps);
    printf("%-16s  %-15s  %-18s  %s\n", "", "    first half", "     second half",
           "   in hindsight");
    printf("  %-14s  %8s %6s  %8s %9s  %8s %6s\n", "forecaster", "factor", "needs", "takes",
           "short", "factor", "needs");
    for (uint32_t row = 0; row < PST_SCORE_ROWS; row++)
        print_row(&a->score.rows[row], pst_score_name(row), row == a->score.chosen);
}

static void put_half(struct pst_text *text, const char *name, const struct pst_score_half *half)
{
    if (half->exists)
        pst_text_print(text, ",\"%s\":{\"factor\":%.6f,\"needs\":%.6f}", name, half->factor,
                       half->capacity);
}

static int print_json(const struct asked *a)
{
    struct pst_text text = {0};
    bool whole;

    pst_text_put(&text, "{\"file\":");
    pst_text_quote(&text, a->path);
    pst_text_print(&text,
                   ",\"steps\":%u,\"scored\":{\"first\":%u,\"second\":%u},\"step_s\":%" PRIu64
                   ",\"ahead_s\":%" PRIu64 ",\"chosen\":\"%s\",\"forecasters\":[",
                   a->rates.count, a->score.first_steps, a->score.second_steps,
                   (uint64_t)(a->rates.step / PST_S), (uint64_t)(a->ahead / PST_S),
                   pst_score_name(a->score.chosen));
    for (uint32_t i = 0; i < PST_SCORE_ROWS; i++) {
        const struct pst_score_row *row = &a->score.rows[i];

        pst_text_print(&text, "%s{\"name\":\"%s\"", i > 0 ? "," : "", pst_score_name(i));
        put_half(&text, "first", &row->first);
        put_half(&text, "second", &row->second);
        if (row->is_used)
            pst_text_print(&text, ",\"takes\":%.6f,\"short\":%.6f", row->capacity,
                           row->short_share);
        pst_text_put(&text, "}");
    }
    pst_text_put(&text, "]}");
    whole = !text.broken && puts(text.at) >= 0;
    pst_text_done(&text);
    return whole ? PST_EXIT_OK : PST_EXIT_FAILED;
}

static int say(const char *path, const char *why)
{
    fprintf(stderr, "penstock plan: %s: %s\n", path, why);
    return PST_EXIT_USAGE;
}

static int score(struct asked *a)
{
    const pst_ns step = a->rates.step;
    int rc;

    if (a->ahead < step || a->ahead % step != 0 || a->ahead / step > PST_FORECAST_AHEAD_MAX)
        return say(a->path, "--ahead is not a whole number of its steps, or more than 512 of them");
    rc = pst_score_forecasts(a->rates.at, a->rates.count, step, (uint32_t)(a->ahead / step),
                             &a->score);
    if (rc == PST_E_INVALID)
        return say(a->path, "its steps do not divide an hour, or are shorter than a second");
    if (rc != PST_OK) {
        say(a->path, "out of memory");
        return PST_EXIT_FAILED;
    }
    return PST_EXIT_OK;
}

int pst_plan_forecast(const char *path, pst_ns ahead, bool json)
{
    struct asked a = {.path = path, .ahead = ahead};
    struct pst_rates_problem problem;
    int code, rc = pst_rates_read(path, &a.rates, &problem);

    if (rc != PST_OK) {
        fprintf(stderr, "penstock plan: %s", path);
        if (problem.line > 0)
            fprintf(stderr, ":%" PRIu64, problem.line);
        fprintf(stderr, ": %s\n", problem.why);
        return rc == PST_E_NOMEM ? PST_EXIT_FAILED : PST_EXIT_USAGE;
    }
    code = score(&a);
    if (code == PST_EXIT_OK && json)
        code = print_json(&a);
    else if (code == PST_EXIT_OK)
        print_text(&a);
    if (fflush(stdout) != 0)
        code = PST_EXIT_FAILED;
    pst_rates_done(&a.rates);
    return code;
}
