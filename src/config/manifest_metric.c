/* manifest_metric.c - what an HPA compares with what: a type that multiplies, a target out of reach. */
#include "config/manifest_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/metric.h"
#include "codec/decimal.h"
#include "config/resolve.h"
#include "config/trigger.h"

#define NAME_MAX_BYTES 80

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* In a query names stand between brackets, commas and blanks. */
static bool has_name(const char *text, const char *name)
{
    for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
        if ((at == text || !is_of_name(at[-1])) && !is_of_name(at[strlen(name)]))
            return true;
    }
    return false;
}

/* Under its own name, or under one that others gave it. */
static bool has_metric(const char *text, enum pst_metric metric)
{
    char name[NAME_MAX_BYTES];

    (void)snprintf(name, sizeof name, "penstock_%s", pst_metric_rows[metric].name);
    if (has_name(text, name))
        return true;
    for (size_t i = 0; i < PST_METRIC_ALIASES; i++) {
        if (pst_metric_aliases[i].metric == metric && has_name(text, pst_metric_aliases[i].name))
            return true;
    }
    return false;
}

enum pst_manifest_metric pst_manifest_metric(const char *text)
{
    if (text == NULL)
        return PST_MANIFEST_OTHER;
    if (pst_trigger_is_name(text, NULL))
        return PST_MANIFEST_PUSHED;
    if (has_metric(text, PST_METRIC_SCALER_REPLICAS))
        return PST_MANIFEST_REPLICAS;
    if (has_metric(text, PST_METRIC_QUEUE_BACKLOG))
        return PST_MANIFEST_BACKLOG;
    return has_metric(text, PST_METRIC_QUEUE_DEPTH) ? PST_MANIFEST_DEPTH : PST_MANIFEST_OTHER;
}

/* A number as the cluster writes it: "500", "500m", "2k". */
static bool read_quantity(const struct pst_tree_node *node, double *ret_number)
{
    static const struct {
        char suffix;
        double factor;
    } units[] = {{'m', 1e-3}, {'k', 1e3}, {'M', 1e6}, {'G', 1e9}};
    struct pst_decimal number = {0};
    double factor = 1;
    size_t len;

    if (node == NULL || node->kind != PST_TREE_TEXT)
        return false;
    len = strlen(node->text);
    for (size_t i = 0; i < PST_COUNT_OF(units); i++) {
        if (len > 0 && node->text[len - 1] == units[i].suffix) {
            factor = units[i].factor;
            len--;
            break;
        }
    }
    if (pst_decimal_read(node->text, len, &number) != PST_OK)
        return false;
    *ret_number = factor * pst_decimal_to_double(&number);
    return true;
}

static void judge_type(const struct pst_judge *j, const struct pst_tree_node *type)
{
    if (type != NULL && type->kind == PST_TREE_TEXT && strcmp(type->text, "Value") == 0)
        PST_WARN(j, type,
                 "%s: with Value the HPA multiplies the number by the replicas there are; say "
                 "AverageValue",
                 j->name);
}

static void judge_divisor(const struct pst_judge *j, const struct pst_tree_node *target)
{
    double number;

    if (read_quantity(target, &number) && (number < 1 || number > 1))
        PST_WARN(j, target,
                 "%s: the metric is the number of replicas, which is divided by the threshold; say "
                 "\"1\"",
                 j->name);
}

static void judge_backlog(const struct pst_judge *j, const struct pst_tree_node *target)
{
    const pst_ns bound = pst_warn_backlog_bound(j->config);
    double number;

    if (target != NULL && bound != PST_NEVER && read_quantity(target, &number) &&
        number * (double)PST_S > (double)bound)
        PST_WARN(j, target,
                 "%s: requests are refused before the backlog can reach %s s: no class waits "
                 "longer than %s",
                 j->name, target->text, pst_judge_time(j, bound).text);
}

static void judge_depth(const struct pst_judge *j, const struct pst_tree_node *target)
{
    const uint64_t most = (uint64_t)j->config->gate.tickets_max * j->config->gateways;
    double number;

    if (target != NULL && read_quantity(target, &number) && number > (double)most)
        PST_WARN(j, target,
                 "%s: requests are refused before %s can wait: there are %llu at most%s "
                 "(limits.tickets)",
                 j->name, target->text, (unsigned long long)most,
                 j->is_assumed ? " by default" : "");
}

void pst_judge_target(const struct pst_judge *j, enum pst_manifest_metric metric,
                      const struct pst_tree_node *type, const struct pst_tree_node *target)
{
    switch (metric) {
    case PST_MANIFEST_OTHER:
        return;
    case PST_MANIFEST_PUSHED:
        judge_type(j, type);
        return;
    case PST_MANIFEST_REPLICAS:
        judge_type(j, type);
        judge_divisor(j, target);
        return;
    case PST_MANIFEST_BACKLOG:
        judge_backlog(j, target);
        return;
    case PST_MANIFEST_DEPTH:
        judge_depth(j, target);
        return;
    }
}
