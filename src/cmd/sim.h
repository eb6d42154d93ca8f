/* sim.h - what `penstock sim` can do: the two halves of the command. */
#ifndef PST_CMD_SIM_H
#define PST_CMD_SIM_H

#include "pst.h"

struct pst_sim_options {
    const char *file;
    const char *compare; /* NULL: all policies of the file */
    const char *html;    /* file to write; NULL: none */
    uint64_t seeds;
    uint64_t seed; /* PST_SIM_SEED_OWN: the scenario's */
    uint64_t jobs; /* 0: one for each core */
    bool json, timing;
};
#define PST_SIM_SEED_OWN UINT64_MAX

/* Both return the exit code. */
int pst_sim_cmd_study(const struct pst_sim_options *options);
int pst_sim_cmd_replay(const char *path, bool json);

#endif
