/* estimate.c - see estimate.h. */
#include "core/estimate.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"

#define OUTPUT_UNKNOWN 256            /* tokens of an answer, before one was seen */
#define OUTPUT_UNIT    UINT64_C(1024) /* of the means: whole tokens would not move by small steps */
#define RATIO_TOKENS   1000           /* a token is about four bytes, before one was seen … */
#define RATIO_BYTES    4000 /* … and a flow leans on its pool with the weight of so many bytes */
#define RATIO_FADE     (UINT64_C(1) << 22)
#define MEAN_SAMPLES   128
#define PARENT_SAMPLES 4 /* weight of the parent */

int pst_estimate_init(struct pst_estimate *e, uint32_t flows_max)
{
    uint32_t cells = 64;

    memset(e, 0, sizeof *e);
    while (cells < 2 * flows_max && cells < UINT32_C(1) << 20)
        cells *= 2;
    e->mask = cells - 1;
    e->flow_ratio = calloc(cells, sizeof *e->flow_ratio);
    e->flow_output = calloc(cells, sizeof *e->flow_output);
    if (e->flow_ratio == NULL || e->flow_output == NULL) {
        pst_estimate_done(e);
        return PST_E_NOMEM;
    }
    return PST_OK;
}

void pst_estimate_done(struct pst_estimate *e)
{
    free(e->flow_ratio);
    free(e->flow_output);
    memset(e, 0, sizeof *e);
}

static uint32_t cell_of(const struct pst_estimate *e, uint32_t a, uint32_t b)
{
    return (uint32_t)pst_mix64((uint64_t)a << 32 | b) & e->mask;
}

static void mean_add(struct pst_mean *m, uint64_t value)
{
    pst_mean_add(m, value, MEAN_SAMPLES);
}

static uint64_t mean_with_parent(const struct pst_mean *m, uint64_t parent)
{
    if (m->samples == 0)
        return parent;
    return pst_add_sat(pst_mul_sat(m->mean, m->samples), pst_mul_sat(parent, PARENT_SAMPLES)) /
           (m->samples + PARENT_SAMPLES);
}

static void ratio_add(struct pst_ratio *r, uint64_t tokens, uint64_t bytes)
{
    r->tokens += tokens;
    r->bytes += bytes;
    if (r->bytes > RATIO_FADE) {
        r->tokens /= 2;
        r->bytes /= 2;
    }
}

uint32_t pst_estimate_prompt(const struct pst_estimate *e, uint16_t pool, uint32_t flow,
                             uint32_t prompt_bytes)
{
    const struct pst_ratio *p = &e->pool_ratio[pool];
    const struct pst_ratio *f = &e->flow_ratio[cell_of(e, pool, flow)];
    uint64_t lean;

    if (prompt_bytes == 0)
        return 0;
    lean = pst_muldiv(RATIO_BYTES, p->tokens + RATIO_TOKENS, p->bytes + RATIO_BYTES);
    return (uint32_t)pst_min_u64(
        pst_muldiv(prompt_bytes, f->tokens + lean, f->bytes + RATIO_BYTES) + 1, UINT32_MAX);
}

uint32_t pst_estimate_output(const struct pst_estimate *e, uint8_t type, uint32_t flow)
{
    uint64_t of_type = mean_with_parent(&e->type_output[type], OUTPUT_UNKNOWN * OUTPUT_UNIT);
    uint64_t of_flow = mean_with_parent(&e->flow_output[cell_of(e, type, flow)], of_type);

    return (uint32_t)pst_min_u64((of_flow + OUTPUT_UNIT / 2) / OUTPUT_UNIT, UINT32_MAX);
}

void pst_estimate_learn(struct pst_estimate *e, uint16_t pool, uint8_t type, uint32_t flow,
                        uint32_t prompt_bytes, uint32_t tokens_in, uint32_t tokens_out)
{
    if (tokens_in > 0 && prompt_bytes > 0) {
        ratio_add(&e->pool_ratio[pool], tokens_in, prompt_bytes);
        ratio_add(&e->flow_ratio[cell_of(e, pool, flow)], tokens_in, prompt_bytes);
    }
    if (tokens_out > 0) {
        mean_add(&e->type_output[type], tokens_out * OUTPUT_UNIT);
        mean_add(&e->flow_output[cell_of(e, type, flow)], tokens_out * OUTPUT_UNIT);
    }
}

static pst_ns pool_mean(const struct pst_service *s)
{
    return s->pool.samples == 0 ? PST_SERVICE_UNKNOWN : s->pool.mean;
}

pst_ns pst_service_length_mean(const struct pst_service *s, uint8_t length)
{
    const struct pst_mean *m = &s->lengths[length];

    return m->samples == 0 ? PST_NEVER : pst_max_u64(mean_with_parent(m, pool_mean(s)), 1);
}

pst_ns pst_service_class_mean(const struct pst_service *s, uint8_t class_)
{
    return pst_max_u64(mean_with_parent(&s->classes[class_], pool_mean(s)), 1);
}

pst_ns pst_service_mean(const struct pst_service *s, uint8_t class_, uint8_t length)
{
    return pst_max_u64(
        mean_with_parent(&s->cells[class_][length], pst_service_class_mean(s, class_)), 1);
}

void pst_service_learn(struct pst_service *s, uint8_t class_, uint8_t length, pst_ns duration)
{
    mean_add(&s->pool, duration);
    mean_add(&s->lengths[length], duration);
    mean_add(&s->classes[class_], duration);
    mean_add(&s->cells[class_][length], duration);
}
