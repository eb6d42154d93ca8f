/*
 * layout_scaler.h - what goes into the scaler and comes out of it, as bytes: as layout.h has the gate's.
 *
 * Guarantee: as there. A configuration begins with the digest of these tables: what another version wrote
 * is refused, not misread, and a gate's part beside it stays readable.
 */
#ifndef PST_DRIVE_LAYOUT_SCALER_H
#define PST_DRIVE_LAYOUT_SCALER_H

#include "core/scaler.h"
#include "drive/layout.h"

/* Each returns the number of bytes written: at most PST_LAYOUT_BYTES_MAX, or PST_LAYOUT_CONFIG_MAX. */
size_t pst_layout_scaler_event(const struct pst_scaler_event *event, uint8_t *bytes);
size_t pst_layout_scaler_action(const struct pst_scaler_action *action, uint8_t *bytes);
size_t pst_layout_scaler_config(const struct pst_scaler_config *config, uint8_t *bytes);

/* False: no such kind, not exactly the bytes of that kind, or of another layout. */
bool pst_layout_read_scaler_event(const uint8_t *bytes, size_t len,
                                  struct pst_scaler_event *ret_event);
bool pst_layout_read_scaler_config(const uint8_t *bytes, size_t len,
                                   struct pst_scaler_config *ret_config);

const char *pst_layout_scaler_event_name(uint8_t kind); /* "tick" …; "?" of none */
const char *pst_layout_scaler_action_name(uint8_t kind);

#endif
