/*
 * scenario_open.h - a scenario for a command: read, and everything said that is wrong with it.
 */
#ifndef PST_CMD_SCENARIO_OPEN_H
#define PST_CMD_SCENARIO_OPEN_H

#include "config/scenario.h"

/* Warnings are told and change nothing. Returns the exit code; *ret_file is written with 0 only. */
int pst_scenario_open(const char *command, const char *path, struct pst_scenario_file **ret_file);
/* The same of a text; `path` names it in messages. */
int pst_scenario_open_text(const char *command, const char *path, const char *text, size_t len,
                           struct pst_scenario_file **ret_file);

#endif
