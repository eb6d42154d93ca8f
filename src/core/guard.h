/*
 * guard.h - the share of slot-time that keeps a lower class from starving.
 *
 * Why: strict priority starves whoever is last; promotion by age turns into FIFO as soon as everybody
 * is old. So not the age is bounded but the share: tickets past their slack may spend a few percent of
 * the slot-time that class 0 leaves, whoever else waits.
 *
 * Every dispatch below class 0 earns each lower class its share of that work; every dispatch of the
 * class spends. Only past its own class's share does a class need the guard at all. When class 0 alone
 * fills the pool nothing is left; then a late ticket earns a tenth of the share from the dispatches of
 * class 0 that were themselves past their target, so that the wait of the lowest stays bounded.
 *
 * Guarantee: over any span, guard dispatches take at most share x (slot-time below class 0) plus
 * share / 10 x (late slot-time of class 0), plus a second's share, plus one ticket.
 */
#ifndef PST_CORE_GUARD_H
#define PST_CORE_GUARD_H

#include "core/gate.h"

struct pst_guard {
    int64_t credit[PST_CLASSES_MAX];   /* ns of slot-time; may be spent while class 0 has its way */
    int64_t overtake[PST_CLASSES_MAX]; /* may be spent before class 0 */
};

/* Work of class_ was dispatched: earns for the classes below 0, spends for its own. */
void pst_guard_dispatched(struct pst_guard *guard, const struct pst_gate_class *classes,
                          uint32_t classes_count, uint8_t class_, pst_ns work, bool late,
                          uint32_t slots);

static inline bool pst_guard_may(const struct pst_guard *guard, uint8_t class_)
{
    return guard->credit[class_] > 0;
}

static inline bool pst_guard_may_overtake(const struct pst_guard *guard, uint8_t class_)
{
    return guard->overtake[class_] > 0;
}

/* The ticket went before class 0: spends that account instead of earning. */
void pst_guard_overtook(struct pst_guard *guard, uint8_t class_, pst_ns work);

#endif
