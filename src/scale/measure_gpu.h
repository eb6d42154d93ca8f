/*
 * measure_gpu.h - how busy a pool's GPUs are, from a DCGM exporter's page or from nvidia-smi's list.
 *
 * Why: a machine's page names all its GPUs, and a pool has some of them. Which, its source knows: by their
 * numbers on this host, or by the pods that hold them.
 *
 * Guarantee: the mean over the pool's GPUs, and never over fewer: where one of them does not say (MIG, a
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

/* PST_OK, or PST_E_UNKNOWN with the reason for people. Both forms end with NUL behind `len`. */
int pst_measure_gpu_page(const char *page, size_t len, const struct pst_measure_pool_gpus *pool,
                         uint64_t *ret_ppm, const char **ret_why);
/* Of --query-gpu=index,utilization.gpu --format=csv,noheader,nounits. */
int pst_measure_gpu_list(const char *list, size_t len, const struct pst_measure_pool_gpus *pool,
                         uint64_t *ret_ppm, const char **ret_why);

#endif
