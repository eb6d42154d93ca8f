/* trigger.c - see trigger.h. */
#include "config/trigger.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "codec/decimal.h"

#define FROM_ENV "FromEnv"
#define PREFIX   "penstock-"

static const char *const key_names[PST_TRIGGER_KEDAS] = {
    [PST_TRIGGER_POOL] = "pool",
    [PST_TRIGGER_METRIC] = "metric",
    [PST_TRIGGER_BAND] = "band",
    [PST_TRIGGER_TOLERANCE] = "tolerance",
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

__attribute__((format(printf, 2, 3))) static int wrong(char why[static PST_TRIGGER_WHY_MAX],
                                                       const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, PST_TRIGGER_WHY_MAX, format, args);
    va_end(args);
    return PST_E_INVALID;
}

/* How much of the key names what it gives. */
static size_t stem_of(const char *key)
{
    const size_t len = strlen(key), suffix = strlen(FROM_ENV);

    return len > suffix && strcmp(key + len - suffix, FROM_ENV) == 0 ? len - suffix : len;
}

bool pst_trigger_is_from_env(const char *key)
{
    return key[stem_of(key)] != '\0';
}

static bool is_key(const char *name, const char *key, size_t len)
{
    return strlen(name) == len && memcmp(key, name, len) == 0;
}

int pst_trigger_key(const char *key, enum pst_trigger_key *ret_key,
                    char why[static PST_TRIGGER_WHY_MAX])
{
    const size_t len = stem_of(key);

    for (unsigned i = 0; i < PST_COUNT_OF(key_names); i++) {
        if (is_key(key_names[i], key, len)) {
            *ret_key = (enum pst_trigger_key)i;
            return PST_OK;
        }
    }
    for (size_t i = 0; i < PST_COUNT_OF(kedas_own); i++) {
        if (is_key(kedas_own[i], key, len)) {
            *ret_key = PST_TRIGGER_KEDAS;
            return PST_OK;
        }
    }
    return wrong(
        why, "metadata key '%.64s' is not known; there are pool, metric, band and tolerance", key);
}

int pst_trigger_pool(const struct pst_config *config, const char *value, uint16_t *ret_pool,
                     char why[static PST_TRIGGER_WHY_MAX])
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

static int read_metric(const char *value, uint8_t *mode, char why[static PST_TRIGGER_WHY_MAX])
{
    for (unsigned m = 0; m < PST_EXPORT_MODE_COUNT; m++) {
        if (strcmp(pst_export_mode_name((enum pst_export_mode)m), value) == 0) {
            *mode = (uint8_t)m;
            return PST_OK;
        }
    }
    return wrong(why,
                 "metadata key 'metric': '%.64s' is none of desired, backlog-seconds, "
                 "weighted-depth, p99-wait",
                 value);
}

static int read_band(const char *value, uint8_t *band, char why[static PST_TRIGGER_WHY_MAX])
{
    for (unsigned b = 0; b < PST_EXPORT_BAND_COUNT; b++) {
        if (strcmp(band_names[b], value) == 0) {
            *band = (uint8_t)b;
            return PST_OK;
        }
    }
    return wrong(why, "metadata key 'band': '%.64s' is none of exact, overshoot, hold", value);
}

/* A share, or a percentage with its sign. */
static int read_tolerance(const char *value, uint32_t *ppm, char why[static PST_TRIGGER_WHY_MAX])
{
    struct pst_decimal number;
    const size_t len = strlen(value);
    const bool is_percent = len > 0 && value[len - 1] == '%';
    uint64_t scaled;

    if (pst_decimal_read(value, len - is_percent, &number) != PST_OK ||
        !pst_decimal_to_scaled(&number, is_percent ? 4 : 6, &scaled) || scaled > PST_PPM)
        return wrong(why, "metadata key 'tolerance': '%.64s' is no share such as 0.1 or 10%%",
                     value);
    *ppm = (uint32_t)scaled;
    return PST_OK;
}

int pst_trigger_value(enum pst_trigger_key key, const char *value,
                      struct pst_export_config *export_, char why[static PST_TRIGGER_WHY_MAX])
{
    switch (key) {
    case PST_TRIGGER_METRIC:
        return read_metric(value, &export_->mode, why);
    case PST_TRIGGER_BAND:
        return read_band(value, &export_->band, why);
    case PST_TRIGGER_TOLERANCE:
        return read_tolerance(value, &export_->tolerance_ppm, why);
    case PST_TRIGGER_POOL:
    case PST_TRIGGER_KEDAS:
    case PST_TRIGGER_KEY_COUNT:
        break;
    }
    return PST_OK;
}

void pst_trigger_name(const char *pool, enum pst_export_mode mode,
                      char name[static PST_TRIGGER_NAME_MAX])
{
    (void)snprintf(name, PST_TRIGGER_NAME_MAX, PREFIX "%.100s-%s", pool,
                   pst_export_mode_name(mode));
    for (char *c = name; *c != '\0'; c++) {
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
        else if ((*c < 'a' || *c > 'z') && (*c < '0' || *c > '9'))
            *c = '-';
    }
}

/* The name behind "s<N>-"; NULL: none there. */
static const char *skip_index(const char *metric)
{
    const size_t digits = metric[0] == 's' ? strspn(metric + 1, "0123456789") : 0;

    return digits > 0 && metric[1 + digits] == '-' ? metric + 1 + digits + 1 : NULL;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t len = strlen(text), end_len = strlen(end);

    return len > end_len && text[len - end_len - 1] == '-' &&
           strcmp(text + len - end_len, end) == 0;
}

bool pst_trigger_is_name(const char *metric, const char *pool)
{
    const char *own = skip_index(metric);

    if (own == NULL || strncmp(own, PREFIX, strlen(PREFIX)) != 0)
        return false;
    for (unsigned m = 0; m < PST_EXPORT_MODE_COUNT; m++) {
        char name[PST_TRIGGER_NAME_MAX];

        if (pool == NULL) {
            if (ends_with(own, pst_export_mode_name((enum pst_export_mode)m)))
                return true;
            continue;
        }
        pst_trigger_name(pool, (enum pst_export_mode)m, name);
        if (strcmp(own, name) == 0)
            return true;
    }
    return false;
}
