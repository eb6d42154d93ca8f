/* measure_gpu.c - see measure_gpu.h. */
#include "scale/measure_gpu.h"

#include <string.h>

#include "codec/prometheus_read.h"

#define UTILISATION "DCGM_FI_DEV_GPU_UTIL"
#define USED        "DCGM_FI_DEV_FB_USED" /* MiB, like the next */
#define FREE        "DCGM_FI_DEV_FB_FREE"
#define POD_SIZE    256                 /* a DNS name */
#define MIB_MOST    ((uint64_t)1 << 32) /* above it are DCGM's marks */

struct sum {
    uint64_t of;
    uint32_t count;
    bool broken; /* one of them does not say */
};

struct sums {
    struct sum busy, used, rest; /* ppm, MiB, MiB */
};

static void add(struct sum *sum, bool is_number, const struct pst_decimal *number, int32_t power,
                uint64_t most)
{
    uint64_t value;

    if (!is_number || !pst_decimal_to_scaled(number, power, &value) || value > most)
        sum->broken = true;
    else
        sum->of += value;
    sum->count++;
}

/* Percent. */
static void add_busy(struct sum *sum, bool is_number, const struct pst_decimal *number)
{
    add(sum, is_number, number, 4, PST_PPM);
}

static void add_memory(struct sum *sum, bool is_number, const struct pst_decimal *number)
{
    add(sum, is_number, number, 0, MIB_MOST);
}

static const char *reason(const struct sum *sum)
{
    if (sum->count == 0)
        return "none of its GPUs is there";
    return sum->broken ? "a GPU does not say" : NULL;
}

static void judge(const struct sums *sums, struct pst_measure_gpus *ret_gpus)
{
    const char *busy = reason(&sums->busy), *memory = reason(&sums->used);
    uint64_t total = sums->used.of + sums->rest.of;

    if (sums->used.count == 0 && sums->busy.count > 0)
        memory = "nothing is said of it";
    else if (memory == NULL &&
             (sums->rest.broken || sums->rest.count != sums->used.count || total == 0))
        memory = "a GPU does not say";
    *ret_gpus = (struct pst_measure_gpus){.busy.why = busy, .memory.why = memory};
    if (busy == NULL)
        ret_gpus->busy.ppm = sums->busy.of / sums->busy.count;
    if (memory == NULL)
        ret_gpus->memory.ppm = sums->used.of * PST_PPM / total;
}

static void refuse(struct pst_measure_gpus *ret_gpus, const char *why)
{
    *ret_gpus = (struct pst_measure_gpus){.busy.why = why, .memory.why = why};
}

static uint32_t number_of(const char *text, size_t len)
{
    struct pst_decimal number;
    uint64_t value;

    if (pst_decimal_read(text, len, &number) != PST_OK || !pst_decimal_to_u64(&number, &value) ||
        value >= PST_MEASURE_GPU_NONE)
        return PST_MEASURE_GPU_NONE;
    return (uint32_t)value;
}

static struct sum *sum_of(struct sums *sums, const struct pst_prometheus_sample *sample)
{
    if (pst_prometheus_is(sample, UTILISATION))
        return &sums->busy;
    if (pst_prometheus_is(sample, USED))
        return &sums->used;
    return pst_prometheus_is(sample, FREE) ? &sums->rest : NULL;
}

void pst_measure_gpu_page(const char *page, size_t len, const struct pst_measure_pool_gpus *pool,
                          struct pst_measure_gpus *ret_gpus)
{
    struct pst_prometheus_reader reader = {page, page + len};
    struct pst_prometheus_sample sample;
    struct sums sums = {0};
    char number[16], pod[POD_SIZE];
    int rc;

    while ((rc = pst_prometheus_next(&reader, &sample)) == PST_OK) {
        struct pst_measure_gpu gpu = {.pod = pod};
        struct sum *sum = sum_of(&sums, &sample);

        if (sum == NULL)
            continue;
        if (!pst_prometheus_label_of(&sample, "gpu", number, sizeof number))
            number[0] = '\0';
        if (!pst_prometheus_label_of(&sample, "pod", pod, sizeof pod))
            pod[0] = '\0';
        gpu.number = number_of(number, strlen(number));
        if (!pool->has(pool->user, &gpu))
            continue;
        if (sum == &sums.busy)
            add_busy(sum, sample.is_finite, &sample.value);
        else
            add_memory(sum, sample.is_finite, &sample.value);
    }
    if (rc == PST_E_SYNTAX)
        refuse(ret_gpus, "a page that breaks its format");
    else
        judge(&sums, ret_gpus);
}

static size_t trimmed(const char **at, size_t len)
{
    while (len > 0 && (**at == ' ' || **at == '\t')) {
        (*at)++;
        len--;
    }
    while (len > 0 && strchr(" \t\r", (*at)[len - 1]) != NULL)
        len--;
    return len;
}

/* The next of a line's values, up to a comma or the end; false: it is no number. */
static bool next_value(const char **at, const char *end, struct pst_decimal *ret_number)
{
    const char *comma = memchr(*at, ',', (size_t)(end - *at));
    const char *text = *at, *stop = comma == NULL ? end : comma;
    size_t len = trimmed(&text, (size_t)(stop - text));

    *at = comma == NULL ? end : comma + 1;
    return pst_decimal_read(text, len, ret_number) == PST_OK;
}

static void add_line(struct sums *sums, const char *at, const char *end)
{
    struct pst_decimal busy = {0}, used = {0}, total = {0};
    bool has_busy = next_value(&at, end, &busy);
    bool has_used = next_value(&at, end, &used), has_total = next_value(&at, end, &total);
    uint64_t used_mib = 0, total_mib = 0;

    add_busy(&sums->busy, has_busy, &busy);
    sums->used.count++;
    sums->rest.count++;
    if (!has_used || !has_total || !pst_decimal_to_scaled(&used, 0, &used_mib) ||
        !pst_decimal_to_scaled(&total, 0, &total_mib) || used_mib > total_mib ||
        total_mib > MIB_MOST) {
        sums->used.broken = true;
        return;
    }
    sums->used.of += used_mib;
    sums->rest.of += total_mib - used_mib;
}

void pst_measure_gpu_list(const char *list, size_t len, const struct pst_measure_pool_gpus *pool,
                          struct pst_measure_gpus *ret_gpus)
{
    const char *at = list, *end = list + len;
    struct sums sums = {0};

    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const char *comma = line_end == NULL ? NULL : memchr(at, ',', (size_t)(line_end - at));
        struct pst_measure_gpu gpu = {.number = PST_MEASURE_GPU_NONE, .pod = ""};

        if (comma != NULL) {
            size_t number_len = trimmed(&at, (size_t)(comma - at));

            gpu.number = number_of(at, number_len);
        }
        if (gpu.number == PST_MEASURE_GPU_NONE) {
            refuse(ret_gpus, "a list that is none");
            return;
        }
        if (pool->has(pool->user, &gpu))
            add_line(&sums, comma + 1, line_end);
        at = line_end + 1;
    }
    judge(&sums, ret_gpus);
}
