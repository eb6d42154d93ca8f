/*
 * zone.h - a time zone of this machine, by its name.
 *
 * Why: the gateway takes its zones from the tz database ($TZDIR, else /usr/share/zoneinfo), as everyone on the
 * machine does; `check` must say that one is not there before a rule is found never to fire.
 *
 * Guarantee: a bounded read of a regular file; a name that could leave the folder is refused. UTC needs no file.
 */
#ifndef PST_CONFIG_ZONE_H
#define PST_CONFIG_ZONE_H

#include "codec/tzif.h"

/*
 * NULL, "UTC" and "Etc/UTC" are UTC. PST_OK, or PST_E_INVALID (no such zone), PST_E_SYNTAX (no zone's file) and
 * PST_E_SYSTEM, with the reason in words; nothing is written then.
 */
int pst_zone_read(const char *name, struct pst_tzif *ret_zone, const char **ret_fault);

#endif
