/*
 * measure_gpu.h - how busy a pool's GPUs are, and how full, from a DCGM exporter's page or from nvidia-smi's list.
 *
 * Why: a machine's page names all its GPUs, and a pool has some of them. Which, its source knows: by their
 * numbers on this host, or by the pods that hold them.
 *
 * Guarantee: utilisation is the mean over the pool's GPUs, memory what is used of all that they have, and
 * never over fewer of them: where one of them does not say (MIG, a
 * driver that cannot, DCGM's marks for "blank", NaN), or none is there, it is not known.
 * Source: dcgm-exporter's names and labels; nvidia-smi --query-gpu.
 */
#ifndef PST_SCALE_MEASURE_GPU_H
#define PST_SCALE_MEASURE_GPU_H

#include "pst.h"

#define PST_MEASURE_GPU_NONE UINT32_MAX

struct pst_measure_gpu {
    uint32_t number; /* on its host; NONE: not said */
    const char *pod; /* "": not said */
};

struct pst_measure_pool_gpus {
    bool (*has)(void *user, const struct pst_measure_gpu *gpu);
    void *user;
};

struct pst_measure_gpu_share {
    uint64_t ppm;
    const char *why; /* it is not known, for people; NULL: it is */
};

struct pst_measure_gpus {
    struct pst_measure_gpu_share busy, memory;
};

/* Both forms end with NUL behind `len`. */
void pst_measure_gpu_page(const char *page, size_t len, const struct pst_measure_pool_gpus *pool,
                          struct pst_measure_gpus *ret_gpus);
/* What --query-gpu=PST_MEASURE_GPU_QUERY --format=csv,noheader,nounits prints. */
#define PST_MEASURE_GPU_QUERY "index,utilization.gpu,memory.used,memory.total"
void pst_measure_gpu_list(const char *list, size_t len, const struct pst_measure_pool_gpus *pool,
                          struct pst_measure_gpus *ret_gpus);

#endif
