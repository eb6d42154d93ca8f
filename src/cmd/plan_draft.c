/* plan_draft.c - traffic in so many words becomes a scenario; see plan.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/plan.h"
#include "config/scalar.h"
#include "model/law.h"

#define FIELDS_MAX      4
#define TEXT_MAX        160
#define TICKETS         262144
#define ARRIVALS_ENOUGH 20000.0 /* of the rarest class: 200 beyond its P99 */
#define ARRIVALS_MAX    3e6
#define SECONDS_LEAST   20
#define SERVICES_ENOUGH 500 /* one after the other */
#define BURSTS_SEEN     5   /* the first two of them before the cut: the scaler learns */
#define BURSTS_CUT      2
#define PROMPT_TOKENS   256.0 /* what a scenario takes unless it is told */
#define OUTPUT_TOKENS   128.0

/* One --class or --burst, cut into its parts. */
struct parts {
    char text[TEXT_MAX];
    const char *name;
    const char *fields[FIELDS_MAX];
};

struct class_ {
    struct parts parts;
    const struct parts *burst; /* NULL: none */
    double per_s, service_s;
    pst_ns target, max_wait;
};

struct draft {
    const struct pst_plan_options *options;
    struct class_ classes[PST_CLASSES_MAX];
    struct parts bursts[PST_CLASSES_MAX];
    pst_ns burst_every; /* the longest; 0: none */
};

static bool refuse(const char *option, const char *value, const char *why)
{
    fprintf(stderr, "penstock plan: --%s: '%s': %s\n", option, value, why);
    return false;
}

/* "NAME=FIELD,FIELD,…" with so many fields. */
static bool cut(const char *option, const char *value, size_t count, const char *form,
                struct parts *ret_parts)
{
    char *at = ret_parts->text;

    if (snprintf(ret_parts->text, TEXT_MAX, "%s", value) >= TEXT_MAX)
        return refuse(option, value, "too long");
    ret_parts->name = strsep(&at, "=");
    for (size_t i = 0; i < count && at != NULL; i++)
        ret_parts->fields[i] = strsep(&at, ",");
    if (at != NULL || ret_parts->fields[count - 1] == NULL)
        return refuse(option, value, form);
    if (!pst_scalar_is_name(ret_parts->name))
        return refuse(option, value, "a name has 1 to 63 of A-Z, a-z, 0-9, '.', '_', '-'");
    return true;
}

static bool read_law(const char *option, const char *value, const char *text, double *ret_mean_s)
{
    struct pst_law law;
    const char *why;

    if (pst_law_read(text, strlen(text), PST_LAW_DURATION, &law, &why) != PST_OK)
        return refuse(option, value, why);
    *ret_mean_s =
        (pst_law_mean(&law) + law.per_prompt * PROMPT_TOKENS + law.per_output * OUTPUT_TOKENS) /
        PST_S;
    return *ret_mean_s > 0 || refuse(option, value, "its mean must be above 0");
}

static bool read_rate(const char *option, const char *value, const char *text, double *ret_per_s)
{
    if (pst_scalar_rate(text, ret_per_s) != PST_OK || *ret_per_s <= 0)
        return refuse(option, value, "the rate must be above 0, as 200/s, 12/m, 30/h");
    return true;
}

static bool read_span(const char *option, const char *value, const char *text, pst_ns *ret_span)
{
    if (pst_config_duration(text, ret_span) != PST_OK || *ret_span == 0)
        return refuse(option, value, "a duration needs a unit, as 20ms, 5s, 10m");
    return true;
}

static bool read_class(struct draft *draft, size_t index)
{
    const char *value = draft->options->classes.items[index];
    struct class_ *c = &draft->classes[index];

    if (!cut("class", value, 4, "expected NAME=RATE,SERVICE,TARGET,MAX_WAIT", &c->parts) ||
        !read_rate("class", value, c->parts.fields[0], &c->per_s) ||
        !read_law("class", value, c->parts.fields[1], &c->service_s) ||
        !read_span("class", value, c->parts.fields[2], &c->target) ||
        !read_span("class", value, c->parts.fields[3], &c->max_wait))
        return false;
    for (size_t i = 0; i < index; i++)
        if (strcmp(draft->classes[i].parts.name, c->parts.name) == 0)
            return refuse("class", value, "there is one of this name already");
    return c->target <= c->max_wait ||
           refuse("class", value, "its target is longer than it may wait at all");
}

static bool read_burst(struct draft *draft, size_t index)
{
    const char *value = draft->options->bursts.items[index];
    struct parts *burst = &draft->bursts[index];
    double per_s, length_s;
    pst_ns every;

    if (!cut("burst", value, 3, "expected NAME=RATE,EVERY,LENGTH", burst) ||
        !read_rate("burst", value, burst->fields[0], &per_s) ||
        !read_span("burst", value, burst->fields[1], &every) ||
        !read_law("burst", value, burst->fields[2], &length_s))
        return false;
    if (every < PST_S || length_s * PST_S >= (double)every)
        return refuse("burst", value, "it must last less long than the time between two");
    if (draft->burst_every < every)
        draft->burst_every = every;
    for (size_t i = 0; i < draft->options->classes.count; i++) {
        struct class_ *c = &draft->classes[i];

        if (strcmp(c->parts.name, burst->name) != 0)
            continue;
        if (c->burst != NULL)
            return refuse("burst", value, "its class has one already");
        c->burst = burst;
        return true;
    }
    return refuse("burst", value, "no --class of this name");
}

static bool read_all(struct draft *draft)
{
    const struct pst_plan_options *o = draft->options;

    if (o->classes.count > PST_CLASSES_MAX)
        return refuse("class", o->classes.items[PST_CLASSES_MAX], "8 classes at most");
    if (o->bursts.count > PST_CLASSES_MAX)
        return refuse("burst", o->bursts.items[PST_CLASSES_MAX], "one for each class at most");
    for (size_t i = 0; i < o->classes.count; i++)
        if (!read_class(draft, i))
            return false;
    for (size_t i = 0; i < o->bursts.count; i++)
        if (!read_burst(draft, i))
            return false;
    return true;
}

/* So long that the rarest class has a P99, and the commonest does not take all day. */
static uint64_t seconds_of(const struct draft *draft)
{
    double all = 0, rarest = 1e300, longest = 0, seconds;

    if (draft->burst_every > 0)
        return BURSTS_SEEN * draft->burst_every / PST_S;
    for (size_t i = 0; i < draft->options->classes.count; i++) {
        const struct class_ *c = &draft->classes[i];

        all += c->per_s;
        rarest = c->per_s < rarest ? c->per_s : rarest;
        longest = c->service_s > longest ? c->service_s : longest;
    }
    seconds = ARRIVALS_ENOUGH / rarest;
    seconds = seconds < SERVICES_ENOUGH * longest ? SERVICES_ENOUGH * longest : seconds;
    seconds = seconds > ARRIVALS_MAX / all ? ARRIVALS_MAX / all : seconds;
    return SECONDS_LEAST + (uint64_t)seconds;
}

static void put_span(struct pst_text *text, const char *name, pst_ns span)
{
    pst_text_print(text, "%s%lluus", name, (unsigned long long)(span / PST_US));
}

static void put_head(const struct draft *draft, struct pst_text *text)
{
    const struct pst_plan_options *o = draft->options;
    const uint64_t seconds = o->horizon > 0 ? o->horizon / PST_S : seconds_of(draft);
    const uint64_t cut_s = draft->burst_every > 0 && o->horizon == 0
                               ? BURSTS_CUT * draft->burst_every / PST_S
                               : seconds / 10;

    pst_text_print(text,
                   "name: plan\nhorizon: %llus\ncut: %llus\nlimits: {tickets: %d}\nclasses:\n",
                   (unsigned long long)seconds, (unsigned long long)cut_s, TICKETS);
    for (size_t i = 0; i < o->classes.count; i++) {
        const struct class_ *c = &draft->classes[i];

        pst_text_print(text, "  %s: {target: %s, max_wait: %s", c->parts.name, c->parts.fields[2],
                       c->parts.fields[3]);
        put_span(text, ", ttl: ", 2 * c->max_wait);
        pst_text_put(text, ", on_full: reject}\n");
    }
}

static void put_pool(const struct draft *draft, struct pst_text *text)
{
    const struct pst_plan_options *o = draft->options;

    pst_text_print(text, "pools:\n  - name: pool\n    slots: %llu\n", (unsigned long long)o->slots);
    pst_text_print(text, "    scaler: {min: 1, max: %d", PST_REPLICAS_MAX / 4);
    if (o->cost != NULL)
        pst_text_print(text, ", cost_per_hour: %s", o->cost);
    pst_text_put(text, "}\n");
    put_span(text, "    life: {cold: ", o->cold);
    put_span(text, ", promote: ", o->promote);
    pst_text_put(text, "}\narrivals:\n");
}

static void put_class(const struct class_ *c, struct pst_text *text)
{
    pst_text_print(text, "  %s:\n    class: %s\n    rate: %s\n    service: \"%s\"\n", c->parts.name,
                   c->parts.name, c->parts.fields[0], c->parts.fields[1]);
    if (c->burst != NULL)
        pst_text_print(text, "    burst: {rate: %s, every: %s, length: \"%s\"}\n",
                       c->burst->fields[0], c->burst->fields[1], c->burst->fields[2]);
}

bool pst_plan_draft(const struct pst_plan_options *options, struct pst_text *ret_text)
{
    struct draft *draft = calloc(1, sizeof *draft);
    uint64_t micro;
    bool good;

    if (draft == NULL) {
        fputs("penstock plan: out of memory\n", stderr);
        return false;
    }
    draft->options = options;
    good = read_all(draft);
    if (good && options->cost != NULL && pst_scalar_money(options->cost, &micro) != PST_OK)
        good = refuse("cost", options->cost, "expected an amount and its currency, as 2.5 USD");
    if (good) {
        put_head(draft, ret_text);
        put_pool(draft, ret_text);
        for (size_t i = 0; i < options->classes.count; i++)
            put_class(&draft->classes[i], ret_text);
    }
    free(draft);
    return good;
}
