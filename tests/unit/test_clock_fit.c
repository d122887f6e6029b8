/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <stdlib.h>

#include "common/arena.h"
#include "common/clock.h"
#include "common/clock_fit.h"

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)

/* A pair of clocks with a known offset (reference minus local) and wires with random delays. */
struct world {
    uint64_t seed;
    int64_t offset_ns; /* at local time 0 */
    double drift_ppm;
    int64_t delay_min_ns;
    int64_t jitter_ns;
    int64_t asymmetry_ns; /* added on the way to the reference */
};

static uint64_t next_random(struct world *world)
{
    world->seed = world->seed * 6364136223846793005u + 1442695040888963407u;
    return world->seed >> 33;
}

static int64_t truth_ns(const struct world *world, uint64_t local_ns)
{
    return world->offset_ns + (int64_t)((double)local_ns * world->drift_ppm * 1e-6);
}

static int64_t delay_ns(struct world *world)
{
    int64_t delay =
        world->delay_min_ns + (int64_t)(next_random(world) % (uint64_t)world->jitter_ns);

    /* one in 16 meets a busy machine */
    return next_random(world) % 16 == 0 ? delay + (int64_t)(next_random(world) % (uint64_t)(5 * MS))
                                        : delay;
}

/* One burst of `count` exchanges from local time `at_ns` on. */
static void make_burst(struct world *world, uint32_t number, uint64_t at_ns, size_t count,
                       struct rkt_event *out)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t there = at_ns + (uint64_t)(delay_ns(world) + world->asymmetry_ns);
        uint64_t answered = there + 300 + next_random(world) % 200;
        uint64_t back = answered + (uint64_t)delay_ns(world);

        out[i] = (struct rkt_event){.kind = RKT_EVENT_CLOCK_EXCHANGE,
                                    .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                    .start_ns = at_ns,
                                    .end_ns = back};
        out[i].clock_exchange.t2_ns = there + (uint64_t)truth_ns(world, there);
        out[i].clock_exchange.t3_ns = answered + (uint64_t)truth_ns(world, answered);
        out[i].clock_exchange.burst = number;
        at_ns = back + 500;
    }
}

static struct rkt_align_info fit(const struct rkt_event *events, size_t count,
                                 struct rkt_arena *arena, size_t *rejected_out)
{
    struct rkt_align_info align = {0};
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_clock_fit(events, count, arena, &align, rejected_out, &err), err);
    return align;
}

static int make_arena(void **state)
{
    struct rkt_arena *arena = malloc(sizeof(*arena));

    rkt_arena_init(arena, 64u << 20);
    *state = arena;
    return 0;
}

static int drop_arena(void **state)
{
    rkt_arena_release(*state);
    free(*state);
    return 0;
}

static void check_knots(const struct world *world, const struct rkt_align_info *align,
                        const char *what)
{
    assert_in_range(align->knot_count, 15, 20);
    for (size_t k = 0; k < align->knot_count; k++) {
        const struct rkt_align_knot *knot = &align->knots[k];
        int64_t miss = llabs(truth_ns(world, knot->local_ns) - knot->offset_ns);

        if (miss > knot->bound_ns)
            fail_msg("%s, knot %zu: off by %lld, bound %lld", what, k, (long long)miss,
                     (long long)knot->bound_ns);
    }
}

static void truth_is_never_outside_the_bound_at_a_knot(void **state)
{
    static const struct {
        const char *what;
        struct world world;
    } CASES[] = {
        {"near clocks", {.delay_min_ns = 7000, .jitter_ns = 3000}},
        {"far behind", {0, -900 * S, 14.5, 7000, 30000, 0}},
        {"far ahead", {0, 8000 * S, -40, 1000, 500, 0}},
        {"one way slower", {0, 55, 20, 7000, 1, 4000}},
        {"worst drift", {0, 1, 49, 100, 50, 0}},
    };
    enum {
        EVENTS = 20 * 40
    };
    static struct rkt_event events[EVENTS];

    for (size_t c = 0; c < sizeof(CASES) / sizeof(CASES[0]) * 20; c++) {
        struct world world = CASES[c / 20].world;
        struct rkt_align_info align;
        size_t rejected = 99;

        world.seed = c;
        for (size_t burst = 0; burst < 20; burst++)
            make_burst(&world, (uint32_t)burst, (1 + burst * 10) * (uint64_t)S, 40,
                       &events[burst * 40]);
        align = fit(events, EVENTS, *state, &rejected);
        assert_int_equal(rejected, 0);
        assert_int_equal(align.state, RKT_ALIGN_MEASURED);
        check_knots(&world, &align, CASES[c / 20].what);
        rkt_arena_reset(*state);
    }
}

static void bound_is_near_half_the_shortest_round_trip(void **state)
{
    struct world world = {
        .seed = 3, .offset_ns = 123456789, .delay_min_ns = 8000, .jitter_ns = 2000};
    struct rkt_event events[40];
    struct rkt_align_info align;

    make_burst(&world, 1, S, 40, events);
    align = fit(events, 40, *state, NULL);
    assert_int_equal(align.knot_count, 1);
    assert_in_range(align.knots[0].bound_ns, 7500, 10000);
    assert_in_range(llabs(align.knots[0].offset_ns - 123456789), 0, 2000);
}

static void kept_exchanges_alone_give_the_same_knots(void **state)
{
    struct world world = {
        .seed = 11, .offset_ns = -5000000, .drift_ppm = 9, .delay_min_ns = 6000, .jitter_ns = 9000};
    struct rkt_event all[10 * 30], kept[10 * 2];
    struct rkt_align_info full, reduced;

    for (size_t burst = 0; burst < 10; burst++) {
        size_t lower = 0, upper = 0;

        make_burst(&world, (uint32_t)burst, (1 + burst) * (uint64_t)S, 30, &all[burst * 30]);
        assert_true(rkt_clock_keep(&all[burst * 30], 30, &lower, &upper));
        kept[burst * 2] = all[burst * 30 + lower];
        kept[burst * 2 + 1] = all[burst * 30 + upper];
    }
    full = fit(all, 300, *state, NULL);
    reduced = fit(kept, 20, *state, NULL);
    assert_int_equal(full.knot_count, reduced.knot_count);
    assert_memory_equal(full.knots, reduced.knots, full.knot_count * sizeof(*full.knots));
}

static void order_of_exchanges_does_not_matter(void **state)
{
    struct world world = {.seed = 5, .offset_ns = 77, .delay_min_ns = 6000, .jitter_ns = 9000};
    struct rkt_event events[60], reversed[60];
    struct rkt_align_info a, b;

    make_burst(&world, 1, S, 30, events);
    make_burst(&world, 2, 2 * S, 30, events + 30);
    for (size_t i = 0; i < 60; i++)
        reversed[i] = events[59 - i];
    a = fit(events, 60, *state, NULL);
    b = fit(reversed, 60, *state, NULL);
    assert_int_equal(a.knot_count, 2);
    assert_int_equal(b.knot_count, 2);
    assert_memory_equal(a.knots, b.knots, 2 * sizeof(*a.knots));
    assert_true(a.knots[0].local_ns < a.knots[1].local_ns);
}

static void burst_over_a_clock_step_is_left_out_and_counted(void **state)
{
    struct world world = {.seed = 5, .offset_ns = 0, .delay_min_ns = 6000, .jitter_ns = 900};
    struct rkt_event events[40];
    struct rkt_align_info align;
    size_t rejected = 0;

    make_burst(&world, 1, S, 20, events);
    make_burst(&world, 2, 2 * S, 10, events + 20);
    world.offset_ns = 5 * MS;
    make_burst(&world, 2, (uint64_t)(2 * S + 5 * MS), 10, events + 30);
    align = fit(events, 40, *state, &rejected);
    assert_int_equal(rejected, 1);
    assert_int_equal(align.knot_count, 1);
}

static void wide_burst_between_good_ones_is_left_out_unless_it_disagrees(void **state)
{
    struct world good = {.seed = 5, .offset_ns = 0, .delay_min_ns = 6000, .jitter_ns = 900};
    struct world busy = {
        .seed = 6, .offset_ns = 0, .delay_min_ns = 6000, .jitter_ns = 1, .asymmetry_ns = 3 * MS};
    struct world stepped = busy;
    struct rkt_event events[60];

    stepped.offset_ns = -10 * MS;
    make_burst(&good, 1, S, 20, events);
    make_burst(&busy, 2, 2 * S, 20, events + 20);
    make_burst(&good, 3, 3 * S, 20, events + 40);
    assert_int_equal(fit(events, 60, *state, NULL).knot_count, 2);
    make_burst(&stepped, 2, 2 * S, 20, events + 20);
    assert_int_equal(fit(events, 60, *state, NULL).knot_count, 3);
    /* at an end of the run there is no line to trust */
    make_burst(&busy, 4, 4 * S, 20, events + 20);
    assert_int_equal(fit(events, 60, *state, NULL).knot_count, 3);
}

static void senseless_stamps_are_no_exchanges(void **state)
{
    static const struct {
        const char *what;
        uint64_t t1, t2, t3, t4;
    } CASES[] = {
        {"ends before its start", 100, 50, 60, 90},
        {"answered before it came", 100, 60, 50, 200},
        {"shorter than its answer", 100, 0, 1000, 200},
        {"stamp of all ones", 100, 50, 60, UINT64_MAX},
        {"centuries apart", 100, UINT64_MAX / 2, UINT64_MAX / 2 + 1, 200},
    };

    for (size_t c = 0; c < sizeof(CASES) / sizeof(CASES[0]); c++) {
        struct rkt_event event = {
            .kind = RKT_EVENT_CLOCK_EXCHANGE, .start_ns = CASES[c].t1, .end_ns = CASES[c].t4};
        struct rkt_align_info align;
        size_t lower, upper;

        event.clock_exchange.t2_ns = CASES[c].t2;
        event.clock_exchange.t3_ns = CASES[c].t3;
        align = fit(&event, 1, *state, NULL);
        if (align.state != RKT_ALIGN_UNALIGNED || align.knot_count != 0)
            fail_msg("%s: taken", CASES[c].what);
        assert_false(rkt_clock_keep(&event, 1, &lower, &upper));
    }
}

static void no_exchanges_is_unaligned(void **state)
{
    struct rkt_align_info align = fit(NULL, 0, *state, NULL);

    assert_int_equal(align.state, RKT_ALIGN_UNALIGNED);
    assert_int_equal(align.knot_count, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_arena, drop_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(truth_is_never_outside_the_bound_at_a_knot),
        CASE(bound_is_near_half_the_shortest_round_trip),
        CASE(kept_exchanges_alone_give_the_same_knots),
        CASE(order_of_exchanges_does_not_matter),
        CASE(burst_over_a_clock_step_is_left_out_and_counted),
        CASE(wide_burst_between_good_ones_is_left_out_unless_it_disagrees),
        CASE(senseless_stamps_are_no_exchanges),
        CASE(no_exchanges_is_unaligned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
