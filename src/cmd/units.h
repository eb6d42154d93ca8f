/*
 * units.h - numbers as people read them: three digits that count, and a unit.
 *
 * Guarantee: never longer than PST_UNITS_MAX - 1 bytes; what is not finite is "-".
 */
#ifndef PST_CMD_UNITS_H
#define PST_CMD_UNITS_H

#include "model/scenario.h"

#define PST_UNITS_MAX 32

/* What a measure is counted in. */
enum pst_unit {
    PST_UNIT_TIME,  /* ns: "12.3 ms", "4.10 s", "12.5 min", "3.00 h" */
    PST_UNIT_COUNT, /* "0", "812", "12,345", "1.23 M" */
    PST_UNIT_HOURS, /* replica-hours, and other plain numbers: "0.012", "76.3", "1,234" */
    PST_UNIT_SHARE, /* ppm: "99.98 %" */
    PST_UNIT_COUNT_OF
};

enum pst_unit pst_measure_unit(enum pst_measure measure);
/* Writes into text and returns it. */
const char *pst_units(double value, enum pst_unit unit, char text[PST_UNITS_MAX]);
/* A duration of virtual time where round ones are usual: "8 h", "90 s", "57 min 16 s". */
const char *pst_units_span(pst_ns span, char text[PST_UNITS_MAX]);

#endif
