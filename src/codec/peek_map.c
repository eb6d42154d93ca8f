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

const struct pst_walk_rule pst_peek_map[] = {
    {ALL, AT(ROOT), AT(MODEL), "model"},
    {ALL, AT(ROOT), AT(USER), "user"},
    {ALL, AT(ROOT), AT(STREAM), "stream"},
    {CHAT | COMPLETION | OTHER, AT(ROOT), AT(STREAM_OPTIONS), "stream_options"},
    {ALL, AT(STREAM_OPTIONS), AT(INCLUDE_USAGE), "include_usage"},
    {MESSAGES, AT(ROOT), AT(METADATA), "metadata"},
    {MESSAGES, AT(METADATA), AT(USER), "user_id"},

    {CHAT | COMPLETION | MESSAGES | OTHER, AT(ROOT), AT(MAX_TOKENS), "max_tokens"},
    {CHAT | OTHER, AT(ROOT), AT(MAX_COMPLETION_TOKENS), "max_completion_tokens"},
    {RESPONSES, AT(ROOT), AT(MAX_TOKENS), "max_output_tokens"},
    {OTHER, AT(ROOT), AT(MAX_TOKENS), "max_new_tokens"},
    {OTHER, AT(ROOT), AT(MAX_TOKENS), "n_predict"},
    {CHAT | COMPLETION | OTHER, AT(ROOT), AT(N), "n"},
    {CHAT | COMPLETION | OTHER, AT(ROOT), AT(BEST_OF), "best_of"},
    {OTHER, AT(ROOT), AT(PARAMETERS), "parameters"},
    {OTHER, AT(ROOT), AT(PARAMETERS), "sampling_params"},
    {OTHER, AT(PARAMETERS), AT(MAX_TOKENS), "max_new_tokens"},
    {OTHER, AT(PARAMETERS), AT(MAX_TOKENS), "max_tokens"},
    {OTHER, AT(PARAMETERS), AT(N), "n"},
    {OTHER, AT(PARAMETERS), AT(BEST_OF), "best_of"},

    {CHAT | MESSAGES | EMBEDDINGS, AT(ROOT), AT(MESSAGES), "messages"},
    {RESPONSES, AT(ROOT), AT(CONTENT), "input"},
    {RESPONSES, AT(ROOT), AT(CONTENT), "instructions"},
    {MESSAGES, AT(ROOT), AT(CONTENT), "system"},
    {COMPLETION | OTHER, AT(ROOT), AT(PROMPT), "prompt"},
    {COMPLETION, AT(ROOT), AT(TEXT), "suffix"},
    {EMBEDDINGS | OTHER, AT(ROOT), AT(PROMPT), "input"},
    {OTHER, AT(ROOT), AT(PROMPT), "inputs"},
    {OTHER, AT(ROOT), AT(PROMPT), "text"},
    {OTHER, AT(ROOT), AT(PROMPT), "input_ids"},
    {RERANK, AT(ROOT), AT(TEXT), "query"},
    {RERANK, AT(ROOT), AT(PROMPT), "documents"},
    {RERANK, AT(ROOT), AT(PROMPT), "texts"},
    {CHAT | RESPONSES | MESSAGES, AT(ROOT), AT(SCHEMA), "tools"},
    {CHAT, AT(ROOT), AT(SCHEMA), "functions"},
    {CHAT, AT(ROOT), AT(SCHEMA), "documents"},
    {OTHER, AT(ROOT), AT(MEDIA), "image"},
    {OTHER, AT(ROOT), AT(MEDIA), "images"},
    {OTHER, AT(ROOT), AT(MEDIA), "image_data"},
    {OTHER, AT(ROOT), AT(MEDIA), "audio_data"},
    {OTHER, AT(ROOT), AT(MEDIA), "video_data"},
    {OTHER, AT(ROOT), AT(MEDIA), "multi_modal_data"},
    {OTHER, AT(ROOT), AT(ANYTHING), PST_WALK_ANY_KEY},

    {ALL, AT(MESSAGES), AT(PART), PST_WALK_ELEMENT},
    {ALL, AT(CONTENT), AT(PART), PST_WALK_ELEMENT},
    {ALL, AT(PART), AT(PART_TYPE), "type"},
    {ALL, AT(PART), AT(CONTENT), "content"},
    {ALL, AT(PART), AT(TEXT), "text"},
    {ALL, AT(PART), AT(CONTENT), "output"},
    {ALL, AT(PART), AT(CONTENT), "summary"},
    {ALL, AT(PART), AT(TEXT), "arguments"},
    {ALL, AT(PART), AT(TEXT), "thinking"},
    {ALL, AT(PART), AT(TEXT), "reasoning_content"},
    {ALL, AT(PART), AT(TEXT), "refusal"},
    {ALL, AT(PART), AT(SCHEMA), "tool_calls"},
    {ALL, AT(PART), AT(SCHEMA), "function_call"},
    {MESSAGES, AT(PART), AT(SCHEMA), "input"},
    {ALL, AT(PART), AT(PART_MEDIA), "image_url"},
    {ALL, AT(PART), AT(PART_MEDIA), "image"},
    {ALL, AT(PART), AT(PART_MEDIA), "image_embeds"},
    {ALL, AT(PART), AT(PART_MEDIA), "input_audio"},
    {ALL, AT(PART), AT(PART_MEDIA), "audio_url"},
    {ALL, AT(PART), AT(PART_MEDIA), "video_url"},
    {ALL, AT(PART), AT(PART_MEDIA), "file"},
    {ALL, AT(PART), AT(PART_MEDIA), "file_data"},
    {ALL, AT(PART), AT(PART_MEDIA), "source"},

    {ALL, AT(PROMPT), AT(PROMPT_ITEM), PST_WALK_ELEMENT},
    {ALL, AT(PROMPT_ITEM), AT(TOKEN), PST_WALK_ELEMENT},
    {EMBEDDINGS | COMPLETION, AT(PROMPT_ITEM), AT(TEXT), "text"},
    {EMBEDDINGS | COMPLETION, AT(PROMPT_ITEM), AT(MEDIA), "image"},
    {RERANK | OTHER, AT(PROMPT_ITEM), AT(ANYTHING), PST_WALK_ANY_KEY},
    {ALL, AT(SCHEMA), AT(SCHEMA), PST_WALK_ELEMENT},
    {ALL, AT(SCHEMA), AT(SCHEMA), PST_WALK_ANY_KEY},
    {ALL, AT(ANYTHING), AT(ANYTHING), PST_WALK_ELEMENT},
    {ALL, AT(ANYTHING), AT(ANYTHING), PST_WALK_ANY_KEY},
    {ALL, AT(MEDIA), AT(MEDIA), PST_WALK_ELEMENT},
};

const size_t pst_peek_map_count = PST_COUNT_OF(pst_peek_map);

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
