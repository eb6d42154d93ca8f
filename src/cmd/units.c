/* units.c - see units.h. */
#include "cmd/units.h"

#include <stdio.h>

enum pst_unit pst_measure_unit(enum pst_measure measure)
{
    switch (measure) {
    case PST_MEASURE_WAIT_MEAN:
    case PST_MEASURE_WAIT_P50:
    case PST_MEASURE_WAIT_P95:
    case PST_MEASURE_WAIT_P99:
    case PST_MEASURE_TTFT_P50:
    case PST_MEASURE_TTFT_P95:
    case PST_MEASURE_TTFT_P99:
        return PST_UNIT_TIME;
    case PST_MEASURE_ATTAINMENT:
    case PST_MEASURE_IN_DEADLINE:
        return PST_UNIT_SHARE;
    case PST_MEASURE_REPLICA_HOURS:
    case PST_MEASURE_COST:
    case PST_MEASURE_DIRECTION_CHANGES_PER_HOUR:
    case PST_MEASURE_UPS_PER_BURST:
        return PST_UNIT_HOURS;
    case PST_MEASURE_ARRIVED:
    case PST_MEASURE_DONE:
    case PST_MEASURE_REFUSED:
    case PST_MEASURE_EXPIRED:
    case PST_MEASURE_FAILED:
    case PST_MEASURE_REPLICAS_MIN:
    case PST_MEASURE_REPLICAS_MAX:
    case PST_MEASURE_SCALE_UPS:
    case PST_MEASURE_SCALE_DOWNS:
    case PST_MEASURE_DIRECTION_CHANGES:
    case PST_MEASURE_KILLED_IN_FLIGHT:
    case PST_MEASURE_COUNT:
        break;
    }
    return PST_UNIT_COUNT;
}

/* Three digits that count, of a number below 1,000. */
static void write_three(double value, const char *unit, char text[PST_UNITS_MAX])
{
    const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;

    snprintf(text, PST_UNITS_MAX, "%.*f%s", decimals, value, unit);
}

static void write_time(double ns, char text[PST_UNITS_MAX])
{
    static const struct {
        double below, one; /* ns */
        const char *unit;
    } rows[] = {
        {999.5e3, 1e3, " us"},      {999.5e6, 1e6, " ms"}, {600e9, 1e9, " s"},
        {6 * 3600e9, 60e9, " min"}, {1e300, 3600e9, " h"},
    };
    size_t i = 0;

    if (ns == 0) {
        snprintf(text, PST_UNITS_MAX, "0 s");
        return;
    }
    while (i + 1 < PST_COUNT_OF(rows) && ns >= rows[i].below)
        i++;
    write_three(ns / rows[i].one, rows[i].unit, text);
}

/* "12,345": at most so many digits that it fits. */
static void write_grouped(double value, char text[PST_UNITS_MAX])
{
    char digits[PST_UNITS_MAX];
    const int len = snprintf(digits, sizeof digits, "%.0f", value);
    size_t at = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
}

static void write_count(double value, char text[PST_UNITS_MAX])
{
    if (value >= 999.5e9)
        snprintf(text, PST_UNITS_MAX, "%.3g", value);
    else if (value >= 999.5e6)
        write_three(value / 1e9, " G", text);
    else if (value >= 999.5e3)
        write_three(value / 1e6, " M", text);
    else if (value != (double)(uint64_t)value && value < 99.95) /* a mean */
        write_three(value, "", text);
    else
        write_grouped(value, text);
}

static void write_plain(double value, char text[PST_UNITS_MAX])
{
    if (value == 0)
        snprintf(text, PST_UNITS_MAX, "0");
    else if (value >= 1e12)
        snprintf(text, PST_UNITS_MAX, "%.3g", value);
    else if (value >= 999.5)
        write_grouped(value, text);
    else if (value < 0.0005)
        snprintf(text, PST_UNITS_MAX, "<0.001");
    else if (value < 0.0995)
        snprintf(text, PST_UNITS_MAX, "%.3f", value);
    else
        write_three(value, "", text);
}

const char *pst_units(double value, enum pst_unit unit, char text[PST_UNITS_MAX])
{
    if (!(value >= 0 && value < 1e300)) {
        snprintf(text, PST_UNITS_MAX, "-");
        return text;
    }
    switch (unit) {
    case PST_UNIT_TIME:
        write_time(value, text);
        break;
    case PST_UNIT_COUNT:
        write_count(value, text);
        break;
    case PST_UNIT_HOURS:
        write_plain(value, text);
        break;
    case PST_UNIT_SHARE:
        /* rounded down: what is not all must not read as all */
        snprintf(text, PST_UNITS_MAX, "%.*f %%", value >= PST_PPM ? 0 : 2,
                 (double)(uint64_t)(value / 1e2) / 1e2);
        break;
    case PST_UNIT_COUNT_OF:
        PST_ASSERT(!"a unit");
    }
    return text;
}

/* Of whole seconds what is not zero: "57 min 16 s". */
static void write_parts(uint64_t seconds, char text[PST_UNITS_MAX])
{
    const struct {
        uint64_t count;
        const char *unit;
    } parts[] = {{seconds / 3600, "h"}, {seconds / 60 % 60, "min"}, {seconds % 60, "s"}};
    int used = 0;

    for (size_t i = 0; i < PST_COUNT_OF(parts); i++)
        if (parts[i].count > 0)
            used +=
                snprintf(text + used, (size_t)(PST_UNITS_MAX - used), "%s%llu %s",
                         used > 0 ? " " : "", (unsigned long long)parts[i].count, parts[i].unit);
}

const char *pst_units_span(pst_ns span, char text[PST_UNITS_MAX])
{
    const uint64_t seconds = span / PST_S;

    if (span == 0)
        snprintf(text, PST_UNITS_MAX, "0 s");
    else if (span < PST_S && span % PST_MS == 0)
        snprintf(text, PST_UNITS_MAX, "%llu ms", (unsigned long long)(span / PST_MS));
    else if (span % PST_S != 0 || seconds / 3600 > 9999999)
        write_time((double)span, text);
    else if (seconds < 120 && seconds % 60 != 0)
        snprintf(text, PST_UNITS_MAX, "%llu s", (unsigned long long)seconds);
    else
        write_parts(seconds, text);
    return text;
}
