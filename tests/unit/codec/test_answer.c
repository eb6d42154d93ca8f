/* Answers as engines really send them: where they begin, fail and end, for every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/answer.h"

#define ROLE   "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
#define TOKEN  "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":null}]}\n\n"
#define HELD   "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n"
#define FINISH "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define USAGE                                                                                      \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,"                \
    "\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n"
#define DONE "data: [DONE]\n\n"
#define BUSY                                                                                       \
    "data: {\"error\":{\"message\":\"busy\",\"type\":\"x\",\"param\":null,\"code\":503}}\n\n"
#define CREATED                                                                                    \
    "event: response.created\ndata: "                                                              \
    "{\"type\":\"response.created\",\"response\":{\"error\":null}}\n\n"
#define DELTA "event: response.output_text.delta\ndata: {\"delta\":\"a\"}\n\n"
#define START                                                                                      \
    "event: message_start\ndata: "                                                                 \
    "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":12,\"output_tokens\":1}" \
    "}}\n\n"
#define BLOCK      "event: content_block_start\ndata: {\"type\":\"content_block_start\"}\n\n"
#define BLOCKDELTA "event: content_block_delta\ndata: {\"type\":\"content_block_delta\"}\n\n"
#define MSGDELTA                                                                                   \
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":7}}\n\n"
#define STOP "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

/*
 * Letters of the verdict: b begun, f failed, F failed first, e ended, | at a boundary; then the code,
 * events with output, tokens in and out.
 */
static const struct row {
    const char *promise;
    enum pst_answer_form form;
    enum pst_answer_kind kind;
    const char *bytes;
    const char *expect;
} rows[] = {
#define OPENAI    PST_ANSWER_OPENAI, PST_ANSWER_EVENTS
#define RESPONSES PST_ANSWER_RESPONSES, PST_ANSWER_EVENTS
#define MESSAGES  PST_ANSWER_MESSAGES, PST_ANSWER_EVENTS
#define PLAIN     PST_ANSWER_PLAIN, PST_ANSWER_EVENTS
    {"nothing yet", OPENAI, "", "| 0 0 0 0"},
    {"headers and a comment begin nothing", OPENAI, ": ok\n\n", "| 0 0 0 0"},
    {"a role begins, without output", OPENAI, ROLE, "b| 0 0 0 0"},
    {"a whole stream", OPENAI, ROLE TOKEN HELD TOKEN FINISH USAGE DONE, "be| 0 3 9 2"},
    {"text completions", OPENAI, "data: {\"choices\":[{\"text\":\"x\"}]}\n\n", "b| 0 1 0 0"},
    {"tool calls are output", OPENAI,
     "data: "
     "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\"}]}}]}\n\n",
     "b| 0 1 0 0"},
    {"reasoning is output", OPENAI,
     "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"so\"}}]}\n\n", "b| 0 1 0 0"},
    {"usage null is no usage", OPENAI, USAGE "data: {\"choices\":[],\"usage\":null}\n\n",
     "b| 0 0 9 2"},
    {"refused inside a 200", OPENAI, BUSY DONE, "fFe| 503 0 0 0"},
    {"dead after the first byte", OPENAI, ROLE TOKEN "data: {\"error\":{\"code\":500}}\n\n" DONE,
     "bfe| 500 1 0 0"},
    {"a code as text", OPENAI, "data: {\"error\":{\"code\":\"429\"}}\n\n", "fF| 429 0 0 0"},
    {"a code by name", OPENAI, "data: {\"error\":{\"type\":\"overloaded_error\"}}\n\n",
     "fF| 529 0 0 0"},
    {"a number before a name", OPENAI,
     "data: {\"error\":{\"code\":503,\"type\":\"server_error\"}}\n\n", "fF| 503 0 0 0"},
    {"an error as text", OPENAI, "data: {\"error\":\"no\",\"error_type\":\"overloaded\"}\n\n",
     "fF| 429 0 0 0"},
    {"an error without its key", OPENAI,
     "data: {\"object\":\"error\",\"message\":\"x\",\"code\":400}\n\n", "fF| 400 0 0 0"},
    {"error null is none", OPENAI, "data: {\"error\":null,\"choices\":[]}\n\n", "b| 0 0 0 0"},
    {"error inside an answer is none", OPENAI,
     "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"error\\\":1}\"}}]}\n\n", "b| 0 1 0 0"},
    {"the first failure is the cause", OPENAI, BUSY "data: {\"error\":{\"code\":500}}\n\n",
     "fF| 503 0 0 0"},
    {"nothing begins after a failure", OPENAI, BUSY TOKEN, "fF| 503 1 0 0"},
    {"data that is no JSON begins", OPENAI, "data: hello\n\n", "b| 0 1 0 0"},
    {"[DONE] is no prefix", OPENAI, "data: [DONE]x\n\n", "b| 0 1 0 0"},
    {"B014: a raw JSON error behind events", OPENAI, TOKEN TOKEN TOKEN "{\"error\":{\"code\":503}}",
     "bf 503 3 0 0"},
    {"B014: over several lines", OPENAI, TOKEN "{\n  \"error\": {\n    \"code\": 503\n  }\n}\n",
     "bf 503 1 0 0"},
    {"B014: nothing but the error", OPENAI, "{\"error\":{\"code\":503}}\n\n", "fF| 503 0 0 0"},
    {"an event ends bare JSON", OPENAI, "{\"error\":{\"code\":503}}\n" DONE, "fFe| 503 0 0 0"},
    {"bare JSON that is no error", OPENAI, "{\"a\":1}\n\n", "| 0 0 0 0"},
    {"B016: cut inside a line", OPENAI, TOKEN "data: {\"cho", "b 0 1 0 0"},
    {"B016: cut behind a line", OPENAI, TOKEN "data: {\"choices\":[\n", "b 0 1 0 0"},
    {"B013: two events, then nothing", OPENAI, TOKEN TOKEN, "b| 0 2 0 0"},
    {"a last event without its blank line", OPENAI, TOKEN "data: [DONE]\n", "be 0 1 0 0"},
    {"a failure cut in the middle", OPENAI, TOKEN "data: {\"error\":{\"code\":503,\"mess",
     "bf 503 1 0 0"},
    {"B017: a code point is one however cut", OPENAI,
     "data: {\"choices\":[{\"delta\":{\"content\":\"\xe9\x82\xa3\"}}]}\n\n", "b| 0 1 0 0"},

    {"responses: created is the envelope", RESPONSES, CREATED, "| 0 0 0 0"},
    {"responses: a whole stream", RESPONSES,
     CREATED DELTA DELTA "data: {\"type\":\"response.completed\",\"response\":{\"usage\":"
                         "{\"input_tokens\":3,\"output_tokens\":4}}}\n\n",
     "be| 0 2 3 4"},
    {"responses: an item begins", RESPONSES, "data: {\"type\":\"response.output_item.added\"}\n\n",
     "b| 0 0 0 0"},
    {"responses: failed first", RESPONSES,
     CREATED "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":"
             "\"rate_limit_exceeded\"}}}\n\n",
     "fF| 429 0 0 0"},
    {"responses: error event", RESPONSES, DELTA "event: error\ndata: {\"type\":\"error\"}\n\n",
     "bf| 0 1 0 0"},
    {"messages: start is the envelope", MESSAGES, START "event: ping\ndata: {}\n\n", "| 0 0 12 1"},
    {"messages: a whole stream", MESSAGES, START BLOCK BLOCKDELTA BLOCKDELTA MSGDELTA STOP,
     "be| 0 2 12 7"},
    {"messages: overloaded first", MESSAGES,
     START "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
     "fF| 529 0 12 1"},
    {"plain: any data begins, the message's end ends", PLAIN, "data: {\"text\":\"x\"}\n\n",
     "be| 0 1 0 0"},
    {"plain: TGI", PLAIN,
     "data: {\"token\":{\"id\":1}}\n\ndata: {\"generated_text\":\"x\",\"details\":"
     "{\"generated_tokens\":20,\"input_length\":5}}\n\n",
     "be| 0 2 5 20"},
    {"plain: SGLang", PLAIN,
     "data: {\"text\":\"x\",\"meta_info\":{\"prompt_tokens\":5,\"completion_tokens\":6}}\n\n" DONE,
     "be| 0 1 5 6"},
    {"plain: an error event", PLAIN, BUSY, "fF| 503 0 0 0"},
#define JSON PST_ANSWER_OPENAI, PST_ANSWER_JSON
    {"json: begins with its first byte", JSON, "{", "be 0 0 0 0"},
    {"json: usage", JSON,
     "{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":3,"
     "\"completion_tokens\":5}}",
     "be 0 0 3 5"},
    {"json: Anthropic's usage", JSON, "{\"usage\":{\"input_tokens\":3,\"output_tokens\":5}}",
     "be 0 0 3 5"},
    {"json: llama.cpp's own", JSON, "{\"tokens_predicted\":5,\"tokens_evaluated\":3}",
     "be 0 0 3 5"},
    {"json: usage in the text is none", JSON,
     "{\"choices\":[{\"message\":{\"usage\":{\"prompt_tokens\":3}}}]}", "be 0 0 0 0"},
    {"json: an error passes", JSON, "{\"error\":{\"code\":503}}", "be 0 0 0 0"},
    {"opaque", PST_ANSWER_PLAIN, PST_ANSWER_OPAQUE, "data: [DONE]\n\n", "be 0 0 0 0"},
};

static void read_answer(const struct row *row, size_t piece, struct pst_answer *answer)
{
    size_t len = strlen(row->bytes);

    pst_answer_init(answer, row->form, row->kind);
    for (size_t at = 0; at < len; at += piece) {
        size_t take = len - at < piece ? len - at : piece, used = 0;

        while (used < take) {
            size_t step = pst_answer_feed(answer, row->bytes + at + used, take - used);

            assert_in_range(step, 1, take - used);
            used += step;
        }
    }
    pst_answer_end(answer);
}

static void verdicts_do_not_depend_on_cuts(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        size_t len = strlen(rows[i].bytes);

        for (size_t piece = 1; piece <= len + 1; piece++) {
            struct pst_answer a;
            char got[128];

            read_answer(&rows[i], piece, &a);
            snprintf(got, sizeof got, "%s%s%s%s%s %u %u %u %u", a.begun ? "b" : "",
                     a.failed ? "f" : "", a.failed_first ? "F" : "", a.ended ? "e" : "",
                     a.at_boundary ? "|" : "", a.error_code, a.data_events, a.tokens_in,
                     a.tokens_out);
            if (strcmp(got, rows[i].expect) != 0)
                fail_msg("%s (pieces of %zu): %s, not %s", rows[i].promise, piece, got,
                         rows[i].expect);
        }
    }
}

static void each_change_is_seen_alone(void **state)
{
    static const char bytes[] = ROLE TOKEN BUSY DONE;
    struct pst_answer answer;
    size_t at = 0;

    (void)state;
    pst_answer_init(&answer, PST_ANSWER_OPENAI, PST_ANSWER_EVENTS);
    at += pst_answer_feed(&answer, bytes, sizeof bytes - 1);
    assert_int_equal(at, strlen(ROLE));
    assert_true(answer.begun && !answer.failed);
    at += pst_answer_feed(&answer, bytes + at, sizeof bytes - 1 - at);
    assert_int_equal(at, strlen(ROLE TOKEN BUSY));
    assert_true(answer.failed && !answer.failed_first && !answer.ended && answer.at_boundary);
    at += pst_answer_feed(&answer, bytes + at, sizeof bytes - 1 - at);
    assert_int_equal(at, sizeof bytes - 1);
    assert_true(answer.ended);
    assert_int_equal(pst_answer_feed(&answer, bytes, 0), 0);
}

static void loading_is_known_by_status_and_text(void **state)
{
    static const struct {
        uint16_t status;
        const char *body;
        bool is_loading;
    } bodies[] = {
        {503, "{\"error\":{\"message\":\"Loading model\",\"code\":503}}", true},
        {503, "model is still loading", true},
        {503, "loadin", false},
        {503, "engine is currently busy", false},
        {200, "Loading model", false},
        {503, "", false},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(bodies); i++)
        assert_int_equal(
            pst_answer_is_loading(bodies[i].status, bodies[i].body, strlen(bodies[i].body)),
            bodies[i].is_loading);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_do_not_depend_on_cuts),
        cmocka_unit_test(each_change_is_seen_alone),
        cmocka_unit_test(loading_is_known_by_status_and_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
