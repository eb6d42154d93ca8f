/* tally.c - see tally.h. */
#include "sim/tally.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"

#define HOUR_NS (3600 * PST_S)

int pst_tally_init(struct pst_tally *tally, const struct pst_scenario *scenario,
                   const pst_ns deadlines[PST_CLASSES_MAX])
{
    struct pst_sim_report *report = &tally->report;

    memset(tally, 0, sizeof *tally);
    tally->classes_count = scenario->gate.classes_count;
    tally->point_every = pst_max_u64(scenario->horizon / PST_REPORT_POINTS + 1, PST_S);
    for (uint32_t c = 0; c < tally->classes_count; c++) {
        tally->target[c] = scenario->gate.classes[c].target;
        tally->deadline[c] = deadlines[c];
    }
    report->begin = scenario->cut;
    report->end = scenario->horizon;
    report->ready_min = UINT32_MAX;
    tally->batch_ns = (report->end - report->begin) / PST_REPORT_BATCHES + 1;
    tally->batches =
        calloc((size_t)tally->classes_count * PST_REPORT_BATCHES, sizeof *tally->batches);
    report->points = calloc(PST_REPORT_POINTS, sizeof *report->points);
    report->decisions = calloc(PST_REPORT_DECISIONS_MAX, sizeof *report->decisions);
    if (tally->batches != NULL && report->points != NULL && report->decisions != NULL)
        return PST_OK;
    pst_tally_done(tally);
    return PST_E_NOMEM;
}

void pst_tally_done(struct pst_tally *tally)
{
    free(tally->batches);
    free(tally->report.points);
    free(tally->report.decisions);
    memset(tally, 0, sizeof *tally);
}

/* The class's numbers, if this request is one of the measured. */
static struct pst_report_class *class_of(struct pst_tally *tally, const struct pst_client *client)
{
    if (client->arrived < tally->report.begin || client->arrived >= tally->report.end)
        return NULL;
    return &tally->report.classes[client->class_];
}

static bool in_span(const struct pst_tally *tally, pst_ns now)
{
    return now >= tally->report.begin && now <= tally->report.end;
}

void pst_tally_arrived(struct pst_tally *tally, const struct pst_client *client)
{
    struct pst_report_class *class_ = class_of(tally, client);

    tally->report.arrivals_total++;
    if (class_ != NULL)
        class_->arrived++;
}

void pst_tally_retried(struct pst_tally *tally, const struct pst_client *client)
{
    struct pst_report_class *class_ = class_of(tally, client);

    if (class_ != NULL)
        class_->retried++;
}

void pst_tally_dispatched(struct pst_tally *tally, struct pst_client *client, pst_ns now)
{
    struct pst_report_class *class_ = class_of(tally, client);
    uint8_t c = client->class_;
    pst_ns wait = now - client->arrived;
    uint32_t batch;

    tally->worst_wait[c] = pst_max_u64(tally->worst_wait[c], wait);
    if (class_ == NULL)
        return;
    pst_hist_add(&class_->wait, wait);
    batch = (uint32_t)((client->arrived - tally->report.begin) / tally->batch_ns);
    pst_hist_add(&tally->batches[c * PST_REPORT_BATCHES + batch], wait);
    client->in_target = wait <= tally->target[c];
    client->in_deadline = wait <= tally->deadline[c];
}

void pst_tally_answered(struct pst_tally *tally, const struct pst_client *client, pst_ns now)
{
    struct pst_report_class *class_ = class_of(tally, client);

    if (class_ != NULL)
        pst_hist_add(&class_->ttft, now - client->arrived);
}

void pst_tally_ended(struct pst_tally *tally, const struct pst_client *client,
                     enum pst_outcome outcome)
{
    struct pst_report_class *class_ = class_of(tally, client);

    if (class_ == NULL)
        return;
    class_->outcomes[outcome]++;
    if (outcome == PST_OUTCOME_DONE) { /* what broke was not served, however early it was sent on */
        class_->in_target += client->in_target;
        class_->in_deadline += client->in_deadline;
    }
}

static void digest(struct pst_tally *tally, uint64_t word)
{
    uint64_t x = (tally->report.digest ^ word) * UINT64_C(0x9fb21c651e98df25);

    tally->report.digest = x ^ x >> 32;
}

/* The words of an action are weighed side by side: no product waits for another. */
void pst_tally_gate(struct pst_tally *tally, const struct pst_gate_action *action)
{
    uint64_t words[sizeof *action / sizeof(uint64_t)], sum = 0;

    _Static_assert(sizeof *action % sizeof(uint64_t) == 0, "an action is whole words");
    memcpy(words, action, sizeof words);
    for (size_t i = 0; i < PST_COUNT_OF(words); i++)
        sum += words[i] * (UINT64_C(0x9e3779b97f4a7c15) + (i << 32 | i << 1));
    digest(tally, sum);
}

static void digest_decision(struct pst_tally *tally, const struct pst_scaler_action *action)
{
    digest(tally, action->u.decision.desired);
    digest(tally, action->u.decision.before);
    for (int t = 0; t < PST_TERM_COUNT; t++)
        digest(tally, action->u.decision.terms[t]);
    digest(tally, action->u.decision.winner);
    digest(tally, action->u.decision.vetoes);
    digest(tally, action->u.decision.backlog_ms);
    digest(tally, action->u.decision.start_ms);
}

void pst_tally_scaler(struct pst_tally *tally, const struct pst_scaler_action *action)
{
    digest(tally, (uint64_t)action->pool << 8 | action->kind);
    switch ((enum pst_scaler_action_kind)action->kind) {
    case PST_SCALER_START:
        digest(tally, (uint64_t)action->u.start.op << 8 | action->u.start.warm);
        break;
    case PST_SCALER_PROMOTE:
    case PST_SCALER_CANCEL:
    case PST_SCALER_MARK:
    case PST_SCALER_UNDRAIN:
    case PST_SCALER_REMOVE:
        digest(tally, action->u.replica.replica);
        break;
    case PST_SCALER_DRAIN:
        digest(tally, action->u.replica.replica);
        digest(tally, action->u.replica.until);
        break;
    case PST_SCALER_DECISION:
        digest_decision(tally, action);
        break;
    case PST_SCALER_ACTION_COUNT:
        PST_ASSERT(!"an action of the scaler");
    }
}

void pst_tally_decided(struct pst_tally *tally, const struct pst_report_decision *decision)
{
    struct pst_sim_report *report = &tally->report;
    uint32_t kept = PST_REPORT_DECISIONS_MAX / 2;

    if (report->decisions_count == PST_REPORT_DECISIONS_MAX) { /* the older half goes */
        memmove(report->decisions, report->decisions + kept, kept * sizeof *report->decisions);
        report->decisions_count = kept;
    }
    report->decisions[report->decisions_count++] = *decision;
}

void pst_tally_moved(struct pst_tally *tally, uint16_t pool, uint32_t before, uint32_t after,
                     pst_ns now)
{
    struct pst_sim_report *report = &tally->report;
    int8_t direction = after > before ? 1 : -1;

    if (after == before)
        return;
    if (in_span(tally, now)) {
        report->ups += after > before;
        report->downs += after < before;
        report->direction_changes +=
            tally->direction[pool] != 0 && tally->direction[pool] != direction;
    }
    tally->direction[pool] = direction;
}

void pst_tally_killed(struct pst_tally *tally, uint32_t count, pst_ns now)
{
    if (in_span(tally, now))
        tally->report.killed_in_flight += count;
}

void pst_tally_replicas(struct pst_tally *tally, const struct pst_lives *lives, pst_ns now)
{
    uint32_t ready = 0, existing = 0;

    if (!in_span(tally, now))
        return;
    for (uint16_t p = 0; p < lives->scenario->gate.pools_count; p++) {
        ready += lives->pools[p].counts[PST_LIVES_READY];
        existing += pst_lives_existing(lives, p);
    }
    if (ready < tally->report.ready_min)
        tally->report.ready_min = ready;
    if (existing > tally->report.existing_max)
        tally->report.existing_max = existing;
}

void pst_tally_measure(struct pst_tally *tally, const struct pst_lives *lives, pst_ns now)
{
    tally->report.ready_min = UINT32_MAX;
    tally->report.existing_max = 0;
    pst_tally_replicas(tally, lives, now);
}

bool pst_tally_wants_point(const struct pst_tally *tally, pst_ns now)
{
    return now >= tally->point_due && tally->report.points_count < PST_REPORT_POINTS;
}

void pst_tally_point(struct pst_tally *tally, struct pst_report_point *point)
{
    memcpy(point->worst_wait, tally->worst_wait, sizeof point->worst_wait);
    memset(tally->worst_wait, 0, sizeof tally->worst_wait);
    tally->report.points[tally->report.points_count++] = *point;
    tally->point_due = point->at + tally->point_every;
}

void pst_tally_bill(struct pst_tally *tally, const struct pst_lives *lives)
{
    const struct pst_scenario *scenario = lives->scenario;

    for (uint32_t p = 0; p < scenario->gate.pools_count; p++) {
        uint64_t sum = 0;

        for (int phase = PST_LIVES_STARTING; phase < PST_LIVES_COUNT; phase++) {
            uint64_t paid = lives->pools[p].paid_ns[phase];

            tally->report.replica_ns[pst_lives_shown((enum pst_lives_phase)phase)] += paid;
            sum += paid;
        }
        tally->report.cost_micro += pst_muldiv(sum, scenario->scaler.pools[p].cost_micro, HOUR_NS);
    }
}

void pst_tally_close(struct pst_tally *tally)
{
    for (uint32_t c = 0; c < tally->classes_count; c++) {
        for (uint32_t b = 0; b < PST_REPORT_BATCHES; b++) {
            const struct pst_hist *hist = &tally->batches[c * PST_REPORT_BATCHES + b];

            tally->report.classes[c].batches[b].count = hist->count;
            tally->report.classes[c].batches[b].sum_ns = hist->sum;
            tally->report.classes[c].batches[b].p99_ns = pst_hist_quantile(hist, 990000);
        }
    }
}
