/* flow.c - see flow.h. */
#include "core/flow.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"

int pst_flows_init(struct pst_flows *flows, uint32_t flows_max, uint32_t queues)
{
    uint32_t buckets = 16;

    memset(flows, 0, sizeof *flows);
    while (buckets < flows_max)
        buckets *= 2;
    flows->flows_max = flows_max;
    flows->lanes_max = flows_max + queues * PST_FLOW_SHARED;
    flows->bucket_mask = buckets - 1;
    flows->idle_head = flows->idle_tail = PST_LANE_NONE;
    flows->lanes = calloc(flows->lanes_max, sizeof *flows->lanes);
    flows->buckets = calloc(buckets, sizeof *flows->buckets);
    if (flows->lanes == NULL || flows->buckets == NULL) {
        pst_flows_done(flows);
        return PST_E_NOMEM;
    }
    memset(flows->buckets, 0xff, buckets * sizeof *flows->buckets); /* PST_LANE_NONE */
    for (uint32_t i = 0; i < flows->lanes_max; i++) {
        flows->lanes[i].index = i;
        flows->lanes[i].weight = 100;
        flows->lanes[i].idle_prev = flows->lanes[i].idle_next = PST_LANE_NONE;
    }
    return PST_OK;
}

void pst_flows_done(struct pst_flows *flows)
{
    free(flows->lanes);
    free(flows->buckets);
    memset(flows, 0, sizeof *flows);
}

static uint32_t *bucket_of(const struct pst_flows *flows, uint64_t key)
{
    return &flows->buckets[pst_mix64(key) & flows->bucket_mask];
}

static void idle_unlink(struct pst_flows *flows, struct pst_lane *lane)
{
    uint32_t prev = lane->idle_prev, next = lane->idle_next;

    if (prev != PST_LANE_NONE)
        flows->lanes[prev].idle_next = next;
    else if (flows->idle_head == lane->index)
        flows->idle_head = next;
    if (next != PST_LANE_NONE)
        flows->lanes[next].idle_prev = prev;
    else if (flows->idle_tail == lane->index)
        flows->idle_tail = prev;
    lane->idle_prev = lane->idle_next = PST_LANE_NONE;
}

static void forget(struct pst_flows *flows, struct pst_lane *lane)
{
    uint32_t *at = bucket_of(flows, lane->key);

    while (*at != lane->index)
        at = &flows->lanes[*at].hash_next;
    *at = lane->hash_next;
    idle_unlink(flows, lane);
    lane->generation++;
}

void pst_flows_active(struct pst_flows *flows, struct pst_lane *lane)
{
    if (lane->index < flows->flows_max)
        idle_unlink(flows, lane);
}

void pst_flows_idle(struct pst_flows *flows, struct pst_lane *lane)
{
    if (lane->index >= flows->flows_max)
        return;
    lane->idle_next = PST_LANE_NONE;
    lane->idle_prev = flows->idle_tail;
    if (flows->idle_tail != PST_LANE_NONE)
        flows->lanes[flows->idle_tail].idle_next = lane->index;
    else
        flows->idle_head = lane->index;
    flows->idle_tail = lane->index;
}

/* A place in the table: a fresh one, else the one idle for longest; NULL: all are in use. */
static struct pst_lane *claim(struct pst_flows *flows)
{
    struct pst_lane *lane;

    if (flows->used < flows->flows_max)
        return &flows->lanes[flows->used++];
    if (flows->idle_head == PST_LANE_NONE)
        return NULL;
    lane = &flows->lanes[flows->idle_head];
    forget(flows, lane);
    return lane;
}

static uint64_t key_of(uint32_t queue, uint32_t flow)
{
    return (uint64_t)queue << 32 | flow;
}

static struct pst_lane *own_lane(const struct pst_flows *flows, uint64_t key)
{
    for (uint32_t i = *bucket_of(flows, key); i != PST_LANE_NONE; i = flows->lanes[i].hash_next) {
        if (flows->lanes[i].key == key)
            return &flows->lanes[i];
    }
    return NULL;
}

static struct pst_lane *shared_lane(const struct pst_flows *flows, uint32_t queue, uint32_t flow)
{
    return &flows->lanes[flows->flows_max + queue * PST_FLOW_SHARED +
                         pst_mix64(flow) % PST_FLOW_SHARED];
}

struct pst_lane *pst_flows_find(const struct pst_flows *flows, uint32_t queue, uint32_t flow)
{
    struct pst_lane *lane = own_lane(flows, key_of(queue, flow));
    bool full = flows->used == flows->flows_max && flows->idle_head == PST_LANE_NONE;

    return lane == NULL && full ? shared_lane(flows, queue, flow) : lane;
}

struct pst_lane *pst_flows_lane(struct pst_flows *flows, uint32_t queue, uint32_t flow)
{
    uint64_t key = key_of(queue, flow);
    struct pst_lane *lane = own_lane(flows, key);
    uint32_t *bucket;

    if (lane != NULL)
        return lane;
    lane = claim(flows);
    if (lane == NULL)
        return shared_lane(flows, queue, flow);
    lane->key = key;
    lane->served = 0;
    bucket = bucket_of(flows, key);
    lane->hash_next = *bucket;
    *bucket = lane->index;
    pst_flows_idle(flows, lane); /* until it gets its first ticket */
    return lane;
}
