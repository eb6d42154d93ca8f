/* tzif.c - the table of a TZif file, and the two directions of time. */
#include "codec/tzif.h"

#include "codec/day.h"
#include "codec/tzif_rule.h"

#include <string.h>

#define HEADER_BYTES 44
#define TYPE_BYTES   6
#define EAST_MOST    (26 * 3600) /* offsets lie between -25 and 26 hours */
#define WEST_MOST    (25 * 3600)

/* What a header says of the data behind it. */
struct block {
    uint8_t version; /* 0 is 1 */
    uint32_t isut, isstd, leaps, times, types, chars;
    unsigned time_bytes; /* 4 or 8 */
};

static uint32_t read_32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t signed_32(uint32_t bits)
{
    return bits < UINT32_C(1) << 31 ? (int64_t)bits : (int64_t)bits - (INT64_C(1) << 32);
}

static int64_t read_time(const uint8_t *at, unsigned bytes)
{
    if (bytes == 4)
        return signed_32(read_32(at));
    return signed_32(read_32(at)) * (INT64_C(1) << 32) + read_32(at + 4);
}

static int read_header(const uint8_t *bytes, size_t len, unsigned time_bytes, struct block *ret)
{
    static const uint8_t magic[4] = {'T', 'Z', 'i', 'f'};

    if (len < HEADER_BYTES || memcmp(bytes, magic, sizeof magic) != 0)
        return PST_E_SYNTAX;
    *ret = (struct block){
        .version = bytes[4],
        .isut = read_32(bytes + 20),
        .isstd = read_32(bytes + 24),
        .leaps = read_32(bytes + 28),
        .times = read_32(bytes + 32),
        .types = read_32(bytes + 36),
        .chars = read_32(bytes + 40),
        .time_bytes = time_bytes,
    };
    return PST_OK;
}

/* Counts are of 32 bits each, so the sum fits. */
static uint64_t block_bytes(const struct block *b)
{
    return (uint64_t)b->times * (b->time_bytes + 1) + (uint64_t)b->types * TYPE_BYTES + b->chars +
           (uint64_t)b->leaps * (b->time_bytes + 4) + b->isstd + b->isut;
}

static int read_block(const uint8_t *at, const struct block *b, struct pst_tzif *zone)
{
    const uint8_t *types = at + (size_t)b->times * b->time_bytes;
    const uint8_t *infos = types + b->times;

    if (b->leaps != 0 || b->types == 0 || b->types > PST_TZIF_TYPES_MAX ||
        b->times > PST_TZIF_TIMES_MAX || (b->isut != 0 && b->isut != b->types) ||
        (b->isstd != 0 && b->isstd != b->types))
        return PST_E_SYNTAX;
    for (uint32_t i = 0; i < b->types; i++) {
        const int64_t offset = signed_32(read_32(infos + (size_t)i * TYPE_BYTES));

        if (offset <= -WEST_MOST || offset >= EAST_MOST)
            return PST_E_SYNTAX;
        zone->offsets[i] = (int32_t)offset;
    }
    for (uint32_t i = 0; i < b->times; i++) {
        zone->times[i] = read_time(at + (size_t)i * b->time_bytes, b->time_bytes);
        zone->types[i] = types[i];
        if (types[i] >= b->types || (i > 0 && zone->times[i] <= zone->times[i - 1]))
            return PST_E_SYNTAX;
    }
    zone->times_count = b->times;
    return PST_OK;
}

/* "\n", a rule or nothing, "\n". */
static int read_footer(const uint8_t *at, size_t len, struct pst_tzif *zone)
{
    const uint8_t *end;

    if (len < 2 || at[0] != '\n')
        return PST_E_SYNTAX;
    end = memchr(at + 1, '\n', len - 1);
    if (end == NULL)
        return PST_E_SYNTAX;
    if (end == at + 1)
        return PST_OK;
    return pst_tzif_rule((const char *)at + 1, (size_t)(end - at - 1), zone);
}

int pst_tzif_parse(const uint8_t *bytes, size_t len, struct pst_tzif *ret_zone)
{
    static const struct pst_tzif utc;
    struct pst_tzif zone = utc;
    struct block block;
    int rc = read_header(bytes, len, 4, &block);

    if (rc == PST_OK && len - HEADER_BYTES < block_bytes(&block))
        rc = PST_E_SYNTAX;
    if (rc == PST_OK && block.version == 0) {
        rc = read_block(bytes + HEADER_BYTES, &block, &zone);
    } else if (rc == PST_OK) {
        /* the first block is for readers that know no other */
        const size_t skip = HEADER_BYTES + (size_t)block_bytes(&block);

        bytes += skip;
        len -= skip;
        rc = read_header(bytes, len, 8, &block);
        if (rc == PST_OK && len - HEADER_BYTES < block_bytes(&block))
            rc = PST_E_SYNTAX;
        if (rc == PST_OK)
            rc = read_block(bytes + HEADER_BYTES, &block, &zone);
        if (rc == PST_OK) {
            const size_t used = HEADER_BYTES + (size_t)block_bytes(&block);

            rc = read_footer(bytes + used, len - used, &zone);
        }
    }
    if (rc == PST_OK)
        *ret_zone = zone;
    return rc;
}

/* How many of the times are not after `utc`. */
static uint32_t times_until(const struct pst_tzif *zone, int64_t utc)
{
    uint32_t low = 0, high = zone->times_count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (zone->times[middle] <= utc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int32_t pst_tzif_offset(const struct pst_tzif *zone, int64_t utc)
{
    const uint32_t gone = times_until(zone, utc);

    if (gone == zone->times_count && zone->has_rule)
        return pst_tzif_rule_offset(zone, utc);
    return zone->offsets[gone == 0 ? 0 : zone->types[gone - 1]];
}

int64_t pst_tzif_next_change(const struct pst_tzif *zone, int64_t utc)
{
    const uint32_t gone = times_until(zone, utc);

    if (gone < zone->times_count)
        return zone->times[gone];
    return zone->has_rule ? pst_tzif_rule_change(zone, utc) : INT64_MAX;
}

int64_t pst_tzif_civil(const struct pst_tzif *zone, int64_t utc)
{
    return utc + pst_tzif_offset(zone, utc);
}

/* From a time at which the clock cannot have shown it yet, from change to change. */
int64_t pst_tzif_utc(const struct pst_tzif *zone, int64_t civil)
{
    int64_t from = civil - EAST_MOST;

    PST_ASSERT(civil > -PST_TZIF_TIME_MAX && civil < PST_TZIF_TIME_MAX);
    for (;;) {
        const int64_t shown = civil - pst_tzif_offset(zone, from);
        const int64_t change = pst_tzif_next_change(zone, from);

        if (shown < change)
            return shown > from ? shown : from;
        from = change;
    }
}

int64_t pst_tzif_shown(const struct pst_tzif *zone, int64_t utc)
{
    int64_t shown = pst_tzif_civil(zone, utc);
    int64_t change = pst_tzif_next_change(zone, utc - EAST_MOST - WEST_MOST);

    for (; change <= utc; change = pst_tzif_next_change(zone, change)) {
        const int64_t before = pst_tzif_civil(zone, change - 1);

        if (before > shown)
            shown = before;
    }
    return shown;
}
