/*
 * plan.h - the questions that `penstock plan` answers, one file each.
 *
 *   plan_size.c      how many replicas: measures, asks formulas, simulates; plan_text.c and plan_json.c tell
 *   plan_fit.c       which laws an access log follows
 *   plan_forecast.c  which forecaster a table of rates wants
 */
#ifndef PST_CMD_PLAN_H
#define PST_CMD_PLAN_H

#include "base/text.h"
#include "cmd/options.h"

#define PST_PLAN_SEED_OWN UINT64_MAX

/* What is asked: a scenario file, or the traffic in so many words. */
struct pst_plan_options {
    const char *file;               /* NULL: by the options from here on */
    struct pst_option_list classes; /* "NAME=RATE,LAW,TARGET,MAX_WAIT", the highest first */
    struct pst_option_list bursts;  /* "NAME=RATE,EVERY,LENGTH" */
    uint64_t slots;                 /* 0: not said */
    pst_ns cold, promote;           /* 0: not said */
    const char *cost;               /* NULL: not known */
    pst_ns horizon;                 /* 0: as needed */
    uint64_t seed;                  /* PST_PLAN_SEED_OWN: the scenario's */
    bool json, show;                /* show: print the scenario that the options make, no more */
};

/* plan_draft.c: the options as the text of a scenario. False: what is wrong was said. */
bool pst_plan_draft(const struct pst_plan_options *options, struct pst_text *ret_text);

/* These return the exit code. */
int pst_plan_size(const struct pst_plan_options *options);
int pst_plan_fit(const char *path, uint64_t slots, bool json);
/* Scores the forecasters on a table of rates. */
int pst_plan_forecast(const char *path, pst_ns ahead, bool json);

#endif
