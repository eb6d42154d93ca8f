/* load.c - see load.h. */
#include "core/load.h"

#include "core/num.h"

#define PERIODS 32 /* of the averages: 8 s */

static void mean_turn(struct pst_load_mean *m, uint32_t periods)
{
    uint64_t ppm = pst_muldiv(m->period_ns, PST_PPM, PST_LOAD_PERIOD);

    if (ppm >= m->mean_ppm)
        m->mean_ppm += (ppm - m->mean_ppm) / periods;
    else
        m->mean_ppm -= (m->mean_ppm - ppm + periods - 1) / periods; /* down to 0 in the end */
    m->period_ns = 0;
}

static void sum_up(struct pst_load *load, pst_ns until)
{
    pst_ns span = until - load->at;

    for (int c = 0; c < PST_CLASSES_MAX; c++)
        load->used[c].period_ns += load->inflight[c] * span;
    load->shorter.period_ns += (load->inflight_length[PST_LENGTH_SHORT] +
                                (uint64_t)load->inflight_length[PST_LENGTH_MID]) *
                               span;
    load->at = until;
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

bool pst_load_advance(struct pst_load *load, pst_ns now)
{
    bool turned = false;

    if (!load->begun) {
        load->begun = true;
        load->period_begin = load->at = now;
        return false;
    }
    /* After a long silence the averages have forgotten all there was. */
    if (now - load->period_begin > 8 * PERIODS * PST_LOAD_PERIOD) {
        load->period_begin = now - 8 * PERIODS * PST_LOAD_PERIOD;
        load->at = pst_max_u64(load->at, load->period_begin);
    }
    while (now - load->period_begin >= PST_LOAD_PERIOD) {
        load->period_begin += PST_LOAD_PERIOD;
        sum_up(load, pst_max_u64(load->at, load->period_begin));
        turn(load);
        turned = true;
    }
    if (now > load->at)
        sum_up(load, now);
    return turned;
}

void pst_load_arrived(struct pst_load *load, uint8_t class_, pst_ns work)
{
    load->arrived[class_].period_ns = pst_add_sat(load->arrived[class_].period_ns, work);
}

void pst_load_start(struct pst_load *load, uint8_t class_, uint8_t length, uint32_t sequences)
{
    load->inflight[class_] += sequences;
    load->inflight_length[length] += sequences;
}

void pst_load_stop(struct pst_load *load, uint8_t class_, uint8_t length, uint32_t sequences)
{
    PST_ASSERT(load->inflight[class_] >= sequences);
    PST_ASSERT(load->inflight_length[length] >= sequences);
    load->inflight[class_] -= sequences;
    load->inflight_length[length] -= sequences;
}
