/* peek_map.c - see peek_map.h. */
#include "codec/peek_map.h"

#include <string.h>

#define CHAT       (1 << PST_PEEK_CHAT)
#define COMPLETION (1 << PST_PEEK_COMPLETION)
#define RESPONSES  (1 << PST_PEEK_RESPONSES)
#define MESSAGES   (1 << PST_PEEK_MESSAGES)
#define EMBEDDINGS (1 << PST_PEEK_EMBEDDINGS)
#define RERANK     (1 << PST_PEEK_RERANK)
#define OTHER      (1 << PST_PEEK_OTHER)
#define ALL        ((1 << PST_PEEK_FORM_COUNT) - 1)
#define AT(place)  PST_PEEK_AT_##place

static const struct pst_walk_rule in_root[] = {
    {ALL, AT(MODEL), PST_WALK_KEY("model")},
    {ALL, AT(USER), PST_WALK_KEY("user")},
    {ALL, AT(STREAM), PST_WALK_KEY("stream")},
    {CHAT | COMPLETION | OTHER, AT(STREAM_OPTIONS), PST_WALK_KEY("stream_options")},
    {MESSAGES, AT(METADATA), PST_WALK_KEY("metadata")},
    {CHAT | COMPLETION | MESSAGES | OTHER, AT(MAX_TOKENS), PST_WALK_KEY("max_tokens")},
    {CHAT | OTHER, AT(MAX_COMPLETION_TOKENS), PST_WALK_KEY("max_completion_tokens")},
    {RESPONSES, AT(MAX_TOKENS), PST_WALK_KEY("max_output_tokens")},
    {OTHER, AT(MAX_TOKENS), PST_WALK_KEY("max_new_tokens")},
    {OTHER, AT(MAX_TOKENS), PST_WALK_KEY("n_predict")},
    {CHAT | COMPLETION | OTHER, AT(N), PST_WALK_KEY("n")},
    {CHAT | COMPLETION | OTHER, AT(BEST_OF), PST_WALK_KEY("best_of")},
    {OTHER, AT(PARAMETERS), PST_WALK_KEY("parameters")},
    {OTHER, AT(PARAMETERS), PST_WALK_KEY("sampling_params")},
    {CHAT | MESSAGES | EMBEDDINGS, AT(MESSAGES), PST_WALK_KEY("messages")},
    {RESPONSES, AT(CONTENT), PST_WALK_KEY("input")},
    {RESPONSES, AT(CONTENT), PST_WALK_KEY("instructions")},
    {MESSAGES, AT(CONTENT), PST_WALK_KEY("system")},
    {COMPLETION | OTHER, AT(PROMPT), PST_WALK_KEY("prompt")},
    {COMPLETION, AT(TEXT), PST_WALK_KEY("suffix")},
    {EMBEDDINGS | OTHER, AT(PROMPT), PST_WALK_KEY("input")},
    {OTHER, AT(PROMPT), PST_WALK_KEY("inputs")},
    {OTHER, AT(PROMPT), PST_WALK_KEY("text")},
    {OTHER, AT(PROMPT), PST_WALK_KEY("input_ids")},
    {RERANK, AT(TEXT), PST_WALK_KEY("query")},
    {RERANK, AT(PROMPT), PST_WALK_KEY("documents")},
    {RERANK, AT(PROMPT), PST_WALK_KEY("texts")},
    {CHAT | RESPONSES | MESSAGES, AT(SCHEMA), PST_WALK_KEY("tools")},
    {CHAT, AT(SCHEMA), PST_WALK_KEY("functions")},
    {CHAT, AT(SCHEMA), PST_WALK_KEY("documents")},
    {OTHER, AT(MEDIA), PST_WALK_KEY("image")},
    {OTHER, AT(MEDIA), PST_WALK_KEY("images")},
    {OTHER, AT(MEDIA), PST_WALK_KEY("image_data")},
    {OTHER, AT(MEDIA), PST_WALK_KEY("audio_data")},
    {OTHER, AT(MEDIA), PST_WALK_KEY("video_data")},
    {OTHER, AT(MEDIA), PST_WALK_KEY("multi_modal_data")},
    {OTHER, AT(ANYTHING), PST_WALK_ANY_KEY},
};

static const struct pst_walk_rule in_stream_options[] = {
    {ALL, AT(INCLUDE_USAGE), PST_WALK_KEY("include_usage")},
};

static const struct pst_walk_rule in_metadata[] = {
    {MESSAGES, AT(USER), PST_WALK_KEY("user_id")},
};

static const struct pst_walk_rule in_parameters[] = {
    {OTHER, AT(MAX_TOKENS), PST_WALK_KEY("max_new_tokens")},
    {OTHER, AT(MAX_TOKENS), PST_WALK_KEY("max_tokens")},
    {OTHER, AT(N), PST_WALK_KEY("n")},
    {OTHER, AT(BEST_OF), PST_WALK_KEY("best_of")},
};

static const struct pst_walk_rule in_messages[] = {
    {ALL, AT(PART), PST_WALK_ELEMENT},
};

static const struct pst_walk_rule in_content[] = {
    {ALL, AT(PART), PST_WALK_ELEMENT},
};

static const struct pst_walk_rule in_part[] = {
    {ALL, AT(PART_TYPE), PST_WALK_KEY("type")},
    {ALL, AT(CONTENT), PST_WALK_KEY("content")},
    {ALL, AT(TEXT), PST_WALK_KEY("text")},
    {ALL, AT(CONTENT), PST_WALK_KEY("output")},
    {ALL, AT(CONTENT), PST_WALK_KEY("summary")},
    {ALL, AT(TEXT), PST_WALK_KEY("arguments")},
    {ALL, AT(TEXT), PST_WALK_KEY("thinking")},
    {ALL, AT(TEXT), PST_WALK_KEY("reasoning_content")},
    {ALL, AT(TEXT), PST_WALK_KEY("refusal")},
    {ALL, AT(SCHEMA), PST_WALK_KEY("tool_calls")},
    {ALL, AT(SCHEMA), PST_WALK_KEY("function_call")},
    {MESSAGES, AT(SCHEMA), PST_WALK_KEY("input")},
    {ALL, AT(PART_MEDIA), PST_WALK_KEY("image_url")},
    {ALL, AT(PART_MEDIA), PST_WALK_KEY("image")},
    {ALL, AT(PART_MEDIA), PST_WALK_KEY("image_embeds")},
    {ALL, AT(PART_MEDIA), PST_WALK_KEY("input_audio")},
    {ALL, AT(PART_MEDIA), PST_WALK_KEY("audio_url")},
    {ALL, AT(PART_MEDIA), PST_WALK_KEY("video_url")},
    {ALL, AT(PART_MEDIA), PST_WALK_KEY("file")},
    {ALL, AT(PART_MEDIA), PST_WALK_KEY("file_data")},
    {ALL, AT(PART_MEDIA), PST_WALK_KEY("source")},
};

static const struct pst_walk_rule in_prompt[] = {
    {ALL, AT(PROMPT_ITEM), PST_WALK_ELEMENT},
};

static const struct pst_walk_rule in_prompt_item[] = {
    {ALL, AT(TOKEN), PST_WALK_ELEMENT},
    {EMBEDDINGS | COMPLETION, AT(TEXT), PST_WALK_KEY("text")},
    {EMBEDDINGS | COMPLETION, AT(MEDIA), PST_WALK_KEY("image")},
    {RERANK | OTHER, AT(ANYTHING), PST_WALK_ANY_KEY},
};

static const struct pst_walk_rule in_schema[] = {
    {ALL, AT(SCHEMA), PST_WALK_ELEMENT},
    {ALL, AT(SCHEMA), PST_WALK_ANY_KEY},
};

static const struct pst_walk_rule in_anything[] = {
    {ALL, AT(ANYTHING), PST_WALK_ELEMENT},
    {ALL, AT(ANYTHING), PST_WALK_ANY_KEY},
};

static const struct pst_walk_rule in_media[] = {
    {ALL, AT(MEDIA), PST_WALK_ELEMENT},
};

const struct pst_walk_place pst_peek_map[PST_PEEK_AT_COUNT] = {
    [AT(ROOT)] = PST_WALK_RULES(in_root),
    [AT(STREAM_OPTIONS)] = PST_WALK_RULES(in_stream_options),
    [AT(METADATA)] = PST_WALK_RULES(in_metadata),
    [AT(PARAMETERS)] = PST_WALK_RULES(in_parameters),
    [AT(MESSAGES)] = PST_WALK_RULES(in_messages),
    [AT(CONTENT)] = PST_WALK_RULES(in_content),
    [AT(PART)] = PST_WALK_RULES(in_part),
    [AT(PROMPT)] = PST_WALK_RULES(in_prompt),
    [AT(PROMPT_ITEM)] = PST_WALK_RULES(in_prompt_item),
    [AT(SCHEMA)] = PST_WALK_RULES(in_schema),
    [AT(ANYTHING)] = PST_WALK_RULES(in_anything),
    [AT(MEDIA)] = PST_WALK_RULES(in_media),
};

bool pst_peek_is_media_type(const char *type, size_t len)
{
    static const char *const types[] = {
        "image_url", "input_image", "image", "image_embeds", "input_audio", "audio_url",
        "audio",     "video_url",   "video", "file",         "input_file",  "document",
    };

    for (size_t i = 0; i < PST_COUNT_OF(types); i++)
        if (strlen(types[i]) == len && memcmp(types[i], type, len) == 0)
            return true;
    return false;
}
