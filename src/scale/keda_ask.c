/* keda_ask.c - see keda_ask.h. */
#include "scale/keda_ask.h"

/* Which values were given, by key; the last of a key's counts, as everywhere in protobuf. */
static int sort_out(const Externalscaler__ScaledObjectRef *ref,
                    const char *values[PST_TRIGGER_KEY_COUNT], char why[static PST_KEDA_WHY_MAX])
{
    for (size_t i = 0; i < ref->n_scalermetadata; i++) {
        enum pst_trigger_key key;
        int rc = pst_trigger_key(ref->scalermetadata[i]->key, &key, why);

        if (rc != PST_OK)
            return rc;
        values[key] = ref->scalermetadata[i]->value;
    }
    return PST_OK;
}

int pst_keda_ask_read(const struct pst_config *config, const Externalscaler__ScaledObjectRef *ref,
                      struct pst_keda_ask *ret_ask, char why[static PST_KEDA_WHY_MAX])
{
    const char *values[PST_TRIGGER_KEY_COUNT] = {NULL};
    const struct pst_config_export *usual;
    struct pst_keda_ask ask = {0};
    int rc = sort_out(ref, values, why);

    if (rc == PST_OK)
        rc = pst_trigger_pool(config, values[PST_TRIGGER_POOL], &ask.pool, why);
    if (rc != PST_OK)
        return rc;
    usual = &config->pools[ask.pool].export_;
    ask.export_ = (struct pst_export_config){
        .mode = usual->mode,
        .band = usual->band,
        .tolerance_ppm = usual->tolerance_ppm,
        .gateways = config->gateways,
    };
    for (unsigned k = 0; k < PST_TRIGGER_KEY_COUNT && rc == PST_OK; k++) {
        if (values[k] != NULL)
            rc = pst_trigger_value((enum pst_trigger_key)k, values[k], &ask.export_, why);
    }
    if (rc == PST_OK)
        *ret_ask = ask;
    return rc;
}

void pst_keda_ask_name(const struct pst_config *config, const struct pst_keda_ask *ask,
                       char name[static PST_KEDA_NAME_MAX])
{
    pst_trigger_name(config->pools[ask->pool].name, (enum pst_export_mode)ask->export_.mode, name);
}
