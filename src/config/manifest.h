/*
 * manifest.h - what a cluster is told, read for what makes replicas flap, come late or leave with work.
 *
 * Why: half of what goes wrong with autoscaling stands in files that no program of ours reads: a cooldown
 * shorter than a start, a probe that answers before the model does, a grace period that cuts a stream. Beside
 * the configuration they can be told in time, with the reason.
 *
 * Guarantee: reads ScaledObject, HorizontalPodAutoscaler, Deployment and StatefulSet; other kinds are let pass.
 * Every finding has its line and column. Numbers to compare with are those of the pool that a manifest names
 * (a trigger's `pool`, a label `penstock/pool`) in the configurations given, or in a ConfigMap among the
 * manifests; else the defaults. Bounded as tree.h is.
 */
#ifndef PST_CONFIG_MANIFEST_H
#define PST_CONFIG_MANIFEST_H

#include "config/config.h"

#define PST_MANIFESTS_MAX 64 /* files, and configurations */

struct pst_manifests;

/* True: the text is objects of a cluster, not a configuration. */
bool pst_manifests_is(const char *text, size_t len);

int pst_manifests_new(struct pst_manifests **ret_manifests);
void pst_manifests_free(struct pst_manifests *manifests);
/*
 * PST_OK, PST_E_INVALID (said in `problems`), PST_E_FULL or PST_E_NOMEM. *ret_file names it to judge(); it is also
 * written with PST_E_INVALID where only a configuration within is wrong.
 */
int pst_manifests_add(struct pst_manifests *manifests, const char *text, size_t len,
                      struct pst_problems *problems, size_t *ret_file);
/* The configuration must outlive what is judged. PST_OK or PST_E_FULL. */
int pst_manifests_config(struct pst_manifests *manifests, const struct pst_config *config);

struct pst_manifests_count {
    size_t objects, judged;
};
/* Once all files and configurations are there. */
void pst_manifests_judge(const struct pst_manifests *manifests, size_t file,
                         struct pst_problems *problems, struct pst_manifests_count *ret_count);

#endif
