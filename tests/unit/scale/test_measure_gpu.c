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
#define MEMORY(gpu, used, rest)                                                                    \
    "DCGM_FI_DEV_FB_USED{gpu=\"" gpu "\"} " used "\nDCGM_FI_DEV_FB_FREE{gpu=\"" gpu "\"} " rest "\n"
#define HEAD                                                                                       \
    "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"

static const struct row {
    const char *promise, *which, *page, *expected;
    const char *memory; /* NULL: no matter */
} pages[] = {
    {"all of them", "*", HEAD SERIES("0", "", "85") SERIES("1", "", "90"), "875000", NULL},
    {"idle is zero, for it is said", "*", HEAD SERIES("0", "", "0"), "0", NULL},
    {"by number", "1 3", HEAD SERIES("0", "", "85") SERIES("1", "", "20") SERIES("3", "", "40"),
     "300000", NULL},
    {"by pod", "p:a b",
     HEAD SERIES("0", "a", "10") SERIES("1", "other", "90") SERIES("2", "b", "30"), "200000", NULL},
    {"other numbers of a GPU are no utilisation", "*",
     HEAD SERIES("0", "", "50")
         MEMORY("0", "40000", "40000") "DCGM_FI_DEV_MEM_COPY_UTIL{gpu=\"0\"} 1\n",
     "500000", "500000"},
    {"memory is of all that they have", "0 1",
     MEMORY("0", "10000", "70000") MEMORY("1", "20000", "0") MEMORY("2", "1", "1"),
     "none of its GPUs is there", "300000"},
    {"memory unused is zero, for it is said", "*", MEMORY("0", "0", "80000"),
     "none of its GPUs is there", "0"},
    {"of memory it says nothing", "*", SERIES("0", "", "85"), "850000", "nothing is said of it"},
    {"of memory one says half", "*",
     SERIES("0", "", "85") MEMORY("0", "1", "1") "DCGM_FI_DEV_FB_USED{gpu=\"1\"} 1\n", "850000",
     "a GPU does not say"},
    {"memory that is blank", "*", SERIES("0", "", "85") MEMORY("0", "9223372036854775794", "1"),
     "850000", "a GPU does not say"},
    {"memory below zero", "*", MEMORY("0", "1", "-1"), "none of its GPUs is there",
     "a GPU does not say"},
    {"no memory at all", "*", MEMORY("0", "0", "0"), "none of its GPUs is there",
     "a GPU does not say"},
    {"a blank after a comma", "0", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\", UUID=\"GPU-70e2\"} 92\n",
     "920000", NULL},
    {"none of the pool's", "7", HEAD SERIES("0", "", "85"), "none of its GPUs is there", NULL},
    {"the pods have gone", "p:a", HEAD SERIES("0", "", "0") SERIES("1", "", "0"),
     "none of its GPUs is there", NULL},
    {"no GPU at all", "*", "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 210\n", "none of its GPUs is there",
     NULL},
    {"an empty page", "*", "", "none of its GPUs is there", NULL},
    {"one that is blank", "*", HEAD SERIES("0", "", "85") SERIES("1", "", "9223372036854775794"),
     "a GPU does not say", NULL},
    {"… but only of the pool's", "0", HEAD SERIES("0", "", "85") SERIES("1", "", "NaN"), "850000",
     NULL},
    {"NaN", "*", HEAD SERIES("0", "", "NaN"), "a GPU does not say", NULL},
    {"below zero", "*", HEAD SERIES("0", "", "-1"), "a GPU does not say", NULL},
    {"100 is the most", "*", HEAD SERIES("0", "", "100"), "1000000", NULL},
    {"… and 101 is nothing", "*", HEAD SERIES("0", "", "101"), "a GPU does not say", NULL},
    {"a page that is cut", "*", HEAD SERIES("0", "", "85") "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 9",
     "a page that breaks its format", NULL},
};

static const struct row lists[] = {
    {"all of them", "*", "0, 35\n1, 45\n", "400000", "a GPU does not say"},
    {"memory as well", "*", "0, 35, 10000, 80000\n1, 45, 30000, 80000\n", "400000", "250000"},
    {"… and it alone", "*", "0, [N/A], 10000, 80000\n", "a GPU does not say", "125000"},
    {"… or utilisation alone", "*", "0, 35, 1, 2\n1, 45, [N/A], [N/A]\n", "400000",
     "a GPU does not say"},
    {"more used than there is", "*", "0, 35, 3, 2\n", "350000", "a GPU does not say"},
    {"memory below zero", "*", "0, 35, -3, 2\n", "350000", "a GPU does not say"},
    {"by number", "1", "0, 35\n1, 45\n", "450000", NULL},
    {"idle is zero, for it is said", "*", "0, 0\n", "0", NULL},
    {"a driver that cannot say", "*", "0, 35\n1, [N/A]\n", "a GPU does not say", NULL},
    {"the words of older drivers", "*", "0, [Not Supported]\n", "a GPU does not say", NULL},
    {"… but only of the pool's", "0", "0, 35\n1, [N/A]\n", "350000", NULL},
    {"no GPU", "*", "", "none of its GPUs is there", NULL},
    {"none of the pool's", "2", "0, 35\n1, 45\n", "none of its GPUs is there", NULL},
    {"what it says without a driver", "*",
     "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
     "a list that is none", NULL},
    {"a machine without devices", "*", "No devices were found\n", "a list that is none", NULL},
    {"cut", "*", "0, 35\n1, 4", "a list that is none", NULL},
    {"a list of names", "*", "GPU-70e2, 35\n", "a list that is none", NULL},
};

static void expect(const struct row *row, const struct pst_measure_gpu_share *share,
                   const char *expected)
{
    char number[24];

    snprintf(number, sizeof number, "%" PRIu64, share->ppm);
    if (strcmp(share->why == NULL ? number : share->why, expected) != 0)
        fail_msg("%s: %s, wanted %s", row->promise, share->why == NULL ? number : share->why,
                 expected);
}

static void check(const struct row *row,
                  void (*read)(const char *, size_t, const struct pst_measure_pool_gpus *,
                               struct pst_measure_gpus *))
{
    const struct pst_measure_pool_gpus pool = {has, (void *)(uintptr_t)row->which};
    struct pst_measure_gpus gpus;

    read(row->page, strlen(row->page), &pool, &gpus);
    expect(row, &gpus.busy, row->expected);
    if (row->memory != NULL)
        expect(row, &gpus.memory, row->memory);
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
