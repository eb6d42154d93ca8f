/*
 * layout.h - events, actions and configurations as bytes: the form a recording keeps them in.
 *
 * Why: a struct in memory has padding and the byte order of its machine; a recording has to compare
 * byte for byte between compilers. Each field is one row of a table, and one pair of functions reads
 * and writes all of them.
 *
 * Guarantee: the bytes depend on the fields' values alone (little-endian, no padding, no member of a
 * union but the one its kind names). decode(encode(x)) has the same fields as x, and zero elsewhere.
 */
#ifndef PST_DRIVE_LAYOUT_H
#define PST_DRIVE_LAYOUT_H

#include "core/gate.h"

#define PST_LAYOUT_BYTES_MAX  64   /* of an encoded event or action */
#define PST_LAYOUT_CONFIG_MAX 8192 /* of an encoded configuration */

/* Each returns the number of bytes written. */
size_t pst_layout_event(const struct pst_gate_event *event, uint8_t *bytes);
size_t pst_layout_action(const struct pst_gate_action *action, uint8_t *bytes);
size_t pst_layout_config(const struct pst_gate_config *config, uint8_t *bytes);

/* False: no such kind, or not exactly the bytes of that kind. */
bool pst_layout_read_event(const uint8_t *bytes, size_t len, struct pst_gate_event *ret_event);
bool pst_layout_read_action(const uint8_t *bytes, size_t len, struct pst_gate_action *ret_action);
bool pst_layout_read_config(const uint8_t *bytes, size_t len, struct pst_gate_config *ret_config);

/* Changes whenever a table does: a recording of another layout is refused, not misread. */
uint64_t pst_layout_digest(void);

const char *pst_layout_event_name(uint8_t kind); /* "offer" …; "?" of none */
const char *pst_layout_action_name(uint8_t kind);

#endif
