/* scenario_schema_stream.c - the rows of one stream of requests. */
#include "config/scenario_draft.h"

#define STREAM(member) AT(struct pst_draft_stream, member)

static const struct pst_field piece_rows[] = {
    {.key = "at",
     .kind = PST_FIELD_DURATION,
     AT(struct pst_rate_piece, at),
     .required = true,
     .max = 366 * DAY,
     .doc = "From then on …"},
    {.key = "rate",
     .kind = PST_FIELD_RATE,
     AT(struct pst_rate_piece, per_s),
     .required = true,
     .doc = "… it is this."},
};
static const struct pst_section piece_section = {.title = "arrivals.*.rate.pieces[]",
                                                 .doc = "A rate that holds until the next one.",
                                                 .size = sizeof(struct pst_rate_piece),
                                                 NOWHERE,
                                                 ROWS(piece_rows)};

static const struct pst_field rate_rows[] = {
    {.key = "constant",
     .kind = PST_FIELD_RATE,
     STREAM(own.per_s),
     .fallback_note = "none",
     .doc = "Always this; `rate: 200/s` says the same."},
    {.key = "pieces",
     .kind = PST_FIELD_LIST,
     STREAM(pieces),
     .section = &piece_section,
     .min = 1,
     .max = 4096,
     .fallback_note = "none",
     .doc = "One rate after the other; `rate: [{at: 0s, rate: 10/s}, …]` says the same. Added to "
            "the constant part."},
    {.key = "period",
     .kind = PST_FIELD_DURATION,
     STREAM(own.period),
     .min = PST_S,
     .max = 366 * DAY,
     .fallback_note = "once",
     .doc = "The pieces come again after so long: an hour-of-day profile has 24h."},
    {.key = "file",
     .kind = PST_FIELD_FILE,
     STREAM(rates),
     .fallback_note = "none",
     .doc = "The pieces from a table with the columns `t_s,rate_per_s`; windows with rate 0 are "
            "gaps in it and carry the last known rate on."},
    {.key = "scale",
     .kind = PST_FIELD_FACTOR,
     STREAM(rates_scale),
     .fallback = "1",
     .doc = "The table's rates times this."},
};
static const struct pst_section rate_section = {.title = "arrivals.*.rate",
                                                .doc = "How often requests come.",
                                                .plain = "constant",
                                                .listed = "pieces",
                                                NOWHERE,
                                                ROWS(rate_rows)};

static const struct pst_field burst_rows[] = {
    {.key = "every",
     .kind = PST_FIELD_DURATION,
     STREAM(own.burst.every),
     .required = true,
     .min = PST_S,
     .max = 366 * DAY,
     .doc = "One in each such span."},
    {.key = "offset",
     .kind = PST_FIELD_LAW,
     STREAM(own.burst.offset),
     .fallback = "0s",
     .doc = "When in it, as `10m` or `uniform:600s:620s`."},
    {.key = "length",
     .kind = PST_FIELD_LAW,
     STREAM(own.burst.length),
     .required = true,
     .doc = "How long it lasts."},
    {.key = "rate",
     .kind = PST_FIELD_RATE,
     STREAM(own.burst.per_s),
     .required = true,
     .doc = "Added while it lasts."},
};
static const struct pst_section burst_section = {
    .title = "arrivals.*.burst", .doc = "Bursts beside the rate.", NOWHERE, ROWS(burst_rows)};

static const struct pst_field trace_rows[] = {
    {.key = "file",
     .kind = PST_FIELD_FILE,
     STREAM(trace),
     .required = true,
     .doc = "CSV whose first line names its columns: `arrival_us`, `arrival_ms` or `t_s`, and "
            "`prompt_tokens`, `output_tokens`, `client`, `class` where they are known; `.csv.gz` "
            "too."},
    {.key = "speed",
     .kind = PST_FIELD_FACTOR,
     STREAM(speed),
     .fallback = "1",
     .doc = "2 is twice as fast."},
    {.key = "thin",
     .kind = PST_FIELD_SHARE,
     STREAM(thin_ppm),
     .fallback = "100%",
     .min = 1,
     .max = PST_PPM,
     .doc = "Share of its requests that are kept, drawn with the file's seed."},
};
static const struct pst_section trace_section = {.title = "arrivals.*.trace",
                                                 .doc =
                                                     "Recorded arrivals; a plain text is the file.",
                                                 .plain = "file",
                                                 NOWHERE,
                                                 ROWS(trace_rows)};

static const struct pst_field share_rows[] = {
    {.kind = PST_FIELD_SHARE, AT(struct pst_draft_share, ppm), .required = true, .doc = "a share"}};
static const struct pst_section share_section = {
    .title = "arrivals.*.shares",
    .size = sizeof(struct pst_draft_share),
    .name_offset = offsetof(struct pst_draft_share, name),
    .node_offset = offsetof(struct pst_draft_share, node),
    ROWS(share_rows)};

#define TOKENS(which, usual)                                                                       \
    static const struct pst_field which##_rows[] = {                                               \
        {.key = "law",                                                                             \
         .kind = PST_FIELD_COUNTS,                                                                 \
         STREAM(own.which),                                                                        \
         .fallback = usual,                                                                        \
         .doc = "Drawn from a law."},                                                              \
        {.key = "table",                                                                           \
         .kind = PST_FIELD_FILE,                                                                   \
         STREAM(which##_table),                                                                    \
         .fallback_note = "none",                                                                  \
         .doc = "Drawn from recorded quantiles: a table with the columns `quantile,tokens`."},     \
    };                                                                                             \
    static const struct pst_section which##_section = {.title = "arrivals.*." #which,              \
                                                       .doc = "Tokens; a plain text is a law.",    \
                                                       .plain = "law",                             \
                                                       NOWHERE,                                    \
                                                       ROWS(which##_rows)}

TOKENS(prompt, "256");
TOKENS(output, "128");

static const struct pst_field stream_rows[] = {
    {.key = "pool",
     .kind = PST_FIELD_TEXT,
     STREAM(pool),
     .fallback_note = "the only pool",
     .doc = "Who serves it."},
    {.key = "class",
     .kind = PST_FIELD_TEXT,
     STREAM(class_),
     .fallback_note = "needed without `shares`",
     .doc = "Its priority class."},
    {.key = "shares",
     .kind = PST_FIELD_NAMED,
     STREAM(shares),
     .section = &share_section,
     .min = 1,
     .max = PST_CLASSES_MAX,
     .fallback_note = "none",
     .doc = "Instead: each request draws its class, as `{high: 30%, low: 70%}`."},
    {.key = "type",
     .kind = PST_FIELD_TEXT,
     STREAM(type),
     .fallback_note = "`other`",
     .doc = "Its `X-Request-Type`: length and service are estimated by type."},
    {.key = "tenant",
     .kind = PST_FIELD_TEXT,
     STREAM(tenant),
     .fallback_note = "the stream's name",
     .doc = "Whose it is; the clients of a trace are tenants of their own."},
    {.key = "weight",
     .kind = PST_FIELD_WEIGHT,
     STREAM(own.weight),
     .fallback = "1",
     .min = 1,
     .max = UINT16_MAX,
     .doc = "Share of the tenant among those of its class."},
    {.key = "rate",
     .kind = PST_FIELD_SECTION,
     .section = &rate_section,
     .fallback_note = "none",
     .doc = "How often requests come."},
    {.key = "burst",
     .kind = PST_FIELD_SECTION,
     .section = &burst_section,
     .fallback_note = "none",
     .doc = "Bursts beside that."},
    {.key = "gaps",
     .kind = PST_FIELD_FORM,
     STREAM(own.gaps),
     .fallback = "exp",
     .doc = "Form of the gaps between requests: `exp` is a Poisson stream, `gamma:2` is burstier, "
            "`const` is a clock."},
    {.key = "trace",
     .kind = PST_FIELD_SECTION,
     .section = &trace_section,
     .fallback_note = "none",
     .doc = "Recorded arrivals in place of a rate."},
    {.key = "recording",
     .kind = PST_FIELD_FILE,
     STREAM(recording),
     .fallback_note = "none",
     .doc = "What a gateway recorded (`record` in its configuration), in place of a rate."},
    {.key = "from",
     .kind = PST_FIELD_DURATION,
     STREAM(own.begin),
     .fallback = "0s",
     .max = 366 * DAY,
     .doc = "Nothing comes before."},
    {.key = "until",
     .kind = PST_FIELD_DURATION,
     STREAM(own.end),
     .max = 366 * DAY,
     .fallback_note = "the horizon",
     .doc = "Nothing comes after."},
    {.key = "prompt",
     .kind = PST_FIELD_SECTION,
     .section = &prompt_section,
     .doc = "Prompt tokens, where a trace does not say."},
    {.key = "output",
     .kind = PST_FIELD_SECTION,
     .section = &output_section,
     .doc = "Output tokens, where a trace does not say."},
    {.key = "service",
     .kind = PST_FIELD_LAW,
     STREAM(own.service),
     .fallback_note = "needed, but for pools with `life.engine`",
     .doc = "How long a request holds its slot, as `pareto:2.5:100ms`, or from its tokens: "
            "`tokens:20ms:50us:8ms` is a base, a time per prompt token and one per output token."},
    {.key = "sequences",
     .kind = PST_FIELD_COUNT,
     STREAM(own.sequences),
     .fallback = "1",
     .min = 1,
     .max = 1024,
     .doc = "Slots that a request takes at once (`n` of its body)."},
    {.key = "ttl",
     .kind = PST_FIELD_DURATION,
     STREAM(ttl),
     .min = PST_MS,
     .max = DAY,
     .fallback_note = "the class's",
     .doc = "Longest that its requests wait."},
    {.key = "retries",
     .kind = PST_FIELD_COUNT,
     STREAM(own.retries_max),
     .fallback = "0",
     .max = 1000,
     .doc = "A refused client comes again so often."},
    {.key = "retry_after",
     .kind = PST_FIELD_DURATION,
     STREAM(own.retry_after),
     .max = DAY,
     .fallback_note = "as it was told",
     .doc = "… after so long."},
};
const struct pst_section pst_schema_stream = {
    .title = "arrivals.*",
    .doc = "A stream of requests of one kind. Its rate is the sum of constant part, pieces and "
           "bursts.",
    .size = sizeof(struct pst_draft_stream),
    .name_offset = offsetof(struct pst_draft_stream, name),
    .node_offset = offsetof(struct pst_draft_stream, node),
    ROWS(stream_rows)};
