/*
 * admin.h - the operator's listener: what the gateway knows, and the few things one may tell it.
 *
 *   GET  /metrics /healthz /readyz         as on the metrics listener
 *   GET  /state                            everything, as JSON
 *   GET  /explain?pool=&decisions=&format= why requests wait and how many replicas there should be, in words
 *                                          and figures; with the last decisions; as JSON
 *   GET  /events                           changes as they happen (server-sent events)
 *   POST /drain?deadline=&grace=           answers when it is over: 200, or 409 with the count
 *   POST /replicas/{id}/drain?deadline=    the same for one replica; id: index or URL, percent-encoded
 *   POST /replicas/{id}/undrain
 *   POST /reload
 *
 * Guarantee: with a token configured (off loopback it must be) nothing is answered without it; the
 * drain token opens POST /replicas/{id}/drain alone. Tokens are compared in constant time. A slow reader
 * of /events loses its connection, never our memory.
 */
#ifndef PST_OBSERVE_ADMIN_H
#define PST_OBSERVE_ADMIN_H

#include "net/server.h"
#include "observe/view.h"

struct pst_admin;

/* Serves at `address`. errno when PST_E_SYSTEM. */
int pst_admin_new(const struct pst_view *view, const char *address, struct pst_admin **ret_admin);
void pst_admin_free(struct pst_admin *admin); /* takes NULL, as all below */
uint16_t pst_admin_port(const struct pst_admin *admin);

/* Fleet actions of the drive. */
void pst_admin_fleet_action(struct pst_admin *admin, const struct pst_gate_action *action);
/* The scaler said something new; `line` is one JSON object. */
void pst_admin_decided(struct pst_admin *admin, struct pst_slice line);
/* A request ended. */
void pst_admin_finished(struct pst_admin *admin, const struct pst_access *record);
/* The drain of the whole gateway went into another phase. */
void pst_admin_drain_changed(struct pst_admin *admin);
/* A reload was tried; message NULL: it worked. */
void pst_admin_reloaded(struct pst_admin *admin, const char *message);

#endif
