/* document.c - docs/configuration.md, from the rows that the reader uses. */
#include "config/document.h"

#include <string.h>

#include "config/schema.h"
#include "config/value.h"

static const char head[] =
    "# Configuration\n"
    "\n"
    "This page is written by `penstock docs configuration` from the table that reads the file.\n"
    "\n"
    "One YAML file. Durations and sizes carry a unit; numbers are plain decimals; a text is a "
    "text, whatever\n"
    "it looks like (`no`, `1e3`, `1.10`). Unknown keys, wrong units and values out of range are "
    "errors with\n"
    "file, line and column, all reported at once. `penstock check FILE` reads it as `penstock run` "
    "does, and\n"
    "SIGHUP reads it again: a file with errors changes nothing.\n"
    "\n"
    "| form | as in |\n"
    "|---|---|\n"
    "| a duration | `500ms`, `15s`, `10m`, `2h`, `1d` |\n"
    "| a size | `512B`, `64KiB`, `32MiB`, `2GiB`; `KB`, `MB`, `GB` are powers of ten |\n"
    "| a share | `0.5` or `50%` |\n"
    "| an address | `127.0.0.1:8080`, `[::1]:8080`; port 0 lets the system pick one |\n"
    "| a name | 1 to 63 of letters, digits, `.`, `_`, `-` |\n"
    "| a secret | `{env: NAME}` or `{file: PATH}`; never the secret itself |\n"
    "\n"
    "A reload applies everything but `listen`, `metrics`, `admin`, the names and number of "
    "`classes`, the names,\n"
    "order and policy of `pools` (new ones may be appended), `limits.head`, `limits.tickets`,\n"
    "`limits.flows`, `limits.connections`, `access_log`, `decision_log`, `record`, `state`, "
    "`keda`, "
    "the kind of a\n"
    "pool's `replicas`, and `seed`: those need a restart, and the message names them.\n"
    "\n"
    "The smallest file:\n"
    "\n"
    "```yaml\n"
    "pools:\n"
    "  - name: chat\n"
    "    engine: vllm\n"
    "    models: [llama-3-70b]\n"
    "    slots: 256\n"
    "    replicas: {static: [\"http://10.0.0.1:8000\"]}\n"
    "```\n";

static void write_default(const struct pst_field *field, FILE *out)
{
    if (field->required)
        fputs("**required**", out);
    else if (field->fallback != NULL)
        fprintf(out, "`%s`", field->fallback);
    else if (field->fallback_note != NULL)
        fputs(field->fallback_note, out);
    else if (field->section != NULL)
        fputs("see below", out);
}

/* A list whose items are single values needs no heading of its own. */
static bool is_flat(const struct pst_section *section)
{
    return section->fields[0].key == NULL;
}

static void write_form(const struct pst_field *field, FILE *out)
{
    char form[256];
    const bool many = field->kind == PST_FIELD_LIST || field->kind == PST_FIELD_NAMED;

    if (many && is_flat(field->section)) {
        pst_value_form(&field->section->fields[0], false, form, sizeof form);
        fprintf(out, "%s; each %s", field->kind == PST_FIELD_LIST ? "a list" : "a map from names",
                form);
        return;
    }
    pst_value_form(field, false, form, sizeof form);
    fprintf(out, "%s%s", form, field->kind == PST_FIELD_NAMED ? " to maps" : "");
}

void pst_document_section(const struct pst_section *section, FILE *out)
{
    fprintf(out, "\n## %s\n\n%s\n\n", section->title[0] == '\0' ? "The file" : section->title,
            section->doc);
    if (section->extends != NULL)
        fprintf(out, "Besides these, every key of %s in [configuration.md](configuration.md).\n\n",
                section->extends->title[0] == '\0' ? "the file" : section->extends->title);
    fputs("| key | value | default | what it does |\n|---|---|---|---|\n", out);
    for (size_t i = 0; i < section->count; i++) {
        const struct pst_field *field = &section->fields[i];
        if (field->kind == PST_FIELD_REFUSED || field->kind == PST_FIELD_IGNORED)
            continue;
        fprintf(out, "| `%s` | ", field->key);
        write_form(field, out);
        fputs(" | ", out);
        write_default(field, out);
        fprintf(out, " | %s |\n", field->doc);
    }
    for (size_t i = 0; i < section->count; i++) {
        const struct pst_section *below = section->fields[i].section;
        /* the three length bins share one section: it is written once */
        if (below != NULL && !is_flat(below) && (i == 0 || section->fields[i - 1].section != below))
            pst_document_section(below, out);
    }
}

void pst_config_document(FILE *out)
{
    fputs(head, out);
    pst_document_section(&pst_schema, out);
}
