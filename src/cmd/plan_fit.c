/* plan_fit.c - `penstock plan --fit`: an access log is read, line by line; see plan_fit.h. */
#include "cmd/plan_fit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/plan.h"
#include "config/scalar.h"
#include "core/num.h"
#include "sim/event_heap.h"

#define UNDER_WAY 65536 /* requests that may end before one that came earlier */

struct reading {
    struct pst_plan_fitted fitted;
    struct pst_event_heap heap; /* arrivals: subject is the group */
    pst_ns last;                /* arrival that left the heap */
};

/* ---- groups ---- */

/* Names are a config's; a type is anybody's, and not every character may stand in a name. */
static void make_name(struct pst_plan_group *group)
{
    char name[2 * PST_ACCESS_WORD_MAX];

    if (group->type[0] == '\0' || strcmp(group->type, "other") == 0)
        snprintf(name, sizeof name, "%s", group->class_);
    else
        snprintf(name, sizeof name, "%s-%s", group->class_, group->type);
    snprintf(group->name, sizeof group->name, "%.*s", (int)sizeof group->name - 1, name);
    for (char *c = group->name; *c != '\0'; c++)
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", *c) == NULL)
            *c = '-';
}

/* Two names that came out alike get a number; it is the group's own. */
static void make_unique(const struct pst_plan_fitted *fitted, struct pst_plan_group *group)
{
    char number[12], *end;

    for (uint32_t i = 0; i < fitted->groups_count; i++) {
        if (strcmp(fitted->groups[i]->name, group->name) != 0)
            continue;
        snprintf(number, sizeof number, "-%u", fitted->groups_count);
        end = group->name + strnlen(group->name, sizeof group->name - sizeof number);
        memcpy(end, number, strlen(number) + 1);
        return;
    }
}

static bool is_of(const struct pst_plan_group *group, const struct pst_access_row *row)
{
    return strcmp(group->pool, row->pool) == 0 && strcmp(group->class_, row->class_) == 0 &&
           strcmp(group->type, row->type) == 0;
}

/* PST_E_FULL: there are too many. */
static int find_group(struct pst_plan_fitted *fitted, const struct pst_access_row *row,
                      uint32_t *ret_index)
{
    struct pst_plan_group *group;

    for (uint32_t i = 0; i < fitted->groups_count; i++) {
        if (is_of(fitted->groups[i], row)) {
            *ret_index = i;
            return PST_OK;
        }
    }
    if (fitted->groups_count == PST_STREAMS_MAX)
        return PST_E_FULL;
    group = calloc(1, sizeof *group);
    if (group == NULL || pst_fit_log_new(fitted->groups_count + 1, &group->log) != PST_OK) {
        free(group);
        return PST_E_NOMEM;
    }
    memcpy(group->pool, row->pool, sizeof group->pool);
    memcpy(group->class_, row->class_, sizeof group->class_);
    memcpy(group->type, row->type, sizeof group->type);
    make_name(group);
    make_unique(fitted, group);
    *ret_index = fitted->groups_count;
    fitted->groups[fitted->groups_count++] = group;
    return PST_OK;
}

/* ---- lines ---- */

/* The earliest of those that are held goes into its log. */
static void let_go(struct reading *r)
{
    struct pst_event event;

    pst_event_heap_pop(&r->heap, &event);
    if (r->last == 0)
        r->fitted.origin = event.at;
    r->fitted.late += event.at < r->last;
    r->last = pst_max_u64(event.at, r->last);
    pst_fit_log_arrived(r->fitted.groups[event.subject]->log,
                        pst_sub_sat(event.at, r->fitted.origin));
}

static int take(struct reading *r, const struct pst_access_row *row)
{
    uint32_t index;
    int rc;

    if (!pst_scalar_is_name(row->pool) || !pst_scalar_is_name(row->class_)) {
        r->fitted.aside++;
        return PST_OK;
    }
    rc = find_group(&r->fitted, row, &index);
    if (rc == PST_E_FULL)
        r->fitted.over++;
    if (rc != PST_OK)
        return rc == PST_E_FULL ? PST_OK : rc;
    r->fitted.requests++;
    if (strcmp(row->outcome, "done") == 0 && row->status < 400 && row->tries == 1)
        pst_fit_log_served(r->fitted.groups[index]->log, pst_sub_sat(row->duration, row->wait),
                           row->tokens_in, row->tokens_out);
    rc = pst_event_heap_push(&r->heap, pst_sub_sat(row->ended, row->duration), 0, index, 0);
    if (rc == PST_OK && r->heap.count > UNDER_WAY)
        let_go(r);
    return rc;
}

static int read_line(struct reading *r, const char *line, size_t len)
{
    struct pst_access_row row;
    const char *why;

    r->fitted.lines++;
    if (len == 0)
        return PST_OK;
    if (pst_access_line_read(line, len, &row, &why) == PST_OK)
        return take(r, &row);
    if (r->fitted.wrong_lines++ == 0) {
        r->fitted.first_wrong = r->fitted.lines;
        r->fitted.first_why = why;
    }
    return PST_OK;
}

static int read_file(struct reading *r, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    int rc = PST_OK;

    while (rc == PST_OK) {
        ssize_t len;

        errno = 0;
        len = getline(&line, &size, file);
        if (len < 0)
            break;
        while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
            len--;
        rc = read_line(r, line, (size_t)len);
    }
    if (rc == PST_OK && errno == ENOMEM)
        rc = PST_E_NOMEM;
    else if (rc == PST_OK && ferror(file))
        rc = PST_E_SYSTEM;
    free(line);
    while (rc == PST_OK && r->heap.count > 0)
        let_go(r);
    r->fitted.span = pst_sub_sat(r->last, r->fitted.origin);
    return rc;
}

/* ---- the command ---- */

static int say(const char *path, const char *why, int code)
{
    fprintf(stderr, "penstock plan: %s: %s\n", path, why);
    return code;
}

static int tell(struct reading *r, bool json)
{
    struct pst_plan_fitted *fitted = &r->fitted;
    struct pst_text text = {0};
    bool whole;

    for (uint32_t i = 0; i < fitted->groups_count; i++)
        pst_fit_log_read(fitted->groups[i]->log, fitted->origin, fitted->span,
                         &fitted->groups[i]->found);
    if (json)
        pst_plan_fit_json(fitted, &text);
    else
        pst_plan_fit_yaml(fitted, &text);
    whole = !text.broken && fwrite(text.at, 1, text.len, stdout) == text.len && fflush(stdout) == 0;
    pst_text_done(&text);
    return whole ? PST_EXIT_OK : PST_EXIT_FAILED;
}

static int judge(struct reading *r, int rc, int error, bool json)
{
    char why[128];

    if (rc == PST_E_NOMEM)
        return say(r->fitted.path, "out of memory", PST_EXIT_FAILED);
    if (rc != PST_OK)
        return say(r->fitted.path, strerror(error), PST_EXIT_USAGE);
    if (r->fitted.requests > 0)
        return tell(r, json);
    if (r->fitted.wrong_lines == 0)
        return say(r->fitted.path, "there is no request in it that came to a pool", PST_EXIT_USAGE);
    snprintf(why, sizeof why, "not an access log of penstock; line %llu: %s",
             (unsigned long long)r->fitted.first_wrong, r->fitted.first_why);
    return say(r->fitted.path, why, PST_EXIT_USAGE);
}

int pst_plan_fit(const char *path, uint64_t slots, bool json)
{
    struct reading r = {.fitted = {.path = path, .slots = slots}};
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    int code, rc;

    if (file == NULL)
        return say(path, strerror(errno), PST_EXIT_USAGE);
    rc = read_file(&r, file);
    code = judge(&r, rc, errno, json);
    if (!is_stdin)
        fclose(file);
    for (uint32_t i = 0; i < r.fitted.groups_count; i++) {
        pst_fit_log_free(r.fitted.groups[i]->log);
        free(r.fitted.groups[i]);
    }
    pst_event_heap_done(&r.heap);
    return code;
}
