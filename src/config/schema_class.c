/* schema_class.c - the rows of one priority class. */
#include "config/schema_rows.h"

static const struct pst_choice on_full[] = {
    {"reject", PST_ON_FULL_REJECT, NULL},
    {"wait", PST_ON_FULL_WAIT, NULL},
    {"spill", 0, "`spill` needs a store, and none can be configured; `reject` or `wait`"},
    {NULL, 0, NULL}};

static const struct pst_field bin_rows[] = {
    {.key = "on_full",
     .kind = PST_FIELD_CHOICE,
     .offset = 0,
     .size = 1,
     .choices = on_full,
     .required = true,
     .doc = "What happens to a request of this length past the bound."},
};
static const struct pst_section bin_section = {.title = "classes.*.short, .mid, .long",
                                               .doc = "One length bin may differ from its class.",
                                               NOWHERE,
                                               ROWS(bin_rows)};

/* The section's own struct begins at keepalive_after. */
#define KEEPALIVE(member)                                                                          \
    .offset = offsetof(struct pst_draft_class, member) -                                           \
              offsetof(struct pst_draft_class, keepalive_after),                                   \
    .size = sizeof(pst_ns)

static const struct pst_field keepalive_rows[] = {
    {.key = "after",
     .kind = PST_FIELD_DURATION,
     KEEPALIVE(keepalive_after),
     .required = true,
     .min = PST_S / 10,
     .max = DAY,
     .doc = "A stream that waited so long is answered 200 and kept alive with comments; a later "
            "refusal comes in-band."},
    {.key = "every",
     .kind = PST_FIELD_DURATION,
     KEEPALIVE(keepalive_every),
     .fallback = "15s",
     .min = PST_S / 10,
     .max = DAY,
     .doc = "Time between two comments."},
};
static const struct pst_section keepalive_section = {
    .title = "classes.*.keepalive", .doc = "Off unless given.", NOWHERE, ROWS(keepalive_rows)};

#define BIN(name, bin)                                                                             \
    {                                                                                              \
        .key = name, .kind = PST_FIELD_SECTION, .section = &bin_section,                           \
        .offset = offsetof(struct pst_draft_class, gate.on_full_length) + (bin),                   \
        .fallback_note = "as the class", .doc = "Its own `on_full` for " name " prompts."          \
    }

static const struct pst_field class_rows[] = {
    {.key = "target",
     .kind = PST_FIELD_DURATION,
     AT(struct pst_draft_class, gate.target),
     .min = PST_MS,
     .max = DAY,
     .fallback_note = "100ms, 500ms, 10s for high, medium, low",
     .doc = "Aim for the P99 wait in the queue."},
    {.key = "max_wait",
     .kind = PST_FIELD_DURATION,
     AT(struct pst_draft_class, gate.max_wait),
     .min = PST_MS,
     .max = DAY,
     .fallback_note = "5s, 15s, 60s for high, medium, low",
     .doc = "The deadline: past this predicted wait `on_full` decides, and a ticket's slack is "
            "counted against it."},
    {.key = "ttl",
     .kind = PST_FIELD_DURATION,
     AT(struct pst_draft_class, gate.ttl),
     .min = PST_MS,
     .max = DAY,
     .fallback_note = "30s, 60s, 10m for high, medium, low",
     .doc = "Longest time in the queue; then 429."},
    {.key = "on_full",
     .kind = PST_FIELD_CHOICE,
     AT(struct pst_draft_class, gate.on_full),
     .choices = on_full,
     .fallback_note = "`wait` for low, else `reject`",
     .doc = "Past the work bound: refuse at once, or hold the connection up to `ttl`."},
    {.key = "guard",
     .kind = PST_FIELD_SHARE,
     AT(struct pst_draft_class, gate.guard_ppm),
     .max = PST_PPM / 2,
     .fallback_note = "none for the first class, 5% for the last, 10% between",
     .doc =
         "Share of the slot-time left by the first class that tickets past their slack may use."},
    {.key = "envelope",
     .kind = PST_FIELD_SWITCH,
     AT(struct pst_draft_class, envelope),
     .fallback_note = "false for the last class, else true",
     .doc = "The scaler keeps replicas for the bursts of this class that were seen before."},
    BIN("short", PST_LENGTH_SHORT),
    BIN("mid", PST_LENGTH_MID),
    BIN("long", PST_LENGTH_LONG),
    {.key = "keepalive",
     .kind = PST_FIELD_SECTION,
     .offset = offsetof(struct pst_draft_class, keepalive_after),
     .section = &keepalive_section,
     .fallback_note = "off",
     .doc = "Comments to a stream that waits."},
};
const struct pst_section pst_schema_class = {
    .title = "classes.*",
    .doc = "One priority class. Other names than high, medium and low must give target, max_wait "
           "and ttl.",
    .size = sizeof(struct pst_draft_class),
    .name_offset = offsetof(struct pst_draft_class, name),
    .node_offset = offsetof(struct pst_draft_class, node),
    .prepare = pst_draft_class_defaults,
    ROWS(class_rows)};
