/* probe.c - see probe.h. */
#include "core/probe.h"

#include "core/num.h"

#define LOST_MARGIN PST_S /* the driver's own time-out answers first */

void pst_probes_stop(struct pst_probes *probes)
{
    *probes = (struct pst_probes){.next_at = PST_NEVER, .then_at = PST_NEVER, .lost_at = PST_NEVER};
}

void pst_probes_restart(struct pst_probes *probes, pst_ns at)
{
    probes->risen = 0;
    probes->failed = 0;
    probes->timeouts = 0;
    if (pst_probes_out(probes))
        return; /* its answer decides when the next one goes */
    probes->kind = PST_PROBE_HEALTH;
    probes->next_at = at;
    probes->then_at = PST_NEVER;
}

void pst_probes_hasten(struct pst_probes *probes, pst_ns at)
{
    if (pst_probes_out(probes) || probes->kind != PST_PROBE_HEALTH || probes->next_at <= at ||
        probes->next_at == PST_NEVER)
        return;
    if (!pst_probes_extra(probes))
        probes->then_at = probes->next_at;
    probes->next_at = at;
}

void pst_probes_sent(struct pst_probes *probes, pst_ns now, pst_ns timeout)
{
    PST_ASSERT(!pst_probes_out(probes));
    probes->next_at = PST_NEVER;
    probes->sent_at = now;
    probes->lost_at = pst_add_sat(now, pst_add_sat(timeout, LOST_MARGIN));
}

void pst_probes_back(struct pst_probes *probes, pst_ns next_at)
{
    probes->lost_at = PST_NEVER;
    probes->kind = PST_PROBE_HEALTH;
    probes->next_at = pst_probes_extra(probes) ? probes->then_at : next_at;
    probes->then_at = PST_NEVER;
}

enum pst_probes_sum pst_probes_count(struct pst_probes *probes, enum pst_probe_result result,
                                     uint32_t rise, uint32_t fall)
{
    switch (result) {
    case PST_PROBE_OK:
        probes->failed = 0;
        probes->timeouts = 0;
        probes->risen++;
        return probes->risen >= rise ? PST_PROBES_UP : PST_PROBES_UNDECIDED;
    case PST_PROBE_FAILED:
        probes->risen = 0;
        probes->timeouts = 0; /* it answered */
        probes->failed++;
        return probes->failed >= fall ? PST_PROBES_DOWN : PST_PROBES_UNDECIDED;
    case PST_PROBE_TIMEOUT:
        probes->risen = 0;
        probes->timeouts++;
        return probes->timeouts >= fall ? PST_PROBES_TIMED_OUT : PST_PROBES_UNDECIDED;
    case PST_PROBE_LOADING:
    case PST_PROBE_RESULT_COUNT:
        break;
    }
    PST_ASSERT(!"an answer to be counted");
    return PST_PROBES_UNDECIDED;
}

void pst_probes_heard(struct pst_probes *probes)
{
    probes->timeouts = 0;
}
