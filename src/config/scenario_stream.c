/* scenario_stream.c - a stream: whose it is, when it comes, what it asks for. */
#include <string.h>

#include "config/likely.h"
#include "config/scenario_draft.h"

/* Clients of one trace are tenants of their own beside those of other streams. */
#define FLOWS_EACH  (UINT32_C(1) << 20)
#define HORIZON_MAX (366 * DAY)

static bool is_recorded(const struct pst_draft_stream *stream)
{
    return stream->trace != NULL || stream->recording != NULL;
}

/* Streams of one tenant share its flow. */
static uint32_t flow_of(const struct pst_draft_stream *streams, size_t i)
{
    const char *tenant = streams[i].tenant != NULL ? streams[i].tenant : streams[i].name;

    for (size_t j = 0; j < i; j++) {
        const char *other = streams[j].tenant != NULL ? streams[j].tenant : streams[j].name;
        if (tenant != NULL && other != NULL && strcmp(tenant, other) == 0)
            return streams[j].own.flow;
    }
    return (uint32_t)i * FLOWS_EACH;
}

static void resolve_type(struct pst_scenario_reader *r, struct pst_draft_stream *stream)
{
    const struct pst_config *config = &r->draft->base.config;
    struct pst_likely likely;
    char meant[96];

    if (stream->type == NULL)
        return;
    likely = pst_likely_begin(stream->type);
    for (size_t i = 0; i < config->types_count; i++) {
        if (config->types[i].name != NULL && strcmp(config->types[i].name, stream->type) == 0) {
            stream->own.type = (uint8_t)i;
            return;
        }
        pst_likely_offer(&likely, config->types[i].name);
    }
    PST_SCENARIO_ERROR(r, pst_tree_at(stream->node, "type"),
                       "there is no type '%.80s' in `types`%s", stream->type,
                       pst_likely_text(&likely, meant, sizeof meant));
}

static void resolve_shares(struct pst_scenario_reader *r, struct pst_draft_stream *stream)
{
    const struct pst_draft_share *shares = stream->shares.items;
    uint64_t sum = 0;

    for (size_t i = 0; i < stream->shares.count; i++) {
        uint8_t class_;
        sum += shares[i].ppm;
        if (shares[i].name != NULL &&
            pst_scenario_class(r, shares[i].node, shares[i].name, &class_))
            stream->own.class_ppm[class_] = shares[i].ppm;
    }
    if (sum != PST_PPM)
        PST_SCENARIO_ERROR(r, pst_tree_at(stream->node, "shares"),
                           "shares: together they are %g%%; 100%% is expected",
                           (double)sum / (PST_PPM / 100.0));
}

static void resolve_class(struct pst_scenario_reader *r, struct pst_draft_stream *stream)
{
    const struct pst_tree_node *class_ = pst_tree_get(stream->node, "class");

    if (class_ != NULL && stream->shares.count > 0)
        PST_SCENARIO_ERROR(r, class_, "class: beside `shares`, of which one is enough");
    else if (stream->shares.count > 0)
        resolve_shares(r, stream);
    else if (stream->class_ != NULL)
        pst_scenario_class(r, class_, stream->class_, &stream->own.class_);
    else if (class_ == NULL && !is_recorded(stream))
        PST_SCENARIO_ERROR(r, stream->node,
                           "`class` is missing in arrivals.*: a class, or `shares` of them");
    else /* rows may name their class; the rest is as a gateway would have it */
        stream->own.class_ = r->draft->base.config.default_class;
}

static void resolve_pieces(struct pst_scenario_reader *r, struct pst_draft_stream *stream)
{
    const struct pst_tree_node *node = pst_tree_at(stream->node, "rate");
    const struct pst_rate_piece *pieces = stream->pieces.items;

    if (stream->rates != NULL && stream->pieces.count > 0)
        PST_SCENARIO_ERROR(r, node, "rate: `pieces` beside `file`, of which one is enough");
    else if (stream->rates != NULL)
        pst_scenario_load_rates(r, stream);
    else {
        stream->own.pieces = pieces;
        stream->own.pieces_count = (uint32_t)stream->pieces.count;
    }
    for (size_t i = 1; i < stream->pieces.count; i++) {
        if (pieces[i].at <= pieces[i - 1].at) {
            PST_SCENARIO_ERROR(r, node, "rate: piece %zu does not begin after the one before",
                               i + 1);
            return;
        }
    }
    if (stream->own.period > 0 && stream->own.pieces_count > 0 &&
        stream->own.pieces[stream->own.pieces_count - 1].at >= stream->own.period)
        PST_SCENARIO_ERROR(r, pst_tree_at(node, "period"),
                           "period: must be longer than the last piece's `at`");
}

static void resolve_source(struct pst_scenario_reader *r, struct pst_draft_stream *stream)
{
    const struct pst_tree_node *rate = pst_tree_get(stream->node, "rate");
    const struct pst_tree_node *burst = pst_tree_get(stream->node, "burst");
    const struct pst_tree_node *trace = pst_tree_get(stream->node, "trace");
    const struct pst_tree_node *recording = pst_tree_get(stream->node, "recording");

    if (rate == NULL && burst == NULL && trace == NULL && recording == NULL)
        PST_SCENARIO_ERROR(r, stream->node,
                           "when do its requests come? `rate`, `burst`, `trace` or `recording`");
    if ((trace != NULL || recording != NULL) && (rate != NULL || burst != NULL))
        PST_SCENARIO_ERROR(r, rate != NULL ? rate : burst,
                           "recorded arrivals have no rate; write a second stream");
    if (trace != NULL && recording != NULL)
        PST_SCENARIO_ERROR(r, recording, "recording: beside `trace`; write a second stream");
    resolve_pieces(r, stream);
    if (stream->trace != NULL)
        pst_scenario_load_trace(r, stream);
    if (stream->recording != NULL)
        stream->own.recording = pst_scenario_beside(r, stream->recording);
}

static void resolve_tokens(struct pst_scenario_reader *r, struct pst_draft_stream *stream)
{
    if (stream->prompt_table != NULL)
        pst_scenario_load_table(r, pst_tree_at(stream->node, "prompt"), stream->prompt_table,
                                &stream->own.prompt_table);
    if (stream->output_table != NULL)
        pst_scenario_load_table(r, pst_tree_at(stream->node, "output"), stream->output_table,
                                &stream->own.output_table);
}

static void resolve_stream(struct pst_scenario_reader *r, struct pst_draft_stream *stream)
{
    const struct pst_tree_node *until = pst_tree_get(stream->node, "until");
    struct pst_stream *own = &stream->own;

    if (stream->name != NULL)
        pst_scenario_name(r, stream->node, stream->name, own->name);
    own->ttl_ms = (uint32_t)(stream->ttl / PST_MS);
    if (until == NULL)
        own->end = PST_NEVER;
    else if (own->end <= own->begin)
        PST_SCENARIO_ERROR(r, until, "until: is not after `from`");
    resolve_type(r, stream);
    resolve_class(r, stream);
    resolve_source(r, stream);
    resolve_tokens(r, stream);
    if (pst_scenario_pool(r, pst_tree_at(stream->node, "pool"), stream->pool, &own->pool) &&
        pst_tree_get(stream->node, "service") == NULL && stream->recording == NULL &&
        !r->scenario->pools[own->pool].token_mode)
        PST_SCENARIO_ERROR(r, stream->node,
                           "`service` is missing in arrivals.*: how long a request holds its "
                           "slot, as exp:100ms; or give the pool's life an `engine`");
}

void pst_scenario_resolve_streams(struct pst_scenario_reader *r)
{
    struct pst_draft_stream *drafts = r->draft->streams.items;
    const size_t count = r->draft->streams.count;
    struct pst_stream *streams = pst_arena_take(r->arena, count * sizeof *streams);
    bool recorded = false;
    size_t longest = 0;
    pst_ns end;

    if (streams == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        drafts[i].own.flow = flow_of(drafts, i);
        resolve_stream(r, &drafts[i]);
        streams[i] = drafts[i].own;
        if (drafts[i].trace_end > drafts[longest].trace_end)
            longest = i;
        recorded = recorded || streams[i].rows_count > 0;
    }
    r->scenario->streams = streams;
    r->scenario->streams_count = (uint32_t)count;
    if (r->scenario->horizon != 0 || !recorded)
        return;
    end = drafts[longest].trace_end;
    if (end < HORIZON_MAX) /* the last request is still one of them */
        r->scenario->horizon = (end / PST_S + 1) * PST_S;
    else
        PST_SCENARIO_ERROR(r, pst_tree_at(drafts[longest].node, "trace"),
                           "trace: ends after more than 366 days; give the scenario a `horizon`");
}
