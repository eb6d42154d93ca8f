/* export.c - see export.h. In thousandths throughout: that is what the HPA computes with. */
#include "core/export.h"

#include "core/formula.h"
#include "core/num.h"

#define MILLI     UINT64_C(1000)
#define VALUE_MAX (PST_EXPORT_MAX * MILLI)
/* So that a target times all replicas that there may be is still a value. */
#define TARGET_MAX (VALUE_MAX / PST_REPLICAS_MAX)

/* Vetoes that say what must not become fewer; the others say what cannot become more. */
#define IN_VETOES                                                                                  \
    (1u << PST_VETO_HOLD | 1u << PST_VETO_NEEDED_SOON | 1u << PST_VETO_INFLIGHT |                  \
     1u << PST_VETO_GPU | 1u << PST_VETO_GUARD | 1u << PST_VETO_ROLLOUT | 1u << PST_VETO_STALE |   \
     1u << PST_VETO_RESTART | 1u << PST_VETO_WAIT)

bool pst_export_holds(uint32_t vetoes, uint32_t number, uint32_t existing)
{
    return (vetoes & IN_VETOES) != 0 && number >= existing;
}

static uint64_t clamp_target(uint64_t milli)
{
    return pst_max_u64(1, pst_min_u64(milli, TARGET_MAX));
}

static uint64_t target_of(enum pst_export_mode mode, uint64_t out_above_ms)
{
    switch (mode) {
    case PST_EXPORT_BACKLOG_SECONDS:
        return clamp_target(out_above_ms);
    case PST_EXPORT_WEIGHTED_DEPTH:
        return PST_FORMULA_DEPTH * MILLI;
    case PST_EXPORT_DESIRED:
    case PST_EXPORT_P99_WAIT:
    case PST_EXPORT_MODE_COUNT:
        break;
    }
    return MILLI;
}

uint64_t pst_export_target(const struct pst_export_config *config,
                           const struct pst_scaler_pool *pool)
{
    return target_of((enum pst_export_mode)config->mode, pool->out_above / PST_MS);
}

/* Does the HPA take so many for what there is? Both ends of its band belong to it. */
static bool is_near(uint64_t number, uint64_t existing, uint64_t tolerance_ppm)
{
    uint64_t ratio = pst_mul_sat(number, PST_PPM);

    return ratio <= pst_mul_sat(existing, PST_PPM + tolerance_ppm) &&
           ratio >= pst_mul_sat(existing, pst_sub_sat(PST_PPM, tolerance_ppm));
}

/* The least whole number above the band. */
static uint64_t above_band(uint64_t existing, uint64_t tolerance_ppm)
{
    return (existing + pst_muldiv(existing, tolerance_ppm, PST_PPM) + 1) * MILLI;
}

/*
 * The largest value below the band; the HPA rounds it up. Where that would be fewer than the number, what
 * there is stays.
 */
static uint64_t below_band(uint64_t number, uint64_t existing, uint64_t tolerance_ppm)
{
    uint64_t edge = pst_mul_sat(existing * MILLI, pst_sub_sat(PST_PPM, tolerance_ppm));
    uint64_t value = pst_sub_sat((edge + PST_PPM - 1) / PST_PPM, 1);

    return value + MILLI > number * MILLI ? value : existing * MILLI;
}

static uint64_t value_of_number(const struct pst_export_config *config, uint64_t number,
                                uint64_t existing)
{
    if (number == existing || !is_near(number, existing, config->tolerance_ppm))
        return number * MILLI;
    switch ((enum pst_export_band)config->band) {
    case PST_EXPORT_OVERSHOOT:
        return number > existing ? above_band(existing, config->tolerance_ppm)
                                 : below_band(number, existing, config->tolerance_ppm);
    case PST_EXPORT_HOLD:
        return existing * MILLI;
    case PST_EXPORT_EXACT:
    case PST_EXPORT_BAND_COUNT:
        break;
    }
    return number * MILLI;
}

/* Within half a replica of what there is, it is what there is. */
static uint64_t value_of_depth(const struct pst_export_config *config,
                               const struct pst_export_input *input)
{
    uint64_t depth = 0, stands = (uint64_t)input->existing * PST_FORMULA_DEPTH;

    for (uint32_t c = 0; c < input->classes_count; c++)
        depth = pst_add_sat(depth, (uint64_t)input->queued[c] * input->weight[c]);
    depth = pst_min_u64(pst_mul_sat(depth, config->gateways), PST_EXPORT_MAX);
    if (input->existing > 0 && 2 * depth <= 2 * stands + PST_FORMULA_DEPTH &&
        2 * depth + PST_FORMULA_DEPTH >= 2 * stands)
        depth = stands;
    return depth * MILLI;
}

/* Thousandths of the target, rounded up: a wait just above it is above it. */
static uint64_t worst_wait(const struct pst_export_input *input)
{
    uint64_t worst = 0;

    for (uint32_t c = 0; c < input->classes_count; c++) {
        uint64_t wait = input->p99_wait_ms[c], target = input->target_ms[c], ratio;

        if (wait == UINT64_MAX || wait == 0)
            continue;
        ratio = pst_muldiv(wait, MILLI, target);
        if (target != 0 && pst_muldiv(ratio, target, MILLI) < wait)
            ratio = pst_add_sat(ratio, 1);
        worst = pst_max_u64(worst, ratio);
    }
    return worst;
}

static uint64_t raw_value(const struct pst_export_config *config,
                          const struct pst_export_input *input, uint64_t target)
{
    /* A ratio of no replicas is one of the first. */
    uint64_t replicas = pst_max_u64(input->existing, 1), ratio;

    switch ((enum pst_export_mode)config->mode) {
    case PST_EXPORT_BACKLOG_SECONDS:
        /* Where the target was clamped the ratio is still backlog / out_above. */
        ratio = pst_muldiv(input->backlog_ms, target, pst_max_u64(input->out_above_ms, 1));
        return pst_mul_sat(ratio, replicas);
    case PST_EXPORT_WEIGHTED_DEPTH:
        return value_of_depth(config, input);
    case PST_EXPORT_P99_WAIT:
        return pst_mul_sat(worst_wait(input), replicas);
    case PST_EXPORT_DESIRED:
    case PST_EXPORT_MODE_COUNT:
        break;
    }
    return value_of_number(config, pst_max_u64(input->number, input->holds ? input->existing : 0),
                           input->existing);
}

int pst_export_value(const struct pst_export_config *config, const struct pst_export_input *input,
                     uint64_t *ret_value_milli)
{
    uint64_t target = target_of((enum pst_export_mode)config->mode, input->out_above_ms);
    uint64_t kept = pst_min_u64(input->existing, input->holds ? UINT32_MAX : input->number);

    PST_ASSERT(config->mode < PST_EXPORT_MODE_COUNT && config->band < PST_EXPORT_BAND_COUNT);
    PST_ASSERT(input->classes_count <= PST_CLASSES_MAX);
    if (!input->known)
        return PST_E_UNKNOWN;
    *ret_value_milli = raw_value(config, input, target);
    /* Mode desired keeps it already, by a value that may lie just below the number. */
    if (config->mode != PST_EXPORT_DESIRED)
        *ret_value_milli = pst_max_u64(*ret_value_milli, pst_mul_sat(target, kept));
    *ret_value_milli = pst_min_u64(*ret_value_milli, VALUE_MAX);
    return PST_OK;
}

int pst_export_active(const struct pst_export_input *input, bool *ret_active)
{
    bool facts = input->tickets || input->unfinished > 0 || input->existing > 1 || input->min > 0;

    if (!facts && !input->known)
        return PST_E_UNKNOWN;
    *ret_active = facts || input->number > 0;
    return PST_OK;
}

const char *pst_export_mode_name(enum pst_export_mode mode)
{
    static const char *const names[PST_EXPORT_MODE_COUNT] = {
        [PST_EXPORT_DESIRED] = "desired",
        [PST_EXPORT_BACKLOG_SECONDS] = "backlog-seconds",
        [PST_EXPORT_WEIGHTED_DEPTH] = "weighted-depth",
        [PST_EXPORT_P99_WAIT] = "p99-wait",
    };

    PST_ASSERT(mode < PST_EXPORT_MODE_COUNT);
    return names[mode];
}
