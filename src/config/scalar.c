#include "config/scalar.h"

#include <string.h>

#define NANO         UINT64_C(1000000000)
#define FRACTION_MAX 9 /* digits behind the point */
#define REAL_MAX     UINT64_C(1000000000)
#define RATE_MAX     UINT64_C(1000000) /* per unit of time */
#define NAME_MAX_LEN 63

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "12.5": whole 12, fraction 500,000,000 of 10^9. `end` stands behind it. */
static int decimal(const char *text, const char **ret_end, uint64_t *ret_whole, uint64_t *ret_nano)
{
    const char *at = text;
    uint64_t whole = 0, nano = 0, unit = NANO;

    if (!is_digit(*at) || (at[0] == '0' && is_digit(at[1])))
        return PST_E_SYNTAX;
    for (; is_digit(*at); at++) {
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(*at - '0'), &whole))
            return PST_E_FULL;
    }
    if (*at == '.') {
        at++;
        if (!is_digit(*at))
            return PST_E_SYNTAX;
        for (; is_digit(*at) && unit > 1; at++) {
            unit /= 10;
            nano += unit * (uint64_t)(*at - '0');
        }
        if (is_digit(*at))
            return PST_E_SYNTAX;
    }
    *ret_end = at;
    *ret_whole = whole;
    *ret_nano = nano;
    return PST_OK;
}

struct unit {
    const char *name;
    uint64_t worth;
};

/* A decimal with a unit of the list, exactly a whole number of the smallest. */
static int measure(const char *text, const struct unit *units, size_t count, uint64_t *ret_value)
{
    uint64_t whole, nano;
    const char *end;
    int rc = decimal(text, &end, &whole, &nano);

    if (rc != PST_OK)
        return rc;
    for (size_t i = 0; i < count; i++) {
        unsigned __int128 value = (unsigned __int128)whole * units[i].worth;
        const unsigned __int128 part = (unsigned __int128)nano * units[i].worth;
        if (strcmp(end, units[i].name) != 0)
            continue;
        if (part % NANO != 0)
            return PST_E_SYNTAX;
        value += part / NANO;
        if (value >= UINT64_MAX) /* which means "never" */
            return PST_E_FULL;
        *ret_value = (uint64_t)value;
        return PST_OK;
    }
    return PST_E_SYNTAX;
}

int pst_config_duration(const char *text, pst_ns *ret_ns)
{
    static const struct unit units[] = {
        {"ns", 1},         {"us", PST_US},      {"ms", PST_MS},           {"s", PST_S},
        {"m", 60 * PST_S}, {"h", 3600 * PST_S}, {"d", 24 * 3600 * PST_S},
    };
    return measure(text, units, PST_COUNT_OF(units), ret_ns);
}

int pst_config_size(const char *text, uint64_t *ret_bytes)
{
    static const struct unit units[] = {
        {"B", 1},
        {"KB", UINT64_C(1000)},
        {"kB", UINT64_C(1000)},
        {"MB", UINT64_C(1000000)},
        {"GB", UINT64_C(1000000000)},
        {"TB", UINT64_C(1000000000000)},
        {"KiB", UINT64_C(1) << 10},
        {"MiB", UINT64_C(1) << 20},
        {"GiB", UINT64_C(1) << 30},
        {"TiB", UINT64_C(1) << 40},
    };
    return measure(text, units, PST_COUNT_OF(units), ret_bytes);
}

int pst_scalar_count(const char *text, uint64_t *ret_count)
{
    static const struct unit one[] = {{"", 1}};

    if (strchr(text, '.') != NULL)
        return PST_E_SYNTAX;
    return measure(text, one, 1, ret_count);
}

int pst_scalar_share(const char *text, uint32_t *ret_ppm)
{
    static const struct unit units[] = {{"", PST_PPM}, {"%", PST_PPM / 100}, {" %", PST_PPM / 100}};
    uint64_t ppm;
    int rc = measure(text, units, PST_COUNT_OF(units), &ppm);

    if (rc != PST_OK)
        return rc;
    if (ppm > PST_PPM)
        return PST_E_FULL;
    *ret_ppm = (uint32_t)ppm;
    return PST_OK;
}

int pst_scalar_weight(const char *text, uint32_t *ret_percent)
{
    static const struct unit units[] = {{"", 100}};
    uint64_t percent;
    int rc = measure(text, units, 1, &percent);

    if (rc != PST_OK)
        return rc;
    if (percent > UINT32_MAX)
        return PST_E_FULL;
    *ret_percent = (uint32_t)percent;
    return PST_OK;
}

int pst_scalar_money(const char *text, uint64_t *ret_micro)
{
    uint64_t whole, nano, micro;
    const char *end;
    int rc = decimal(text, &end, &whole, &nano);

    if (rc != PST_OK)
        return rc;
    if (__builtin_mul_overflow(whole, NANO / 1000, &micro) ||
        __builtin_add_overflow(micro, nano / 1000, &micro))
        return PST_E_FULL;
    if (*end++ != ' ' || strlen(end) != 3)
        return PST_E_SYNTAX;
    for (; *end != '\0'; end++) {
        if (*end < 'A' || *end > 'Z')
            return PST_E_SYNTAX;
    }
    *ret_micro = micro;
    return PST_OK;
}

int pst_scalar_real(const char *text, double *ret_value)
{
    static const struct unit units[] = {{"", NANO}};
    uint64_t nano;
    int rc = measure(text, units, 1, &nano);

    if (rc != PST_OK)
        return rc;
    if (nano > REAL_MAX * NANO)
        return PST_E_FULL;
    *ret_value = (double)nano / (double)NANO;
    return PST_OK;
}

int pst_scalar_rate(const char *text, double *ret_per_s)
{
    static const struct {
        struct unit unit;
        double seconds;
    } spans[] = {
        {{"/s", NANO}, 1.0}, {{"/m", NANO}, 60.0}, {{"/h", NANO}, 3600.0}, {{"/d", NANO}, 86400.0}};
    int rc = PST_E_SYNTAX;

    for (size_t i = 0; i < PST_COUNT_OF(spans) && rc == PST_E_SYNTAX; i++) {
        uint64_t nano;
        rc = measure(text, &spans[i].unit, 1, &nano);
        if (rc != PST_OK)
            continue;
        if (nano > RATE_MAX * NANO)
            return PST_E_FULL;
        *ret_per_s = (double)nano / (double)NANO / spans[i].seconds;
    }
    return rc;
}

int pst_scalar_port(const char *text, uint16_t *ret_port)
{
    uint64_t port;
    int rc = pst_scalar_count(text, &port);

    if (rc != PST_OK)
        return rc;
    if (port == 0 || port > UINT16_MAX)
        return PST_E_FULL;
    *ret_port = (uint16_t)port;
    return PST_OK;
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int pst_scalar_sha256(const char *text, uint8_t ret_hash[32])
{
    uint8_t hash[32];

    if (strlen(text) != 64)
        return PST_E_SYNTAX;
    for (size_t i = 0; i < sizeof hash; i++) {
        const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return PST_E_SYNTAX;
        hash[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(ret_hash, hash, sizeof hash);
    return PST_OK;
}

bool pst_scalar_is_name(const char *text)
{
    const size_t len = strlen(text);

    if (len == 0 || len > NAME_MAX_LEN)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_alnum(text[i]) && text[i] != '.' && text[i] != '-' && text[i] != '_')
            return false;
    }
    return true;
}

static bool two_digits(const char *text, unsigned *ret_number)
{
    if (!is_digit(text[0]) || !is_digit(text[1]))
        return false;
    *ret_number = (unsigned)(text[0] - '0') * 10 + (unsigned)(text[1] - '0');
    return true;
}

int pst_scalar_date(const char *text, struct pst_scalar_date *ret_date)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    unsigned century, year, month, day;
    bool is_leap;

    if (strlen(text) != 10 || text[4] != '-' || text[7] != '-' || !two_digits(text, &century) ||
        !two_digits(text + 2, &year) || !two_digits(text + 5, &month) ||
        !two_digits(text + 8, &day))
        return PST_E_SYNTAX;
    year += century * 100;
    is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > days[month - 1] + (month == 2 && is_leap ? 1u : 0u))
        return PST_E_FULL;
    *ret_date = (struct pst_scalar_date){(uint16_t)year, (uint8_t)month, (uint8_t)day};
    return PST_OK;
}

bool pst_scalar_is_zone(const char *text)
{
    const char *part = text;

    if (strlen(text) > NAME_MAX_LEN || strstr(text, "..") != NULL)
        return false;
    for (const char *at = text;; at++) {
        if (*at == '/' || *at == '\0') {
            if (at == part)
                return false;
            part = at + 1;
        } else if (!is_alnum(*at) && strchr("+-_", *at) == NULL) {
            return false;
        }
        if (*at == '\0')
            return true;
    }
}
