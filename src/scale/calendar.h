/*
 * calendar.h - replicas that are wanted by the clock: cron rules, and a learned week, as floors of the scaler.
 *
 * Why: what everyone knows of tomorrow morning is in no series yet, and people know it in civil time: with
 * time zones, summers and holidays. The scaler knows one clock that never jumps. Here the one becomes the
 * other, as FLOOR events; that replicas must be asked for a start time earlier is the scaler's own doing,
 * unless `lead` says more.
 *
 * Guarantee: of each source a pool has at most PST_CALENDAR_STEPS floors standing, which do not overlap; they
 * are told one horizon ahead, again each hour and when the wall clock steps, and withdrawn when they no longer
 * follow from rules, week or clock. A holiday is taken for a Sunday; a rule that runs ends at its `until` as
 * the plain calendar has it or as the holiday has it, whichever comes first. Nothing waits: the week's file is
 * written once an hour, replaced whole, and not synced, for the caller is the thread that serves requests.
 *
 * Use: in the process of the scaler. tell() is pst_capacity_event(). Once a second, before the scaler's tick,
 * pst_calendar_tick(); from capacity's decided(), pst_calendar_decided(); after a reload of capacity,
 * pst_calendar_reload(). `profile: prometheus` is fed by pst_calendar_learn(), oldest first.
 */
#ifndef PST_SCALE_CALENDAR_H
#define PST_SCALE_CALENDAR_H

#include "config/config.h"

#define PST_CALENDAR_STEPS 8

struct pst_calendar;

struct pst_calendar_handlers {
    void *user;
    void (*tell)(void *user, const struct pst_scaler_event *event); /* kind FLOOR */
};

/* PST_OK, PST_E_NOMEM, or PST_E_INVALID: a zone is not there any more. A week that cannot be read is begun anew. */
int pst_calendar_new(const struct pst_config *config, const struct pst_calendar_handlers *handlers,
                     struct pst_calendar **ret_calendar);
/* Writes the weeks that changed. Takes NULL. */
void pst_calendar_free(struct pst_calendar *calendar);
/* On failure the old rules stay. Weeks are kept. */
int pst_calendar_reload(struct pst_calendar *calendar, const struct pst_config *config);

/* `wall_ns` since 1970, UTC; 0: not known, and nothing is told. */
void pst_calendar_tick(struct pst_calendar *calendar, pst_ns now, uint64_t wall_ns);
/* What was needed goes into the week, the measured start time into the lead. kind DECISION. */
void pst_calendar_decided(struct pst_calendar *calendar, uint64_t wall_s,
                          const struct pst_scaler_action *decision);
/* So many were needed then. */
void pst_calendar_learn(struct pst_calendar *calendar, uint16_t pool, uint64_t wall_s,
                        uint32_t replicas);

#endif
