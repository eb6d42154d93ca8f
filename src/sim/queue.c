/* queue.c - see queue.h. */
#include "sim/queue.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "sim/arrivals.h"
#include "sim/event_heap.h"
#include "sim/seed.h"
#include "sim/tally.h"

#define NOBODY   UINT32_MAX
#define JOBS_MIN 1024
#define ENDED    0 /* the one kind of event: a job leaves its server */
#define PER_HOUR (3600 * PST_S)

/* A job that waits; or an unused one, linked by next. */
struct job {
    pst_ns arrived, service, first_part;
    uint32_t next;
};

struct line {
    uint32_t first, last;
};

struct servers {
    uint32_t replicas, free;
    uint32_t waiting;
    struct line lines[PST_CLASSES_MAX];
};

struct queue {
    const struct pst_scenario *scenario;
    struct pst_arrivals *arrivals;
    struct pst_event_heap events;
    struct pst_tally tally;
    struct job *jobs;
    uint32_t jobs_capacity, unused;
    struct servers servers[PST_POOLS_MAX];
};

static const char *why_not(const struct pst_scenario *scenario,
                           const struct pst_scenario_policy *policy)
{
    if (policy->pilot != PST_PILOT_STATIC)
        return "a plain queue has a static number of replicas";
    if (scenario->faults_count > 0)
        return "a plain queue knows no faults";
    for (uint32_t p = 0; p < scenario->gate.pools_count; p++) {
        if (scenario->pools[p].token_mode)
            return "a plain queue has slots, not an engine's iterations";
        if (policy->replicas == 0 && scenario->scaler.pools[p].min == 0)
            return "a plain queue needs a replica";
    }
    for (uint32_t s = 0; s < scenario->streams_count; s++)
        if (scenario->streams[s].sequences > 1)
            return "a plain queue has jobs of one sequence";
    return NULL;
}

static void set_servers(struct queue *q, const struct pst_scenario_policy *policy)
{
    for (uint32_t p = 0; p < q->scenario->gate.pools_count; p++) {
        struct servers *servers = &q->servers[p];

        servers->replicas =
            policy->replicas > 0 ? policy->replicas : q->scenario->scaler.pools[p].min;
        servers->free = servers->replicas * q->scenario->gate.pools[p].slots;
        for (uint32_t c = 0; c < PST_CLASSES_MAX; c++)
            servers->lines[c] = (struct line){NOBODY, NOBODY};
    }
}

static int begin(struct queue *q, const struct pst_scenario *scenario,
                 const struct pst_scenario_policy *policy, uint64_t seed)
{
    pst_ns deadlines[PST_CLASSES_MAX];
    int rc;

    q->scenario = scenario;
    q->unused = NOBODY;
    for (uint32_t c = 0; c < PST_CLASSES_MAX; c++)
        deadlines[c] =
            policy->max_wait[c] > 0 ? policy->max_wait[c] : scenario->gate.classes[c].max_wait;
    set_servers(q, policy);
    rc = pst_tally_init(&q->tally, scenario, deadlines);
    if (rc == PST_OK)
        rc = pst_arrivals_new(scenario, pst_seed_of(seed, PST_SEED_ARRIVALS), 0, &q->arrivals);
    return rc;
}

static void end(struct queue *q)
{
    pst_arrivals_free(q->arrivals);
    pst_event_heap_done(&q->events);
    pst_tally_done(&q->tally);
    free(q->jobs);
    free(q);
}

static bool grow(struct queue *q)
{
    uint32_t before = q->jobs_capacity, after = before == 0 ? JOBS_MIN : before * 2;
    struct job *jobs = realloc(q->jobs, after * sizeof *jobs);

    if (jobs == NULL)
        return false;
    for (uint32_t j = before; j < after; j++)
        jobs[j].next = j + 1 < after ? j + 1 : NOBODY;
    q->jobs = jobs;
    q->jobs_capacity = after;
    q->unused = before;
    return true;
}

static int wait_in_line(struct queue *q, struct servers *servers, const struct pst_arrival *arrival)
{
    struct line *line = &servers->lines[arrival->class_];
    uint32_t index;
    struct job *job;

    if (q->unused == NOBODY && !grow(q))
        return PST_E_NOMEM;
    index = q->unused;
    job = &q->jobs[index];
    q->unused = job->next;
    *job = (struct job){arrival->at, arrival->service, arrival->first_part, NOBODY};
    if (line->first == NOBODY)
        line->first = index;
    else
        q->jobs[line->last].next = index;
    line->last = index;
    servers->waiting++;
    return PST_OK;
}

/* The first of the highest class that waits; somebody must. */
static uint8_t leave_line(struct queue *q, struct servers *servers, struct job *ret_job)
{
    uint8_t class_ = 0;
    uint32_t index;

    while (servers->lines[class_].first == NOBODY)
        class_++;
    index = servers->lines[class_].first;
    *ret_job = q->jobs[index];
    servers->lines[class_].first = ret_job->next;
    q->jobs[index].next = q->unused;
    q->unused = index;
    servers->waiting--;
    return class_;
}

/* All who begin are served to the end, so that outcome and answer are known now. */
static int serve(struct queue *q, uint16_t pool, uint8_t class_, const struct job *job, pst_ns now)
{
    struct pst_client client = {.arrived = job->arrived, .class_ = class_};

    pst_tally_dispatched(&q->tally, &client, now);
    pst_tally_answered(&q->tally, &client, now + job->first_part);
    pst_tally_ended(&q->tally, &client, PST_OUTCOME_DONE);
    return pst_event_heap_push(&q->events, now + job->service, ENDED, pool, 0);
}

static int arrive(struct queue *q)
{
    struct pst_arrival arrival;
    struct servers *servers;
    struct pst_client client = {0};
    struct job job;
    uint16_t pool;

    pst_arrivals_take(q->arrivals, &arrival);
    client.arrived = arrival.at;
    client.class_ = arrival.class_;
    pst_tally_arrived(&q->tally, &client);
    pool = q->scenario->streams[arrival.stream].pool;
    servers = &q->servers[pool];
    if (servers->free == 0)
        return wait_in_line(q, servers, &arrival);
    servers->free--;
    job = (struct job){arrival.at, arrival.service, arrival.first_part, NOBODY};
    return serve(q, pool, arrival.class_, &job, arrival.at);
}

static int depart(struct queue *q)
{
    struct servers *servers;
    struct pst_event event;
    struct job job;
    uint8_t class_;

    pst_event_heap_pop(&q->events, &event);
    servers = &q->servers[event.subject];
    if (servers->waiting == 0) {
        servers->free++;
        return PST_OK;
    }
    class_ = leave_line(q, servers, &job);
    return serve(q, (uint16_t)event.subject, class_, &job, event.at);
}

static int run(struct queue *q)
{
    int rc = PST_OK;

    while (rc == PST_OK) {
        pst_ns arrival = pst_arrivals_due(q->arrivals), departure = pst_event_heap_due(&q->events);

        if (arrival == PST_NEVER && departure == PST_NEVER)
            break;
        rc = departure <= arrival ? depart(q) : arrive(q);
        q->tally.report.events_total++;
    }
    return rc;
}

/* Replicas that were there from the beginning to the end. */
static void bill(struct queue *q)
{
    struct pst_sim_report *report = &q->tally.report;
    pst_ns span = report->end - report->begin;

    report->ready_min = 0;
    for (uint32_t p = 0; p < q->scenario->gate.pools_count; p++) {
        uint64_t paid = pst_mul_sat(q->servers[p].replicas, span);

        report->ready_min += q->servers[p].replicas;
        report->replica_ns[PST_REPLICA_READY] += paid;
        report->cost_micro += pst_muldiv(paid, q->scenario->scaler.pools[p].cost_micro, PER_HOUR);
    }
    report->existing_max = report->ready_min;
}

int pst_queue_run(const struct pst_scenario *scenario, const struct pst_scenario_policy *policy,
                  uint64_t seed, struct pst_sim_report *ret_report, const char **ret_why)
{
    struct queue *q;
    int rc;

    *ret_why = why_not(scenario, policy);
    if (*ret_why != NULL)
        return PST_E_INVALID;
    q = calloc(1, sizeof *q);
    if (q == NULL)
        return PST_E_NOMEM;
    rc = begin(q, scenario, policy, seed);
    if (rc == PST_E_INVALID)
        *ret_why = "recorded requests are out of order or of no class";
    if (rc == PST_OK)
        rc = run(q);
    if (rc == PST_OK) {
        bill(q);
        pst_tally_close(&q->tally);
        *ret_report = q->tally.report;
        ret_report->points = NULL;
        ret_report->decisions = NULL;
    }
    end(q);
    return rc;
}
