#include "rehearse/engine_fault.h"

#include <string.h>

#include "core/num.h"
#include "model/law.h"

enum argument { NOTHING, TOKENS, DURATION, MARK };

static const struct {
    const char *name;
    enum argument argument;
    uint64_t by_default; /* 0 with TOKENS, DURATION: must be given */
    const char *help;
} table[PST_FAULT_COUNT] = {
    [PST_FAULT_HANG] = {"hang", NOTHING, 0,
                        "requests are accepted and never answered; /health 200"},
    [PST_FAULT_FREEZE] = {"freeze", NOTHING, 0,
                          "the worker stops: running stays, no more tokens; /health 200"},
    [PST_FAULT_ASLEEP] = {"asleep", NOTHING, 0, "as after /sleep: requests hang; /health 200"},
    [PST_FAULT_LOADING] = {"loading", NOTHING, 0, "503 Loading model to everything"},
    [PST_FAULT_READY_EARLY] = {"ready-early", NOTHING, 0,
                               "/health 200 from the start; until loaded, requests hang"},
    [PST_FAULT_UNHEALTHY] = {"unhealthy", NOTHING, 0, "/health 503, requests are served"},
    [PST_FAULT_ERROR_ALL] = {"error-all", NOTHING, 0, "500 to every request; /health 200"},
    [PST_FAULT_FULL] = {"full", NOTHING, 0, "503 busy as a status"},
    [PST_FAULT_FULL_EVENT] = {"full-event", NOTHING, 0,
                              "200, then busy as the stream's first event, then [DONE]"},
    [PST_FAULT_RESET_BEFORE] = {"reset-before", NOTHING, 0, "reset before the first byte"},
    [PST_FAULT_RESET_AFTER] = {"reset-after", TOKENS, 1, "reset after N tokens, default 1"},
    [PST_FAULT_TRUNCATE] = {"truncate", NOTHING, 0, "half of the answer, then the connection ends"},
    [PST_FAULT_CRASH_ON] = {"crash-on", MARK, 0,
                            "the process dies at once of a request that contains the mark"},
    [PST_FAULT_DIE_MID_STREAM] = {"die-mid-stream", NOTHING, 0,
                                  "half of the tokens, then an error event and [DONE]"},
    [PST_FAULT_WORKER_DIES] = {"worker-dies", NOTHING, 0,
                               "all in flight end in errors, /health 503, then the process exits"},
    [PST_FAULT_STALL_AFTER] = {"stall-after", TOKENS, 0,
                               "silence after N tokens, the connection stays open"},
    [PST_FAULT_SLOW_DRIP] = {"slow-drip", DURATION, 10 * PST_MS,
                             "seven bytes at a time, so far apart; default 10ms"},
    [PST_FAULT_NAN_METRICS] = {"nan-metrics", NOTHING, 0, "every value of /metrics is NaN"},
};

const char *pst_engine_fault_name(enum pst_engine_fault fault)
{
    return table[fault].name;
}

const char *pst_engine_fault_help(enum pst_engine_fault fault)
{
    return table[fault].help;
}

bool pst_engine_fault_hits(const struct pst_engine_faults *faults, enum pst_engine_fault fault,
                           struct pst_prng *prng)
{
    uint32_t ppm = faults->ppm[fault];

    /* Nothing is drawn for what is off or certain: switching one fault leaves the others' dice alone. */
    return ppm >= PST_PPM || (ppm > 0 && pst_prng_below(prng, PST_PPM) < ppm);
}

static bool read_value(const char *text, size_t len, enum pst_law_unit unit, double *ret_value)
{
    struct pst_law law;
    const char *why;

    if (pst_law_read(text, len, unit, &law, &why) != PST_OK || law.kind != PST_LAW_CONST)
        return false;
    *ret_value = law.mean;
    return true;
}

static int find(const char *name, size_t len)
{
    for (int i = 0; i < PST_FAULT_COUNT; i++)
        if (strlen(table[i].name) == len && memcmp(table[i].name, name, len) == 0)
            return i;
    return -1;
}

static const char *read_argument(enum pst_engine_fault fault, const char *text, size_t len,
                                 uint64_t *ret_value)
{
    double value;

    switch (table[fault].argument) {
    case NOTHING:
        return "this fault takes no argument";
    case TOKENS:
        if (!read_value(text, len, PST_LAW_NUMBER, &value) || value < 1)
            return "a number of tokens is wanted, from 1";
        *ret_value = pst_to_u64(value);
        return NULL;
    case DURATION:
        if (!read_value(text, len, PST_LAW_DURATION, &value))
            return "a duration with its unit is wanted";
        *ret_value = pst_to_u64(value);
        return NULL;
    case MARK:
        return len == 0 || len > PST_FAULT_MARK_MAX ? "the mark must have 1 to 128 bytes" : NULL;
    }
    PST_ASSERT(false);
    return NULL;
}

int pst_engine_fault_set(struct pst_engine_faults *faults, const char *text, const char **ret_why)
{
    const char *end = text + strlen(text);
    const char *share = strrchr(text, '@');
    const char *argument = strchr(text, '=');
    uint64_t value;
    double probability = 1.0;
    int fault;

    if (share != NULL) {
        *ret_why = "the probability behind @ must be above 0 and at most 1";
        if (!read_value(share + 1, (size_t)(end - share - 1), PST_LAW_NUMBER, &probability) ||
            probability <= 0.0 || probability > 1.0)
            return PST_E_SYNTAX;
        end = share;
    }
    if (argument != NULL && argument >= end)
        argument = NULL;
    fault = find(text, (size_t)((argument != NULL ? argument : end) - text));
    *ret_why = "there is no fault of that name";
    if (fault < 0)
        return PST_E_SYNTAX;
    value = table[fault].by_default;
    *ret_why = "this fault needs an argument";
    if (argument != NULL)
        *ret_why = read_argument((enum pst_engine_fault)fault, argument + 1,
                                 (size_t)(end - argument - 1), &value);
    else if (table[fault].argument == NOTHING || value != 0)
        *ret_why = NULL;
    if (*ret_why != NULL)
        return PST_E_SYNTAX;

    if (table[fault].argument == MARK) {
        size_t len = (size_t)(end - argument - 1);

        PST_ASSERT(argument != NULL);
        memcpy(faults->mark, argument + 1, len);
        faults->mark[len] = '\0';
    }
    faults->argument[fault] = value;
    faults->ppm[fault] = (uint32_t)pst_max_u64(1, pst_to_u64(probability * PST_PPM));
    return PST_OK;
}

int pst_engine_fault_clear(struct pst_engine_faults *faults, const char *name)
{
    int fault = find(name, strlen(name));

    if (strcmp(name, "all") == 0) {
        *faults = (struct pst_engine_faults){0};
        return PST_OK;
    }
    if (fault < 0)
        return PST_E_INVALID;
    faults->ppm[fault] = 0;
    return PST_OK;
}
