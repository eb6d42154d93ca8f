#include "cmd/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

#define HELP_COLUMN 30

static FILE *manual; /* not NULL: pst_options_divert */

static int say(const struct pst_usage *usage, const char *what, const char *text)
{
    fprintf(stderr, "penstock %s: %s%s\n", usage->command, what, text);
    fprintf(stderr, "penstock %s: --help says what it takes\n", usage->command);
    return -2;
}

static int say_value(const struct pst_usage *usage, const struct pst_option *option,
                     const char *value, const char *expected)
{
    fprintf(stderr, "penstock %s: --%s: '%s' cannot be taken; expected %s\n", usage->command,
            option->name, value, expected);
    return -2;
}

static int read_number(const struct pst_usage *usage, const struct pst_option *option,
                       const char *text)
{
    uint64_t value = 0;
    char expected[80], *end;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        return say_value(usage, option, text, "a whole number");
    if ((option->min != 0 || option->max != 0) && (value < option->min || value > option->max)) {
        snprintf(expected, sizeof expected, "%llu to %llu", (unsigned long long)option->min,
                 (unsigned long long)option->max);
        return say_value(usage, option, text, expected);
    }
    *(uint64_t *)option->value = value;
    return 0;
}

static int read_real(const struct pst_usage *usage, const struct pst_option *option,
                     const char *text)
{
    char *end;
    const double value = strtod(text, &end);

    /* digits and one point: no sign, no hexadecimal, no "inf" */
    if (text[strspn(text, "0123456789.")] != '\0' || end == text || *end != '\0')
        return say_value(usage, option, text, "a number, as 2 or 0.5");
    *(double *)option->value = value;
    return 0;
}

static int read_list(const struct pst_usage *usage, const struct pst_option *option,
                     const char *text)
{
    struct pst_option_list *list = option->value;

    if (list->count == PST_COUNT_OF(list->items))
        return say_value(usage, option, text, "at most 64 of them");
    list->items[list->count++] = text;
    return 0;
}

static int read_value(const struct pst_usage *usage, const struct pst_option *option,
                      const char *text)
{
    switch (option->kind) {
    case PST_OPTION_FLAG:
        *(bool *)option->value = true;
        return 0;
    case PST_OPTION_TEXT:
        *(const char **)option->value = text;
        return 0;
    case PST_OPTION_NUMBER:
        return read_number(usage, option, text);
    case PST_OPTION_REAL:
        return read_real(usage, option, text);
    case PST_OPTION_DURATION:
        if (pst_config_duration(text, option->value) == PST_OK)
            return 0;
        return say_value(usage, option, text, "a duration with its unit, as 500ms, 15s, 10m");
    case PST_OPTION_SIZE:
        if (pst_config_size(strcmp(text, "0") == 0 ? "0B" : text, option->value) == PST_OK)
            return 0;
        return say_value(usage, option, text, "a size with its unit, as 64KiB, 32MiB");
    case PST_OPTION_LIST:
        return read_list(usage, option, text);
    case PST_OPTION_KIND_COUNT:
        break;
    }
    PST_ASSERT(!"a kind of option");
    return -2;
}

static const struct pst_option *find(const struct pst_usage *usage, const char *name, size_t len)
{
    for (size_t i = 0; i < usage->count; i++) {
        if (strncmp(usage->options[i].name, name, len) == 0 && usage->options[i].name[len] == '\0')
            return &usage->options[i];
    }
    return NULL;
}

/* One argument that begins with "--"; *at moves on when its value stands in the next one. */
static int read_option(const struct pst_usage *usage, int argc, char **argv, int *at)
{
    const char *name = argv[*at] + 2;
    const char *equals = strchr(name, '=');
    const struct pst_option *option =
        find(usage, name, equals == NULL ? strlen(name) : (size_t)(equals - name));

    if (option == NULL)
        return say(usage, "no such option: ", argv[*at]);
    if (option->kind == PST_OPTION_FLAG)
        return equals == NULL ? read_value(usage, option, NULL)
                              : say(usage, "takes no value: ", argv[*at]);
    if (equals != NULL)
        return read_value(usage, option, equals + 1);
    if (*at + 1 == argc)
        return say(usage, "needs a value: ", argv[*at]);
    return read_value(usage, option, argv[++*at]);
}

void pst_options_divert(FILE *page)
{
    manual = page;
}

/* Text of a troff page: a line must not begin with a control character. */
static void write_troff(const char *text)
{
    bool line_begins = true;

    for (; *text != '\0'; text++) {
        if (line_begins && (*text == '.' || *text == '\''))
            fputs("\\&", manual);
        if (*text == '\\')
            fputs("\\e", manual);
        else if (*text == '-')
            fputs("\\-", manual);
        else
            fputc(*text, manual);
        line_begins = *text == '\n';
    }
}

static void write_manual(const struct pst_usage *usage)
{
    fprintf(manual, ".SS \"penstock %s%s%s%s\"\n", usage->command,
            usage->count > 0 ? " [OPTION]..." : "", usage->operands[0] == '\0' ? "" : " ",
            usage->operands);
    write_troff(usage->summary);
    fputc('\n', manual);
    if (usage->detail != NULL) {
        fputs(".PP\n.nf\n", manual); /* lines as they were written: some are tables */
        write_troff(usage->detail);
        fputs("\n.fi\n", manual);
    }
    for (size_t i = 0; i < usage->count; i++) {
        const struct pst_option *option = &usage->options[i];
        fputs(".TP\n\\fB\\-\\-", manual);
        write_troff(option->name);
        fputs("\\fR", manual);
        if (option->argument != NULL)
            fprintf(manual, " \\fI%s\\fR", option->argument);
        fputc('\n', manual);
        write_troff(option->help);
        fputc('\n', manual);
    }
}

int pst_options_read(const struct pst_usage *usage, int argc, char **argv)
{
    char **operands = calloc((size_t)argc + 1, sizeof *operands);
    int operands_count = 0, rc = 0;

    if (manual != NULL) {
        write_manual(usage);
        free(operands);
        return -1;
    }
    if (operands == NULL)
        return say(usage, "out of memory", "");
    for (int at = 1; at < argc && rc == 0; at++) {
        if (strcmp(argv[at], "--help") == 0) {
            pst_options_help(usage, stdout);
            rc = -1;
        } else if (strcmp(argv[at], "--") == 0) {
            while (++at < argc)
                operands[operands_count++] = argv[at];
        } else if (strncmp(argv[at], "--", 2) == 0) {
            rc = read_option(usage, argc, argv, &at);
        } else if (argv[at][0] == '-' && argv[at][1] != '\0') {
            rc = say(usage, "options are long ones; no such option: ", argv[at]);
        } else {
            operands[operands_count++] = argv[at];
        }
    }
    if (rc == 0) {
        /* operands to the end, in their order */
        rc = argc - operands_count;
        for (int i = 0; i < operands_count; i++)
            argv[rc + i] = operands[i];
    }
    free(operands);
    return rc;
}

void pst_options_help(const struct pst_usage *usage, FILE *out)
{
    fprintf(out, "usage: penstock %s%s%s%s\n\n%s\n", usage->command,
            usage->count > 0 ? " [OPTION]..." : "", usage->operands[0] == '\0' ? "" : " ",
            usage->operands, usage->summary);
    if (usage->detail != NULL)
        fprintf(out, "\n%s\n", usage->detail);
    fputs("\noptions:\n", out);
    for (size_t i = 0; i < usage->count; i++) {
        const struct pst_option *option = &usage->options[i];
        int used = fprintf(out, "  --%s%s%s", option->name, option->argument == NULL ? "" : " ",
                           option->argument == NULL ? "" : option->argument);
        if (used >= HELP_COLUMN - 1) {
            fputc('\n', out);
            used = 0;
        }
        fprintf(out, "%*s%s\n", HELP_COLUMN - used, "", option->help);
    }
    fprintf(out, "  %-*s%s\n", HELP_COLUMN - 2, "--help", "This text.");
    fputs("\nexit status: 0 done, 1 failed, 2 usage or configuration.\n", out);
}
