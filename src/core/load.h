/*
 * load.h - how many slots each class of a pool asks for, and uses, on average.
 *
 * Why: a ticket of a low class waits for the work ahead and for what higher classes will send while it
 * waits. The first is counted; the second is the recent rate of arriving work. The reservation asks
 * how many slots the classes above really use.
 *
 * Guarantee: O(1) per change, O(classes) four times a second; a step in load is followed to 63 % in
 * 8 s; the average of a fresh pool starts with its first period.
 */
#ifndef PST_CORE_LOAD_H
#define PST_CORE_LOAD_H

#include "core/gate.h"

#define PST_LOAD_PERIOD (250 * PST_MS)

/* One average, in ppm of a slot. */
struct pst_load_mean {
    uint64_t period_ns; /* slot-time of the period that runs … */
    pst_ns at;          /* … of slots in use: up to their last change */
    uint64_t mean_ppm;
};

struct pst_load {
    struct pst_load_mean arrived[PST_CLASSES_MAX]; /* work that came, per time */
    struct pst_load_mean used[PST_CLASSES_MAX];    /* slots in use */
    struct pst_load_mean shorter;                  /* slots in use by short and mid prompts */
    uint32_t inflight[PST_CLASSES_MAX];            /* sequences, now */
    uint32_t inflight_length[PST_LENGTH_COUNT];
    pst_ns now; /* of the last advance */
    pst_ns period_begin;
    uint32_t periods; /* seen, at most those of the average */
    bool begun;
};

/* The same as below, when a period ends. */
bool pst_load_turn(struct pst_load *load, pst_ns now);

/* Time passed. True: a period ended, the averages are new. */
static inline bool pst_load_advance(struct pst_load *load, pst_ns now)
{
    if (!load->begun || now - load->period_begin >= PST_LOAD_PERIOD)
        return pst_load_turn(load, now);
    load->now = now;
    return false;
}

void pst_load_arrived(struct pst_load *load, uint8_t class_, pst_ns work);
/* Call advance before these. */
void pst_load_start(struct pst_load *load, uint8_t class_, uint8_t length, uint32_t sequences);
void pst_load_stop(struct pst_load *load, uint8_t class_, uint8_t length, uint32_t sequences);

#endif
