/*
 * scenario_expect.c - what must hold, one line each:
 *
 *   [CLASS] METRIC COMPARISON VALUE               high wait_p99 <= 20ms
 *   [CLASS] METRIC COMPARISON PERCENT of POLICY   replica_hours <= 95% of fifo+hpa
 */
#include <stdio.h>
#include <string.h>

#include "config/likely.h"
#include "config/scalar.h"
#include "config/scenario_draft.h"

#define WORDS_MAX 8

struct line {
    struct pst_scenario_reader *r;
    const struct pst_tree_node *node;
    struct pst_expectation *expectation;
    char text[PST_SCENARIO_TEXT_MAX];
    char *words[WORDS_MAX];
    size_t count, at; /* words, and the one that is read next */
};

static const char *const comparisons[PST_COMPARISON_COUNT] = {
    [PST_AT_MOST] = "<=", [PST_BELOW] = "<",  [PST_AT_LEAST] = ">=",
    [PST_ABOVE] = ">",    [PST_EQUAL] = "==",
};

enum unit { UNIT_DURATION, UNIT_SHARE, UNIT_NUMBER };

static const char *const forms[] = {
    [UNIT_DURATION] = "a duration with its unit, as 20ms",
    [UNIT_SHARE] = "a share, as 99.9%",
    [UNIT_NUMBER] = "a number",
};

static const struct {
    enum unit unit;
    const char *doc;
} measures[PST_MEASURE_COUNT] = {
    [PST_MEASURE_WAIT_MEAN] = {UNIT_DURATION, "Wait in the queue, of those that were served."},
    [PST_MEASURE_WAIT_P50] = {UNIT_DURATION, "Half of them waited no longer."},
    [PST_MEASURE_WAIT_P95] = {UNIT_DURATION, "95 of 100."},
    [PST_MEASURE_WAIT_P99] = {UNIT_DURATION, "99 of 100."},
    [PST_MEASURE_TTFT_P50] = {UNIT_DURATION, "Time to first token, the queue included."},
    [PST_MEASURE_TTFT_P95] = {UNIT_DURATION, "95 of 100."},
    [PST_MEASURE_TTFT_P99] = {UNIT_DURATION, "99 of 100."},
    [PST_MEASURE_ATTAINMENT] = {UNIT_SHARE,
                                "Served within the class's `target`, of all that arrived."},
    [PST_MEASURE_IN_DEADLINE] = {UNIT_SHARE, "Served within its `max_wait`."},
    [PST_MEASURE_ARRIVED] = {UNIT_NUMBER, "Requests; a client's own retries are not counted."},
    [PST_MEASURE_DONE] = {UNIT_NUMBER, "Answered."},
    [PST_MEASURE_REFUSED] = {UNIT_NUMBER, "Refused, and not served by a later try."},
    [PST_MEASURE_EXPIRED] = {UNIT_NUMBER, "Waited until their `ttl`."},
    [PST_MEASURE_FAILED] = {UNIT_NUMBER, "Failed at a replica."},
    [PST_MEASURE_REPLICA_HOURS] = {UNIT_NUMBER,
                                   "Paid hours: starting, warm and draining replicas included."},
    [PST_MEASURE_COST] = {UNIT_NUMBER, "Replica-hours at `cost_per_hour`."},
    [PST_MEASURE_REPLICAS_MIN] = {UNIT_NUMBER, "Fewest that were ready."},
    [PST_MEASURE_REPLICAS_MAX] = {UNIT_NUMBER, "Most that existed."},
    [PST_MEASURE_SCALE_UPS] = {UNIT_NUMBER, "Decisions for more."},
    [PST_MEASURE_SCALE_DOWNS] = {UNIT_NUMBER, "Decisions for fewer."},
    [PST_MEASURE_DIRECTION_CHANGES] =
        {UNIT_NUMBER,
         "More after fewer, or fewer after more: of the number decided, pool by pool."},
    [PST_MEASURE_DIRECTION_CHANGES_PER_HOUR] = {UNIT_NUMBER, "The same by the hour."},
    [PST_MEASURE_UPS_PER_BURST] = {UNIT_NUMBER, "Decisions for more, by bursts that began."},
    [PST_MEASURE_KILLED_IN_FLIGHT] = {UNIT_NUMBER,
                                      "Requests that lost their replica to a scale-in."},
};

static bool split(struct line *l, const char *text)
{
    char *rest = NULL;

    if (strlen(text) >= sizeof l->text)
        return false;
    memcpy(l->text, text, strlen(text) + 1);
    for (char *word = strtok_r(l->text, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (l->count == WORDS_MAX)
            return false;
        l->words[l->count++] = word;
    }
    return true;
}

static const char *next_word(struct line *l)
{
    return l->at < l->count ? l->words[l->at++] : NULL;
}

static bool find_measure(const char *word, enum pst_measure *ret_measure)
{
    for (unsigned i = 0; i < PST_MEASURE_COUNT; i++) {
        if (strcmp(pst_measure_names[i], word) == 0) {
            *ret_measure = (enum pst_measure)i;
            return true;
        }
    }
    return false;
}

static bool complain_measure(const struct line *l, const char *word)
{
    const struct pst_config *config = &l->r->draft->base.config;
    struct pst_likely likely = pst_likely_begin(word);
    char meant[96];

    for (unsigned i = 0; i < PST_MEASURE_COUNT; i++)
        pst_likely_offer(&likely, pst_measure_names[i]);
    for (uint32_t i = 0; l->at <= 1 && i < config->gate.classes_count; i++)
        pst_likely_offer(&likely, config->class_names[i]);
    PST_SCENARIO_ERROR(l->r, l->node, "expect: '%.80s' is no %smetric%s", word,
                       l->at <= 1 ? "class and no " : "",
                       pst_likely_text(&likely, meant, sizeof meant));
    return false;
}

/* "high wait_p99", or "replica_hours". */
static bool read_subject(struct line *l)
{
    struct pst_expectation *e = l->expectation;
    const char *word = next_word(l);
    enum pst_measure second;

    e->class_ = PST_CLASS_DRAWN;
    if (word == NULL) {
        PST_SCENARIO_ERROR(l->r, l->node, "expect: the line is empty");
        return false;
    }
    if (find_measure(word, &e->measure))
        return true;
    if (l->at < l->count && find_measure(l->words[l->at], &second)) {
        if (!pst_scenario_class(l->r, l->node, word, &e->class_))
            return false;
        e->measure = second;
        l->at++;
        if (pst_measure_is_of_class(second))
            return true;
        PST_SCENARIO_ERROR(l->r, l->node, "expect: %s is of the whole, not of a class",
                           pst_measure_name(second));
        return false;
    }
    for (uint32_t i = 0; i < l->r->draft->base.config.gate.classes_count; i++) {
        const char *name = l->r->draft->base.config.class_names[i];
        if (name == NULL || strcmp(name, word) != 0)
            continue;
        if (l->at < l->count)
            return complain_measure(l, next_word(l));
        PST_SCENARIO_ERROR(l->r, l->node, "expect: a metric is missing behind '%.80s'", word);
        return false;
    }
    return complain_measure(l, word);
}

static bool read_comparison(struct line *l)
{
    const char *word = next_word(l);

    for (unsigned i = 0; word != NULL && i < PST_COMPARISON_COUNT; i++) {
        if (strcmp(comparisons[i], word) == 0) {
            l->expectation->comparison = (enum pst_comparison)i;
            return true;
        }
    }
    PST_SCENARIO_ERROR(l->r, l->node, "expect: one of <=, <, >=, >, == is expected %s%.80s%s",
                       word == NULL ? "at the end" : "in place of '", word == NULL ? "" : word,
                       word == NULL ? "" : "'");
    return false;
}

static bool read_value(struct line *l, const char *word)
{
    const enum unit unit = measures[l->expectation->measure].unit;
    uint32_t ppm = 0;
    pst_ns ns = 0;
    double value = 0;
    int rc = PST_E_SYNTAX;

    switch (unit) {
    case UNIT_DURATION:
        rc = pst_config_duration(word, &ns);
        value = (double)ns;
        break;
    case UNIT_SHARE:
        rc = pst_scalar_share(word, &ppm);
        value = ppm;
        break;
    case UNIT_NUMBER:
        rc = pst_scalar_real(word, &value);
        break;
    }
    if (rc == PST_OK)
        l->expectation->bound = value;
    else
        PST_SCENARIO_ERROR(l->r, l->node, "expect: '%.80s': %s is expected, or PERCENT of POLICY",
                           word, forms[unit]);
    return rc == PST_OK;
}

static bool find_policy(struct pst_scenario_reader *r, const struct pst_tree_node *node,
                        const char *name, uint32_t *ret_policy)
{
    struct pst_likely likely = pst_likely_begin(name);
    char meant[96];

    for (uint32_t i = 0; i < r->scenario->policies_count; i++) {
        if (strcmp(r->scenario->policies[i].name, name) == 0) {
            *ret_policy = i;
            return true;
        }
        pst_likely_offer(&likely, r->scenario->policies[i].name);
    }
    PST_SCENARIO_ERROR(r, node, "expect: there is no policy '%.80s'%s", name,
                       pst_likely_text(&likely, meant, sizeof meant));
    return false;
}

/* "95%" before "of"; more than all of it may be allowed. */
static bool read_factor(struct line *l, char *word)
{
    const size_t len = strlen(word);
    double percent = 0;

    if (len > 1 && word[len - 1] == '%') {
        word[len - 1] = '\0';
        if (pst_scalar_real(word, &percent) == PST_OK) {
            l->expectation->bound = percent / 100.0;
            return true;
        }
        word[len - 1] = '%';
    }
    PST_SCENARIO_ERROR(l->r, l->node, "expect: '%.80s': a percentage is expected before `of`",
                       word);
    return false;
}

static bool read_bound(struct line *l)
{
    const char *word = next_word(l);
    struct pst_expectation *e = l->expectation;

    e->relative_to = UINT32_MAX;
    if (word == NULL) {
        PST_SCENARIO_ERROR(l->r, l->node, "expect: a value is missing at the end");
        return false;
    }
    if (l->at == l->count)
        return read_value(l, word);
    if (strcmp(l->words[l->at], "of") != 0 || l->at + 2 != l->count) {
        PST_SCENARIO_ERROR(l->r, l->node,
                           "expect: '%.80s' is not expected; VALUE or PERCENT of POLICY is",
                           l->words[l->at]);
        return false;
    }
    if (!read_factor(l, l->words[l->at - 1]) ||
        !find_policy(l->r, l->node, l->words[l->at + 1], &e->relative_to))
        return false;
    if (e->relative_to != e->policy)
        return true;
    PST_SCENARIO_ERROR(l->r, l->node, "expect: a policy is not compared with itself");
    return false;
}

static bool read_line(struct pst_scenario_reader *r, const struct pst_draft_line *draft,
                      struct pst_expectation *expectation)
{
    struct line l = {.r = r, .node = draft->node, .expectation = expectation};

    if (draft->text == NULL) /* told when it was read */
        return false;
    if (!split(&l, draft->text)) {
        PST_SCENARIO_ERROR(r, draft->node, "expect: the line is too long");
        return false;
    }
    expectation->line = draft->node->line;
    memcpy(expectation->text, draft->text, strlen(draft->text) + 1);
    return read_subject(&l) && read_comparison(&l) && read_bound(&l);
}

void pst_scenario_resolve_expectations(struct pst_scenario_reader *r)
{
    const struct pst_tree_node *map = pst_tree_get(r->draft->base.root, "expect");
    const struct pst_draft_expect *expects = r->draft->expects.items;
    struct pst_expectation *list;
    uint32_t count = 0;
    size_t lines = 0;

    for (size_t i = 0; i < r->draft->expects.count; i++)
        lines += expects[i].lines.count;
    list = pst_arena_take(r->arena, lines * sizeof *list);
    if (list == NULL || r->scenario->policies == NULL)
        return;
    for (size_t i = 0; i < r->draft->expects.count; i++) {
        const struct pst_draft_line *drafts = expects[i].lines.items;
        uint32_t policy;
        if (expects[i].policy == NULL ||
            !find_policy(r, map->items[2 * i], expects[i].policy, &policy))
            continue;
        for (size_t j = 0; j < expects[i].lines.count; j++) {
            list[count] = (struct pst_expectation){.policy = policy};
            count += read_line(r, &drafts[j], &list[count]);
        }
    }
    r->scenario->expectations = list;
    r->scenario->expectations_count = count;
}

void pst_scenario_document_measures(FILE *out)
{
    fputs("\n## Metrics of `expect`\n\nA class may stand before a metric of requests; without one "
          "it is of all.\n\n| metric | of | value | what it says |\n|---|---|---|---|\n",
          out);
    for (unsigned i = 0; i < PST_MEASURE_COUNT; i++)
        fprintf(out, "| `%s` | %s | %s | %s |\n", pst_measure_names[i],
                pst_measure_is_of_class((enum pst_measure)i) ? "a class" : "the whole",
                forms[measures[i].unit], measures[i].doc);
}
