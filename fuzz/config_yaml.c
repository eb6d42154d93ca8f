/* config_yaml.c - any bytes are a configuration, or a list of problems; nothing else. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pst_config *config = NULL;
    struct pst_problems problems;
    const int rc = pst_config_parse("fuzz.yaml", (const char *)data, size, &config, &problems);

    PST_ASSERT((rc == PST_OK) == (config != NULL));
    PST_ASSERT(rc != PST_E_INVALID || problems.errors > 0);
    PST_ASSERT(rc != PST_OK || problems.errors == 0);
    for (size_t i = 0; i < problems.count; i++)
        PST_ASSERT(problems.item[i].message[0] != '\0');
    if (config != NULL) {
        const char *keys[PST_CONFIG_RESTART_MAX];

        PST_ASSERT(config->gate.classes_count >= 1 && config->pools_count >= 1);
        PST_ASSERT(config->default_class < config->gate.classes_count);
        PST_ASSERT(pst_config_needs_restart(config, config, keys) == 0);
    }
    pst_problems_done(&problems);
    pst_config_free(config);
    return 0;
}
