/* measure_query.c - see measure_query.h. */
#include "scale/measure_query.h"

#include <string.h>

#include <cjson/cJSON.h>

#include "codec/decimal.h"

static void put_encoded(struct pst_text *url, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

    while (*text != '\0') {
        size_t len = strspn(text, plain);

        pst_text_add(url, text, len);
        text += len;
        if (*text != '\0')
            pst_text_print(url, "%%%02X", (unsigned)(unsigned char)*text++);
    }
}

static void put_server(struct pst_text *url, const char *server, const char *path,
                       const char *query)
{
    size_t len = strlen(server);

    while (len > 0 && server[len - 1] == '/')
        len--;
    pst_text_add(url, server, len);
    pst_text_put(url, path);
    put_encoded(url, query);
}

void pst_measure_query_url(struct pst_text *url, const char *server, const char *query,
                           pst_ns lookback)
{
    put_server(url, server, "/api/v1/query?query=", query);
    /* Without it a value is told for five minutes after it was last seen; who does not know it does that. */
    pst_text_print(url, "&lookback_delta=%llums", (unsigned long long)(lookback / PST_MS));
}

void pst_measure_query_day_url(struct pst_text *url, const char *server, const char *query,
                               uint64_t from_s)
{
    put_server(url, server, "/api/v1/query_range?query=", query);
    pst_text_print(url, "&start=%llu&end=%llu&step=%d", (unsigned long long)from_s,
                   (unsigned long long)(from_s + PST_WIRE_DAY_S - PST_MEASURE_STEP_S),
                   PST_MEASURE_STEP_S);
}

void pst_measure_query_own(struct pst_text *query, const char *pool)
{
    pst_text_put(query, "max(penstock_scaler_replicas{kind=\"needed\",pool=\"");
    for (; *pool != '\0'; pool++) {
        if (*pool == '"' || *pool == '\\')
            pst_text_put(query, "\\");
        pst_text_add(query, pool, 1);
    }
    pst_text_put(query, "\"})");
}

/* The `result` of an answer that says success; NULL otherwise. */
static const cJSON *result_of(const cJSON *root, const char **ret_type)
{
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(root, "data");
    const char *status = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "status"));
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(data, "result");

    *ret_type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "resultType"));
    if (status == NULL || strcmp(status, "success") != 0 || *ret_type == NULL ||
        !cJSON_IsArray(result))
        return NULL;
    return result;
}

/* [seconds, "value"]; false: it is no such pair, or no number. */
static bool read_pair(const cJSON *pair, uint64_t *ret_ms, struct pst_decimal *ret_value)
{
    const cJSON *time = cJSON_GetArrayItem(pair, 0);
    const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(pair, 1));

    if (!cJSON_IsArray(pair) || cJSON_GetArraySize(pair) != 2 || !cJSON_IsNumber(time) ||
        text == NULL || !(time->valuedouble >= 0 && time->valuedouble < 1e12) ||
        pst_decimal_read(text, strlen(text), ret_value) != PST_OK)
        return false;
    *ret_ms = (uint64_t)(time->valuedouble * 1000.0 + 0.5);
    return true;
}

/* NULL: there is not exactly one. */
static const cJSON *only_pair(const cJSON *result, const char *type, const char **ret_why)
{
    if (strcmp(type, "scalar") == 0)
        return result;
    if (strcmp(type, "vector") != 0)
        *ret_why = "an answer that is no value";
    else if (cJSON_GetArraySize(result) != 1)
        *ret_why = cJSON_GetArraySize(result) == 0 ? "an empty answer" : "several values";
    else
        return cJSON_GetObjectItemCaseSensitive(result->child, "value");
    return NULL;
}

static bool is_above_zero(const struct pst_decimal *value)
{
    return value->digits != 0 && !value->negative;
}

static bool convert(enum pst_signal signal, const struct pst_decimal *value, uint64_t *ret_value)
{
    switch (signal) {
    case PST_SIGNAL_GPU:
    case PST_SIGNAL_ERRORS:
    case PST_SIGNAL_GPU_MEMORY:
        return pst_decimal_to_scaled(value, 6, ret_value) && *ret_value <= PST_PPM;
    case PST_SIGNAL_LATENCY:
    case PST_SIGNAL_ROLLOUT:
        *ret_value = is_above_zero(value);
        return true;
    case PST_SIGNAL_QUOTA:
        return pst_decimal_to_scaled(value, 0, ret_value);
    case PST_SIGNAL_COUNT:
        break;
    }
    return false;
}

int pst_measure_query_read(const char *body, size_t len, enum pst_signal signal, uint64_t wall_ns,
                           uint64_t *ret_value, pst_ns *ret_age, const char **ret_why)
{
    cJSON *root = cJSON_ParseWithLength(body, len);
    const char *type;
    const cJSON *result = result_of(root, &type), *pair;
    struct pst_decimal number;
    uint64_t ms, value;
    int rc = PST_E_UNKNOWN;

    *ret_why = "an answer that says no success";
    pair = result == NULL ? NULL : only_pair(result, type, ret_why);
    if (pair == NULL)
        goto out;
    if (!read_pair(pair, &ms, &number)) {
        *ret_why = "a value that is no number";
    } else if (!convert(signal, &number, &value)) {
        *ret_why = "a value out of its range";
    } else {
        *ret_value = value;
        *ret_age = wall_ns > ms * PST_MS ? wall_ns - ms * PST_MS : 0;
        rc = PST_OK;
    }
out:
    cJSON_Delete(root);
    return rc;
}

/* A part of a replica is one. */
static bool whole_replicas(const struct pst_decimal *number, uint16_t *ret_replicas)
{
    uint64_t ppm;

    if (!pst_decimal_to_scaled(number, 6, &ppm) ||
        ppm > (uint64_t)(PST_WIRE_NOT_KNOWN - 1) * PST_PPM)
        return false;
    *ret_replicas = (uint16_t)((ppm + PST_PPM - 1) / PST_PPM);
    return true;
}

static void put(struct pst_wire_day *day, uint64_t ms, const struct pst_decimal *number)
{
    uint64_t s = ms / 1000;
    uint16_t *quarter, replicas;

    if (s < day->from_s || s - day->from_s >= PST_WIRE_DAY_S || !whole_replicas(number, &replicas))
        return;
    quarter = &day->replicas[(s - day->from_s) / PST_WIRE_QUARTER_S];
    if (*quarter == PST_WIRE_NOT_KNOWN || *quarter < replicas)
        *quarter = replicas;
}

int pst_measure_query_day(const char *body, size_t len, struct pst_wire_day *day,
                          const char **ret_why)
{
    cJSON *root = cJSON_ParseWithLength(body, len);
    const char *type;
    const cJSON *result = result_of(root, &type), *pair;
    struct pst_decimal number;
    uint64_t ms;
    int rc = PST_E_UNKNOWN;

    for (size_t i = 0; i < PST_WIRE_QUARTERS; i++)
        day->replicas[i] = PST_WIRE_NOT_KNOWN;
    if (result == NULL || strcmp(type, "matrix") != 0) {
        *ret_why = "an answer that says no success";
    } else if (cJSON_GetArraySize(result) > 1) {
        *ret_why = "several values";
    } else {
        const cJSON *values = cJSON_GetObjectItemCaseSensitive(result->child, "values");

        cJSON_ArrayForEach(pair, values)
        {
            if (read_pair(pair, &ms, &number))
                put(day, ms, &number);
        }
        rc = PST_OK; /* a day of which nothing is known is one */
    }
    cJSON_Delete(root);
    return rc;
}
