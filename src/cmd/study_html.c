/* study_html.c - a study as one page that needs nothing else: web/report.html, filled. */
#include <string.h>

#include "cmd/study.h"
#include "cmd/study_assets.h"
#include "cmd/study_course.h"

/* What the page's script reads: all of --json, and the course of the first seed's runs. */
static void put_data(const struct pst_study *study, struct pst_text *text)
{
    const struct pst_scenario *scenario = study->scenario;

    pst_text_put(text, "{");
    pst_study_members(study, text);
    pst_text_put(text, ",\"classes\":[");
    for (uint32_t c = 0; c < scenario->gate.classes_count; c++) {
        pst_text_put(text, c > 0 ? ",{\"name\":" : "{\"name\":");
        pst_text_quote(text, scenario->class_names[c]);
        pst_text_print(text, ",\"target_s\":%.12g,\"max_wait_s\":%.12g}",
                       (double)scenario->gate.classes[c].target / PST_S,
                       (double)scenario->gate.classes[c].max_wait / PST_S);
    }
    pst_text_put(text, "],\"courses\":[");
    for (uint32_t p = 0; p < study->policies_count; p++) {
        pst_text_put(text, p > 0 ? "," : "");
        pst_study_course(study, &study->runs[(size_t)p * study->seeds_count], text);
    }
    pst_text_put(text, "]}");
}

/* Inside a script element no "<" may stand; in JSON it can only be part of a string. */
static void put_quietly(struct pst_text *text, const struct pst_text *json)
{
    const char *at = json->at, *end = json->at + json->len;

    while (at < end) {
        const char *angle = memchr(at, '<', (size_t)(end - at));
        const char *stop = angle == NULL ? end : angle;

        pst_text_add(text, at, (size_t)(stop - at));
        if (angle != NULL)
            pst_text_put(text, "\\u003c");
        at = angle == NULL ? end : angle + 1;
    }
}

static const struct pst_asset *asset_of(const char *name, size_t len)
{
    for (size_t i = 0; i < pst_assets_count; i++)
        if (strlen(pst_assets[i].name) == len && memcmp(pst_assets[i].name, name, len) == 0)
            return &pst_assets[i];
    return NULL;
}

/* {{NAME}} stands for a file, {{data}} for what was found. */
static void put_named(struct pst_text *text, const char *name, size_t len,
                      const struct pst_text *data)
{
    static const char word[] = "data";
    const struct pst_asset *asset = asset_of(name, len);

    if (asset != NULL) {
        pst_text_add(text, asset->text, asset->len);
        return;
    }
    PST_ASSERT(len == sizeof word - 1 && memcmp(name, word, len) == 0);
    put_quietly(text, data);
}

void pst_study_html(const struct pst_study *study, struct pst_text *text)
{
    static const char page_name[] = "report.html";
    const struct pst_asset *page = asset_of(page_name, sizeof page_name - 1);
    struct pst_text data = {0};
    const char *at, *open;

    PST_ASSERT(page != NULL);
    put_data(study, &data);
    at = page->text;
    while (!data.broken && (open = strstr(at, "{{")) != NULL) {
        const char *name = open + 2, *close = strstr(name, "}}");

        PST_ASSERT(close != NULL);
        pst_text_add(text, at, (size_t)(open - at));
        put_named(text, name, (size_t)(close - name), &data);
        at = close + 2;
    }
    pst_text_put(text, at);
    text->broken = text->broken || data.broken;
    pst_text_done(&data);
}
