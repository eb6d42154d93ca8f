/* fit_tokens.c - see fit.h: a line through service times by prompt and output tokens. */
#include "core/num.h"
#include "sim/fit.h"

#define TERMS 3 /* base, prompt, output */

/* The normal equations of the terms in use: a symmetric matrix and its right side. */
struct equations {
    double left[TERMS][TERMS], right[TERMS];
};

static void regressors(const struct pst_fit_job *job, double x[TERMS])
{
    x[0] = 1;
    x[1] = job->prompt_tokens;
    x[2] = job->output_tokens;
}

static void add_up(const struct pst_fit_job *jobs, uint32_t count, struct equations *e)
{
    *e = (struct equations){0};
    for (uint32_t i = 0; i < count; i++) {
        double x[TERMS];

        regressors(&jobs[i], x);
        for (int r = 0; r < TERMS; r++) {
            e->right[r] += x[r] * jobs[i].service / count;
            for (int c = 0; c < TERMS; c++)
                e->left[r][c] += x[r] * x[c] / count;
        }
    }
}

/* A term that says nothing new is left at 0. Gauss-Jordan by the diagonal, which suits such a matrix. */
static void solve(const struct equations *of, const bool used[TERMS], double ret_terms[TERMS])
{
    struct equations e = *of;
    bool solved[TERMS] = {false};

    for (int p = 0; p < TERMS; p++) {
        const double pivot = e.left[p][p];

        if (!used[p] || pivot <= of->left[p][p] * 1e-9)
            continue;
        solved[p] = true;
        for (int c = 0; c < TERMS; c++)
            e.left[p][c] /= pivot;
        e.right[p] /= pivot;
        for (int r = 0; r < TERMS; r++) {
            const double factor = e.left[r][p];

            if (r == p)
                continue;
            for (int c = 0; c < TERMS; c++)
                e.left[r][c] -= factor * e.left[p][c];
            e.right[r] -= factor * e.right[p];
        }
    }
    for (int p = 0; p < TERMS; p++)
        ret_terms[p] = solved[p] ? e.right[p] : 0;
}

/* Without a negative term: the most negative one is left out, and the others found again. */
static void find_terms(const struct equations *e, double ret_terms[TERMS])
{
    bool used[TERMS] = {true, true, true};

    for (int round = 0; round < TERMS; round++) {
        int worst = -1;

        solve(e, used, ret_terms);
        for (int p = 0; p < TERMS; p++)
            if (ret_terms[p] < 0 && (worst < 0 || ret_terms[p] * e->left[p][p] <
                                                      ret_terms[worst] * e->left[worst][worst]))
                worst = p;
        if (worst < 0)
            return;
        used[worst] = false;
    }
}

/* Between two samples of one size, both ascending. */
static double distance_between(const double *a, const double *b, uint32_t count)
{
    uint32_t i = 0, j = 0;
    double most = 0;

    while (i < count && j < count) {
        const double at = a[i] < b[j] ? a[i] : b[j];
        double off;

        while (i < count && a[i] <= at)
            i++;
        while (j < count && b[j] <= at)
            j++;
        off = i > j ? (double)(i - j) : (double)(j - i);
        most = off / count > most ? off / count : most;
    }
    return most;
}

void pst_fit_tokens(const struct pst_fit_job *jobs, uint32_t count, double *scratch,
                    struct pst_fit *ret_fit)
{
    struct pst_fit fit = {.law.kind = PST_LAW_TOKENS};
    double *actual = scratch, *said = scratch + count;
    double terms[TERMS], left = 0, all = 0;
    struct equations e;

    *ret_fit = fit;
    if (count < PST_FIT_LEAST)
        return;
    add_up(jobs, count, &e);
    find_terms(&e, terms);
    for (uint32_t i = 0; i < count; i++) {
        double x[TERMS];

        regressors(&jobs[i], x);
        actual[i] = jobs[i].service;
        said[i] = terms[0] * x[0] + terms[1] * x[1] + terms[2] * x[2];
        left += (actual[i] - said[i]) * (actual[i] - said[i]);
        all += (actual[i] - e.right[0]) * (actual[i] - e.right[0]);
    }
    fit.law.mean = terms[0];
    fit.law.per_prompt = terms[1];
    fit.law.per_output = terms[2];
    fit.explained = all > 0 ? 1 - left / all : 0;
    fit.exists = terms[1] + terms[2] > 0 && fit.explained > 0.5;
    fit.mean_error = pst_sqrt(left / count / count);
    pst_fit_sort(actual, count);
    pst_fit_sort(said, count);
    fit.distance = distance_between(actual, said, count);
    *ret_fit = fit;
}
