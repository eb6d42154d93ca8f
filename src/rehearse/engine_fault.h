/*
 * engine_fault.h - the ways in which a stand-in engine misbehaves, switched on and off by name.
 *
 * A switch is written NAME[=ARGUMENT][@PROBABILITY]: "hang", "stall-after=20", "reset-before@0.1".
 * Every one of them was seen with a real engine; the table in engine_fault.c says what each does.
 */
#ifndef PST_REHEARSE_ENGINE_FAULT_H
#define PST_REHEARSE_ENGINE_FAULT_H

#include "core/prng.h"
#include "pst.h"

enum pst_engine_fault {
    PST_FAULT_HANG,
    PST_FAULT_FREEZE,
    PST_FAULT_ASLEEP,
    PST_FAULT_LOADING,
    PST_FAULT_READY_EARLY,
    PST_FAULT_UNHEALTHY,
    PST_FAULT_ERROR_ALL,
    PST_FAULT_FULL,
    PST_FAULT_FULL_EVENT,
    PST_FAULT_RESET_BEFORE,
    PST_FAULT_RESET_AFTER,
    PST_FAULT_TRUNCATE,
    PST_FAULT_CRASH_ON,
    PST_FAULT_DIE_MID_STREAM,
    PST_FAULT_WORKER_DIES,
    PST_FAULT_STALL_AFTER,
    PST_FAULT_SLOW_DRIP,
    PST_FAULT_NAN_METRICS,
    PST_FAULT_COUNT
};

#define PST_FAULT_MARK_MAX 128

struct pst_engine_faults {
    uint32_t ppm[PST_FAULT_COUNT];      /* probability; 0: off */
    uint64_t argument[PST_FAULT_COUNT]; /* tokens, or ns */
    char mark[PST_FAULT_MARK_MAX + 1];  /* of crash-on */
};

/* PST_OK, or PST_E_SYNTAX with *ret_why (English, static) and nothing changed. */
int pst_engine_fault_set(struct pst_engine_faults *faults, const char *text, const char **ret_why);
/* By name, or "all". PST_E_INVALID: no such fault. */
int pst_engine_fault_clear(struct pst_engine_faults *faults, const char *name);

static inline bool pst_engine_fault_is_on(const struct pst_engine_faults *faults,
                                          enum pst_engine_fault fault)
{
    return faults->ppm[fault] > 0;
}

/* True if it is on and hits this time. */
bool pst_engine_fault_hits(const struct pst_engine_faults *faults, enum pst_engine_fault fault,
                           struct pst_prng *prng);

const char *pst_engine_fault_name(enum pst_engine_fault fault);
const char *pst_engine_fault_help(enum pst_engine_fault fault); /* one line */

#endif
