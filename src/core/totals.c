/* totals.c - see totals.h. */
#include "core/totals.h"

#include "core/num.h"

static uint64_t second_of(pst_ns now)
{
    return now / PST_S + 1;
}

/*
 * What counts of the cell's refusals in one class: all, or so much of each class that the cell's sum
 * comes down to its share.
 */
static void add_refused(const struct pst_totals *totals, const struct pst_totals_cell *cell,
                        uint8_t class_, struct pst_gate_class_totals *into)
{
    uint64_t share = pst_muldiv(totals->offered, cell->weight, totals->weights);
    uint64_t refused = 0, left_out;

    for (uint8_t c = 0; c < PST_CLASSES_MAX; c++)
        refused = pst_add_sat(refused, cell->refused_work[c]);
    left_out = pst_sub_sat(refused, share);
    into->refused_work +=
        cell->refused_work[class_] - pst_muldiv(cell->refused_work[class_], left_out, refused);
    into->refused += cell->refused[class_] - pst_muldiv(cell->refused[class_], left_out, refused);
}

/* What the second that runs adds to a class if it ends now. */
static void add_second(const struct pst_totals *totals, uint8_t class_,
                       struct pst_gate_class_totals *into)
{
    for (uint32_t i = 0; totals->refusing && i < PST_TOTALS_CELLS; i++) {
        const struct pst_totals_cell *cell = &totals->cells[i];

        if (cell->second == totals->second && cell->refused[class_] > 0)
            add_refused(totals, cell, class_, into);
    }
}

static void turn(struct pst_totals *totals, pst_ns now)
{
    for (uint8_t c = 0; c < PST_CLASSES_MAX; c++)
        add_second(totals, c, &totals->classes[c]);
    totals->second = second_of(now);
    totals->weights = 0;
    totals->offered = 0;
    totals->refusing = false;
}

/* Its flow was seen in this second, with so much work. */
static struct pst_totals_cell *offered(struct pst_totals *totals,
                                       const struct pst_totals_ticket *ticket, pst_ns now)
{
    struct pst_totals_cell *cell = &totals->cells[pst_mix64(ticket->flow) % PST_TOTALS_CELLS];
    uint32_t weight = ticket->weight == 0 ? 100 : ticket->weight;

    if (totals->second != second_of(now))
        turn(totals, now);
    if (cell->second != totals->second)
        *cell = (struct pst_totals_cell){.second = totals->second};
    totals->weights += (uint64_t)weight - cell->weight; /* the newest word on it counts */
    cell->weight = weight;
    totals->offered = pst_add_sat(totals->offered, ticket->work);
    totals->classes[ticket->class_].arrived++;
    totals->classes[ticket->class_].arrived_work += ticket->work;
    return cell;
}

void pst_totals_admitted(struct pst_totals *totals, const struct pst_totals_ticket *ticket,
                         pst_ns now)
{
    offered(totals, ticket, now);
}

void pst_totals_refused(struct pst_totals *totals, const struct pst_totals_ticket *ticket,
                        pst_ns now)
{
    struct pst_totals_cell *cell = offered(totals, ticket, now);

    totals->refusing = true;
    cell->refused[ticket->class_]++;
    cell->refused_work[ticket->class_] =
        pst_add_sat(cell->refused_work[ticket->class_], ticket->work);
}

void pst_totals_waited(struct pst_totals *totals, uint8_t class_, bool late)
{
    totals->classes[class_].waited++;
    totals->classes[class_].late += late;
}

void pst_totals_ended(struct pst_totals *totals, bool done, pst_ns slot_time)
{
    uint64_t us = pst_min_u64(slot_time / PST_US, UINT32_MAX); /* its square fits */

    if (!done) {
        totals->pool.failed++;
        return;
    }
    totals->pool.served++;
    totals->pool.service += slot_time;
    totals->pool.service_square += us * us;
}

void pst_totals_class(const struct pst_totals *totals, uint8_t class_, pst_ns now,
                      struct pst_gate_class_totals *ret_totals)
{
    *ret_totals = totals->classes[class_];
    if (totals->second != second_of(now))
        add_second(totals, class_, ret_totals);
}
