#include "config/value.h"

#include <stdio.h>
#include <string.h>

#include "codec/cron.h"
#include "config/scalar.h"
#include "config/zone.h"
#include "model/law.h"

struct target {
    const struct pst_field *field;
    struct pst_arena *arena;
    void *place;
    const char *refused;
};

typedef int reader(const char *text, struct target *t);

/* Integers of any width: the struct's member decides. */
static void store_integer(void *place, size_t size, uint64_t value)
{
    const uint8_t u8 = (uint8_t)value;
    const uint16_t u16 = (uint16_t)value;
    const uint32_t u32 = (uint32_t)value;

    PST_ASSERT(size == 1 || size == 2 || size == 4 || size == 8);
    memcpy(place,
           size == 1   ? (const void *)&u8
           : size == 2 ? &u16
           : size == 4 ? (const void *)&u32
                       : &value,
           size);
}

static int store_ranged(int rc, uint64_t value, struct target *t)
{
    const struct pst_field *f = t->field;

    if (rc != PST_OK)
        return rc;
    if ((f->min != 0 || f->max != 0) && (value < f->min || value > f->max))
        return PST_E_FULL;
    store_integer(t->place, f->size, value);
    return PST_OK;
}

static int store_text(int rc, const char *text, struct target *t)
{
    char *copy;

    if (rc != PST_OK)
        return rc;
    copy = pst_arena_text(t->arena, text, strlen(text));
    memcpy(t->place, &copy, sizeof copy);
    return PST_OK;
}

static int read_text(const char *text, struct target *t)
{
    return store_text(PST_OK, text, t);
}

static int read_name(const char *text, struct target *t)
{
    return store_text(pst_scalar_is_name(text) ? PST_OK : PST_E_SYNTAX, text, t);
}

static int read_path(const char *text, struct target *t)
{
    return store_text(pst_scalar_is_path(text) ? PST_OK : PST_E_SYNTAX, text, t);
}

static int read_money(const char *text, struct target *t)
{
    uint64_t micro = 0;
    int rc = pst_scalar_money(text, &micro);

    return store_ranged(rc, micro, t);
}

static int read_address(const char *text, struct target *t)
{
    bool loopback;

    return store_text(pst_scalar_address(text, &loopback), text, t);
}

static int read_host(const char *text, struct target *t)
{
    return store_text(pst_scalar_is_host(text) ? PST_OK : PST_E_SYNTAX, text, t);
}

static int read_endpoint(const char *text, struct target *t)
{
    return store_text(pst_scalar_endpoint(text), text, t);
}

static int read_ports(const char *text, struct target *t)
{
    struct pst_scalar_ports ports;
    int rc = pst_scalar_ports(text, &ports);

    PST_ASSERT(t->field->size == sizeof ports);
    if (rc == PST_OK)
        memcpy(t->place, &ports, sizeof ports);
    return rc;
}

static int read_date(const char *text, struct target *t)
{
    struct pst_scalar_date date;

    return store_text(pst_scalar_date(text, &date), text, t);
}

static int read_zone(const char *text, struct target *t)
{
    struct pst_tzif zone;

    if (!pst_scalar_is_zone(text))
        return PST_E_SYNTAX;
    if (pst_zone_read(text, &zone, &t->refused) != PST_OK)
        return PST_E_INVALID;
    return store_text(PST_OK, text, t);
}

/* What is wrong, and from where on: a rule is five little languages in a row. */
static int refuse_cron(const char *text, const struct pst_cron_fault *fault, struct target *t)
{
    char reason[PST_CRON_TEXT_MAX];

    if (text[fault->at] == '\0')
        snprintf(reason, sizeof reason, "'%.80s': %s", text, fault->why);
    else
        snprintf(reason, sizeof reason, "'%.80s': %s, at '%.40s'", text, fault->why,
                 text + fault->at);
    t->refused = pst_arena_text(t->arena, reason, strlen(reason));
    return t->refused == NULL ? PST_E_SYNTAX : PST_E_INVALID;
}

static int read_cron(const char *text, struct target *t)
{
    struct pst_cron_fault fault = {strlen(text), "it never comes"};
    struct pst_cron cron;

    if (pst_cron_parse(text, strlen(text), &cron, &fault) != PST_OK ||
        pst_cron_next(&cron, NULL, 0) == PST_CRON_NEVER)
        return refuse_cron(text, &fault, t);
    return store_text(PST_OK, text, t);
}

static int read_switch(const char *text, struct target *t)
{
    const bool on = strcmp(text, "true") == 0;

    return store_ranged(on || strcmp(text, "false") == 0 ? PST_OK : PST_E_SYNTAX, on, t);
}

static int read_choice(const char *text, struct target *t)
{
    for (const struct pst_choice *c = t->field->choices; c->name != NULL; c++) {
        if (strcmp(c->name, text) != 0)
            continue;
        t->refused = c->refused;
        return store_ranged(c->refused == NULL ? PST_OK : PST_E_INVALID, (uint64_t)c->value, t);
    }
    return PST_E_SYNTAX;
}

static int read_enum(const char *text, struct target *t)
{
    for (uint64_t i = 0; i < t->field->max; i++) {
        if (strcmp(t->field->names[i], text) == 0)
            return store_ranged(PST_OK, i, t);
    }
    return PST_E_SYNTAX;
}

static int read_count(const char *text, struct target *t)
{
    uint64_t value = 0;
    int rc = pst_scalar_count(text, &value);

    return store_ranged(rc, value, t);
}

static int read_share(const char *text, struct target *t)
{
    uint32_t ppm = 0;
    int rc = pst_scalar_share(text, &ppm);

    return store_ranged(rc, ppm, t);
}

static int read_weight(const char *text, struct target *t)
{
    uint32_t percent = 0;
    int rc = pst_scalar_weight(text, &percent);

    return store_ranged(rc, percent, t);
}

static int read_duration(const char *text, struct target *t)
{
    pst_ns value = 0;
    int rc = pst_config_duration(text, &value);

    return store_ranged(rc, value, t);
}

static int read_size(const char *text, struct target *t)
{
    uint64_t value = 0;
    int rc = pst_config_size(text, &value);

    return store_ranged(rc, value, t);
}

static int store_real(int rc, double value, struct target *t)
{
    PST_ASSERT(t->field->size == sizeof value);
    if (rc == PST_OK)
        memcpy(t->place, &value, sizeof value);
    return rc;
}

static int read_factor(const char *text, struct target *t)
{
    double value = 0;
    int rc = pst_scalar_real(text, &value);

    return store_real(rc == PST_OK && value <= 0 ? PST_E_FULL : rc, value, t);
}

/* A duration, or never: 0. */
static int read_period(const char *text, struct target *t)
{
    if (strcmp(text, "off") == 0) {
        store_integer(t->place, t->field->size, 0);
        return PST_OK;
    }
    return read_duration(text, t);
}

static int read_rate(const char *text, struct target *t)
{
    double value = 0;
    int rc = pst_scalar_rate(text, &value);

    return store_real(rc, value, t);
}

/* The law's own reason says more than "cannot be read". */
static int store_law(const char *text, enum pst_law_unit unit, struct target *t)
{
    struct pst_law law;

    PST_ASSERT(t->field->size == sizeof law);
    if (pst_law_read(text, strlen(text), unit, &law, &t->refused) != PST_OK)
        return PST_E_INVALID;
    memcpy(t->place, &law, sizeof law);
    return PST_OK;
}

static int read_law(const char *text, struct target *t)
{
    return store_law(text, PST_LAW_DURATION, t);
}

static int read_counts(const char *text, struct target *t)
{
    return store_law(text, PST_LAW_NUMBER, t);
}

/* A law whose mean is one: "exp" is "exp:1", "gamma:2" is "gamma:2:1". */
static int read_form(const char *text, struct target *t)
{
    char whole[64];
    const int len = snprintf(whole, sizeof whole, "%s:1", text);

    return len < (int)sizeof whole ? store_law(whole, PST_LAW_NUMBER, t) : PST_E_SYNTAX;
}

static int read_network(const char *text, struct target *t)
{
    struct pst_config_network network;
    int rc = pst_scalar_network(text, &network);

    if (rc == PST_OK)
        memcpy(t->place, &network, sizeof network);
    return rc;
}

static int read_hash(const char *text, struct target *t)
{
    return pst_scalar_sha256(text, t->place);
}

static int read_url(const char *text, struct target *t)
{
    struct pst_config_replica replica = {0};
    struct pst_scalar_url url;
    int rc = pst_scalar_url(text, &url);

    if (rc == PST_E_INVALID)
        t->refused =
            "https:// towards replicas is not spoken; use http:// within a network you trust";
    if (rc != PST_OK)
        return rc;
    replica.url = pst_arena_text(t->arena, text, strlen(text));
    replica.host = pst_arena_text(t->arena, url.host, url.host_len);
    replica.base_path = pst_arena_text(t->arena, url.path, url.path_len);
    replica.port = url.port;
    memcpy(t->place, &replica, sizeof replica);
    return PST_OK;
}

/* How each kind is read, called and written; without a reader it is no scalar. */
static const struct {
    reader *read;
    const char *word;
    const char *example;
} kinds[PST_FIELD_KIND_COUNT] = {
    [PST_FIELD_TEXT] = {read_text, "a text", ""},
    [PST_FIELD_NAME] = {read_name, "a name", ": 1 to 63 of letters, digits, '.', '_', '-'"},
    [PST_FIELD_PATH] = {read_path, "a path", " that begins with '/'"},
    [PST_FIELD_SWITCH] = {read_switch, "true or false", ""},
    [PST_FIELD_CHOICE] = {read_choice, "", ""},
    [PST_FIELD_ENUM] = {read_enum, "", ""},
    [PST_FIELD_COUNT] = {read_count, "a whole number", ""},
    [PST_FIELD_SHARE] = {read_share, "a share", ", as 0.5 or 50%"},
    [PST_FIELD_WEIGHT] = {read_weight, "a weight", ", as 1 or 0.25"},
    [PST_FIELD_FACTOR] = {read_factor, "a factor", ", as 2 or 0.1"},
    [PST_FIELD_RATE] = {read_rate, "a rate", ", as 200/s, 12/m, 30/h"},
    [PST_FIELD_DURATION] = {read_duration, "a duration", " with its unit, as 500ms, 15s, 10m, 2h"},
    [PST_FIELD_PERIOD] = {read_period, "a duration or off", ", as 500ms, 15s, 10m"},
    [PST_FIELD_SIZE] = {read_size, "a size", " with its unit, as 512B, 64KiB, 32MiB, 2GiB"},
    [PST_FIELD_MONEY] = {read_money, "an amount", " with its currency, as 2.5 USD"},
    [PST_FIELD_LAW] = {read_law, "a law of durations", ", as 100ms, exp:100ms, pareto:2.5:100ms"},
    [PST_FIELD_COUNTS] = {read_counts, "a law of counts", ", as 128 or lognormal:1.5:800"},
    [PST_FIELD_FORM] = {read_form, "a law without its mean", ", as exp, const, gamma:2"},
    [PST_FIELD_FILE] = {read_text, "a file", ""},
    [PST_FIELD_ADDRESS] = {read_address, "an address",
                           " with its port, as 127.0.0.1:8080 or [::1]:8080"},
    [PST_FIELD_NETWORK] = {read_network, "a network", ", as 10.0.0.0/8 or fd00::/8"},
    [PST_FIELD_URL] = {read_url, "a URL", ", as http://10.0.0.1:8000"},
    [PST_FIELD_ENDPOINT] = {read_endpoint, "a URL", " with http:// or https://"},
    [PST_FIELD_HOST] = {read_host, "a host name or address", ""},
    [PST_FIELD_PORTS] = {read_ports, "a range of ports", ", as 8100-8199"},
    [PST_FIELD_CRON] = {read_cron, "a cron time", ": minute, hour, day, month, weekday"},
    [PST_FIELD_DATE] = {read_date, "a date", ", as 2026-12-25"},
    [PST_FIELD_ZONE] = {read_zone, "a time zone", ", as Europe/Berlin"},
    [PST_FIELD_HASH] = {read_hash, "64 hexadecimal digits", ""},
    [PST_FIELD_SECRET] = {NULL, "{env: NAME} or {file: PATH}", ""},
    [PST_FIELD_PRIVATE] = {NULL, "a text, {env: NAME} or {file: PATH}", ""},
    [PST_FIELD_SECTION] = {NULL, "a map", ""},
    [PST_FIELD_LIST] = {NULL, "a list", ""},
    [PST_FIELD_NAMED] = {NULL, "a map from names", ""},
    [PST_FIELD_REFUSED] = {NULL, "nothing", ""},
    [PST_FIELD_IGNORED] = {NULL, "anything", ""},
};

bool pst_value_is_scalar(enum pst_field_kind kind)
{
    return kinds[kind].read != NULL;
}

int pst_value_store(const struct pst_field *field, const char *text, void *place,
                    struct pst_arena *arena, const char **ret_refused)
{
    struct target t = {field, arena, place, NULL};
    int rc = kinds[field->kind].read(text, &t);

    if (rc == PST_E_INVALID)
        *ret_refused = t.refused;
    return rc;
}

/* A limit as a person would write it: in the largest unit that leaves no rest. */
static void write_limit(enum pst_field_kind kind, uint64_t value, char *buffer, size_t size)
{
    static const struct {
        enum pst_field_kind kind;
        uint64_t worth;
        const char *unit;
    } units[] = {
        {PST_FIELD_DURATION, 86400 * PST_S, "d"},
        {PST_FIELD_DURATION, 3600 * PST_S, "h"},
        {PST_FIELD_DURATION, 60 * PST_S, "m"},
        {PST_FIELD_DURATION, PST_S, "s"},
        {PST_FIELD_DURATION, PST_MS, "ms"},
        {PST_FIELD_DURATION, PST_US, "us"},
        {PST_FIELD_SIZE, UINT64_C(1) << 40, "TiB"},
        {PST_FIELD_SIZE, UINT64_C(1) << 30, "GiB"},
        {PST_FIELD_SIZE, UINT64_C(1) << 20, "MiB"},
        {PST_FIELD_SIZE, UINT64_C(1) << 10, "KiB"},
        {PST_FIELD_SIZE, 1, "B"},
    };

    const enum pst_field_kind written = kind == PST_FIELD_PERIOD ? PST_FIELD_DURATION : kind;

    if (kind == PST_FIELD_WEIGHT || kind == PST_FIELD_SHARE) {
        snprintf(buffer, size, "%g", (double)value / (kind == PST_FIELD_WEIGHT ? 100 : PST_PPM));
        return;
    }
    snprintf(buffer, size, "%llu", (unsigned long long)value);
    for (size_t i = 0; value > 0 && i < PST_COUNT_OF(units); i++) {
        if (units[i].kind == written && value % units[i].worth == 0) {
            snprintf(buffer, size, "%llu%s", (unsigned long long)(value / units[i].worth),
                     units[i].unit);
            return;
        }
    }
}

static void append_name(const char *name, char *buffer, size_t size)
{
    const size_t used = strlen(buffer);

    snprintf(buffer + used, size - used, "%s%s", used == 0 ? "" : ", ", name);
}

static void write_choices(const struct pst_field *field, char *buffer, size_t size)
{
    if (field->kind == PST_FIELD_ENUM) {
        for (uint64_t i = 0; i < field->max; i++)
            append_name(field->names[i], buffer, size);
        return;
    }
    for (const struct pst_choice *c = field->choices; c->name != NULL; c++) {
        if (c->refused == NULL)
            append_name(c->name, buffer, size);
    }
}

void pst_value_form(const struct pst_field *field, bool with_example, char *buffer, size_t size)
{
    const char *example = with_example ? kinds[field->kind].example : "";
    char least[32], most[32];

    buffer[0] = '\0';
    if (field->kind == PST_FIELD_CHOICE || field->kind == PST_FIELD_ENUM) {
        write_choices(field, buffer, size);
        return;
    }
    if (field->max == 0 || !pst_value_is_scalar(field->kind)) {
        snprintf(buffer, size, "%s%s", kinds[field->kind].word, example);
        return;
    }
    write_limit(field->kind, field->min, least, sizeof least);
    write_limit(field->kind, field->max, most, sizeof most);
    snprintf(buffer, size, "%s%s (%s to %s)", kinds[field->kind].word, example, least, most);
}
