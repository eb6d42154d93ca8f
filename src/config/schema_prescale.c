/* schema_prescale.c - the rows of what is wanted by the clock: cron, holidays, a learned week. */
#include "config/schema_rows.h"

#define CRON(member) AT(struct pst_draft_cron, own.member)

static const struct pst_field cron_rows[] = {
    {.key = "from",
     .kind = PST_FIELD_CRON,
     CRON(from),
     .required = true,
     .doc =
         "When it begins, as cron says it: `0 8 * * mon-fri`; in quotes where it begins with `*`. "
         "The replicas are ready by then."},
    {.key = "until",
     .kind = PST_FIELD_CRON,
     CRON(until),
     .required = true,
     .doc = "When it ends: the first such time after `from`, on another day too."},
    {.key = "zone",
     .kind = PST_FIELD_ZONE,
     CRON(zone),
     .fallback_note = "`scaler.zone`",
     .doc = "Time zone of both."},
    {.key = "replicas",
     .kind = PST_FIELD_COUNT,
     CRON(replicas),
     .required = true,
     .min = 1,
     .max = PST_REPLICAS_MAX,
     .doc = "At least so many, whatever the load."},
};
const struct pst_section pst_schema_cron = {
    .title = "pools[].scaler.cron[]",
    .doc = "A floor from one time to another. A time that a clock change skips comes at its end; "
           "one that comes twice counts once, the first time.",
    .size = sizeof(struct pst_draft_cron),
    .name_offset = PST_SECTION_NOWHERE,
    .node_offset = offsetof(struct pst_draft_cron, node),
    ROWS(cron_rows)};

static const struct pst_field holiday_rows[] = {
    {.kind = PST_FIELD_DATE, ITEM(char *), .doc = "a date"}};
const struct pst_section pst_schema_holiday = {
    .title = "pools[].scaler.holidays", .size = sizeof(char *), NOWHERE, ROWS(holiday_rows)};

static const struct pst_choice sources[] = {{"none", PST_PROFILE_NONE, NULL},
                                            {"history", PST_PROFILE_HISTORY, NULL},
                                            {"prometheus", PST_PROFILE_PROMETHEUS, NULL},
                                            {NULL, 0, NULL}};
static const struct pst_field profile_rows[] = {
    {.key = "from",
     .kind = PST_FIELD_CHOICE,
     POOL(own.prescale.profile),
     .choices = sources,
     .fallback = "none",
     .doc =
         "`history`: what the load needed by our own decisions, kept under `state`; `prometheus`: "
         "a month of it, or of `query`, asked for once a day."},
    {.key = "query",
     .kind = PST_FIELD_TEXT,
     POOL(own.prescale.profile_query),
     .fallback_note = "our own `scaler_replicas` of kind `needed`",
     .doc = "PromQL of one value: replicas that the load needs, floors left out."},
    {.key = "weeks",
     .kind = PST_FIELD_COUNT,
     POOL(own.prescale.weeks),
     .fallback = "4",
     .min = 1,
     .max = 8,
     .doc = "Weeks of the past that count."},
};
const struct pst_section pst_schema_profile = {
    .title = "pools[].scaler.profile",
    .doc =
        "A floor for each hour of the week, learned: the most replicas that its load needed in the "
        "last weeks, the largest quarter of the weeks left out. A plain text is its `from`.",
    .plain = "from",
    NOWHERE,
    ROWS(profile_rows)};
