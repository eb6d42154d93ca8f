/* test_public.c - what the process that parses requests is given holds no secret of the engines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/public.h"

static char folder[64];

static int set_up(void **state)
{
    char path[128];
    FILE *out;

    (void)state;
    strcpy(folder, "/tmp/pst-public-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/token", folder);
    out = fopen(path, "w");
    if (out == NULL || fputs("sesam-gateway-file\n", out) < 0 || fclose(out) != 0)
        return -1;
    return setenv("T_ADMIN", "sesam-gateway-env", 1) + setenv("T_ENGINE", "sesam-engine-env", 1);
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* %s: the folder, twice. */
static const char local_pool[] = "# the old key was sesam-comment\n"
                                 "listen: 127.0.0.1:8080\n"
                                 "metrics: 127.0.0.1:9901\n"
                                 "state: %s\n"
                                 "admin_token: {env: T_ADMIN}\n"
                                 "pools:\n"
                                 "  - name: chat\n"
                                 "    models: [llama, \"h\\u00e4\\\"m\"]\n"
                                 "    slots: 4\n"
                                 "    upstream_auth: {file: %s/token}\n"
                                 "    scaler: {min: 1, max: 4}\n"
                                 "    replicas:\n"
                                 "      local:\n"
                                 "        command:\n"
                                 "          - /opt/sesam-engine\n"
                                 "          - --port={port}\n"
                                 "          - --key=sesam-\\\"argument   # sesam-tail\n"
                                 "          - |-\n"
                                 "            --block=sesam-block\n"
                                 "        env:\n"
                                 "          A: sesam-value\n"
                                 "          B: {env: T_ENGINE}\n"
                                 "          C: \"\"\n"
                                 "          D: \"gpu {gpus}\"\n"
                                 "        ports: 9000-9003\n"
                                 "        gpus: [0, 1]\n"
                                 "tenants:\n"
                                 "  - {name: default, max_class: medium}\n";

static struct pst_config *parse(const char *text)
{
    struct pst_config *config = NULL;
    struct pst_problems problems;
    int rc = pst_config_parse("t.yaml", text, strlen(text), &config, &problems);

    for (size_t i = 0; i < problems.count; i++)
        if (problems.item[i].level == PST_PROBLEM_ERROR)
            print_message("%u: %s\n", problems.item[i].line, problems.item[i].message);
    pst_problems_done(&problems);
    assert_int_equal(rc, PST_OK);
    return config;
}

static struct pst_config *parse_package(const struct pst_text *package)
{
    struct pst_config *config = NULL;
    struct pst_problems problems;
    int rc = pst_config_parse_public("t.yaml", package->at, package->len, &config, &problems);

    pst_problems_done(&problems);
    assert_int_equal(rc, PST_OK);
    return config;
}

static void test_nothing_of_the_engines(void **state)
{
    struct pst_text package = {0};
    struct pst_config *config, *other;
    const struct pst_config_local *local;
    char text[4096];

    (void)state;
    (void)snprintf(text, sizeof text, local_pool, folder, folder);
    config = parse(text);
    assert_string_equal(config->pools[0].local.command[0], "/opt/sesam-engine");
    assert_int_equal(pst_config_public(config, &package), PST_OK);

    /* All that is left of it are the gateway's own two. */
    assert_null(memmem(package.at, package.len, "sesam-e", 7));
    assert_null(memmem(package.at, package.len, "sesam-a", 7));
    assert_null(memmem(package.at, package.len, "sesam-b", 7));
    assert_null(memmem(package.at, package.len, "sesam-v", 7));
    assert_null(memmem(package.at, package.len, "sesam-c", 7));
    assert_null(memmem(package.at, package.len, "sesam-t", 7));
    assert_null(memmem(package.at, package.len, "T_ENGINE", 8));
    assert_non_null(memmem(package.at, package.len, "sesam-gateway-env", 17));

    /* Neither file nor environment are there in the other process. */
    assert_int_equal(unsetenv("T_ADMIN"), 0);
    assert_int_equal(unsetenv("T_ENGINE"), 0);
    (void)snprintf(text, sizeof text, "%s/token", folder);
    assert_int_equal(unlink(text), 0);
    other = parse_package(&package);
    assert_string_equal(other->listen, config->listen);
    assert_string_equal(other->admin_token, "sesam-gateway-env");
    assert_string_equal(other->pools[0].upstream_auth, config->pools[0].upstream_auth);
    assert_string_equal(other->pools[0].models[1].name, "h\xc3\xa4\"m");
    assert_int_equal(other->pools[0].line, config->pools[0].line);
    assert_int_equal(other->scaler.pools[0].max, 4);
    local = &other->pools[0].local;
    assert_int_equal(local->command_count, 4);
    assert_string_equal(local->command[0], "xxxxxxxxxxxxxxxxx");
    assert_string_equal(local->command[1], "xxxxxxx{port}");
    assert_int_equal(local->env_count, 4);
    assert_string_equal(local->env[3].value, "xxxx{gpus}");
    assert_int_equal(local->gpus_count, 2);
    assert_null(getenv("PENSTOCK_SECRET_0"));

    pst_text_done(&package);
    pst_config_free(other);
    pst_config_free(config);
}

/* A text that an anchor makes both secret and not is not handed on at all. */
static void test_shared_by_an_anchor(void **state)
{
    struct pst_text package = {0};
    struct pst_config *config;
    char text[4096];

    (void)state;
    (void)snprintf(text, sizeof text,
                   "listen: 127.0.0.1:8080\n"
                   "state: %s\n"
                   "pools:\n"
                   "  - name: &shared chat\n"
                   "    models: [m]\n"
                   "    slots: 4\n"
                   "    scaler: {min: 1, max: 4}\n"
                   "    replicas:\n"
                   "      local: {command: [run, *shared, \"{port}\"], ports: 9000-9003}\n",
                   folder);
    config = parse(text);
    assert_int_equal(pst_config_public(config, &package), PST_OK);
    assert_null(strstr(package.at + 1, "\"run\""));
    assert_non_null(strstr(package.at + 1, "\"chat\"")); /* where it is no secret */
    assert_non_null(strstr(package.at + 1, "[\"xxx\", \"xxxx\", \"{port}\"]"));
    pst_text_done(&package);
    pst_config_free(config);
}

static const struct {
    const char *name, *bytes;
    size_t len;
} broken[] = {
    {"empty", "", 0},
    {"no text", "PENSTOCK_SECRET_0=a", 19},
    {"not ended", "PENSTOCK_SECRET_0=a\0", 20},
    {"another variable", "PATH=/tmp\0\0listen: 127.0.0.1:1", 30},
    {"no value", "PENSTOCK_SECRET_0\0\0listen: 127.0.0.1:1", 38},
    {"not a configuration", "\0hello", 6},
};

static void test_broken_packages(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(broken); i++) {
        struct pst_config *config;
        struct pst_problems problems;

        if (pst_config_parse_public("t", broken[i].bytes, broken[i].len, &config, &problems) ==
            PST_OK)
            fail_msg("%s was taken", broken[i].name);
        pst_problems_done(&problems);
    }
    assert_string_not_equal(getenv("PATH"), "/tmp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_of_the_engines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shared_by_an_anchor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_packages, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
