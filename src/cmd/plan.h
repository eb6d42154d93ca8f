/*
 * plan.h - the questions that `penstock plan` answers, one file each.
 */
#ifndef PST_CMD_PLAN_H
#define PST_CMD_PLAN_H

#include "pst.h"

/* Scores the forecasters on a table of rates. Returns the exit code. */
int pst_plan_forecast(const char *path, pst_ns ahead, bool json);

#endif
