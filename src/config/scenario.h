/*
 * scenario.h - a scenario file: a configuration's pools, classes and scaler keys, and the experiment
 * around them.
 *
 * Guarantee: as config.h. Everything that is wrong is told at once, with file, line and column; files
 * that the scenario names (traces, quantile tables) are looked for beside it. A file is a scenario
 * when it has the key `arrivals` at its root.
 */
#ifndef PST_CONFIG_SCENARIO_H
#define PST_CONFIG_SCENARIO_H

#include "config/config.h"
#include "model/scenario.h"

struct pst_scenario_file; /* owns the scenario and all that it points to */

/* PST_OK (there may be warnings), PST_E_INVALID (errors), PST_E_SYSTEM, PST_E_NOMEM. */
int pst_scenario_read(const char *path, struct pst_scenario_file **ret_file,
                      struct pst_problems *problems);
int pst_scenario_parse(const char *path, const char *text, size_t len,
                       struct pst_scenario_file **ret_file, struct pst_problems *problems);
void pst_scenario_free(struct pst_scenario_file *file); /* takes NULL */
/* Not const: a caller may add streams' rows from a recording, and choose the seed. */
struct pst_scenario *pst_scenario_of(struct pst_scenario_file *file);
/* Does the text look like a scenario rather than a configuration? */
bool pst_scenario_is(const char *text, size_t len);

/*
 * A policy named by its parts, "GATE+PILOT[:TARGET][@ACTUATOR]", as in "fifo+hpa-occupancy:70%@direct".
 * PST_E_SYNTAX and *ret_why (English, static).
 */
int pst_scenario_policy_read(const char *text, struct pst_scenario_policy *ret_policy,
                             const char **ret_why);

#endif
