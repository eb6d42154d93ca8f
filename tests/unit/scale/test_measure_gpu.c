/* How busy GPUs are: the mean over the pool's own, and never over fewer, nor of what was not said. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scale/measure_gpu.h"

/* Which are the pool's: "*" all, "0 1" by number, "p:a b" by pod. */
static bool has(void *user, const struct pst_measure_gpu *gpu)
{
    const char *which = user;
    char wanted[300];

    if (strcmp(which, "*") == 0)
        return true;
    if (strncmp(which, "p:", 2) == 0)
        snprintf(wanted, sizeof wanted, " %s ", gpu->pod);
    else
        snprintf(wanted, sizeof wanted, " %" PRIu32 " ", gpu->number);
    char padded[64];
    snprintf(padded, sizeof padded, " %s ", which + (which[1] == ':' ? 2 : 0));
    return gpu->pod != NULL && strstr(padded, wanted) != NULL;
}

#define SERIES(gpu, pod, value)                                                                    \
    "DCGM_FI_DEV_GPU_UTIL{gpu=\"" gpu "\",UUID=\"GPU-" gpu "\",pci_bus_id=\"00000000:0" gpu        \
    ":00.0\",device=\"nvidia" gpu "\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"node-1\","    \
    "container=\"\",namespace=\"\",pod=\"" pod "\"} " value "\n"
#define HEAD                                                                                       \
    "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"

static const struct row {
    const char *promise, *which, *page, *expected;
} pages[] = {
    {"all of them", "*", HEAD SERIES("0", "", "85") SERIES("1", "", "90"), "875000"},
    {"idle is zero, for it is said", "*", HEAD SERIES("0", "", "0"), "0"},
    {"by number", "1 3", HEAD SERIES("0", "", "85") SERIES("1", "", "20") SERIES("3", "", "40"),
     "300000"},
    {"by pod", "p:a b",
     HEAD SERIES("0", "a", "10") SERIES("1", "other", "90") SERIES("2", "b", "30"), "200000"},
    {"other numbers of a GPU are no utilisation", "*",
     HEAD SERIES("0", "", "50") "DCGM_FI_DEV_FB_USED{gpu=\"0\"} 40000\n"
                                "DCGM_FI_DEV_MEM_COPY_UTIL{gpu=\"0\"} 1\n",
     "500000"},
    {"a blank after a comma", "0", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\", UUID=\"GPU-70e2\"} 92\n",
     "920000"},
    {"none of the pool's", "7", HEAD SERIES("0", "", "85"), "none of its GPUs is there"},
    {"the pods have gone", "p:a", HEAD SERIES("0", "", "0") SERIES("1", "", "0"),
     "none of its GPUs is there"},
    {"no GPU at all", "*", "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 210\n", "none of its GPUs is there"},
    {"an empty page", "*", "", "none of its GPUs is there"},
    {"one that is blank", "*", HEAD SERIES("0", "", "85") SERIES("1", "", "9223372036854775794"),
     "a GPU does not say"},
    {"… but only of the pool's", "0", HEAD SERIES("0", "", "85") SERIES("1", "", "NaN"), "850000"},
    {"NaN", "*", HEAD SERIES("0", "", "NaN"), "a GPU does not say"},
    {"below zero", "*", HEAD SERIES("0", "", "-1"), "a GPU does not say"},
    {"100 is the most", "*", HEAD SERIES("0", "", "100"), "1000000"},
    {"… and 101 is nothing", "*", HEAD SERIES("0", "", "101"), "a GPU does not say"},
    {"a page that is cut", "*", HEAD SERIES("0", "", "85") "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 9",
     "a page that breaks its format"},
};

static const struct row lists[] = {
    {"all of them", "*", "0, 35\n1, 45\n", "400000"},
    {"by number", "1", "0, 35\n1, 45\n", "450000"},
    {"idle is zero, for it is said", "*", "0, 0\n", "0"},
    {"a driver that cannot say", "*", "0, 35\n1, [N/A]\n", "a GPU does not say"},
    {"the words of older drivers", "*", "0, [Not Supported]\n", "a GPU does not say"},
    {"… but only of the pool's", "0", "0, 35\n1, [N/A]\n", "350000"},
    {"no GPU", "*", "", "none of its GPUs is there"},
    {"none of the pool's", "2", "0, 35\n1, 45\n", "none of its GPUs is there"},
    {"what it says without a driver", "*",
     "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
     "a list that is none"},
    {"a machine without devices", "*", "No devices were found\n", "a list that is none"},
    {"cut", "*", "0, 35\n1, 4", "a list that is none"},
    {"a list of names", "*", "GPU-70e2, 35\n", "a list that is none"},
};

static void check(const struct row *row,
                  int (*read)(const char *, size_t, const struct pst_measure_pool_gpus *,
                              uint64_t *, const char **))
{
    const struct pst_measure_pool_gpus pool = {has, (void *)(uintptr_t)row->which};
    const char *why = NULL;
    uint64_t ppm = 0;
    char number[24];

    if (read(row->page, strlen(row->page), &pool, &ppm, &why) == PST_OK) {
        snprintf(number, sizeof number, "%" PRIu64, ppm);
        why = number;
    }
    if (why == NULL || strcmp(why, row->expected) != 0)
        fail_msg("%s: %s", row->promise, why);
}

static void pages_of_an_exporter(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(pages); i++)
        check(&pages[i], pst_measure_gpu_page);
}

static void lists_of_nvidia_smi(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(lists); i++)
        check(&lists[i], pst_measure_gpu_list);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_an_exporter),
        cmocka_unit_test(lists_of_nvidia_smi),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
