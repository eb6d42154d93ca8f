/*
 * run_measure.c - what others measure of the pools; see run.h and measure.h.
 *
 * Where there is a keeper, it asks and tells over the wire; else nothing that is asked needs a token or a
 * program, and this process asks.
 */
#include "cmd/run.h"

static void tell(void *user, const struct pst_scaler_event *event)
{
    pst_run_found_event(user, 0, event);
}

static void past(void *user, const struct pst_wire_day *day)
{
    pst_run_measure_past(user, day);
}

int pst_run_measure_reload(struct pst_run *run, const struct pst_config *config)
{
    if (run->wire != NULL)
        return PST_OK;
    run->measure_host = (struct pst_measure_host){
        .loop = run->loop, .config = config, .user = run, .tell = tell, .past = past};
    if (run->measure == NULL)
        return pst_measure_new(&run->measure_host, &run->measure);
    pst_measure_reload(run->measure);
    return PST_OK;
}

void pst_run_measure_past(struct pst_run *run, const struct pst_wire_day *day)
{
    for (size_t i = 0; i < PST_WIRE_QUARTERS; i++)
        if (day->replicas[i] != PST_WIRE_NOT_KNOWN)
            pst_calendar_learn(run->calendar, day->pool, day->from_s + i * PST_WIRE_QUARTER_S,
                               day->replicas[i]);
}
