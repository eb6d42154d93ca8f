/*
 * measure_smi.h - asks nvidia-smi, where it is installed.
 *
 * Why: a host with GPUs and without an exporter has this one program that knows how busy they are; with a
 * driver that hangs it hangs too.
 *
 * Guarantee: run without a shell, bounded in time and output, one at a time, never from the process that
 * parses requests. Where it is not installed it is looked for every ten minutes. done() comes from the loop.
 */
#ifndef PST_SCALE_MEASURE_SMI_H
#define PST_SCALE_MEASURE_SMI_H

#include "net/loop.h"
#include "scale/local_process.h"

#define PST_MEASURE_SMI_BYTES 16384

struct pst_measure_smi {
    struct pst_loop *loop;
    /* What it printed (NUL behind it), when it ended well; else NULL, and why for people. */
    void (*done)(void *user, const char *list, size_t len, const char *why);
    void *user;

    bool runs;
    pst_ns asked_at;
    struct pst_local_process process;
    struct pst_io output, ended; /* its output, its end */
    struct pst_timer limit;
    pst_ns missing_until; /* it is not installed, and not looked for before */
    size_t len;
    char list[PST_MEASURE_SMI_BYTES + 1];
};

/* loop, done and user are set, the rest is zero. Does nothing where it runs already, or is missing. */
void pst_measure_smi_ask(struct pst_measure_smi *smi);
void pst_measure_smi_stop(struct pst_measure_smi *smi); /* done() is not called any more */

#endif
