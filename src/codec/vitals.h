/*
 * vitals.h - what an engine's metrics page says of its load, whichever engine it is.
 *
 * Why: five engines have five sets of names for what is running, what waits, how full the cache is and how
 * many tokens were made; names change between versions, and one server may speak for another in both sets.
 * So the names say who speaks: of each number the first name in the table (vitals.c) that is there counts.
 *
 * Guarantee: several series of a name (models, engines of one server) are added up, of the cache the fullest
 * counts. What is absent, NaN, infinite, negative or too large is not said, and never zero; if it is one of
 * several, their sum is not said. A page that breaks its format, or was cut, says nothing. Counters are
 * passed on as they are, after a restart too.
 * Source: the metrics pages of vLLM 0.6 to 0.32, SGLang, TGI 3, Triton with TensorRT-LLM, llama.cpp.
 */
#ifndef PST_CODEC_VITALS_H
#define PST_CODEC_VITALS_H

#include "pst.h"

struct pst_vitals {
    uint32_t running; /* sequences; UINT32_MAX: not said */
    uint32_t waiting; /* UINT32_MAX: not said */
    uint32_t kv_ppm;  /* UINT32_MAX: not said */
    uint64_t tokens;  /* made since it started; UINT64_MAX: not said */
    bool asleep;      /* it says so */
};

/* PST_OK, PST_E_SYNTAX, or PST_E_UNKNOWN: a good page, with nothing of all this. */
int pst_vitals_read(const char *page, size_t len, struct pst_vitals *ret_vitals);

#endif
