/*
 * wire_layout.h - a message as the bytes of one packet, and back.
 *
 * Why: structs have padding, and unions have bytes that nobody wrote; both would carry whatever lay in
 * the sender's memory to the process that must not know it. One description of each message serves
 * both directions, so that they cannot differ.
 *
 * Guarantee: a packet is read whole or refused: wrong length, unknown kind, an enum, index or text out of
 * its range. Nothing is written on a refusal.
 */
#ifndef PST_SCALE_WIRE_LAYOUT_H
#define PST_SCALE_WIRE_LAYOUT_H

#include "scale/wire.h"

#define PST_WIRE_PACKET_MAX 1200

/* The packet's length. A message that could not be read again is the sender's bug: asserted. */
size_t pst_wire_pack(const struct pst_wire_message *message, uint8_t packet[PST_WIRE_PACKET_MAX]);
/* PST_OK or PST_E_SYNTAX. The descriptor is not part of the bytes: ret_message->fd is -1. */
int pst_wire_unpack(const uint8_t *packet, size_t len, struct pst_wire_message *ret_message);

#endif
