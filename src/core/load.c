/* load.c - see load.h. */
#include "core/load.h"

#include "core/num.h"

#define PERIODS 32 /* of the averages: 8 s */

static void mean_turn(struct pst_load_mean *m, uint32_t periods)
{
    uint64_t ppm = pst_muldiv(m->period_ns, PST_PPM, PST_LOAD_PERIOD);

    if (ppm == m->mean_ppm) { /* a class that is not used, for one */
        m->period_ns = 0;
        return;
    }
    if (ppm >= m->mean_ppm)
        m->mean_ppm += (ppm - m->mean_ppm) / periods;
    else
        m->mean_ppm -= (m->mean_ppm - ppm + periods - 1) / periods; /* down to 0 in the end */
    m->period_ns = 0;
}

/* So many slots were in use since the last change. */
static void sum_up(struct pst_load_mean *m, uint64_t inflight, pst_ns until)
{
    m->period_ns += inflight * (until - m->at);
    m->at = until;
}

static uint64_t inflight_shorter(const struct pst_load *load)
{
    return (uint64_t)load->inflight_length[PST_LENGTH_SHORT] +
           load->inflight_length[PST_LENGTH_MID];
}

static void sum_up_all(struct pst_load *load, pst_ns until)
{
    for (int c = 0; c < PST_CLASSES_MAX; c++)
        sum_up(&load->used[c], load->inflight[c], until);
    sum_up(&load->shorter, inflight_shorter(load), until);
}

static void turn(struct pst_load *load)
{
    if (load->periods < PERIODS)
        load->periods++;
    for (int c = 0; c < PST_CLASSES_MAX; c++) {
        mean_turn(&load->arrived[c], load->periods);
        mean_turn(&load->used[c], load->periods);
    }
    mean_turn(&load->shorter, load->periods);
}

/* What is in use counts from here on only. */
static void start_at(struct pst_load *load, pst_ns at)
{
    for (int c = 0; c < PST_CLASSES_MAX; c++)
        load->used[c].at = at;
    load->shorter.at = at;
}

bool pst_load_turn(struct pst_load *load, pst_ns now)
{
    bool turned = false;

    if (!load->begun) {
        load->begun = true;
        load->period_begin = load->now = now;
        start_at(load, now);
        return false;
    }
    /* After a long silence the averages have forgotten all there was. */
    if (now - load->period_begin > 8 * PERIODS * PST_LOAD_PERIOD) {
        sum_up_all(load, load->now);
        load->period_begin = now - 8 * PERIODS * PST_LOAD_PERIOD;
        start_at(load, pst_max_u64(load->now, load->period_begin));
    }
    while (now - load->period_begin >= PST_LOAD_PERIOD) {
        load->period_begin += PST_LOAD_PERIOD;
        sum_up_all(load, load->period_begin);
        turn(load);
        turned = true;
    }
    load->now = now;
    return turned;
}

void pst_load_arrived(struct pst_load *load, uint8_t class_, pst_ns work)
{
    load->arrived[class_].period_ns = pst_add_sat(load->arrived[class_].period_ns, work);
}

/* Slots in use of this class are about to change. */
static void sum_up_change(struct pst_load *load, uint8_t class_)
{
    sum_up(&load->used[class_], load->inflight[class_], load->now);
    sum_up(&load->shorter, inflight_shorter(load), load->now);
}

void pst_load_start(struct pst_load *load, uint8_t class_, uint8_t length, uint32_t sequences)
{
    sum_up_change(load, class_);
    load->inflight[class_] += sequences;
    load->inflight_length[length] += sequences;
}

void pst_load_stop(struct pst_load *load, uint8_t class_, uint8_t length, uint32_t sequences)
{
    PST_ASSERT(load->inflight[class_] >= sequences);
    PST_ASSERT(load->inflight_length[length] >= sequences);
    sum_up_change(load, class_);
    load->inflight[class_] -= sequences;
    load->inflight_length[length] -= sequences;
}
