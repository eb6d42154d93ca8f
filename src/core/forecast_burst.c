/* forecast_burst.c - see forecast_burst.h. */
#include "core/forecast_burst.h"

#define NOISE        (20 * PST_S)
#define HOUR         (3600 * PST_S)
#define CALM_MIN     6
#define CALM_ENOUGH  30
#define RISE_SHARE   0.5 /* of the level */
#define RISE_DEVIATE 6.0 /* mean absolute deviations: 4.8 standard ones of a normal law */
#define NEAR         0.5 /* of the rise: a run ends below it */

void pst_bursts_init(struct pst_bursts *bursts, pst_ns step)
{
    const uint32_t hour = (uint32_t)(HOUR / step);
    const uint32_t some = hour / 12;

    *bursts = (struct pst_bursts){
        .hour = hour,
        .steps_min = (uint32_t)((NOISE + step - 1) / step),
        .calm_min = some < CALM_MIN      ? CALM_MIN
                    : some > CALM_ENOUGH ? CALM_ENOUGH
                                         : some,
    };
}

static double rise(const struct pst_bursts *bursts)
{
    const double share = RISE_SHARE * bursts->level;
    const double deviate = RISE_DEVIATE * bursts->deviation;

    return share > deviate ? share : deviate;
}

static void add_calm(struct pst_bursts *bursts, double rate)
{
    double off;

    if (bursts->calm < bursts->hour || bursts->calm < bursts->calm_min)
        bursts->calm++;
    bursts->level += (rate - bursts->level) / bursts->calm;
    off = rate > bursts->level ? rate - bursts->level : bursts->level - rate;
    bursts->deviation += (off - bursts->deviation) / bursts->calm;
}

/* What lasts is no burst: the level is learnt anew. */
static void become_level(struct pst_bursts *bursts, double rate)
{
    if (bursts->run.end - bursts->run.start + 1 >= bursts->steps_min)
        bursts->count--;
    bursts->is_running = false;
    bursts->calm = 0;
    bursts->deviation = 0;
    add_calm(bursts, rate);
}

static void go_on(struct pst_bursts *bursts, uint64_t step)
{
    bursts->run.end = step;
    if (step - bursts->run.start + 1 == bursts->steps_min)
        bursts->count++;
    if (step - bursts->run.start + 1 >= bursts->steps_min)
        bursts->kept[(bursts->count - 1) % PST_BURSTS_KEPT] = bursts->run;
}

void pst_bursts_add(struct pst_bursts *bursts, uint64_t step, double rate)
{
    const double above = rate - bursts->level;

    if (rate < 0) {
        bursts->is_running = false;
    } else if (bursts->is_running) {
        if (above <= NEAR * rise(bursts)) {
            bursts->is_running = false;
            add_calm(bursts, rate);
        } else if (step - bursts->run.start >= bursts->hour) {
            become_level(bursts, rate);
        } else {
            go_on(bursts, step);
        }
    } else if (bursts->calm >= bursts->calm_min && above > rise(bursts)) {
        bursts->is_running = true;
        bursts->run.start = step;
        go_on(bursts, step);
    } else {
        add_calm(bursts, rate);
    }
}

uint64_t pst_bursts_oldest(const struct pst_bursts *bursts)
{
    return bursts->count > PST_BURSTS_KEPT ? bursts->count - PST_BURSTS_KEPT : 0;
}

const struct pst_bursts_run *pst_bursts_get(const struct pst_bursts *bursts, uint64_t number)
{
    PST_ASSERT(number < bursts->count && number >= pst_bursts_oldest(bursts));
    return &bursts->kept[number % PST_BURSTS_KEPT];
}

/* The number of the first remembered burst that starts at `from` or later; count: none. */
static uint64_t first_from(const struct pst_bursts *bursts, uint64_t from)
{
    uint64_t low = pst_bursts_oldest(bursts);
    uint64_t high = bursts->count;

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (pst_bursts_get(bursts, middle)->start < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct pst_bursts_run *last_until(const struct pst_bursts *bursts, uint64_t to)
{
    const uint64_t number = first_from(bursts, to + 1);

    return number > pst_bursts_oldest(bursts) ? pst_bursts_get(bursts, number - 1) : NULL;
}

const struct pst_bursts_run *pst_bursts_touching(const struct pst_bursts *bursts, uint64_t from,
                                                 uint64_t to)
{
    const struct pst_bursts_run *burst = last_until(bursts, to);

    return burst != NULL && burst->end >= from ? burst : NULL;
}

const struct pst_bursts_run *pst_bursts_starting(const struct pst_bursts *bursts, uint64_t from,
                                                 uint64_t to)
{
    const struct pst_bursts_run *burst = last_until(bursts, to);

    return burst != NULL && burst->start >= from ? burst : NULL;
}

uint64_t pst_bursts_since(const struct pst_bursts *bursts, uint64_t from)
{
    return bursts->count - first_from(bursts, from);
}
