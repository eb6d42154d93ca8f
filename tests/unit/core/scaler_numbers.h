/*
 * scaler_numbers.h - a scaler's numbers, drawn at random from the corners of what a configuration allows.
 */
#ifndef PST_TEST_CORE_SCALER_NUMBERS_H
#define PST_TEST_CORE_SCALER_NUMBERS_H

#include "core/prng.h"
#include "core/scaler.h"

static inline uint64_t numbers_one_of(struct pst_prng *prng, const uint64_t *values, uint32_t count)
{
    return values[pst_prng_below(prng, count)];
}

#define NUMBERS_ONE_OF(prng, ...)                                                                  \
    numbers_one_of(prng, (const uint64_t[]){__VA_ARGS__},                                          \
                   PST_COUNT_OF(((const uint64_t[]){__VA_ARGS__})))

static inline void numbers_draw_pool(struct pst_prng *prng, struct pst_scaler_pool *p,
                                     uint32_t replicas)
{
    p->max = 1 + (uint32_t)pst_prng_below(prng, (uint32_t)NUMBERS_ONE_OF(prng, 1, 4, replicas));
    p->min = (uint32_t)pst_prng_below(prng, (uint32_t)NUMBERS_ONE_OF(prng, 1, 2, p->max + 1));
    p->warm = (uint32_t)pst_prng_below(prng, NUMBERS_ONE_OF(prng, 1, 1, 3));
    p->slots = (uint32_t)NUMBERS_ONE_OF(prng, 1, 8, 14, UINT16_MAX);
    p->rule = (uint8_t)NUMBERS_ONE_OF(prng, PST_RULE_AHEAD, PST_RULE_AHEAD,
                                      pst_prng_below(prng, PST_RULE_COUNT));
    p->actuate = (uint8_t)(pst_prng_below(prng, 8) > 0
                               ? PST_ACTUATE_OWN
                               : NUMBERS_ONE_OF(prng, PST_ACTUATE_NONE, PST_ACTUATE_NUMBER));
    p->awaits_synced = pst_prng_below(prng, 4) == 0;
    p->out_above = NUMBERS_ONE_OF(prng, 0, 2 * PST_S, PST_NEVER);
    p->in_below = NUMBERS_ONE_OF(prng, 0, 500 * PST_MS);
    p->in_after = NUMBERS_ONE_OF(prng, 0, 60 * PST_S, 60 * PST_S, PST_NEVER);
    p->start_time = NUMBERS_ONE_OF(prng, 0, PST_S, 100 * PST_S, 3600 * PST_S);
    p->warm_time = NUMBERS_ONE_OF(prng, 0, 5 * PST_S);
    p->start_timeout = NUMBERS_ONE_OF(prng, 1, 300 * PST_S, 300 * PST_S, PST_NEVER);
    p->drain_deadline = NUMBERS_ONE_OF(prng, 0, 60 * PST_S, PST_NEVER);
    p->rotate = NUMBERS_ONE_OF(prng, 0, PST_S, 900 * PST_S);
    p->stale_after = NUMBERS_ONE_OF(prng, 0, 15 * PST_S, 15 * PST_S);
    p->utilisation_ppm = (uint32_t)NUMBERS_ONE_OF(prng, 0, 1, 850000, PST_PPM);
    p->inflight_guard_ppm = (uint32_t)NUMBERS_ONE_OF(prng, 0, 1, 800000, PST_PPM);
    p->gpu_guard_ppm = (uint32_t)NUMBERS_ONE_OF(prng, 0, 0, 500000);
    p->qps_milli = (uint32_t)NUMBERS_ONE_OF(prng, 1, 5000, UINT32_MAX);
    p->cost_micro = NUMBERS_ONE_OF(prng, 0, 0, 2500000);
    p->budget_hour_micro = NUMBERS_ONE_OF(prng, 0, 1, 10000000, UINT64_MAX);
    p->budget_day_micro = NUMBERS_ONE_OF(prng, 0, 0, 60000000);
}

static inline void numbers_draw(struct pst_prng *prng, struct pst_scaler_config *config)
{
    for (uint32_t c = 0; c < config->classes_count; c++) {
        struct pst_scaler_class *class_ = &config->classes[c];

        class_->target = NUMBERS_ONE_OF(prng, 0, 100 * PST_MS, 10 * PST_S);
        class_->max_wait = NUMBERS_ONE_OF(prng, 0, 5 * PST_S, 60 * PST_S, 7200 * PST_S, PST_NEVER);
        class_->depth_weight = (uint32_t)NUMBERS_ONE_OF(prng, 0, 1, 3);
        class_->envelope = (uint8_t)pst_prng_below(prng, 2);
        class_->sheds = (uint8_t)pst_prng_below(prng, 2);
    }
    for (uint32_t p = 0; p < config->pools_count; p++)
        numbers_draw_pool(prng, &config->pools[p], config->replicas_max);
}

#endif
