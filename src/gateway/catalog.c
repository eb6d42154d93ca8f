/* catalog.c - see catalog.h. */
#include "gateway/catalog.h"

#include <stdlib.h>

#include "gateway/writer.h"

static int by_name(const void *a, const void *b)
{
    const struct pst_catalog_entry *left = a, *right = b;

    return strcmp(left->model->name, right->model->name);
}

int pst_catalog_build(const struct pst_config *config, struct pst_catalog *ret_catalog)
{
    struct pst_catalog catalog = {NULL, 0};
    size_t total = 0;

    for (size_t p = 0; p < config->pools_count; p++)
        total += config->pools[p].models_count;
    catalog.entries = calloc(total == 0 ? 1 : total, sizeof *catalog.entries);
    if (catalog.entries == NULL)
        return PST_E_NOMEM;
    for (size_t p = 0; p < config->pools_count; p++)
        for (size_t m = 0; m < config->pools[p].models_count; m++)
            catalog.entries[catalog.count++] =
                (struct pst_catalog_entry){&config->pools[p].models[m], (uint16_t)p, 0};
    qsort(catalog.entries, catalog.count, sizeof *catalog.entries, by_name);
    for (size_t i = 0; i < catalog.count; i++)
        catalog.entries[i].number = (uint16_t)i;
    *ret_catalog = catalog;
    return PST_OK;
}

void pst_catalog_done(struct pst_catalog *catalog)
{
    free(catalog->entries);
    *catalog = (struct pst_catalog){NULL, 0};
}

static int compare(struct pst_slice name, const char *other)
{
    size_t len = strlen(other), common = name.len < len ? name.len : len;
    int order = common == 0 ? 0 : memcmp(name.at, other, common);

    return order != 0 ? order : (name.len > len) - (name.len < len);
}

const struct pst_catalog_entry *pst_catalog_find(const struct pst_catalog *catalog,
                                                 struct pst_slice name)
{
    size_t low = 0, high = catalog->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(name, catalog->entries[middle].model->name);

        if (order == 0)
            return &catalog->entries[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static void render_one(struct pst_writer *text, const struct pst_catalog_entry *entry,
                       uint64_t created)
{
    PST_WRITER_PUT(text, "{\"id\":\"");
    pst_writer_json(text, pst_slice_of(entry->model->name));
    PST_WRITER_PUT(text, "\",\"object\":\"model\",\"created\":");
    pst_writer_number(text, created);
    PST_WRITER_PUT(text, ",\"owned_by\":\"penstock\"}");
}

int pst_catalog_render(const struct pst_catalog *catalog, const struct pst_catalog_entry *entry,
                       uint64_t created, char **ret_json, size_t *ret_len)
{
    size_t size = 64;
    struct pst_writer text;
    char *buffer;

    for (size_t i = 0; i < catalog->count; i++)
        size += 128 + 6 * strlen(catalog->entries[i].model->name); /* each byte may be escaped */
    buffer = malloc(size);
    if (buffer == NULL)
        return PST_E_NOMEM;
    text = pst_writer(buffer, size);
    if (entry != NULL) {
        render_one(&text, entry, created);
    } else {
        PST_WRITER_PUT(&text, "{\"object\":\"list\",\"data\":[");
        for (size_t i = 0; i < catalog->count; i++) {
            if (i != 0)
                PST_WRITER_PUT(&text, ",");
            render_one(&text, &catalog->entries[i], created);
        }
        PST_WRITER_PUT(&text, "]}");
    }
    PST_ASSERT(!text.full);
    *ret_json = buffer;
    *ret_len = text.len;
    return PST_OK;
}
