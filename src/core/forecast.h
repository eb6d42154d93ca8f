/*
 * forecast.h - the work that will come, from the work that came: one series, several models, and a
 * judge that lets none of them speak before it has been right.
 *
 * Models, each a function of the steps seen so far:
 *
 *   persistence   the last step, for ever; not older than an hour
 *   hour maximum  the largest of the last hour
 *   season        what came one season ago (1 h, 24 h, 168 h), the larger of the last two where there
 *                 are two; its bursts are those of the last six, spread over the steps by which they
 *                 have come earlier or later
 *   ar            autoregression on the last six steps, learnt outside of bursts
 *
 * The judge: a forecast that is too low means work that waits, one that is too high means replicas that
 * idle. A model's cost is the capacity that its forecast, raised until only 1 % of the steps are
 * under-provisioned, would have taken over the last four days. The one that costs least speaks, if that
 * is less than persistence costs; the hour's maximum not within an hour of a burst, which would be all
 * that it says.
 *
 * Bursts are the seasons' own: one that its bursts have followed is open whatever it costs, from the
 * second in phase on, until two that it said in a row did not come (forecast_season.h). A season that is
 * not open by its bursts speaks of the calm between them.
 *
 * Guarantee: fixed memory; adding a step is O(models + lead), a few microseconds; gaps are unknown,
 * never zero. All steps have the same length.
 * Sources: Hyndman & Athanasopoulos, "Forecasting: principles and practice" (seasonal naive, AR).
 */
#ifndef PST_CORE_FORECAST_H
#define PST_CORE_FORECAST_H

#include "pst.h"

#define PST_FORECAST_AHEAD_MAX 512 /* steps */

enum pst_forecast_model {
    PST_FORECAST_PERSISTENCE,
    PST_FORECAST_HOUR_MAX,
    PST_FORECAST_HOUR, /* seasons */
    PST_FORECAST_DAY,
    PST_FORECAST_WEEK,
    PST_FORECAST_AR,
    PST_FORECAST_MODEL_COUNT
};

struct pst_forecast;

/*
 * A series of steps of this length (1 s … 1 h, dividing an hour). Remembers two weeks and a bit: of 10 s,
 * in 1.4 MB, most of it touched only as the judge's four days and the two weeks fill. PST_OK, PST_E_INVALID or PST_E_NOMEM. *ret_forecast is the caller's to free.
 */
int pst_forecast_new(pst_ns step, struct pst_forecast **ret_forecast);
void pst_forecast_free(struct pst_forecast *forecast); /* takes NULL */

/* The step that ended: its mean rate in any unit (slots, requests per second), or unknown. */
void pst_forecast_add(struct pst_forecast *forecast, double rate);
void pst_forecast_gap(struct pst_forecast *forecast);
/* The models are judged by how well they see so many steps ahead (1 … PST_FORECAST_AHEAD_MAX). */
void pst_forecast_lead(struct pst_forecast *forecast, uint32_t steps);

/*
 * What one model says of the steps 1 … steps ahead. False: it has not seen enough yet.
 * steps <= PST_FORECAST_AHEAD_MAX.
 */
bool pst_forecast_says(const struct pst_forecast *forecast, enum pst_forecast_model model,
                       uint32_t steps, double *ret_rates);
/* May it speak now? */
bool pst_forecast_is_open(const struct pst_forecast *forecast, enum pst_forecast_model model);
/*
 * The largest of what the models that may speak (other than persistence) say; false: none may. Of a season
 * that is open by its bursts alone only they count: of the steps between it says the level of the calm.
 */
bool pst_forecast_path(const struct pst_forecast *forecast, uint32_t steps, double *ret_rates);
/*
 * By what factor the judge had to raise the best model (persistence, if none beats it) over the last days
 * so that 1 % of the steps were under-provisioned; 0 while it does not know. A path is not raised by it.
 */
double pst_forecast_margin(const struct pst_forecast *forecast);

const char *pst_forecast_model_name(enum pst_forecast_model model);

#endif
