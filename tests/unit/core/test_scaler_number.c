/*
 * Pools whose number others keep: what they are told, second by second, and who leaves. The keeper here
 * does what a ReplicaSet does: it creates what is missing, replaces what leaves, and of too many removes
 * those that are not ready first, then marked ones, then the youngest. Words beside scaler_world.h's:
 *
 *   sync       what was there at the start was told
 *   =N =-      the number is N, is not known
 *   frozen thawed   nobody follows the number, and does again
 *   specN      others set N, and are followed until the number changes
 *   evictR     others begin to end it; it is gone 5 s later
 *   picky      who is marked goes last
 *   unseen     marks are not seen, until: seen
 *   refused    marks are refused
 *   roll       all are replaced by newer ones, one by one, with one more than the number for a while
 *
 * Written down beside what the scaler says: +R created, -R begun to end, R by index.
 */
#include "core/num.h"
#include "core/prng.h"
#include "scaler_world.h"

#define GRACE (5 * PST_S)

/* Of the one test that runs. */
static struct {
    uint32_t spec, followed;
    bool is_synced, is_frozen, is_picky, is_rolling, sees_no_mark, refuses_marks;
    uint32_t lost;    /* in flight on what was ended unasked */
    uint32_t removed; /* ended because there were too many, being ready */
} keeper;

static void note(struct world *w, char what, uint16_t r)
{
    size_t used = strlen(w->log);

    assert_true(used + 32 < sizeof w->log);
    snprintf(w->log + used, sizeof w->log - used, " %u:%c%u",
             (unsigned)((w->now - WORLD_BEGIN) / PST_S), what, r);
}

static void begin_to_end(struct world *w, uint16_t r)
{
    struct world_replica *replica = &w->replicas[r];

    if (!replica->is_there || replica->is_going)
        return;
    replica->is_going = true;
    replica->gone_at = w->now + GRACE;
    replica->loaded_at = replica->drained_at = PST_NEVER;
    world_set(w, r, PST_REPLICA_DRAINING);
}

static void tell_mark(struct world *w, uint16_t r)
{
    w->replicas[r].is_marked = !keeper.refuses_marks;
    world_result(w, PST_SCALER_MARK, r, 0,
                 keeper.refuses_marks ? PST_RESULT_FAILED : PST_RESULT_OK);
}

static void keeper_obey(struct world *w, const struct pst_scaler_action *action)
{
    struct world_replica *replica = &w->replicas[action->u.replica.replica % PST_REPLICAS_MAX];

    switch ((enum pst_scaler_action_kind)action->kind) {
    case PST_SCALER_MARK:
        assert_true(replica->is_there);
        if (keeper.sees_no_mark)
            replica->wants_mark = true;
        else
            tell_mark(w, action->u.replica.replica);
        break;
    case PST_SCALER_DRAIN:
    case PST_SCALER_PROMOTE:
        world_obey(w, action);
        break;
    case PST_SCALER_UNDRAIN:
        assert_true(replica->is_there && !replica->is_going);
        replica->is_marked = replica->wants_mark = false;
        if (replica->state == PST_REPLICA_DRAINING)
            world_obey(w, action);
        break;
    case PST_SCALER_START: /* the number says it */
    case PST_SCALER_CANCEL:
    case PST_SCALER_REMOVE:
    case PST_SCALER_DECISION:
    case PST_SCALER_ACTION_COUNT:
        break;
    }
}

static bool is_ready(const struct world_replica *r)
{
    return r->state == PST_REPLICA_READY || r->state == PST_REPLICA_DRAINING ||
           r->state == PST_REPLICA_WARM;
}

static bool goes_before(const struct world_replica *a, const struct world_replica *b)
{
    if (is_ready(a) != is_ready(b))
        return is_ready(b);
    return keeper.is_picky ? a->is_marked < b->is_marked : a->is_marked > b->is_marked;
}

static uint16_t next_to_go(const struct world *w)
{
    uint16_t best = PST_REPLICAS_MAX;

    for (uint16_t r = 0; r < PST_REPLICAS_MAX; r++) {
        const struct world_replica *replica = &w->replicas[r];

        if (!replica->is_there || replica->is_going)
            continue;
        if (best == PST_REPLICAS_MAX || !goes_before(&w->replicas[best], replica))
            best = r;
    }
    return best;
}

static uint32_t kept(const struct world *w)
{
    uint32_t count = 0;

    for (uint16_t r = 0; r < PST_REPLICAS_MAX; r++)
        count += w->replicas[r].is_there && !w->replicas[r].is_going;
    return count;
}

static void remove_one(struct world *w)
{
    uint16_t r = next_to_go(w);

    note(w, '-', r);
    keeper.removed += is_ready(&w->replicas[r]);
    if (w->replicas[r].state == PST_REPLICA_READY)
        keeper.lost += w->replicas[r].inflight;
    begin_to_end(w, r);
}

static void create_one(struct world *w)
{
    uint16_t r = world_appear(w, PST_REPLICA_STARTING, 0);

    note(w, '+', r);
    w->replicas[r].warm = pst_scaler_is_for_warm(w->scaler, r);
    w->replicas[r].loaded_at = w->start == WORLD_START_STUCK ? PST_NEVER : w->now + w->cold;
}

/* One more than the number, of the newer ones; when all are ready an older one goes. */
static void roll_on(struct world *w)
{
    uint16_t older = PST_REPLICAS_MAX;
    uint32_t newer = 0, unready = 0;

    for (uint16_t r = 0; r < PST_REPLICAS_MAX; r++) {
        const struct world_replica *replica = &w->replicas[r];

        if (!replica->is_there || replica->is_going)
            continue;
        newer += !replica->is_old;
        unready += !is_ready(replica);
        older = replica->is_old ? r : older;
    }
    keeper.is_rolling = older != PST_REPLICAS_MAX;
    if (newer < keeper.spec && kept(w) <= keeper.spec) {
        create_one(w);
    } else if (keeper.is_rolling && unready == 0) {
        note(w, '-', older);
        begin_to_end(w, older);
    }
}

static void keeper_second(struct world *w)
{
    struct pst_scaler_event scale = {.kind = PST_SCALER_SCALE};
    uint32_t number;

    scale.u.scale.replicas = kept(w);
    world_step(w, scale); /* what is there, surplus or not */
    for (uint16_t r = 0; r < PST_REPLICAS_MAX; r++) {
        if (w->replicas[r].is_there && w->now >= w->replicas[r].gone_at)
            world_vanish(w, r, false);
    }
    if (pst_scaler_number(w->scaler, 0, &number) && number != keeper.followed && !keeper.is_frozen)
        keeper.spec = keeper.followed = number;
    while (keeper.is_synced && kept(w) > keeper.spec + keeper.is_rolling)
        remove_one(w);
    while (kept(w) < keeper.spec)
        create_one(w);
    if (keeper.is_rolling)
        roll_on(w);
}

static void begin_to_roll(struct world *w)
{
    keeper.is_rolling = true;
    for (uint16_t r = 0; r < PST_REPLICAS_MAX; r++) {
        w->replicas[r].is_old = w->replicas[r].is_there;
        if (w->replicas[r].is_old)
            world_tell(w, r, false);
    }
}

static void expect_number(const struct world *w, const char *word)
{
    uint32_t number = 0;
    char seen[16] = "=-";

    if (pst_scaler_number(w->scaler, 0, &number))
        snprintf(seen, sizeof seen, "=%u", number);
    if (strcmp(seen, word) != 0) {
        fprintf(stderr, "%s: wanted %s, have %s\n", w->name, word, seen);
        world_fail(w, "another number");
    }
}

static void see_marks(struct world *w)
{
    keeper.sees_no_mark = false;
    for (uint16_t r = 0; r < PST_REPLICAS_MAX; r++) {
        if (w->replicas[r].is_there && w->replicas[r].wants_mark)
            tell_mark(w, r);
        w->replicas[r].wants_mark = false;
    }
}

static bool keeper_word(struct world *w, const char *word)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_SYNCED};
    unsigned n = 0;

    if (strcmp(word, "sync") == 0) {
        keeper.spec = (uint32_t)pst_max_u64(keeper.spec, kept(w));
        keeper.followed = keeper.spec;
        keeper.is_synced = true;
        world_step(w, event);
    } else if (word[0] == '=') {
        expect_number(w, word);
    } else if (strcmp(word, "frozen") == 0 || strcmp(word, "thawed") == 0) {
        keeper.is_frozen = word[0] == 'f';
    } else if (sscanf(word, "spec%u", &n) == 1) {
        keeper.spec = n;
        event.kind = PST_SCALER_SCALE;
        event.u.scale.replicas = n;
        world_step(w, event);
    } else if (sscanf(word, "evict%u", &n) == 1) {
        begin_to_end(w, (uint16_t)n);
    } else if (strcmp(word, "roll") == 0) {
        begin_to_roll(w);
    } else if (strcmp(word, "picky") == 0) {
        keeper.is_picky = true;
    } else if (strcmp(word, "refused") == 0) {
        keeper.refuses_marks = true;
    } else if (strcmp(word, "unseen") == 0) {
        keeper.sees_no_mark = true;
    } else if (strcmp(word, "seen") == 0) {
        see_marks(w);
    } else {
        return false;
    }
    return true;
}

static const struct world_keeper replica_set = {keeper_obey, keeper_second, keeper_word};

static void run(const struct world_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memset(&keeper, 0, sizeof keeper);
        world_run(&rows[i], &replica_set);
        if (keeper.lost > 0)
            fail_msg("%s: %u lost", rows[i].name, keeper.lost);
    }
}

#define RUN(rows) run(rows, PST_COUNT_OF(rows))

static void marked(struct pst_scaler_pool *pool)
{
    pool->actuate = PST_ACTUATE_MARKED;
}

static void marked_gpu(struct pst_scaler_pool *pool)
{
    marked(pool);
    pool->gpu_guard_ppm = 500000;
}

static void marked_one_warm(struct pst_scaler_pool *pool)
{
    marked(pool);
    pool->warm = 1;
}

static void marked_rotates(struct pst_scaler_pool *pool)
{
    marked_one_warm(pool);
    pool->rotate = 120 * PST_S;
}

static void marked_to_zero(struct pst_scaler_pool *pool)
{
    marked(pool);
    pool->min = 0;
}

static void numbered(struct pst_scaler_pool *pool)
{
    pool->actuate = PST_ACTUATE_NUMBER;
}

static void numbered_to_zero(struct pst_scaler_pool *pool)
{
    numbered(pool);
    pool->min = 0;
}

static void awaits(struct pst_scaler_pool *pool)
{
    pool->awaits_synced = 1;
}

static void test_what_is_known(void **state)
{
    static const struct world_row rows[] = {
        {"before what runs was found nothing is known", "r2 +60 =-", "", marked},
        {"then it is", "r2 sync +1 =2", "", marked},
        {"none is known too", "sync +1 =1", "0:S1 0:+0", marked},
        {"not before the first observation", "r2 sync blind +1 =- see +1 =2", "", marked},
        {"observations that are stale", "r2 sync +1 blind +15 =2 +1 =- see +1 =2", "", marked},
        {"a signal that is missing holds, and the number is known",
         "r2 f2 sync gpu10 +101 gpu- f1 +300 =2 ?2:stale", "", marked_gpu},
        {"of a number alone: the same", "r2 +60 =- sync +1 =2 blind +16 =-", "", numbered},
        {"what others have set before us", "r2 spec3 sync +1 =3", "0:S1 0:+2", marked},
        {"… is asked for until the longest start is over",
         "r2 spec3 sync +100 =3 ?3:restart +1 ?1:", "0:S1 0:+2 100:M0 100:D0 100:M1 100:D1",
         marked},
        {"engines of our own that are being found: nothing is started", "+60 =- r2 sync f2 +100 =2",
         "", awaits},
    };

    (void)state;
    RUN(rows);
}

static void test_marked(void **state)
{
    static const struct world_row rows[] = {
        {"a start is a number that rose", "r2 sync f4 +1 =4 +150 =4 ?4:", "0:S1 0:S2 0:+2 0:+3",
         marked},
        {"drained, then the number falls", "r4 f4 sync +101 f3 +60 =4 +9 =4 +2 =3",
         "160:M0 160:D0 170:R0 170:-0", marked},
        {"its mark is not seen yet: the number stands",
         "r4 f4 sync unseen +101 f3 +300 =4 seen =3 +1 =3", "160:M0 160:D0 401:R0 401:-0", marked},
        {"… and it may stay", "r4 f4 sync unseen +101 f3 +80 f4 +1 seen +1 =4",
         "160:M0 160:D0 181:U0", marked},
        {"… past its deadline", "r4 f4 sync unseen nodrain +101 f3 +300 =4 seen =3 +1 =3",
         "160:M0 160:D0 401:R0 401:-0", marked},
        {"marks are refused: others choose, the drained one stays",
         "refused r4 f4 sync +101 f3 +100 =3", "160:M0 160:D0 170:R0 170:-3 171:U0", marked},
        {"still busy: at its deadline", "r4 f4 sync nodrain +101 f3 +119 =4 +2 =3",
         "160:M0 160:D0 220:R0 220:-0", marked},
        {"wanted again before that: nothing happened", "r4 f4 sync nodrain +101 f3 +70 f4 +10 =4",
         "160:M0 160:D0 171:U0", marked},
        {"nobody followed yet: taken back", "r4 f4 sync +101 frozen f3 +80 =3 f4 +1 =4 thawed +100",
         "160:M0 160:D0 170:R0 181:U0", marked},
        {"… for as long as it takes", "r4 f4 sync +101 frozen f3 +900 =3 thawed +1 =3",
         "160:M0 160:D0 170:R0 1001:-0", marked},
        {"another left: the one that was drained stays", "picky r4 f4 sync +101 f3 +100 =3",
         "160:M0 160:D0 170:R0 170:-3 171:U0", marked},
        {"an eviction is replaced, and no matter of the number",
         "r3 f3 sync +101 evict1 =3 +1 =3 +4 =3 +100 =3 ?3:", "101:+3", marked},
        {"… nor is a crash", "r3 f3 sync +101 crash1 =3 +1 =3 +100 =3", "101:+1", marked},
        {"… nor of one that starts", "r2 f2 sync +101 f3 +5 crash2 =3 +100 =3",
         "101:S1 101:+2 106:+2", marked},
        {"evicted while it drains: the number falls, and its replacement goes",
         "r4 f4 sync nodrain +101 f3 +65 evict0 =3 +10 =3", "160:M0 160:D0", marked},
        {"starting ones go first", "r2 f2 sync +101 f3 +5 f2 +80 =2",
         "101:S1 101:+2 165:M2 165:C2 165:-2", marked},
        {"another starting one went: the one that was cancelled stays",
         "picky cold180 r2 f2 sync +101 f4 +2 f3 +70 =3 +200 =3",
         "101:S1 101:S2 101:+2 101:+3 162:M3 162:C3 162:-2 162:U3", marked},
        {"nobody cancelled it: it drains before it works",
         "cold70 r2 f2 sync +101 f3 +5 frozen f2 +80 =2",
         "101:S1 101:+2 165:M2 165:C2 171:M2 171:D2", marked},
        {"others set less: not fought, and not wanted", "r3 f3 sync +101 spec2 +1 =3", "101:-2",
         marked},
        {"others set more: in when it is not needed", "r2 f2 sync +101 spec4 +59 =4 +80 =2",
         "101:+2 101:+3 162:M3 162:C3 162:M2 162:C2 162:-3 162:-2", marked},
        {"replicas that do not become ready are given up, and asked for again",
         "r1 f1 sync +101 stuck f2 +202 =3 ?2:pending ok +100 =2",
         "101:S1 101:+1 302:S2 302:+2 401:M1 401:C1 401:-1", marked},
        {"a rollout is none of the number", "cold20 r2 f2 sync +101 roll +10 =2 +15 =2 +100 =2 ?2:",
         "101:+2 121:-1 122:+3 142:-0", marked},
        {"… nor of the hold after a start", "cold20 r2 spec2 sync +1 roll +10 =2 +80 =2",
         "1:+2 21:-1 22:+3 42:-0", marked},
        {"rotated: its mark is seen before the number falls", "unseen f1 sync +350 =3 seen +2 =2",
         "0:S1 0:W2 0:+0 0:+1 220:W3 220:+2 320:M1 350:R1 350:-1", marked_rotates},
        {"… promoted instead: the mark is taken back", "unseen f1 sync +350 =3 f2 +4 =3",
         "0:S1 0:W2 0:+0 0:+1 220:W3 220:+2 320:M1 350:U1 350:P1", marked_rotates},
        {"a warm one is among them", "f1 sync +150 =2 f2 +10 =3",
         "0:S1 0:W2 0:+0 0:+1 150:P1 150:W3 150:+2", marked_one_warm},
    };

    (void)state;
    RUN(rows);
}

static void test_number_alone(void **state)
{
    static const struct world_row rows[] = {
        {"the number is what was decided", "r2 sync f4 +1 =4 ?4:", "0:+2 0:+3", numbered},
        {"it falls by the same rules", "r4 f4 sync +101 f3 +59 =4 ?4:hold +1 =3", "160:-3",
         numbered},
        {"… and not below what is in flight", "r4 f4 sync +101 o25 f1 +60 =4 ?4:inflight", "",
         numbered},
        {"what leaves is replaced by whoever keeps it", "r3 f3 sync +101 evict1 crash2 =3 +1 =3",
         "101:+2 101:+3", numbered},
        {"… and no number follows those that are slow to come", "r2 f2 sync frozen +101 f5 +300 =5",
         "", numbered},
        {"fewer than were asked for, for longer than a start may take",
         "r2 f2 sync frozen +101 f5 "
         "+201 ?5: +2 ?5:pending",
         "", numbered},
        {"others set less: it is wanted all the same", "r3 f3 sync +101 spec2 =3 +10 =3", "101:-2",
         numbered},
        {"after a start nothing less than what runs", "r4 sync +99 =4 ?4:restart", "", numbered},
        {"… nor than what was set", "r2 spec4 sync +99 =4", "0:+2 0:+3", numbered},
    };

    (void)state;
    RUN(rows);
}

static void test_zero(void **state)
{
    static const struct world_row rows[] = {
        {"none is a number", "sync +1 =0 +600 =0", "", numbered_to_zero},
        {"a first ticket wakes at once", "sync +100 wake =1", "", numbered_to_zero},
        {"in flight keeps the last one", "r1 sync o1 +600 =1", "", numbered_to_zero},
        {"to zero when none was there for in_after", "r1 sync o1 +200 o0 +59 =1 +2 =0", "259:-0",
         numbered_to_zero},
        {"marked: none is a number", "sync +1 =0 +600 =0", "", marked_to_zero},
        {"marked: a first ticket wakes at once", "sync +100 wake =1 q1 +1 =1", "100:S1 100:+0",
         marked_to_zero},
        {"marked: the last one drains first", "r1 sync o1 +200 o0 +65 =1 +6 =0",
         "259:M0 259:D0 269:R0 269:-0", marked_to_zero},
        {"marked: a ticket takes it back", "r1 sync o1 +200 o0 +65 wake =1 o1 +60 =1",
         "259:M0 259:D0 265:U0", marked_to_zero},
        {"marked: also when nobody followed yet",
         "r1 sync o1 +200 frozen o0 +75 =0 wake =1 o1 +60 =1", "259:M0 259:D0 269:R0 275:U0",
         marked_to_zero},
    };

    (void)state;
    RUN(rows);
}

/* ---- the same at random ---- */

#define STORM_REMOVALS 10000
#define STORM_SECONDS  2000000
#define STORM_LULL     2000 /* s, until all is as it was decided */

static void storm_config(struct pst_scaler_config *config)
{
    struct pst_scaler_pool *pool = &config->pools[0];

    marked(pool);
    pool->max = 16;
    pool->in_after = 5 * PST_S;
    pool->start_time = 10 * PST_S;
    pool->start_timeout = 60 * PST_S;
    pool->inflight_guard_ppm = 0;
}

/* Those that take work have some; one that drains finishes it. */
static void storm_work(struct world *w, struct pst_prng *prng)
{
    for (uint16_t r = 0; r < PST_REPLICAS_MAX; r++) {
        struct world_replica *replica = &w->replicas[r];

        if (!replica->is_there || replica->is_going)
            continue;
        if (replica->state == PST_REPLICA_READY)
            replica->inflight = 1 + (uint32_t)pst_prng_below(prng, 9);
        else if (w->now >= replica->drained_at)
            replica->inflight = 0;
        world_tell(w, r, false);
    }
}

static uint32_t number_of(const struct world *w)
{
    uint32_t number = 0;

    assert_true(pst_scaler_number(w->scaler, 0, &number));
    return number;
}

/* A replica that nobody told to go leaves: the number does not know. */
static void storm_loss(struct world *w, uint16_t r, bool crashes)
{
    const struct world_replica *replica = &w->replicas[r];
    uint32_t before = number_of(w);

    if (!replica->is_there || replica->is_marked || replica->is_going)
        return;
    if (crashes)
        world_vanish(w, r, true);
    else
        begin_to_end(w, r);
    if (number_of(w) != before)
        world_fail(w, "a loss changed the number");
}

static void storm_whims(struct world *w, struct pst_prng *prng)
{
    switch (pst_prng_below(prng, 60)) {
    case 0:
    case 1:
        world_floor(w, PST_FLOOR_PROFILE, 1 + (uint32_t)pst_prng_below(prng, 16), 0, PST_NEVER);
        break;
    case 2:
        storm_loss(w, (uint16_t)pst_prng_below(prng, 16), pst_prng_below(prng, 2) == 0);
        break;
    case 3:
        keeper.is_frozen = pst_prng_below(prng, 4) == 0;
        break;
    case 4:
        w->cold = (1 + pst_prng_below(prng, 20)) * PST_S;
        break;
    case 5:
        w->start = pst_prng_below(prng, 8) == 0 ? WORLD_START_STUCK : WORLD_START_OK;
        break;
    }
}

static void test_storm(void **state)
{
    struct pst_scaler_config config = world_config();
    struct pst_scaler_action decision;
    struct pst_prng prng;
    struct world w;

    (void)state;
    memset(&keeper, 0, sizeof keeper);
    storm_config(&config);
    world_init(&w, &config, "storm");
    w.keeper = &replica_set;
    pst_prng_init(&prng, 1);
    world_play(&w, "r1 f1 sync +101");
    for (int second = 0; keeper.removed < STORM_REMOVALS; second++) {
        assert_true(second < STORM_SECONDS);
        storm_whims(&w, &prng);
        storm_work(&w, &prng);
        world_second(&w);
        if (keeper.lost > 0)
            world_fail(&w, "work was lost");
        w.log[0] = '\0';
    }
    keeper.is_frozen = false;
    w.start = WORLD_START_OK;
    for (int i = 0; i < STORM_LULL; i++)
        world_second(&w);
    assert_true(pst_scaler_decision(w.scaler, 0, &decision));
    assert_int_equal(number_of(&w), decision.u.decision.desired);
    assert_int_equal(kept(&w), decision.u.decision.desired);
    assert_int_equal(decision.u.decision.ready, decision.u.decision.desired);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_known), cmocka_unit_test(test_marked),
        cmocka_unit_test(test_number_alone),  cmocka_unit_test(test_zero),
        cmocka_unit_test(test_storm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
