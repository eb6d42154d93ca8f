#include "config/scalar.h"

#include <arpa/inet.h>
#include <string.h>

#define NANO         UINT64_C(1000000000)
#define FRACTION_MAX 9 /* digits behind the point */
#define REAL_MAX     UINT64_C(1000000000)
#define RATE_MAX     UINT64_C(1000000) /* per unit of time */
#define HOST_MAX     255
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

/* An address literal, IPv4 as IPv4-mapped IPv6. */
static int literal(const char *text, size_t len, bool v6, uint8_t ret_address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[INET6_ADDRSTRLEN];

    if (len >= sizeof copy)
        return PST_E_SYNTAX;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (v6)
        return inet_pton(AF_INET6, copy, ret_address) == 1 ? PST_OK : PST_E_SYNTAX;
    memcpy(ret_address, mapped, sizeof mapped);
    return inet_pton(AF_INET, copy, ret_address + 12) == 1 ? PST_OK : PST_E_SYNTAX;
}

static bool is_loopback(const uint8_t address[16])
{
    static const uint8_t one[16] = {[15] = 1};
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(address, one, 16) == 0 ||
           (memcmp(address, mapped, 12) == 0 && address[12] == 127);
}

int pst_scalar_address(const char *text, bool *ret_loopback)
{
    const bool v6 = text[0] == '[';
    const char *host = v6 ? text + 1 : text;
    const char *end = strchr(host, v6 ? ']' : ':');
    uint8_t address[16];
    uint16_t port;
    int rc;

    if (end == NULL || (v6 && end[1] != ':'))
        return PST_E_SYNTAX;
    rc = literal(host, (size_t)(end - host), v6, address);
    if (rc != PST_OK)
        return rc;
    end += v6 ? 2 : 1;
    rc = strcmp(end, "0") == 0 ? PST_OK : pst_scalar_port(end, &port); /* 0: the system picks */
    if (rc != PST_OK)
        return rc;
    *ret_loopback = is_loopback(address);
    return PST_OK;
}

int pst_scalar_network(const char *text, struct pst_config_network *ret_network)
{
    const char *slash = strchr(text, '/');
    const size_t len = slash == NULL ? strlen(text) : (size_t)(slash - text);
    const bool v6 = memchr(text, ':', len) != NULL;
    struct pst_config_network network;
    uint64_t bits = v6 ? 128 : 32;
    int rc = literal(text, len, v6, network.address);

    if (rc != PST_OK)
        return rc;
    if (slash != NULL) {
        const uint64_t bits_max = bits;
        rc = pst_scalar_count(slash + 1, &bits);
        if (rc != PST_OK)
            return rc;
        if (bits > bits_max)
            return PST_E_FULL;
    }
    network.prefix = (uint8_t)(v6 ? bits : bits + 96);
    for (unsigned bit = network.prefix; bit < 128; bit++) {
        if (network.address[bit / 8] & (0x80u >> bit % 8))
            return PST_E_SYNTAX;
    }
    *ret_network = network;
    return PST_OK;
}

static bool is_host(const char *text, size_t len)
{
    if (len == 0 || len > HOST_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_alnum(text[i]) && text[i] != '.' && text[i] != '-' && text[i] != '_')
            return false;
    }
    return true;
}

static bool is_path_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] <= ' ' || text[i] > '~' || strchr("?#\"<>\\^`{|}", text[i]) != NULL)
            return false;
    }
    return true;
}

int pst_scalar_url(const char *text, struct pst_scalar_url *ret_url)
{
    struct pst_scalar_url url = {.port = 80};
    const char *at;

    if (strncmp(text, "https://", 8) == 0)
        return PST_E_INVALID;
    if (strncmp(text, "http://", 7) != 0)
        return PST_E_SYNTAX;
    at = text + 7;
    if (*at == '[') {
        uint8_t address[16];
        const char *end = strchr(at, ']');
        if (end == NULL || literal(at + 1, (size_t)(end - at - 1), true, address) != PST_OK)
            return PST_E_SYNTAX;
        url.host = at + 1;
        url.host_len = (size_t)(end - at - 1);
        at = end + 1;
    } else {
        url.host = at;
        url.host_len = strcspn(at, ":/");
        at += url.host_len;
        if (!is_host(url.host, url.host_len))
            return PST_E_SYNTAX;
    }
    if (*at == ':') {
        char port[8];
        const size_t len = strcspn(++at, "/");
        if (len >= sizeof port)
            return PST_E_SYNTAX;
        memcpy(port, at, len);
        port[len] = '\0';
        if (pst_scalar_port(port, &url.port) != PST_OK)
            return PST_E_SYNTAX;
        at += len;
    }
    if (*at != '\0' && *at != '/')
        return PST_E_SYNTAX;
    url.path = at;
    url.path_len = strlen(at);
    if (!is_path_text(at, url.path_len))
        return PST_E_SYNTAX;
    while (url.path_len > 0 && url.path[url.path_len - 1] == '/')
        url.path_len--;
    *ret_url = url;
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

bool pst_scalar_is_path(const char *text)
{
    return text[0] == '/' && is_path_text(text, strlen(text));
}
