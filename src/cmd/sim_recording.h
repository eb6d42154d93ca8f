/*
 * sim_recording.h - what arrived at a recorded gateway, as a stream of a scenario.
 *
 * Why: "what would this policy have done to last Tuesday?" A recording (`record:`) has every arrival
 * of that day: when it came, its class, its size, and how long it held its slot.
 *
 *   at       ARRIVE, from the recording's first event; refused by its head alone: when that was said
 *   tokens   of END, as the engine counted them; else a quarter of the prompt's bytes, and no output
 *   service  END less DISPATCH, of attempts that ended well; else drawn from the stream's law or, where it
 *            has none, the mean of those that ended well
 *
 * Guarantee: rows ascend in time. A client's own second try is no row: it was the recorded policy's
 * doing. Where the recording has several pools, a stream takes the arrivals of its own pool's number.
 */
#ifndef PST_CMD_SIM_RECORDING_H
#define PST_CMD_SIM_RECORDING_H

#include "model/scenario.h"

/* All zero: nothing was loaded. */
struct pst_sim_recordings {
    struct pst_stream *streams;    /* stand in for the scenario's, or NULL */
    struct pst_arrival_row **rows; /* of each stream; NULL: not from a recording */
    uint32_t count;
};

/*
 * Fills the rows of every stream that names a recording. Not PST_OK: *ret_which is the file, *ret_why says
 * why (English; of PST_E_SYSTEM errno's text).
 */
int pst_sim_recordings_load(struct pst_sim_recordings *recordings, struct pst_scenario *scenario,
                            const char **ret_which, const char **ret_why);
void pst_sim_recordings_done(struct pst_sim_recordings *recordings);

#endif
