/* codec_cron.c - whatever cron rule is taken, its times fit it, follow one another, and are found both ways. */
#include "codec/cron.h"

#include "codec/day.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t holiday[] = {20000, 20001};
    static const struct pst_cron_holidays holidays = {holiday, PST_COUNT_OF(holiday)};
    struct pst_cron_fault fault;
    struct pst_cron cron;
    int64_t at = 19990 * PST_DAY_S;

    if (pst_cron_parse((const char *)data, size, &cron, &fault) != PST_OK) {
        PST_ASSERT(fault.at <= size && fault.why != NULL);
        return 0;
    }
    PST_ASSERT(cron.minutes != 0 && cron.hours != 0 && cron.days != 0 && cron.months != 0 &&
               cron.weekdays != 0);
    for (unsigned i = 0; i < 20; i++) {
        const int64_t next = pst_cron_next(&cron, &holidays, at);

        if (next == PST_CRON_NEVER)
            break;
        PST_ASSERT(next > at && next % 60 == 0);
        PST_ASSERT(pst_cron_last(&cron, &holidays, next) == next);
        PST_ASSERT(pst_cron_last(&cron, &holidays, next - 1) <= at ||
                   pst_cron_last(&cron, &holidays, next - 1) == PST_CRON_NEVER);
        at = next;
    }
    return 0;
}
