/*
 * plan.h - how many replicas a pool needs: by closed form where it holds, by simulation where not.
 *
 * Why: staffing by Erlang C takes microseconds and says why; but it knows no bursts, no waves, no heavy
 * tails and no engine. A planner that does not say which of the two it believes cannot be checked. So
 * the arrivals of the scenario are walked through once, what the formula wants to know is measured on
 * them, and each class is told whether the formula may speak for it.
 *
 *   formula    a class and those above it see an M/G/n queue of all slots (staff.h): the classes below
 *              are held back by reservation. Servers: the least with P(wait > target) <= 1 %; replicas:
 *              the most that any class needs. ca^2 is the index of dispersion of counts.
 *   search     the least number with which a simulation serves 99 % of every class within its target,
 *              from the formula's number up or down; a refused or expired request is not served.
 *   queue      requests of a class that may wait: (slots - load above) / service x max_wait
 *
 * Guarantee: pure; the same scenario and seed give the same plan.
 * Sources: staff.h; Cox & Lewis, "The Statistical Analysis of Series of Events", 4.5 (dispersion).
 */
#ifndef PST_SIM_PLAN_H
#define PST_SIM_PLAN_H

#include "model/scenario.h"
#include "sim/report.h"

#define PST_PLAN_SHARE_PPM 990000u /* of a class to be served within its target: a P99 */
/* Dispersion is looked at over windows of 1, 10, 60 and 600 s. */
#define PST_PLAN_SCALES 4

/* What may be said of a class by formula, or why not. */
enum pst_plan_method {
    PST_PLAN_FORMULA,
    PST_PLAN_BURSTS, /* arrivals come in bursts: most dispersed over windows of a minute or less */
    PST_PLAN_WAVES,  /* the rate goes up and down: most dispersed over ten minutes */
    PST_PLAN_HEAVY_TAIL, /* the variance of service is infinite */
    PST_PLAN_SPREAD,     /* service varies too much for a two-moment formula */
    PST_PLAN_SEQUENCES,  /* requests take several slots at once */
    PST_PLAN_ENGINE,     /* replicas batch: service depends on who else is there */
    PST_PLAN_METHOD_COUNT
};
const char *pst_plan_method_name(enum pst_plan_method method); /* "formula" … */

/* Arrivals of one class, or of a class and all above it, as the formula wants them. */
struct pst_plan_stream {
    uint64_t arrived;
    double per_s;
    double erlangs;      /* slots in use on average */
    double service_s;    /* mean slot-time; 0 without arrivals, and of a batching engine */
    double service_cv;   /* +infinity where a law says so */
    double dispersion;   /* ca^2: index of counts over 1 or 10 s, by their differences */
    double irregularity; /* the largest index of any window … */
    double window_s;     /* … and which that is */
    double prompt_tokens;
};

struct pst_plan_load {
    uint32_t classes_count;
    double span_s;
    struct pst_plan_stream own[PST_CLASSES_MAX];
    struct pst_plan_stream upto[PST_CLASSES_MAX]; /* with the classes above it */
    enum pst_plan_method methods[PST_CLASSES_MAX];
};

/* One pool of a scenario as a scenario of its own, without faults; streams: of its arrivals. */
struct pst_plan_scene {
    struct pst_scenario scenario;
    struct pst_stream streams[PST_STREAMS_MAX];
};
void pst_plan_scene(const struct pst_scenario *scenario, uint16_t pool,
                    struct pst_plan_scene *ret_scene);
/* Its bursts are gone: what is left is what must always be there. */
void pst_plan_calm(struct pst_plan_scene *scene);
/* Do its arrivals vary by more than chance: bursts, pieces, a trace? */
bool pst_plan_varies(const struct pst_plan_scene *scene);

/* Walks through the scene's arrivals after its cut. PST_OK, PST_E_INVALID (as arrivals.h), PST_E_NOMEM. */
int pst_plan_measure(const struct pst_plan_scene *scene, uint64_t seed,
                     struct pst_plan_load *ret_load);

/* The wait, in seconds, that 1 % of the class exceeds with so many slots, by formula; may be infinite. */
double pst_plan_wait_p99(const struct pst_plan_load *load, uint8_t class_, uint32_t slots);
/* Replicas by formula, for one class and those above; at least 1, at most `most`. */
uint32_t pst_plan_replicas(const struct pst_plan_load *load, const struct pst_scenario *scenario,
                           uint8_t class_, uint32_t most);
/* How many of the class may wait, so that nobody does for longer than max_wait; 0 without arrivals. */
uint64_t pst_plan_queue_bound(const struct pst_plan_load *load, const struct pst_scenario *scenario,
                              uint8_t class_, uint32_t replicas);

/* Was the class served within its target, so often as a P99 wants it? True where nobody came. */
bool pst_plan_class_passes(const struct pst_sim_report *report, const struct pst_scenario *scenario,
                           uint8_t class_);
bool pst_plan_passes(const struct pst_sim_report *report, const struct pst_scenario *scenario);

/* Would so many replicas do? PST_OK and *ret_passes, or an error that ends the search. */
typedef int (*pst_plan_try)(void *user, uint32_t replicas, bool *ret_passes);
/*
 * The least number that passes, looked for from `from` in doubling strides, then by halves; more never
 * pass worse, for the arrivals are the same. It and the one below were tried. 1 <= from <= most.
 * PST_OK; PST_E_FULL: not even `most`; else what a try said.
 */
int pst_plan_search(pst_plan_try attempt, void *user, uint32_t from, uint32_t most,
                    uint32_t *ret_replicas);

/*
 * The same with the plain priority queue (queue.h) as the simulation: cheap, and a lower bound. Who has
 * fewer slots than the load fails without a try: his queue would grow for ever.
 */
int pst_plan_search_queue(const struct pst_plan_scene *scene, const struct pst_plan_load *load,
                          uint64_t seed, uint32_t from, uint32_t most, uint32_t *ret_replicas,
                          const char **ret_why);

/*
 * Is a warm pool worth its price? Offers are runs of one scaler on the same arrivals; the first has no
 * warm replica, the last none either but one more that is always ready: what else the money could buy.
 */
struct pst_plan_offer {
    uint32_t warm;
    bool meets;       /* every class is served within its target as often as a P99 wants it */
    double in_target; /* requests */
    double attained;  /* … of all that arrived, 0 … 1 */
    double hours;     /* of replicas: warm ones are paid for */
    double cost;
    double extra_hours, extra_in_target; /* beside the first */
};

enum pst_plan_worth {
    PST_PLAN_NOT_NEEDED, /* without one every class meets its target */
    PST_PLAN_WORTH_IT,
    PST_PLAN_READY_IS_BETTER, /* one more ready replica does as well for no more, or better */
    PST_PLAN_TOO_LITTLE,      /* an hour of it serves fewer in time than an hour of the pool does */
    PST_PLAN_WORTH_COUNT
};
const char *pst_plan_worth_name(enum pst_plan_worth worth); /* "not-needed" … */

/* base NULL: it is the first. */
void pst_plan_offer(const struct pst_sim_report *report, const struct pst_scenario *scenario,
                    uint32_t warm, const struct pst_plan_offer *base,
                    struct pst_plan_offer *ret_offer);
/* count >= 3. *ret_best: the offer that the answer speaks of. */
enum pst_plan_worth pst_plan_judge(const struct pst_plan_offer *offers, uint32_t count,
                                   uint32_t *ret_best);

#endif
