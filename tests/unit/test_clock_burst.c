/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a burst proves, of exchanges over wires whose delays are random, and of clocks that are
 * known.
 */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "common/arena.h"
#include "common/clock.h"
#include "common/clock_burst.h"

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

static struct rkt_clock_bursts bursts_of(const struct rkt_event *events, size_t count,
                                         struct rkt_arena *arena)
{
    struct rkt_clock_bursts bursts;
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_clock_bursts_make(events, count, 0, arena, &bursts, &err), err);
    return bursts;
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

static void check_bursts(const struct world *world, const struct rkt_clock_bursts *bursts,
                         const char *what)
{
    for (size_t k = 0; k < bursts->count; k++) {
        const struct rkt_clock_burst *burst = &bursts->items[k];
        int64_t truth = truth_ns(world, burst->local_ns);

        if (truth < burst->lower_ns || truth > burst->upper_ns)
            fail_msg("%s, burst %zu: %lld is not in [%lld, %lld]", what, k, (long long)truth,
                     (long long)burst->lower_ns, (long long)burst->upper_ns);
    }
}

static void truth_is_never_outside_the_interval(void **state)
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
        struct rkt_clock_bursts bursts;

        world.seed = c;
        for (size_t burst = 0; burst < 20; burst++)
            make_burst(&world, (uint32_t)burst, (1 + burst * 10) * (uint64_t)S, 40,
                       &events[burst * 40]);
        bursts = bursts_of(events, EVENTS, *state);
        assert_int_equal(bursts.count, 20);
        assert_int_equal(bursts.empty_count, 0);
        check_bursts(&world, &bursts, CASES[c / 20].what);
        rkt_arena_reset(*state);
    }
}

static void interval_is_near_the_shortest_round_trip(void **state)
{
    struct world world = {
        .seed = 3, .offset_ns = 123456789, .delay_min_ns = 8000, .jitter_ns = 2000};
    struct rkt_event events[40];
    struct rkt_clock_bursts bursts;

    make_burst(&world, 1, S, 40, events);
    bursts = bursts_of(events, 40, *state);
    assert_int_equal(bursts.count, 1);
    assert_in_range(bursts.items[0].upper_ns - bursts.items[0].lower_ns, 16000, 18000);
    assert_true(bursts.items[0].lower_ns < 123456789 && bursts.items[0].upper_ns > 123456789);
}

static void kept_exchanges_alone_are_the_same_bursts(void **state)
{
    struct world world = {
        .seed = 11, .offset_ns = -5000000, .drift_ppm = 9, .delay_min_ns = 6000, .jitter_ns = 9000};
    struct rkt_event all[10 * 30], kept[10 * 2];
    struct rkt_clock_bursts full, reduced;

    for (size_t burst = 0; burst < 10; burst++) {
        size_t lower = 0, upper = 0;

        make_burst(&world, (uint32_t)burst, (1 + burst) * (uint64_t)S, 30, &all[burst * 30]);
        assert_true(rkt_clock_burst_keep(&all[burst * 30], 30, &lower, &upper));
        kept[burst * 2] = all[burst * 30 + lower];
        kept[burst * 2 + 1] = all[burst * 30 + upper];
    }
    full = bursts_of(all, 300, *state);
    reduced = bursts_of(kept, 20, *state);
    assert_int_equal(full.count, 10);
    assert_int_equal(full.count, reduced.count);
    assert_memory_equal(full.items, reduced.items, full.count * sizeof(*full.items));
}

static void order_of_exchanges_does_not_matter(void **state)
{
    struct world world = {.seed = 5, .offset_ns = 77, .delay_min_ns = 6000, .jitter_ns = 9000};
    struct rkt_event events[60], reversed[60];
    struct rkt_clock_bursts a, b;

    make_burst(&world, 1, S, 30, events);
    make_burst(&world, 2, 2 * S, 30, events + 30);
    for (size_t i = 0; i < 60; i++)
        reversed[i] = events[59 - i];
    a = bursts_of(events, 60, *state);
    b = bursts_of(reversed, 60, *state);
    assert_int_equal(a.count, 2);
    assert_int_equal(b.count, 2);
    assert_memory_equal(a.items, b.items, 2 * sizeof(*a.items));
    assert_true(a.items[0].local_ns < a.items[1].local_ns);
}

static void bursts_are_of_one_peer(void **state)
{
    struct world world = {.seed = 5, .offset_ns = 77, .delay_min_ns = 6000, .jitter_ns = 9000};
    struct rkt_event events[61];

    make_burst(&world, 1, S, 30, events);
    make_burst(&world, 1, 2 * S, 30, events + 30);
    for (size_t i = 30; i < 60; i++)
        events[i].clock_exchange.peer_source = 7;
    events[60] = (struct rkt_event){.kind = RKT_EVENT_CLOCK_PAIR, .start_ns = 1, .end_ns = 2};
    assert_int_equal(bursts_of(events, 61, *state).count, 1);
    assert_true(bursts_of(events, 61, *state).items[0].local_ns < 2 * (uint64_t)S);
    assert_int_equal(bursts_of(events, 61, *state).senseless_count, 0);
}

static void burst_over_a_clock_step_is_left_out_and_counted(void **state)
{
    struct world world = {.seed = 5, .offset_ns = 0, .delay_min_ns = 6000, .jitter_ns = 900};
    struct rkt_event events[40];
    struct rkt_clock_bursts bursts;

    make_burst(&world, 1, S, 20, events);
    make_burst(&world, 2, 2 * S, 10, events + 20);
    world.offset_ns = 5 * MS;
    make_burst(&world, 2, (uint64_t)(2 * S + 5 * MS), 10, events + 30);
    bursts = bursts_of(events, 40, *state);
    assert_int_equal(bursts.empty_count, 1);
    assert_int_equal(bursts.count, 1);
}

static void limits_of_a_burst_under_way_are_those_of_its_exchanges(void **state)
{
    struct world world = {.seed = 9, .offset_ns = 4, .delay_min_ns = 6000, .jitter_ns = 900};
    struct rkt_clock_limits limits = {0};
    struct rkt_event events[RKT_BURST_EXCHANGES_MAX];
    struct rkt_event senseless = {.kind = RKT_EVENT_CLOCK_EXCHANGE, .start_ns = 9, .end_ns = 5};
    int64_t width_ns, widened_ns;

    assert_int_equal(rkt_clock_limits_width_ns(&limits), INT64_MAX);
    rkt_clock_limits_add(&limits, &senseless);
    assert_int_equal(rkt_clock_limits_width_ns(&limits), INT64_MAX);
    make_burst(&world, 1, S, 40, events);
    for (size_t i = 0; i < 40; i++)
        rkt_clock_limits_add(&limits, &events[i]);
    width_ns = rkt_clock_limits_width_ns(&limits);
    widened_ns = bursts_of(events, 40, *state).items[0].upper_ns -
                 bursts_of(events, 40, *state).items[0].lower_ns;
    assert_in_range(widened_ns - width_ns, 2, 2000);
}

static void a_burst_ends_when_it_is_about_as_narrow_as_the_best(void **state)
{
    struct rkt_clock_limits limits = {true, 0, 11500};

    (void)state;
    assert_false(rkt_clock_limits_are_enough(&limits, 7, 10000));
    assert_true(rkt_clock_limits_are_enough(&limits, 8, 10000));
    limits.upper_ns++;
    assert_false(rkt_clock_limits_are_enough(&limits, 8, 10000));
    assert_false(rkt_clock_limits_are_enough(&limits, RKT_BURST_EXCHANGES_MAX - 1, 10000));
    assert_true(rkt_clock_limits_are_enough(&limits, RKT_BURST_EXCHANGES_MAX, 10000));
}

static void patience_grows_with_the_way(void **state)
{
    (void)state;
    assert_int_equal(rkt_burst_patience_ns(0), 300000);
    assert_int_equal(rkt_burst_patience_ns(16000), 300000);
    assert_int_equal(rkt_burst_patience_ns(500000), 4000000);
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
        {"no stamp here", 0, 50, 60, 90},
        {"no stamp there", 100, 0, 60, 250},
        {"centuries apart", 100, UINT64_MAX / 2, UINT64_MAX / 2 + 1, 200},
    };

    for (size_t c = 0; c < sizeof(CASES) / sizeof(CASES[0]); c++) {
        struct rkt_event event = {
            .kind = RKT_EVENT_CLOCK_EXCHANGE, .start_ns = CASES[c].t1, .end_ns = CASES[c].t4};
        struct rkt_clock_bursts bursts;
        size_t lower, upper;

        event.clock_exchange.t2_ns = CASES[c].t2;
        event.clock_exchange.t3_ns = CASES[c].t3;
        bursts = bursts_of(&event, 1, *state);
        if (bursts.count != 0 || bursts.senseless_count != 1)
            fail_msg("%s: taken", CASES[c].what);
        assert_false(rkt_clock_burst_keep(&event, 1, &lower, &upper));
    }
}

/* ---- claims of true time ---- */

static struct rkt_event claim_at(uint64_t start_ns, uint64_t took_ns, uint64_t earliest_ns,
                                 uint64_t latest_ns)
{
    struct rkt_event claim = {
        .kind = RKT_EVENT_CLOCK_TRUE, .start_ns = start_ns, .end_ns = start_ns + took_ns};

    claim.clock_true.earliest_ns = earliest_ns;
    claim.clock_true.latest_ns = latest_ns;
    return claim;
}

static void a_claim_limits_true_time_over_its_reading(void **state)
{
    struct rkt_arena *arena = *state;
    const struct rkt_event events[] = {
        claim_at(5000, 100, 1000700, 1000900),
        {.kind = RKT_EVENT_CLOCK_EXCHANGE, .start_ns = 7000, .end_ns = 8000},
        claim_at(2000, 0, 900000, 900000),
    };
    struct rkt_clock_bursts claims, bursts;
    struct rkt_error err;

    assert_rkt_ok(rkt_clock_claims_make(events, 3, arena, &claims, &err), err);
    assert_true(claims.are_claims);
    assert_int_equal(claims.count, 2);
    assert_int_equal(claims.items[0].local_ns, 2000);
    assert_int_equal(claims.items[1].local_ns, 5050);
    /* true time was at least 1000700 at the end of the reading, and at most 1000900 at its start; 2
     * ns for the clocks' steps and their drift */
    assert_int_equal(claims.items[1].lower_ns, 1000700 - 5100 - 2);
    assert_int_equal(claims.items[1].upper_ns, 1000900 - 5000 + 2);
    assert_rkt_ok(rkt_clock_bursts_make(events, 3, 0, arena, &bursts, &err), err);
    assert_false(bursts.are_claims);
    assert_int_equal(bursts.count, 0);
}

static void claims_without_sense_are_counted_and_left_out(void **state)
{
    struct rkt_arena *arena = *state;
    const struct rkt_event events[] = {
        claim_at(0, 100, 1000, 1000),             /* a stamp that is none */
        claim_at(5000, 100, 1001, 1000),          /* later than the latest */
        claim_at(5000, 2 * (uint64_t)S, 1, 1000), /* read for two seconds */
        claim_at(5000, 100, 1, UINT64_MAX),       /* past all times */
        claim_at(UINT64_MAX - 50, 100, 1, 1000),  /* it ends before it starts */
    };
    struct rkt_clock_bursts claims;
    struct rkt_error err;

    assert_rkt_ok(rkt_clock_claims_make(events, 5, arena, &claims, &err), err);
    assert_int_equal(claims.count, 0);
    assert_int_equal(claims.senseless_count, 5);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_arena, drop_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(truth_is_never_outside_the_interval),
        CASE(interval_is_near_the_shortest_round_trip),
        CASE(kept_exchanges_alone_are_the_same_bursts),
        CASE(order_of_exchanges_does_not_matter),
        CASE(bursts_are_of_one_peer),
        CASE(burst_over_a_clock_step_is_left_out_and_counted),
        CASE(limits_of_a_burst_under_way_are_those_of_its_exchanges),
        CASE(a_burst_ends_when_it_is_about_as_narrow_as_the_best),
        CASE(patience_grows_with_the_way),
        CASE(senseless_stamps_are_no_exchanges),
        CASE(a_claim_limits_true_time_over_its_reading),
        CASE(claims_without_sense_are_counted_and_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
