/*
 * tzif_rule.h - the yearly rule behind a zone's table; for tzif.c only.
 */
#ifndef PST_CODEC_TZIF_RULE_H
#define PST_CODEC_TZIF_RULE_H

#include "codec/tzif.h"

int32_t pst_tzif_rule_offset(const struct pst_tzif *zone, int64_t utc);
int64_t pst_tzif_rule_change(const struct pst_tzif *zone, int64_t utc);

#endif
