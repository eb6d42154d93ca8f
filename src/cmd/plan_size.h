/*
 * plan_size.h - what `penstock plan` found out about one pool, and the forms in which it is told.
 *
 *   arrivals, measured ─► formula ─► plain queue ─► the gate itself, with N and N - 1 ─► the answer
 *                                                                        └► warm pools, simulated
 */
#ifndef PST_CMD_PLAN_SIZE_H
#define PST_CMD_PLAN_SIZE_H

#include "base/text.h"
#include "sim/plan.h"

#define PST_PLAN_OFFERS 4 /* no warm replica, 1, 2; none, but one more that is ready */

struct pst_plan_answer {
    const struct pst_plan_scene *scene;
    uint16_t pool;
    uint64_t seed;
    struct pst_plan_load load;
    bool by_formula;   /* it holds for every class that has requests */
    uint32_t formula;  /* replicas, for the classes it holds for; 0: for none of them */
    uint32_t plain;    /* replicas of the plain queue; 0: it does not describe this pool */
    uint32_t replicas; /* the answer */
    uint32_t calm;     /* replicas without the bursts, by formula */
    const struct pst_sim_report *at;    /* the gate's run with it … */
    const struct pst_sim_report *below; /* … and with one less; NULL: it is one */
    uint64_t queue[PST_CLASSES_MAX];    /* bounds, requests */
    uint32_t offers_count;              /* 0: arrivals do not vary, there is nothing to compare */
    struct pst_plan_offer offers[PST_PLAN_OFFERS];
    enum pst_plan_worth worth;
    uint32_t best; /* offer that it speaks of */
};

/* Share of the slots that are in use on average. */
double pst_plan_utilisation(const struct pst_plan_answer *answer);

void pst_plan_text(const struct pst_plan_answer *answer, struct pst_text *text);
void pst_plan_json(const struct pst_plan_answer *answer, struct pst_text *text);
/* How the class's number was found and why so: one sentence without its full stop. */
void pst_plan_say_method(const struct pst_plan_answer *answer, uint8_t class_,
                         struct pst_text *text);

#endif
