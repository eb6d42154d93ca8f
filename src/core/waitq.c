/* waitq.c - see waitq.h. */
#include "core/waitq.h"

#include <string.h>

#include "core/num.h"

#define PACE_STARTS   16
#define PACE_SAMPLES  4
#define OUTPUT_WEIGHT 2    /* an output token costs the engine about two of a prompt */
#define SERVED_UNIT   1024 /* parts of a token: even the greatest weight makes a token count */

int pst_waitq_init(struct pst_waitq *q, struct pst_flows *flows, uint32_t number, bool fifo)
{
    memset(q, 0, sizeof *q);
    q->flows = flows;
    q->number = number;
    q->fifo = fifo;
    for (int side = 0; side < PST_WAITQ_SIDES; side++) {
        if (pst_heap_init(&q->lanes[side], flows->lanes_max) != PST_OK) {
            pst_waitq_done(q);
            return PST_E_NOMEM;
        }
    }
    return PST_OK;
}

void pst_waitq_done(struct pst_waitq *q)
{
    for (int side = 0; side < PST_WAITQ_SIDES; side++)
        pst_heap_done(&q->lanes[side]);
}

static bool has_shorter(const struct pst_lane *lane)
{
    return lane->bin[PST_LENGTH_SHORT].head != NULL || lane->bin[PST_LENGTH_MID].head != NULL;
}

/* Puts the lane where its counter and its bins say. */
static void place_lane(struct pst_waitq *q, struct pst_lane *lane)
{
    uint64_t turn = q->turn++;

    if (has_shorter(lane))
        pst_heap_put(&q->lanes[PST_WAITQ_SHORTER], lane->index, lane->served, turn);
    else
        pst_heap_remove(&q->lanes[PST_WAITQ_SHORTER], lane->index);
    if (lane->bin[PST_LENGTH_LONG].head != NULL)
        pst_heap_put(&q->lanes[PST_WAITQ_LONG], lane->index, lane->served, turn);
    else
        pst_heap_remove(&q->lanes[PST_WAITQ_LONG], lane->index);
}

static uint64_t least_served(const struct pst_waitq *q)
{
    uint64_t least = pst_min_u64(pst_heap_top_key(&q->lanes[PST_WAITQ_SHORTER]),
                                 pst_heap_top_key(&q->lanes[PST_WAITQ_LONG]));

    return least == UINT64_MAX ? q->floor : least;
}

static uint32_t percent(uint32_t weight)
{
    return weight == 0 ? 100 : weight;
}

static void lane_push(struct pst_waitq *q, struct pst_ticket *ticket, bool retry)
{
    struct pst_lane *lane = pst_flows_lane(q->flows, q->number, ticket->flow);
    struct pst_ticket_list *bin = &lane->bin[ticket->length];
    bool was_empty = bin->head == NULL;

    ticket->lane = lane;
    ticket->lane_generation = lane->generation;
    if (lane->count == 0) {
        lane->served = pst_max_u64(lane->served, least_served(q));
        pst_flows_active(q->flows, lane);
    } else {
        q->weights -= lane->weight;
    }
    lane->weight = percent(ticket->weight); /* the newest word on it counts */
    q->weights += lane->weight;
    lane->count++;
    lane->sequences[ticket->length] += ticket->fleet.sequences;
    if (retry)
        pst_ticket_insert(bin, PST_CHAIN_BIN, ticket);
    else
        pst_ticket_append(bin, PST_CHAIN_BIN, ticket);
    if (was_empty)
        place_lane(q, lane);
}

static void lane_remove(struct pst_waitq *q, struct pst_ticket *ticket)
{
    struct pst_lane *lane = ticket->lane;

    pst_ticket_unlink(&lane->bin[ticket->length], PST_CHAIN_BIN, ticket);
    lane->count--;
    lane->sequences[ticket->length] -= ticket->fleet.sequences;
    if (lane->bin[ticket->length].head == NULL)
        place_lane(q, lane);
    if (lane->count > 0)
        return;
    q->weights -= lane->weight;
    lane->pace = (struct pst_mean){0};
    lane->pace_begin = 0;
    lane->pace_started = 0;
    pst_flows_idle(q->flows, lane);
}

void pst_waitq_push(struct pst_waitq *q, struct pst_ticket *ticket, bool retry)
{
    if (retry)
        pst_ticket_insert(&q->age, PST_CHAIN_AGE, ticket);
    else
        pst_ticket_append(&q->age, PST_CHAIN_AGE, ticket);
    if (!q->fifo)
        lane_push(q, ticket, retry);
    ticket->aside = false;
    q->count++;
    q->tickets[ticket->length]++;
    q->sequences[ticket->length] += ticket->fleet.sequences;
    q->bytes += ticket->bytes_reserved;
    q->tokens += pst_ticket_tokens(ticket);
}

void pst_waitq_remove(struct pst_waitq *q, struct pst_ticket *ticket)
{
    PST_ASSERT(q->count > 0);
    pst_ticket_unlink(&q->age, PST_CHAIN_AGE, ticket);
    if (ticket->aside)
        pst_ticket_unlink(&q->aside, PST_CHAIN_BIN, ticket);
    else if (!q->fifo)
        lane_remove(q, ticket);
    ticket->aside = false;
    q->count--;
    q->tickets[ticket->length]--;
    q->sequences[ticket->length] -= ticket->fleet.sequences;
    q->bytes -= ticket->bytes_reserved;
    q->tokens -= pst_ticket_tokens(ticket);
}

void pst_waitq_set_aside(struct pst_waitq *q, struct pst_ticket *ticket, uint64_t mark)
{
    PST_ASSERT(!q->fifo && !ticket->aside);
    lane_remove(q, ticket);
    pst_ticket_insert(&q->aside, PST_CHAIN_BIN, ticket);
    ticket->aside = true;
    ticket->aside_mark = mark;
}

static struct pst_lane *next_lane(const struct pst_waitq *q, bool no_long)
{
    const struct pst_heap *shorter = &q->lanes[PST_WAITQ_SHORTER];
    const struct pst_heap *longer = &q->lanes[PST_WAITQ_LONG];
    const struct pst_heap *best = shorter;

    if (!no_long && longer->count > 0 &&
        (shorter->count == 0 || longer->entries[0].key < shorter->entries[0].key ||
         (longer->entries[0].key == shorter->entries[0].key &&
          longer->entries[0].seq < shorter->entries[0].seq)))
        best = longer;
    return best->count == 0 ? NULL : &q->flows->lanes[pst_heap_top(best)];
}

struct pst_ticket *pst_waitq_next(const struct pst_waitq *q, bool no_long, pst_ns near, pst_ns now)
{
    struct pst_ticket *shortest = NULL, *oldest = NULL;
    struct pst_lane *lane;

    if (q->fifo)
        return q->age.head;
    lane = next_lane(q, no_long);
    if (lane == NULL)
        return NULL;
    for (int length = 0; length < PST_LENGTH_COUNT; length++) {
        struct pst_ticket *head = lane->bin[length].head;

        if (head == NULL || (length == PST_LENGTH_LONG && no_long))
            continue;
        if (shortest == NULL)
            shortest = head;
        if (pst_ticket_waited(head, now) >= near &&
            (oldest == NULL || pst_ticket_waited(head, now) > pst_ticket_waited(oldest, now)))
            oldest = head;
    }
    return oldest != NULL ? oldest : shortest;
}

void pst_waitq_share(const struct pst_waitq *q, uint32_t flow, uint32_t weight,
                     struct pst_waitq_share *ret_share)
{
    const struct pst_lane *lane = pst_flows_find(q->flows, q->number, flow);
    struct pst_waitq_share share = {.weights = q->weights, .weight = percent(weight)};

    if (lane != NULL && lane->count > 0) {
        memcpy(share.sequences, lane->sequences, sizeof share.sequences);
        share.weights -= lane->weight;
        if (lane->pace.samples > 0)
            share.pace = pst_max_u64(lane->pace.mean, 1);
    }
    share.weights += share.weight;
    *ret_share = share;
}

static uint64_t weighted(const struct pst_lane *lane, uint64_t tokens)
{
    return pst_muldiv(tokens, 100 * SERVED_UNIT, lane->weight);
}

/*
 * How quickly the lane gets its turns, measured while it always has something waiting: over a second
 * and enough starts at a time.
 */
static void lane_started(struct pst_lane *lane, uint32_t sequences, pst_ns now)
{
    if (lane->count == 0)
        return;
    if (lane->pace_begin == 0) {
        lane->pace_begin = now;
        return;
    }
    lane->pace_started += sequences;
    if (lane->pace_started < PACE_STARTS || now - lane->pace_begin < PST_S)
        return;
    pst_mean_add(&lane->pace,
                 pst_muldiv(lane->pace_started, PST_PPM * PST_S, now - lane->pace_begin),
                 PACE_SAMPLES);
    lane->pace_begin = now;
    lane->pace_started = 0;
}

/* Its lane may have been forgotten since, or there was none: the policy was changed. */
static bool has_lane(const struct pst_waitq *q, const struct pst_ticket *ticket)
{
    return !q->fifo && ticket->lane != NULL && ticket->lane->generation == ticket->lane_generation;
}

void pst_waitq_charge(struct pst_waitq *q, struct pst_ticket *ticket, pst_ns now)
{
    uint64_t tokens;

    if (!has_lane(q, ticket))
        return;
    tokens = pst_min_u64(ticket->tokens_prompt + OUTPUT_WEIGHT * (uint64_t)ticket->tokens_output,
                         UINT32_MAX);
    tokens = pst_max_u64(tokens, 1);
    q->floor = pst_max_u64(q->floor, ticket->lane->served);
    ticket->charged_tokens = (uint32_t)tokens;
    ticket->lane->served = pst_add_sat(ticket->lane->served, weighted(ticket->lane, tokens));
    lane_started(ticket->lane, ticket->fleet.sequences, now);
    if (ticket->lane->count > 0)
        place_lane(q, ticket->lane);
}

void pst_waitq_settle(struct pst_waitq *q, struct pst_ticket *ticket, uint32_t tokens_in,
                      uint32_t tokens_out)
{
    struct pst_lane *lane = ticket->lane;
    uint64_t tokens;

    if (!has_lane(q, ticket))
        return;
    if (tokens_in == 0) /* not told: the prompt was not free for that */
        tokens_in = ticket->tokens_prompt;
    tokens = tokens_in + OUTPUT_WEIGHT * (uint64_t)tokens_out;
    lane->served = pst_sub_sat(lane->served, weighted(lane, ticket->charged_tokens));
    lane->served = pst_add_sat(lane->served, weighted(lane, tokens));
    if (lane->count > 0)
        place_lane(q, lane);
}

void pst_waitq_verify(const struct pst_waitq *q)
{
    uint32_t count = 0, tickets[PST_LENGTH_COUNT] = {0};
    uint64_t bytes = 0, tokens = 0;
    const struct pst_ticket *prev = NULL;

    for (const struct pst_ticket *t = q->age.head; t != NULL; t = t->link[PST_CHAIN_AGE].next) {
        PST_ASSERT(t->state == PST_TICKET_QUEUED);
        PST_ASSERT(t->link[PST_CHAIN_AGE].prev == prev);
        PST_ASSERT(prev == NULL || prev->rank < t->rank);
        PST_ASSERT(q->fifo || t->aside || t->lane->count > 0);
        count++;
        tickets[t->length]++;
        bytes += t->bytes_reserved;
        tokens += pst_ticket_tokens(t);
        prev = t;
    }
    PST_ASSERT(q->age.tail == prev);
    PST_ASSERT(q->count == count && q->bytes == bytes && q->tokens == tokens);
    for (int length = 0; length < PST_LENGTH_COUNT; length++)
        PST_ASSERT(q->tickets[length] == tickets[length]);
    for (int side = 0; side < PST_WAITQ_SIDES; side++)
        pst_heap_verify(&q->lanes[side]);
}
