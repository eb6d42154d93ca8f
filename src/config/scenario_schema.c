/* scenario_schema.c - the rows of a scenario: what a configuration has not. */
#include "config/scenario_draft.h"

#define POLICY(member) AT(struct pst_draft_policy, member)
#define FAULT(member)  AT(struct pst_draft_fault, own.member)

static const struct pst_field limit_rows[] = {{.kind = PST_FIELD_DURATION,
                                               AT(struct pst_draft_limit, wait),
                                               .required = true,
                                               .min = PST_MS,
                                               .max = DAY,
                                               .doc = "a duration"}};
static const struct pst_section limit_section = {
    .title = "policies.*.max_wait",
    .size = sizeof(struct pst_draft_limit),
    .name_offset = offsetof(struct pst_draft_limit, name),
    .node_offset = offsetof(struct pst_draft_limit, node),
    ROWS(limit_rows)};

static const struct pst_field policy_rows[] = {
    {.key = "gate",
     .kind = PST_FIELD_ENUM,
     POLICY(gate),
     .names = pst_scenario_gate_names,
     .max = PST_SCENARIO_GATE_COUNT,
     .fallback = "adaptive",
     .doc =
         "Who runs next: `adaptive` and `fixed` are the gate's own policies, `fifo` is one queue "
         "that refuses nobody, `none` is plain priority queues without a gate."},
    {.key = "pilot",
     .kind = PST_FIELD_ENUM,
     POLICY(pilot),
     .names = pst_scenario_pilot_names,
     .max = PST_PILOT_COUNT,
     .fallback = "ahead",
     .doc = "How many replicas there should be: `ahead` to `static` are the scaler's own rules; "
            "`hpa-*` is a Kubernetes HorizontalPodAutoscaler, `kpa` Knative's autoscaler, `apa` "
            "AIBrix's."},
    {.key = "target",
     .kind = PST_FIELD_TEXT,
     POLICY(target),
     .fallback_note = "as published",
     .doc = "What the pilot aims at: a share of the slots for `hpa-occupancy`, as 70%; for the "
            "others of them, and `qps`, a number for each replica, as 8 or 2.5."},
    {.key = "actuator",
     .kind = PST_FIELD_ENUM,
     POLICY(actuator),
     .names = pst_scenario_actuator_names,
     .max = PST_ACTUATOR_COUNT,
     .fallback = "direct",
     .doc = "Through whom the number becomes replicas: the scaler itself; as an external metric of "
            "an HPA, with or without KEDA before it; or a controller that keeps the number and "
            "removes marked ones first, asked every 15 s and without warm replicas."},
    {.key = "replicas",
     .kind = PST_FIELD_COUNT,
     POLICY(own.replicas),
     .fallback_note = "`scaler.min`",
     .max = PST_REPLICAS_MAX,
     .doc = "Of the pilot `static`."},
    {.key = "warm",
     .kind = PST_FIELD_COUNT,
     POLICY(own.warm),
     .fallback_note = "`scaler.warm`",
     .max = PST_REPLICAS_MAX,
     .doc = "Warm replicas, instead of the pool's own number."},
    {.key = "max_wait",
     .kind = PST_FIELD_NAMED,
     POLICY(max_wait),
     .section = &limit_section,
     .max = PST_CLASSES_MAX,
     .fallback_note = "the classes' own",
     .doc = "Deadlines under this policy, by class."},
};
static const struct pst_section policy_section = {
    .title = "policies.*",
    .doc = "One of those that are compared. All see the same arrivals, service times and cold "
           "starts.",
    .size = sizeof(struct pst_draft_policy),
    .name_offset = offsetof(struct pst_draft_policy, name),
    .node_offset = offsetof(struct pst_draft_policy, node),
    ROWS(policy_rows)};

#define COUNTED(name, text)                                                                        \
    {                                                                                              \
        .key = name, .kind = PST_FIELD_COUNT, FAULT(count), .max = PST_REPLICAS_MAX,               \
        .fallback_note = "none", .doc = text                                                       \
    }
#define SWITCHED(name, text)                                                                       \
    {                                                                                              \
        .key = name, .kind = PST_FIELD_SWITCH, AT(struct pst_draft_fault, is_on),                  \
        .fallback_note = "none", .doc = text                                                       \
    }

static const struct pst_field fault_rows[] = {
    COUNTED("kill", "So many ready replicas crash at `at`."),
    COUNTED("evict", "So many ready replicas are ended by others at `at`: they drain first."),
    COUNTED("slow", "So many replicas take `factor` times as long in the span."),
    COUNTED("hang", "So many replicas neither answer nor fail in the span."),
    SWITCHED("stuck", "Starts that begin in the span never become ready."),
    SWITCHED("fail", "Starts that begin in the span crash after their cold start."),
    COUNTED("quota", "No more than so many replicas may exist in the span."),
    SWITCHED("outage",
             "Metrics from outside are missing in the span: pilots that scrape are blind."),
    SWITCHED("blind", "The scaler's own observations are missing too."),
    SWITCHED("rollout", "New replicas have a new revision from `at`; it is signalled in the span."),
    {.key = "at",
     .kind = PST_FIELD_DURATION,
     FAULT(at),
     .required = true,
     .max = 366 * DAY,
     .doc = "When it begins, from the start of the scenario."},
    {.key = "until",
     .kind = PST_FIELD_DURATION,
     FAULT(until),
     .max = 366 * DAY,
     .fallback_note = "the end",
     .doc = "When it is over."},
    {.key = "factor",
     .kind = PST_FIELD_FACTOR,
     FAULT(factor),
     .fallback = "3",
     .doc = "Of `slow`."},
    {.key = "pool",
     .kind = PST_FIELD_TEXT,
     AT(struct pst_draft_fault, pool),
     .fallback_note = "the only pool",
     .doc = "Whose replicas."},
};
static const struct pst_section fault_section = {
    .title = "faults[]",
    .doc = "What goes wrong, one at a time: `{kill: 1, at: 30m}`, `{outage: true, at: 1h, until: "
           "2h}`.",
    .size = sizeof(struct pst_draft_fault),
    .name_offset = PST_SECTION_NOWHERE,
    .node_offset = offsetof(struct pst_draft_fault, node),
    ROWS(fault_rows)};

static const struct pst_field line_rows[] = {
    {.kind = PST_FIELD_TEXT, AT(struct pst_draft_line, text), .required = true, .doc = "a line"}};
static const struct pst_section line_section = {.title = "expect",
                                                .size = sizeof(struct pst_draft_line),
                                                .name_offset = PST_SECTION_NOWHERE,
                                                .node_offset =
                                                    offsetof(struct pst_draft_line, node),
                                                ROWS(line_rows)};
static const struct pst_field expect_rows[] = {{.kind = PST_FIELD_LIST,
                                                AT(struct pst_draft_expect, lines),
                                                .section = &line_section,
                                                .required = true,
                                                .max = 256,
                                                .doc = "lines"}};
static const struct pst_section expect_section = {.title = "expect",
                                                  .size = sizeof(struct pst_draft_expect),
                                                  .name_offset =
                                                      offsetof(struct pst_draft_expect, policy),
                                                  .node_offset = PST_SECTION_NOWHERE,
                                                  ROWS(expect_rows)};

static const struct pst_field pool_rows[] = {
    {.key = "life",
     .kind = PST_FIELD_SECTION,
     .section = &pst_schema_life,
     .doc = "How its replicas start, serve and end."},
    {.key = "models", .kind = PST_FIELD_IGNORED, .doc = "Streams name their pool."},
    {.key = "aliases", .kind = PST_FIELD_IGNORED, .doc = "As models."},
    {.key = "replicas", .kind = PST_FIELD_IGNORED, .doc = "The simulator starts its own."},
    {.key = "upstream_auth", .kind = PST_FIELD_IGNORED, .doc = "Nothing is sent."},
};
static const struct pst_section pool_section = {.title = "pools[]",
                                                .doc = "Replicas that can serve the same requests.",
                                                .size = sizeof(struct pst_draft_pool),
                                                .name_offset = PST_SECTION_NOWHERE,
                                                .node_offset =
                                                    offsetof(struct pst_draft_pool, node),
                                                .extends = &pst_schema_pool,
                                                ROWS(pool_rows)};

#define ROOT(member) AT(struct pst_scenario_draft, member)

static const struct pst_field scenario_rows[] = {
    {.key = "name",
     .kind = PST_FIELD_NAME,
     ROOT(name),
     .fallback_note = "the file's",
     .doc = "What reports call it."},
    {.key = "horizon",
     .kind = PST_FIELD_DURATION,
     ROOT(horizon),
     .min = PST_S,
     .max = 366 * DAY,
     .fallback_note = "the end of the longest trace",
     .doc = "When arrivals end; what is inside by then is finished."},
    {.key = "cut",
     .kind = PST_FIELD_DURATION,
     ROOT(cut),
     .fallback = "0s",
     .max = 366 * DAY,
     .doc = "Reports begin here: what comes before is for warming up."},
    {.key = "history",
     .kind = PST_FIELD_DURATION,
     ROOT(history),
     .fallback = "0s",
     .max = 366 * DAY,
     .doc = "So much of the streams' past the scaler has seen: the same laws, other draws."},
    {.key = "pools",
     .kind = PST_FIELD_LIST,
     ROOT(base.pools),
     .section = &pool_section,
     .required = true,
     .min = 1,
     .max = PST_POOLS_MAX,
     .doc = "What serves."},
    {.key = "arrivals",
     .kind = PST_FIELD_NAMED,
     ROOT(streams),
     .section = &pst_schema_stream,
     .required = true,
     .min = 1,
     .max = PST_STREAMS_MAX,
     .doc = "What comes: streams of requests of one kind each."},
    {.key = "faults",
     .kind = PST_FIELD_LIST,
     ROOT(faults),
     .section = &fault_section,
     .max = 256,
     .fallback_note = "none",
     .doc = "What goes wrong."},
    {.key = "policies",
     .kind = PST_FIELD_NAMED,
     ROOT(policies),
     .section = &policy_section,
     .min = 1,
     .max = PST_POLICIES_MAX,
     .fallback_note = "`configured`: what the first pool says",
     .doc = "What is compared."},
    {.key = "expect",
     .kind = PST_FIELD_NAMED,
     ROOT(expects),
     .section = &expect_section,
     .max = PST_POLICIES_MAX,
     .fallback_note = "nothing",
     .doc = "What must hold, by policy; lines as `high wait_p99 <= 20ms`. A breach is named with "
            "its line, and the exit status is 1."},
    {.key = "admin_token", .kind = PST_FIELD_IGNORED, .doc = "Nobody asks."},
    {.key = "drain_token", .kind = PST_FIELD_IGNORED, .doc = "Nobody asks."},
};
const struct pst_section pst_schema_scenario = {.title = "",
                                                .doc = "One file; unknown keys are errors.",
                                                .size = sizeof(struct pst_scenario_draft),
                                                .name_offset = PST_SECTION_NOWHERE,
                                                .node_offset =
                                                    offsetof(struct pst_scenario_draft, base.root),
                                                .extends = &pst_schema,
                                                ROWS(scenario_rows)};
