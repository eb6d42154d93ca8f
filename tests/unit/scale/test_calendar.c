/* Cron rules, holidays and the learned week become floors, at the times that the clock on the wall says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "codec/day.h"
#include "core/floors.h"
#include "scale/calendar.h"

#define START (UINT64_C(100000000) * PST_S) /* the scaler's clock when a test begins */

static char folder[] = "/tmp/penstock-calendar-XXXXXX";

/* "2026-03-29 02:30" in UTC, seconds */
static int64_t utc_of(const char *text)
{
    int year;
    unsigned month, day, hour, minute;

    assert_int_equal(sscanf(text, "%d-%u-%u %u:%u", &year, &month, &day, &hour, &minute), 5);
    return pst_day_number(year, month, day) * PST_DAY_S + hour * 3600 + minute * 60;
}

/* A scaler's table of floors, as it is told; and the two clocks. */
struct bench {
    struct pst_floors floors;
    struct pst_calendar *calendar;
    pst_ns now;
    int64_t utc;
};

static void tell(void *user, const struct pst_scaler_event *event)
{
    struct bench *b = user;
    const struct pst_floor_span span = {event->u.floor.from, event->u.floor.until,
                                        event->u.floor.replicas, event->u.floor.source};

    assert_int_equal(event->kind, PST_SCALER_FLOOR);
    assert_int_equal(event->pool, 0);
    assert_true(span.from < span.until);
    pst_floors_set(&b->floors, &span, event->now);
}

static struct pst_config *read_config(const char *scaler)
{
    struct pst_config *config = NULL;
    struct pst_problems problems;
    char text[4096];
    int rc;

    snprintf(text, sizeof text,
             "state: %s\n"
             "pools:\n"
             "  - name: chat\n"
             "    models: [m]\n"
             "    slots: 4\n"
             "    replicas: {static: [\"http://10.0.0.1:8000\"]}\n"
             "    signals: {prometheus: {server: \"http://p:9090\"}}\n"
             "    scaler: {start_time: 2m, max: 20, %s}\n",
             folder, scaler);
    rc = pst_config_parse("t", text, strlen(text), &config, &problems);
    for (size_t i = 0; i < problems.count; i++)
        print_message("%u: %s\n", problems.item[i].line, problems.item[i].message);
    assert_int_equal(rc, PST_OK);
    pst_problems_done(&problems);
    return config;
}

static void begin(struct bench *b, const char *scaler, const char *utc)
{
    const struct pst_calendar_handlers handlers = {b, tell};
    struct pst_config *config = read_config(scaler);

    *b = (struct bench){.now = START, .utc = utc_of(utc)};
    assert_int_equal(pst_calendar_new(config, &handlers, &b->calendar), PST_OK);
    pst_config_free(config); /* nothing of it is kept */
}

static void tick(struct bench *b)
{
    pst_calendar_tick(b->calendar, b->now, (uint64_t)b->utc * PST_S);
}

static void advance(struct bench *b, int64_t seconds)
{
    b->utc += seconds;
    b->now += (uint64_t)seconds * PST_S;
    tick(b);
}

static void end(struct bench *b)
{
    pst_calendar_free(b->calendar);
}

/* What holds now: cron's or the week's. */
static uint32_t floor_now(const struct bench *b, enum pst_floor source)
{
    return pst_floors_most(&b->floors, source, b->now, 0);
}

/*
 * Runs by minutes, as the gateway does by seconds, and writes where the level changes: "05-29 06:00=4 16:00=0"
 * in UTC; the date where it is another.
 */
static void course(struct bench *b, enum pst_floor source, int64_t until, char *text, size_t size)
{
    uint32_t before = 0;
    int64_t date = -1;
    size_t used = 0;

    text[0] = '\0';
    for (; b->utc < until; advance(b, 60)) {
        const uint32_t level = floor_now(b, source);
        struct pst_day day;
        uint32_t second;

        if (level == before)
            continue;
        pst_day_of(pst_day_split(b->utc, &second), &day);
        if (date != b->utc / PST_DAY_S)
            used += (size_t)snprintf(text + used, size - used, "%s%02u-%02u", used == 0 ? "" : " ",
                                     day.month, day.day);
        used += (size_t)snprintf(text + used, size - used, " %02u:%02u=%u", second / 3600,
                                 second / 60 % 60, level);
        date = b->utc / PST_DAY_S;
        before = level;
        assert_true(used < size);
    }
}

#define RULE(from, until, more)                                                                    \
    "cron: [{from: '" from "', until: '" until "', replicas: 4" more "}]"
#define BERLIN    ", zone: Europe/Berlin"
#define NEW_YORK  ", zone: America/New_York"
#define LORD_HOWE ", zone: Australia/Lord_Howe"

/* Begins at `at`, for so many days. */
static const struct {
    const char *promise, *scaler, *at;
    unsigned days;
    const char *course;
} rows[] = {
    {"a day's span", RULE("0 8 * * *", "0 18 * * *", ""), "2026-05-04 00:00", 1,
     "05-04 08:00=4 18:00=0"},
    {"it runs already at the start", RULE("0 8 * * *", "0 18 * * *", ""), "2026-05-04 12:00", 1,
     "05-04 12:00=4 18:00=0 05-05 08:00=4"},
    {"over midnight", RULE("0 22 * * *", "0 2 * * *", ""), "2026-05-04 12:00", 1,
     "05-04 22:00=4 05-05 02:00=0"},
    {"working days", RULE("0 8 * * 1-5", "0 18 * * 1-5", ""), "2026-05-01 00:00", 4,
     "05-01 08:00=4 18:00=0 05-04 08:00=4 18:00=0"},
    {"a weekend's span goes over the week's end", RULE("0 20 * * fri", "0 6 * * mon", ""),
     "2026-05-01 00:00", 7, "05-01 20:00=4 05-04 06:00=0"},
    {"over the year", RULE("0 0 31 12 *", "0 0 2 1 *", ""), "2026-12-30 00:00", 4,
     "12-31 00:00=4 01-02 00:00=0"},
    {"the leap day", RULE("0 0 29 2 *", "0 0 1 3 *", ""), "2028-02-27 00:00", 4,
     "02-29 00:00=4 03-01 00:00=0"},
    {"no leap day this year", RULE("0 0 29 2 *", "0 0 1 3 *", ""), "2027-02-27 00:00", 4, ""},
    {"its zone", RULE("0 8 * * *", "0 18 * * *", NEW_YORK), "2026-01-05 00:00", 1,
     "01-05 13:00=4 23:00=0"},
    {"the scaler's zone", RULE("0 8 * * *", "0 18 * * *", "") BERLIN, "2026-01-05 00:00", 1,
     "01-05 07:00=4 17:00=0"},

    {"summer comes: an hour earlier", RULE("0 8 * * *", "0 18 * * *", BERLIN), "2026-03-28 00:00",
     2, "03-28 07:00=4 17:00=0 03-29 06:00=4 16:00=0"},
    {"winter comes: an hour later", RULE("0 8 * * *", "0 18 * * *", NEW_YORK), "2026-10-31 00:00",
     2, "10-31 12:00=4 22:00=0 11-01 13:00=4 23:00=0"},
    {"begins in the gap: at its end", RULE("30 2 * * *", "0 5 * * *", BERLIN), "2026-03-29 00:00",
     1, "03-29 01:00=4 03:00=0"},
    {"ends in the gap: at its end", RULE("0 1 * * *", "30 2 * * *", BERLIN), "2026-03-29 00:00", 1,
     "03-29 00:00=4 01:00=0 23:00=4"},
    {"lies in the gap: not at all", RULE("10 2 * * *", "50 2 * * *", BERLIN), "2026-03-29 00:00", 1,
     ""},
    {"begins in the fold: the first time", RULE("30 2 * * *", "0 5 * * *", BERLIN),
     "2026-10-25 00:00", 1, "10-25 00:30=4 04:00=0"},
    {"ends in the fold: the first time", RULE("0 1 * * *", "30 2 * * *", BERLIN),
     "2026-10-24 12:00", 1, "10-24 23:00=4 10-25 00:30=0"},
    {"lies in the fold: once", RULE("10 2 * * *", "50 2 * * *", BERLIN), "2026-10-25 00:00", 1,
     "10-25 00:10=4 00:50=0"},
    {"half an hour's gap", RULE("15 2 * * *", "0 3 * * *", LORD_HOWE), "2026-10-03 12:00", 1,
     "10-03 15:30=4 16:00=0"},
    {"half an hour's fold", RULE("45 1 * * *", "0 3 * * *", LORD_HOWE), "2026-04-04 12:00", 1,
     "04-04 14:45=4 16:30=0"},

    {"the largest of several",
     "cron: [{from: 0 8 * * *, until: 0 18 * * *, replicas: 4}, "
     "{from: 0 10 * * *, until: 0 12 * * *, replicas: 9}]",
     "2026-05-04 00:00", 1, "05-04 08:00=4 10:00=9 12:00=4 18:00=0"},
    {"begun again while it runs", RULE("0 */2 * * *", "0 7 * * *", ""), "2026-05-04 00:00", 1,
     "05-04 00:00=4 07:00=0 08:00=4"},

    {"a holiday is a Sunday", RULE("0 8 * * 1-5", "0 18 * * 1-5", "") ", holidays: [2026-12-25]",
     "2026-12-24 00:00", 5, "12-24 08:00=4 18:00=0 12-28 08:00=4 18:00=0"},
    {"a Sunday's rule on a holiday", RULE("0 8 * * 0", "0 18 * * 0", "") ", holidays: [2026-12-25]",
     "2026-12-24 00:00", 2, "12-25 08:00=4 18:00=0"},
    {"a rule that runs into a holiday ends",
     RULE("0 22 * * 4", "0 6 * * 5", "") ", holidays: [2026-12-25]", "2026-12-24 00:00", 3,
     "12-24 22:00=4 12-25 06:00=0"},
    {"a holiday of its zone",
     RULE("0 8 * * 1-5", "0 18 * * 1-5", LORD_HOWE) ", holidays: [2026-12-25]", "2026-12-23 18:00",
     1, "12-23 21:00=4 12-24 07:00=0"},
};

static void floors_hold_when_the_clock_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct bench b;
        char text[512];

        begin(&b, rows[i].scaler, rows[i].at);
        tick(&b);
        course(&b, PST_FLOOR_CRON, b.utc + rows[i].days * PST_DAY_S, text, sizeof text);
        if (strcmp(text, rows[i].course) != 0)
            fail_msg("%s: '%s'", rows[i].promise, text);
        end(&b);
    }
}

/* A rule that toggles more often than there are steps: what is told holds at least where the rule does. */
static void too_many_steps_are_one(void **state)
{
    struct bench b;

    (void)state;
    begin(&b, RULE("*/10 * * * *", "5-55/10 * * * *", ""), "2026-05-04 00:58");
    tick(&b);
    for (unsigned minute = 58; minute < 600; minute++, advance(&b, 60)) {
        if (minute % 10 < 5)
            assert_int_equal(floor_now(&b, PST_FLOOR_CRON), 4);
        assert_true(b.floors.count <= PST_FLOORS_MAX);
    }
    assert_int_equal(pst_floors_most(&b.floors, PST_FLOOR_CRON, b.now + 86400 * PST_S, 0), 0);
    end(&b);
}

/* The scaler asks one look-ahead, its measured start time, before a floor begins. */
static const struct {
    const char *promise, *scaler;
    uint32_t start_ms; /* measured */
    int64_t asked;     /* seconds before eight at which the scaler first asks for them */
} leads[] = {
    {"the start time that is configured", RULE("0 8 * * *", "0 9 * * *", ""), 0, 120},
    {"the start time that was measured", RULE("0 8 * * *", "0 9 * * *", ""), 300000, 300},
    {"a longer lead", RULE("0 8 * * *", "0 9 * * *", "") ", lead: 10m", 300000, 600},
    {"a shorter lead", RULE("0 8 * * *", "0 9 * * *", "") ", lead: 1m", 300000, 60},
    {"the longest start", RULE("0 8 * * *", "0 9 * * *", ""), 4 * 3600000, 4 * 3600},
};

static struct pst_scaler_action decision_of(uint32_t start_ms)
{
    return (struct pst_scaler_action){.kind = PST_SCALER_DECISION,
                                      .u.decision = {.start_ms = start_ms}};
}

static void replicas_are_asked_for_a_lead_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(leads); i++) {
        const struct pst_scaler_action decision = decision_of(leads[i].start_ms);
        const pst_ns ahead = leads[i].start_ms > 0 ? leads[i].start_ms * PST_MS : 120 * PST_S;
        const int64_t eight = utc_of("2026-05-04 08:00");
        struct bench b;

        begin(&b, leads[i].scaler, "2026-05-04 01:00");
        tick(&b);
        if (leads[i].start_ms > 0)
            pst_calendar_decided(b.calendar, (uint64_t)b.utc, &decision);
        tick(&b);
        while (b.utc < eight && pst_floors_most(&b.floors, PST_FLOOR_CRON, b.now, ahead) == 0)
            advance(&b, 1);
        if (eight - b.utc != leads[i].asked)
            fail_msg("%s: %lld s before", leads[i].promise, (long long)(eight - b.utc));
        end(&b);
    }
}

static void a_step_of_the_wall_clock_moves_what_was_told(void **state)
{
    struct bench b;

    (void)state;
    begin(&b, RULE("0 8 * * *", "0 9 * * *", ""), "2026-05-04 07:30");
    tick(&b);
    assert_int_equal(floor_now(&b, PST_FLOOR_CRON), 0);
    b.utc += 1800; /* it was slow */
    tick(&b);
    assert_int_equal(floor_now(&b, PST_FLOOR_CRON), 4);
    b.utc -= 3600; /* it was not */
    tick(&b);
    assert_int_equal(floor_now(&b, PST_FLOOR_CRON), 0);
    advance(&b, 3600);
    assert_int_equal(floor_now(&b, PST_FLOOR_CRON), 4);
    assert_int_equal(b.floors.count, 1);
    end(&b);
}

static void a_clock_that_is_not_known_tells_nothing(void **state)
{
    struct bench b;

    (void)state;
    begin(&b, RULE("* * * * *", "0 0 1 1 *", ""), "2026-05-04 07:30");
    pst_calendar_tick(b.calendar, b.now, 0);
    assert_int_equal(b.floors.count, 0);
    tick(&b);
    assert_int_equal(floor_now(&b, PST_FLOOR_CRON), 4);
    end(&b);
}

static void a_reload_withdraws_what_is_gone(void **state)
{
    struct pst_config *config =
        read_config(RULE("0 8 * * *", "0 18 * * *", "") ", zone: Asia/Tokyo");
    struct pst_config *none = read_config("cron: []");
    struct bench b;

    (void)state;
    begin(&b, RULE("0 8 * * *", "0 18 * * *", ""), "2026-05-04 12:00");
    tick(&b);
    assert_int_equal(floor_now(&b, PST_FLOOR_CRON), 4);
    assert_int_equal(pst_calendar_reload(b.calendar, config), PST_OK);
    tick(&b);
    assert_int_equal(floor_now(&b, PST_FLOOR_CRON), 0); /* 21:00 there */
    assert_int_equal(pst_calendar_reload(b.calendar, none), PST_OK);
    tick(&b);
    advance(&b, PST_DAY_S);
    assert_int_equal(b.floors.count, 0);
    end(&b);
    pst_config_free(config);
    pst_config_free(none);
}

/* Needed, week by week, on Mondays from ten to eleven; what the next Monday's floor is. */
static const struct {
    const char *promise;
    int needed[8]; /* the oldest first; -1: nobody looked, or nothing more */
    const char *more;
    uint32_t floor;
} weeks[] = {
    {"nothing is known", {-1}, "", 0},
    {"one week", {5, -1}, "", 5},
    {"the largest of three", {5, 9, 4, -1}, "", 9},
    {"the second of four", {5, 9, 4, 6, -1}, "", 6},
    {"what lies further back does not count", {9, 9, 3, 3, 3, 4, -1}, "", 3},
    {"more weeks, the third of eight", {9, 8, 7, 1, 1, 1, 1, 1}, ", weeks: 8", 7},
    {"never more than max", {50, -1}, "", 20},
};

static void the_week_that_was_is_the_week_that_comes(void **state)
{
    static const char *const sources[] = {"history", "prometheus"};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(weeks) * PST_COUNT_OF(sources); i++) {
        const size_t row = i / PST_COUNT_OF(sources);
        int64_t monday = utc_of("2026-05-04 08:30"); /* half past ten in Berlin */
        char scaler[256], text[256], wanted[256] = "";
        struct bench b;

        snprintf(scaler, sizeof scaler, "zone: Europe/Berlin, profile: {from: %s%s}",
                 sources[i % PST_COUNT_OF(sources)], weeks[row].more);
        begin(&b, scaler, "2026-05-04 00:00");
        for (size_t w = 0; w < 8 && weeks[row].needed[w] >= 0; w++, monday += 7 * PST_DAY_S) {
            pst_calendar_learn(b.calendar, 0, (uint64_t)monday, 1);
            pst_calendar_learn(b.calendar, 0, (uint64_t)monday, (uint32_t)weeks[row].needed[w]);
            pst_calendar_learn(b.calendar, 0, (uint64_t)monday, 0);
        }
        b.utc = monday - monday % PST_DAY_S;
        tick(&b);
        course(&b, PST_FLOOR_PROFILE, b.utc + 2 * PST_DAY_S, text, sizeof text);
        if (weeks[row].floor > 0) {
            struct pst_day day;

            pst_day_of(monday / PST_DAY_S, &day);
            snprintf(wanted, sizeof wanted, "%02u-%02u 08:00=%u 09:00=0", day.month, day.day,
                     weeks[row].floor);
        }
        if (strcmp(text, wanted) != 0)
            fail_msg("%s, %s: '%s', not '%s'", weeks[row].promise, scaler, text, wanted);
        end(&b);
        snprintf(text, sizeof text, "%s/gateway/profile-chat.json", folder);
        unlink(text);
    }
}

/* The floor itself is not learned, nor what stood still while nobody observed. */
static void a_decision_teaches_what_the_load_needed(void **state)
{
    struct pst_scaler_action decision = decision_of(1000);
    uint16_t *terms = decision.u.decision.terms;
    struct bench b;

    (void)state;
    begin(&b, "profile: history", "2026-05-04 10:10");
    decision.u.decision.desired = 12;
    terms[PST_TERM_NOW] = 3;
    terms[PST_TERM_AHEAD] = 4;
    terms[PST_TERM_CRON] = 12;
    terms[PST_TERM_PROFILE] = 11;
    terms[PST_TERM_CANARY] = 10;
    terms[PST_TERM_MIN] = 9;
    pst_calendar_decided(b.calendar, (uint64_t)b.utc, &decision);
    terms[PST_TERM_AHEAD] = 8;
    decision.u.decision.vetoes = 1u << PST_VETO_STALE;
    pst_calendar_decided(b.calendar, (uint64_t)b.utc, &decision);
    b.utc += 7 * PST_DAY_S;
    tick(&b);
    assert_int_equal(floor_now(&b, PST_FLOOR_PROFILE), 4);
    end(&b);
}

/* What was learned is there after a restart; another zone's hours are not ours, and garbage is none. */
static void the_week_outlives_us(void **state)
{
    static const char *const garbage[] = {
        "",
        "{",
        "[]",
        "{\"version\":1,\"zone\":\"UTC\",\"weeks\":[{\"week\":1}]}",
        "{\"version\":2,\"zone\":\"UTC\",\"weeks\":[]}",
        "{\"version\":1,\"zone\":\"UTC\",\"weeks\":[{\"week\":-1,\"replicas\":[]}]}"};
    char path[128];
    struct bench b;

    (void)state;
    snprintf(path, sizeof path, "%s/gateway/profile-chat.json", folder);
    unlink(path);
    begin(&b, "profile: history", "2026-05-04 10:10");
    pst_calendar_learn(b.calendar, 0, (uint64_t)b.utc, 7);
    end(&b);
    begin(&b, "profile: history", "2026-05-11 10:10");
    tick(&b);
    assert_int_equal(floor_now(&b, PST_FLOOR_PROFILE), 7);
    end(&b);
    begin(&b, "profile: history, zone: Asia/Tokyo", "2026-05-11 10:10");
    tick(&b);
    assert_int_equal(floor_now(&b, PST_FLOOR_PROFILE), 0);
    end(&b);
    for (size_t i = 0; i < PST_COUNT_OF(garbage); i++) {
        FILE *out = fopen(path, "w");

        assert_non_null(out);
        fputs(garbage[i], out);
        fclose(out);
        begin(&b, "profile: history", "2026-05-11 10:10");
        tick(&b);
        assert_int_equal(b.floors.count, 0);
        pst_calendar_learn(b.calendar, 0, (uint64_t)b.utc, 7);
        end(&b);
        begin(&b, "profile: history", "2026-05-18 10:10");
        tick(&b);
        assert_int_equal(floor_now(&b, PST_FLOOR_PROFILE), 7);
        end(&b);
    }
    unlink(path);
}

/* A clock that was once a year ahead has taught nothing that stays. */
static void a_future_that_was_learned_is_forgotten(void **state)
{
    struct bench b;

    (void)state;
    begin(&b, "profile: history", "2027-05-04 10:10");
    tick(&b);
    pst_calendar_learn(b.calendar, 0, (uint64_t)b.utc, 7);
    b.utc = utc_of("2026-05-04 10:10");
    tick(&b);
    pst_calendar_learn(b.calendar, 0, (uint64_t)b.utc, 3);
    advance(&b, 7 * PST_DAY_S);
    assert_int_equal(floor_now(&b, PST_FLOOR_PROFILE), 3);
    end(&b);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s/gateway/profile-chat.json", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/gateway", folder);
    return rmdir(path) + rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floors_hold_when_the_clock_says),
        cmocka_unit_test(too_many_steps_are_one),
        cmocka_unit_test(replicas_are_asked_for_a_lead_before),
        cmocka_unit_test(a_step_of_the_wall_clock_moves_what_was_told),
        cmocka_unit_test(a_clock_that_is_not_known_tells_nothing),
        cmocka_unit_test(a_reload_withdraws_what_is_gone),
        cmocka_unit_test(the_week_that_was_is_the_week_that_comes),
        cmocka_unit_test(a_decision_teaches_what_the_load_needed),
        cmocka_unit_test(the_week_outlives_us),
        cmocka_unit_test(a_future_that_was_learned_is_forgotten),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
