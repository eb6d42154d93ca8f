/*
 * keda_look.h - what there is to say of a pool now: from scaler, gate and configuration to export.h's input.
 *
 * Guarantee: reads only. `known`, and which replicas exist, are the scaler's own words; what waits is the
 * gate's, as of now.
 */
#ifndef PST_SCALE_KEDA_LOOK_H
#define PST_SCALE_KEDA_LOOK_H

#include "config/config.h"
#include "core/export.h"
#include "drive/capacity.h"
#include "scale/keda_waits.h"

/* All borrowed. */
struct pst_keda_world {
    const struct pst_config *config;
    const struct pst_capacity *capacity;
    const struct pst_drive *drive;
    const struct pst_keda_waits *waits;
};

void pst_keda_look(const struct pst_keda_world *world, uint16_t pool, pst_ns now,
                   struct pst_export_input *ret_input);

#endif
