/* SPDX-License-Identifier: Apache-2.0 */
/* Curves through bursts of clocks that do what some clock may do. */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "common/clock_curve.h"

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define COUNT 60u
#define FIRST_NS (1000 * S)
#define PERIOD_NS (10 * S)
#define WIDTH_NS 16000

/* Offsets: a constant, a rate, and a jump after some burst. */
struct world {
    int64_t offset_ns;
    double rate_ppb;
    size_t jump_after; /* COUNT: none */
    int64_t jump_ns;
    uint64_t seed;
};

struct fixture {
    struct rkt_arena arena;
    struct rkt_clock_burst items[COUNT];
    struct rkt_clock_bursts bursts;
    struct rkt_clock_curve curve;
};

static int make_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    rkt_arena_init(&f->arena, 64u << 20);
    *state = f;
    return 0;
}

static int drop_fixture(void **state)
{
    struct fixture *f = *state;

    rkt_arena_release(&f->arena);
    free(f);
    return 0;
}

static int64_t truth_ns(const struct world *world, int64_t local_ns)
{
    int64_t jump_at_ns = FIRST_NS + (int64_t)world->jump_after * PERIOD_NS + PERIOD_NS / 2;

    return world->offset_ns + (int64_t)((double)(local_ns - FIRST_NS) * world->rate_ppb / 1e9) +
           (local_ns > jump_at_ns ? world->jump_ns : 0);
}

/*
 * The truth in each interval, which is up to a fifth wider than the narrowest; seed 0: all are
 * alike.
 */
static void make_bursts(struct fixture *f, const struct world *world, size_t count)
{
    uint64_t random = world->seed;

    for (size_t k = 0; k < count; k++) {
        int64_t local_ns = FIRST_NS + (int64_t)k * PERIOD_NS;
        int64_t more_ns;

        random = random * 6364136223846793005u + 1442695040888963407u;
        more_ns = world->seed == 0 ? 0 : (int64_t)(random >> 40) % (WIDTH_NS / 5);
        f->items[k] = (struct rkt_clock_burst){
            .local_ns = (uint64_t)local_ns,
            .lower_ns = truth_ns(world, local_ns) - WIDTH_NS / 2 - (k % 3 ? more_ns : 0),
            .upper_ns = truth_ns(world, local_ns) + WIDTH_NS / 2 + (k % 3 ? 0 : more_ns)};
    }
    f->bursts = (struct rkt_clock_bursts){.items = f->items, .count = count};
}

static void solve(struct fixture *f, uint32_t rho_ppb, uint32_t kappa_permille)
{
    const struct rkt_clock_params params = {rho_ppb, kappa_permille};
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_clock_curve_solve(&f->bursts, &params, &f->arena, &f->curve, &err), err);
}

static struct rkt_clock_point at(const struct fixture *f, int64_t local_ns)
{
    struct rkt_clock_point point;

    assert_true(rkt_clock_curve_at(&f->curve, local_ns, &point));
    assert_true(point.lower_ns <= point.offset_ns && point.offset_ns <= point.upper_ns);
    assert_true(point.lower_ns <= point.likely_lower_ns && point.likely_upper_ns <= point.upper_ns);
    return point;
}

static void check_truth(const struct fixture *f, const struct world *world, const char *what)
{
    for (int64_t t = FIRST_NS - 100 * S; t < FIRST_NS + (int64_t)(COUNT + 10) * PERIOD_NS;
         t += 777 * MS) {
        struct rkt_clock_point point = at(f, t);
        int64_t truth = truth_ns(world, t);

        if (truth < point.lower_ns - 1 || truth > point.upper_ns + 1)
            fail_msg("%s, at %lld s: %lld is not in [%lld, %lld]", what, (long long)(t / S),
                     (long long)truth, (long long)point.lower_ns, (long long)point.upper_ns);
    }
}

static void truth_is_inside_whatever_the_rate(void **state)
{
    static const struct {
        const char *what;
        struct world world;
    } CASES[] = {
        {"no rate", {0, 0, COUNT, 0, 1}},
        {"a usual one", {-5 * S, 14000, COUNT, 0, 2}},
        {"the fastest", {7777 * S, -100000, COUNT, 0, 3}},
        {"the fastest against the slowest", {7777 * S, 199000, COUNT, 0, 3}},
        {"none of a quartz", {7777 * S, 300000, COUNT, 0, 3}},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        make_bursts(f, &CASES[i].world, COUNT);
        solve(f, 0, 300);
        assert_int_equal(f->curve.flags, 0);
        assert_int_equal(f->curve.segment_count, 1);
        assert_in_range(f->curve.rho_ppb, 300, 600);
        check_truth(f, &CASES[i].world, CASES[i].what);
    }
}

/*
 * Half a second on a busy machine: a steady clock, bursts 30 ms apart with a long pause somewhere,
 * most of them wide, as one way or both were slow. What they tell of the rate is less than it
 * seems.
 */
static void truth_is_inside_when_bursts_are_few_and_poor(void **state)
{
    struct fixture *f = *state;
    uint64_t random = 99;

    for (int round = 0; round < 6000; round++) {
        static const double RATES_PPB[] = {-37500, 150000, -199000};
        size_t count = 3 + (size_t)(round % 18), pause = (size_t)(round / 18 % 20);
        int64_t local_ns = FIRST_NS;
        struct world world = {.rate_ppb = RATES_PPB[round / 2000], .jump_after = COUNT};

        for (size_t k = 0; k < count; k++) {
            int64_t more_ns[2] = {0, 0};

            for (int way = 0; way < 2; way++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                if (random >> 62 != 0)
                    more_ns[way] = (int64_t)(random >> 40) % (random >> 61 == 7 ? 150000 : 9000);
            }
            local_ns += 30 * MS + (k == pause ? 3 * S : 0);
            f->items[k] = (struct rkt_clock_burst){
                .local_ns = (uint64_t)local_ns,
                .lower_ns = truth_ns(&world, local_ns) - WIDTH_NS / 2 - more_ns[0],
                .upper_ns = truth_ns(&world, local_ns) + WIDTH_NS / 2 + more_ns[1]};
        }
        f->bursts = (struct rkt_clock_bursts){.items = f->items, .count = count};
        solve(f, 0, 300);
        for (int64_t t = FIRST_NS - S; t < local_ns + S; t += 7 * MS) {
            struct rkt_clock_point point = at(f, t);
            int64_t truth = truth_ns(&world, t);

            if (truth < point.lower_ns - 1 || truth > point.upper_ns + 1)
                fail_msg("round %d, at %lld ms: %lld is not in [%lld, %lld]", round,
                         (long long)((t - FIRST_NS) / MS), (long long)truth,
                         (long long)point.lower_ns, (long long)point.upper_ns);
        }
        rkt_arena_reset(&f->arena);
    }
}

static void check_narrow(struct fixture *f, double rate_ppb)
{
    const struct world world = {0, rate_ppb, COUNT, 0, 0};
    struct rkt_clock_point burst, middle;

    make_bursts(f, &world, COUNT);
    solve(f, 0, 300);
    burst = at(f, FIRST_NS + 30 * PERIOD_NS);
    middle = at(f, FIRST_NS + 30 * PERIOD_NS + PERIOD_NS / 2);
    assert_in_range(burst.upper_ns - burst.lower_ns, WIDTH_NS, WIDTH_NS + 2);
    /* 300 ppb over 5 s, and a little for what the rate is not known by */
    assert_in_range(middle.upper_ns - middle.lower_ns - (burst.upper_ns - burst.lower_ns), 2000,
                    4500);
    /* narrower by (1 - 0.3) of the narrowest */
    assert_in_range(burst.upper_ns - burst.lower_ns -
                        (burst.likely_upper_ns - burst.likely_lower_ns),
                    WIDTH_NS * 7 / 10 - 2, WIDTH_NS * 7 / 10 + 2);
}

static void bounds_are_narrow_at_bursts_and_open_in_between(void **state)
{
    check_narrow(*state, 5000);
    check_narrow(*state, 150000); /* a fast quartz against a slow one */
}

static void bounds_grow_outside_all_bursts(void **state)
{
    struct fixture *f = *state;
    const struct world world = {0, 5000, COUNT, 0, 5};
    int64_t last_ns = FIRST_NS + (int64_t)(COUNT - 1) * PERIOD_NS;
    int64_t before = 0;

    make_bursts(f, &world, COUNT);
    solve(f, 0, 300);
    for (int64_t after_s = 0; after_s < 3600; after_s += 60) {
        struct rkt_clock_point point = at(f, last_ns + after_s * S);
        int64_t width = point.upper_ns - point.lower_ns;

        assert_true(width >= before + (after_s > 0 ? 2 * 60 * 300 : 0));
        before = width;
        point = at(f, FIRST_NS - (after_s < 900 ? after_s : 900) * S);
        assert_true(point.upper_ns - point.lower_ns >= WIDTH_NS);
    }
}

static void one_burst_alone_says_what_quartzes_may_do(void **state)
{
    struct fixture *f = *state;
    const struct world world = {123, 0, COUNT, 0, 6};
    struct rkt_clock_point point;

    make_bursts(f, &world, 1);
    solve(f, 0, 300);
    point = at(f, FIRST_NS + S);
    assert_int_equal(point.offset_ns, at(f, FIRST_NS).offset_ns);
    assert_in_range(point.upper_ns - point.offset_ns, 200000, 215000); /* 200 ppm */
}

static void a_step_makes_two_segments_and_a_bound_over_both(void **state)
{
    static const int64_t JUMPS[] = {-3600 * S, -5 * MS, -60000, 200000, 5 * MS, 20 * S};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(JUMPS) / sizeof(JUMPS[0]); i++) {
        const struct world world = {0, 3000, 29, JUMPS[i], 7};

        make_bursts(f, &world, COUNT);
        solve(f, 0, 300);
        assert_int_equal(f->curve.segment_count, 2);
        assert_int_equal(f->curve.flags, RKT_CLOCK_STEPPED);
        assert_int_equal(f->curve.segments[0].count, 30);
        check_truth(f, &world, "a step");
        assert_true(at(f, FIRST_NS + 28 * PERIOD_NS).upper_ns -
                        at(f, FIRST_NS + 28 * PERIOD_NS).lower_ns <
                    INT64_C(2) * WIDTH_NS);
    }
}

static void one_burst_that_contradicts_all_others_is_left_out(void **state)
{
    static const size_t PLACES[] = {0, 1, 30, COUNT - 1};
    static const int64_t LIES_NS[] = {-S, 300000, 40 * S};
    struct fixture *f = *state;
    const struct world world = {0, 3000, COUNT, 0, 8};

    for (size_t i = 0; i < 12; i++) {
        size_t place = PLACES[i % 4];

        make_bursts(f, &world, COUNT);
        f->items[place].lower_ns += LIES_NS[i / 4];
        f->items[place].upper_ns += LIES_NS[i / 4];
        solve(f, 0, 300);
        if (f->curve.segment_count != 1 || f->curve.bad_count != 1 ||
            !(f->curve.flags & RKT_CLOCK_BAD_BURSTS))
            fail_msg("burst %zu off by %lld: %zu segments, %zu left out", place,
                     (long long)LIES_NS[i / 4], f->curve.segment_count, f->curve.bad_count);
        check_truth(f, &world, "a lie");
    }
}

static void bursts_of_a_liar_give_no_curve(void **state)
{
    struct fixture *f = *state;
    const struct world world = {0, 3000, COUNT, 0, 9};
    struct rkt_clock_point point;

    make_bursts(f, &world, COUNT);
    for (size_t k = 0; k < COUNT; k++) {
        int64_t lie_ns = (int64_t)(k * 7919 % 61) * (50 * MS);

        f->items[k].lower_ns += lie_ns;
        f->items[k].upper_ns += lie_ns;
    }
    solve(f, 0, 300);
    assert_true(f->curve.flags & RKT_CLOCK_CONTRADICTORY);
    assert_int_equal(f->curve.segment_count, 0);
    assert_false(rkt_clock_curve_at(&f->curve, FIRST_NS, &point));
}

static void a_rho_that_the_bursts_disprove_is_widened_and_said(void **state)
{
    struct fixture *f = *state;
    const struct world world = {0, 0, COUNT, 0, 10};

    make_bursts(f, &world, COUNT);
    for (size_t k = 0; k < COUNT; k++) { /* a rate that swings by 8 ppm from gap to gap */
        f->items[k].lower_ns += k % 2 ? 0 : 40000;
        f->items[k].upper_ns += k % 2 ? 0 : 40000;
    }
    solve(f, 1, 300);
    assert_int_equal(f->curve.flags & (RKT_CLOCK_RHO_GIVEN | RKT_CLOCK_RHO_WIDENED),
                     RKT_CLOCK_RHO_GIVEN | RKT_CLOCK_RHO_WIDENED);
    assert_true(f->curve.rho_ppb > 1);
    solve(f, 4000, 300);
    assert_int_equal(f->curve.flags, RKT_CLOCK_RHO_GIVEN);
    assert_int_equal(f->curve.rho_ppb, 4000);
}

static void a_kappa_that_the_bursts_disprove_is_widened_and_said(void **state)
{
    struct fixture *f = *state;
    const struct world world = {0, 3000, COUNT, 0, 11};

    make_bursts(f, &world, COUNT);
    for (size_t k = 0; k < COUNT; k += 2) { /* two routes in turn, one with a slow way back */
        f->items[k].lower_ns -= 14000;
        f->items[k].upper_ns -= 14000;
    }
    solve(f, 300, 10);
    assert_true(f->curve.flags & RKT_CLOCK_ASYMMETRIC);
    assert_true(f->curve.kappa_permille > 10);
    solve(f, 300, 1000);
    assert_false(f->curve.flags & RKT_CLOCK_ASYMMETRIC);
    assert_int_equal(at(f, FIRST_NS).likely_lower_ns, at(f, FIRST_NS).lower_ns);
}

static void a_minute_without_a_burst_is_said(void **state)
{
    struct fixture *f = *state;
    const struct world world = {0, 3000, COUNT, 0, 12};
    struct rkt_clock_point point;

    make_bursts(f, &world, COUNT);
    memmove(&f->items[20], &f->items[40], 20 * sizeof(*f->items));
    f->bursts.count = 40;
    solve(f, 0, 300);
    assert_int_equal(f->curve.flags, RKT_CLOCK_SILENT);
    point = at(f, FIRST_NS + 30 * PERIOD_NS);
    assert_in_range(point.upper_ns - point.offset_ns, 30000, 60000); /* 105 s x 300 ppb */
    check_truth(f, &world, "silence");
}

static void no_bursts_give_no_curve(void **state)
{
    struct fixture *f = *state;
    struct rkt_clock_point point;

    solve(f, 0, 300);
    assert_int_equal(f->curve.segment_count, 0);
    assert_int_equal(f->curve.flags, 0);
    assert_false(rkt_clock_curve_at(&f->curve, FIRST_NS, &point));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_fixture, drop_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(truth_is_inside_whatever_the_rate),
        CASE(truth_is_inside_when_bursts_are_few_and_poor),
        CASE(bounds_are_narrow_at_bursts_and_open_in_between),
        CASE(bounds_grow_outside_all_bursts),
        CASE(one_burst_alone_says_what_quartzes_may_do),
        CASE(a_step_makes_two_segments_and_a_bound_over_both),
        CASE(one_burst_that_contradicts_all_others_is_left_out),
        CASE(bursts_of_a_liar_give_no_curve),
        CASE(a_rho_that_the_bursts_disprove_is_widened_and_said),
        CASE(a_kappa_that_the_bursts_disprove_is_widened_and_said),
        CASE(a_minute_without_a_burst_is_said),
        CASE(no_bursts_give_no_curve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
