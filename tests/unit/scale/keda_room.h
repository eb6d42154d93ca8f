/* keda_room.h - configurations and requests of KEDA's, for the tests of the external scaler. */
#ifndef PST_TEST_SCALE_KEDA_ROOM_H
#define PST_TEST_SCALE_KEDA_ROOM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scale/keda_answer.h"

#define TOP                                                                                        \
    "listen: 127.0.0.1:0\nkeda: {listen: 127.0.0.1:0}\n"                                           \
    "classes:\n"                                                                                   \
    "  high: {target: 100ms, max_wait: 5s, ttl: 30s, on_full: wait}\n"                             \
    "  low: {target: 10s, max_wait: 60s, ttl: 10m, on_full: wait}\n"                               \
    "default_class: high\n"                                                                        \
    "types: {chat: high}\n"                                                                        \
    "pools:\n"
#define POOL(name, more)                                                                           \
    "  - {name: '" name "', engine: vllm, models: [{name: 'm-" name "', weight: 1}], slots: 4,"    \
    " replicas: {static: ['http://127.0.0.1:9']}, " more "}\n"

static inline struct pst_config *configured(const char *text)
{
    struct pst_problems problems;
    struct pst_config *config = NULL;

    if (pst_config_parse("test.yaml", text, strlen(text), &config, &problems) != PST_OK)
        for (size_t i = 0; i < problems.count; i++)
            print_error("%u: %s\n", problems.item[i].line, problems.item[i].message);
    pst_problems_done(&problems);
    assert_non_null(config);
    return config;
}

/* "key=value;key=value" as a trigger's metadata. */
#define PAIRS_MAX 8
struct trigger {
    char text[512];
    Externalscaler__ScaledObjectRef__ScalerMetadataEntry entries[PAIRS_MAX], *list[PAIRS_MAX];
    Externalscaler__ScaledObjectRef ref;
};

static inline void trigger(struct trigger *t, const char *metadata)
{
    size_t n = 0;

    externalscaler__scaled_object_ref__init(&t->ref);
    t->ref.name = t->ref.namespace_ = strcpy(t->text, "chat"); /* no empty ones in Kubernetes */
    (void)snprintf(t->text + 5, sizeof t->text - 5, "%s", metadata);
    for (char *save = NULL, *pair = strtok_r(t->text + 5, ";", &save); pair != NULL;
         pair = strtok_r(NULL, ";", &save)) {
        char *equals = strchr(pair, '=');

        assert_true(n < PAIRS_MAX && equals != NULL);
        *equals = '\0';
        externalscaler__scaled_object_ref__scaler_metadata_entry__init(&t->entries[n]);
        t->entries[n].key = pair;
        t->entries[n].value = equals + 1;
        t->list[n] = &t->entries[n];
        n++;
    }
    t->ref.n_scalermetadata = n;
    t->ref.scalermetadata = t->list;
}

#endif
