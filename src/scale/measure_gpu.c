/* measure_gpu.c - see measure_gpu.h. */
#include "scale/measure_gpu.h"

#include <string.h>

#include "codec/prometheus_read.h"

#define UTILISATION "DCGM_FI_DEV_GPU_UTIL"
#define POD_SIZE    256 /* a DNS name */
#define BUSY_MOST   PST_PPM

struct mean {
    uint64_t sum;
    uint32_t count;
    bool broken; /* one of them does not say */
};

/* A percentage. */
static void add(struct mean *mean, bool is_number, const struct pst_decimal *percent)
{
    uint64_t ppm;

    if (!is_number || !pst_decimal_to_scaled(percent, 4, &ppm) || ppm > BUSY_MOST)
        mean->broken = true;
    else
        mean->sum += ppm;
    mean->count++;
}

static int judge(const struct mean *mean, uint64_t *ret_ppm, const char **ret_why)
{
    if (mean->count == 0 || mean->broken) {
        *ret_why = mean->count == 0 ? "none of its GPUs is there" : "a GPU does not say";
        return PST_E_UNKNOWN;
    }
    *ret_ppm = mean->sum / mean->count;
    return PST_OK;
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

int pst_measure_gpu_page(const char *page, size_t len, const struct pst_measure_pool_gpus *pool,
                         uint64_t *ret_ppm, const char **ret_why)
{
    struct pst_prometheus_reader reader = {page, page + len};
    struct pst_prometheus_sample sample;
    struct mean mean = {0};
    char number[16], pod[POD_SIZE];
    int rc;

    while ((rc = pst_prometheus_next(&reader, &sample)) == PST_OK) {
        struct pst_measure_gpu gpu = {.pod = pod};

        if (!pst_prometheus_is(&sample, UTILISATION))
            continue;
        if (!pst_prometheus_label_of(&sample, "gpu", number, sizeof number))
            number[0] = '\0';
        if (!pst_prometheus_label_of(&sample, "pod", pod, sizeof pod))
            pod[0] = '\0';
        gpu.number = number_of(number, strlen(number));
        if (pool->has(pool->user, &gpu))
            add(&mean, sample.is_finite, &sample.value);
    }
    if (rc == PST_E_SYNTAX) {
        *ret_why = "a page that breaks its format";
        return PST_E_UNKNOWN;
    }
    return judge(&mean, ret_ppm, ret_why);
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

int pst_measure_gpu_list(const char *list, size_t len, const struct pst_measure_pool_gpus *pool,
                         uint64_t *ret_ppm, const char **ret_why)
{
    const char *at = list, *end = list + len;
    struct mean mean = {0};

    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const char *comma = line_end == NULL ? NULL : memchr(at, ',', (size_t)(line_end - at));
        struct pst_measure_gpu gpu = {.pod = ""};
        struct pst_decimal percent = {0};
        const char *number = at, *value;
        size_t number_len, value_len;

        if (comma == NULL) {
            *ret_why = "a list that is none";
            return PST_E_UNKNOWN;
        }
        number_len = trimmed(&number, (size_t)(comma - at));
        gpu.number = number_of(number, number_len);
        value = comma + 1;
        value_len = trimmed(&value, (size_t)(line_end - value));
        if (gpu.number == PST_MEASURE_GPU_NONE) {
            *ret_why = "a list that is none";
            return PST_E_UNKNOWN;
        }
        if (pool->has(pool->user, &gpu))
            add(&mean, pst_decimal_read(value, value_len, &percent) == PST_OK, &percent);
        at = line_end + 1;
    }
    return judge(&mean, ret_ppm, ret_why);
}
