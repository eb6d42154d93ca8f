/* keda_ask.c - see keda_ask.h. */
#include "scale/keda_ask.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "codec/decimal.h"

#define FROM_ENV "FromEnv"

enum key { KEY_POOL, KEY_METRIC, KEY_BAND, KEY_TOLERANCE, KEY_COUNT };

static const char *const key_names[KEY_COUNT] = {
    [KEY_POOL] = "pool",
    [KEY_METRIC] = "metric",
    [KEY_BAND] = "band",
    [KEY_TOLERANCE] = "tolerance",
};

/* What KEDA itself reads of an external trigger, in this and older versions. */
static const char *const kedas_own[] = {
    "scalerAddress", "enableTLS",    "unsafeSsl",   "caCert",
    "tlsClientCert", "tlsClientKey", "tlsCertFile",
};

static const char *const band_names[PST_EXPORT_BAND_COUNT] = {
    [PST_EXPORT_EXACT] = "exact",
    [PST_EXPORT_OVERSHOOT] = "overshoot",
    [PST_EXPORT_HOLD] = "hold",
};

__attribute__((format(printf, 2, 3))) static int wrong(char why[static PST_KEDA_WHY_MAX],
                                                       const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, PST_KEDA_WHY_MAX, format, args);
    va_end(args);
    return PST_E_INVALID;
}

/* KEY_COUNT: none of ours. */
static enum key find_key(const char *key, size_t len)
{
    for (unsigned i = 0; i < KEY_COUNT; i++)
        if (strlen(key_names[i]) == len && memcmp(key, key_names[i], len) == 0)
            return (enum key)i;
    return KEY_COUNT;
}

static bool is_kedas_own(const char *key, size_t len)
{
    for (size_t i = 0; i < PST_COUNT_OF(kedas_own); i++)
        if (strlen(kedas_own[i]) == len && memcmp(key, kedas_own[i], len) == 0)
            return true;
    return false;
}

/* Which values were given, by key; the last of a key's counts, as everywhere in protobuf. */
static int sort_out(const Externalscaler__ScaledObjectRef *ref, const char *values[KEY_COUNT],
                    char why[static PST_KEDA_WHY_MAX])
{
    for (size_t i = 0; i < ref->n_scalermetadata; i++) {
        const char *key = ref->scalermetadata[i]->key;
        size_t len = strlen(key), suffix = strlen(FROM_ENV);
        enum key k;

        if (len > suffix && strcmp(key + len - suffix, FROM_ENV) == 0)
            len -= suffix;
        k = find_key(key, len);
        if (k != KEY_COUNT)
            values[k] = ref->scalermetadata[i]->value;
        else if (!is_kedas_own(key, len))
            return wrong(why,
                         "metadata key '%.64s' is not known; there are pool, metric, band and "
                         "tolerance",
                         key);
    }
    return PST_OK;
}

static int read_pool(const struct pst_config *config, const char *value, uint16_t *ret_pool,
                     char why[static PST_KEDA_WHY_MAX])
{
    if (value == NULL && config->pools_count == 1) {
        *ret_pool = 0;
        return PST_OK;
    }
    if (value == NULL || value[0] == '\0')
        return wrong(why, "metadata key 'pool' is missing: there are %zu pools, '%.64s' is one",
                     config->pools_count, config->pools[0].name);
    for (size_t p = 0; p < config->pools_count; p++) {
        if (strcmp(config->pools[p].name, value) == 0) {
            *ret_pool = (uint16_t)p;
            return PST_OK;
        }
    }
    return wrong(why, "metadata key 'pool': there is no pool '%.64s'", value);
}

static int read_metric(const char *value, uint8_t *mode, char why[static PST_KEDA_WHY_MAX])
{
    for (unsigned m = 0; value != NULL && m < PST_EXPORT_MODE_COUNT; m++) {
        if (strcmp(pst_export_mode_name((enum pst_export_mode)m), value) == 0) {
            *mode = (uint8_t)m;
            return PST_OK;
        }
    }
    if (value == NULL)
        return PST_OK;
    return wrong(why,
                 "metadata key 'metric': '%.64s' is none of desired, backlog-seconds, "
                 "weighted-depth, p99-wait",
                 value);
}

static int read_band(const char *value, uint8_t *band, char why[static PST_KEDA_WHY_MAX])
{
    for (unsigned b = 0; value != NULL && b < PST_EXPORT_BAND_COUNT; b++) {
        if (strcmp(band_names[b], value) == 0) {
            *band = (uint8_t)b;
            return PST_OK;
        }
    }
    if (value == NULL)
        return PST_OK;
    return wrong(why, "metadata key 'band': '%.64s' is none of exact, overshoot, hold", value);
}

/* A share, or a percentage with its sign. */
static int read_tolerance(const char *value, uint32_t *ppm, char why[static PST_KEDA_WHY_MAX])
{
    struct pst_decimal number;
    bool is_percent;
    uint64_t scaled;
    size_t len;

    if (value == NULL)
        return PST_OK;
    len = strlen(value);
    is_percent = len > 0 && value[len - 1] == '%';
    if (pst_decimal_read(value, len - is_percent, &number) != PST_OK ||
        !pst_decimal_to_scaled(&number, is_percent ? 4 : 6, &scaled) || scaled > PST_PPM)
        return wrong(why, "metadata key 'tolerance': '%.64s' is no share such as 0.1 or 10%%",
                     value);
    *ppm = (uint32_t)scaled;
    return PST_OK;
}

int pst_keda_ask_read(const struct pst_config *config, const Externalscaler__ScaledObjectRef *ref,
                      struct pst_keda_ask *ret_ask, char why[static PST_KEDA_WHY_MAX])
{
    const char *values[KEY_COUNT] = {NULL};
    const struct pst_config_export *usual;
    struct pst_keda_ask ask = {0};
    int rc = sort_out(ref, values, why);

    if (rc == PST_OK)
        rc = read_pool(config, values[KEY_POOL], &ask.pool, why);
    if (rc != PST_OK)
        return rc;
    usual = &config->pools[ask.pool].export_;
    ask.export_ = (struct pst_export_config){
        .mode = usual->mode,
        .band = usual->band,
        .tolerance_ppm = usual->tolerance_ppm,
        .gateways = config->gateways,
    };
    rc = read_metric(values[KEY_METRIC], &ask.export_.mode, why);
    if (rc == PST_OK)
        rc = read_band(values[KEY_BAND], &ask.export_.band, why);
    if (rc == PST_OK)
        rc = read_tolerance(values[KEY_TOLERANCE], &ask.export_.tolerance_ppm, why);
    if (rc == PST_OK)
        *ret_ask = ask;
    return rc;
}

void pst_keda_ask_name(const struct pst_config *config, const struct pst_keda_ask *ask,
                       char name[static PST_KEDA_NAME_MAX])
{
    (void)snprintf(name, PST_KEDA_NAME_MAX, "penstock-%.100s-%s", config->pools[ask->pool].name,
                   pst_export_mode_name((enum pst_export_mode)ask->export_.mode));
    for (char *c = name; *c != '\0'; c++) {
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
        else if ((*c < 'a' || *c > 'z') && (*c < '0' || *c > '9'))
            *c = '-';
    }
}
