/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks from collectives alone: by hand, against all paths of a small graph, and on made-up
 * runs. */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "common/align_at.h"
#include "common/clock.h"
#include "common/clock_collectives.h"
#include "common/clock_curve.h"

#define US INT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define PARTS_MAX 20000u

struct fixture {
    struct rkt_arena arena;
    struct rkt_clock_part items[PARTS_MAX];
    struct rkt_clock_parts parts;
    struct rkt_clock_ties ties;
    uint64_t random;
};

static int make(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    if (!f)
        return -1;
    rkt_arena_init(&f->arena, (size_t)1 << 30);
    f->parts.items = f->items;
    f->random = 88172645463325252u;
    return 0;
}

static int release(void **state)
{
    struct fixture *f = *state;

    rkt_arena_release(&f->arena);
    free(f);
    return 0;
}

static void add(struct fixture *f, uint32_t collective, uint32_t clock, int64_t start_ns,
                int64_t end_ns)
{
    assert_true(f->parts.count < PARTS_MAX);
    f->items[f->parts.count++] = (struct rkt_clock_part){.clock = clock,
                                                         .collective = collective,
                                                         .start_ns = start_ns,
                                                         .end_ns = end_ns,
                                                         .gives = true,
                                                         .takes = true};
    if (clock >= f->parts.clock_count)
        f->parts.clock_count = clock + 1;
    if (collective >= f->parts.collective_count)
        f->parts.collective_count = collective + 1;
}

static void solve(struct fixture *f, uint32_t rho_ppb)
{
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_clock_collectives_solve(&f->parts, rho_ppb, &f->arena, &f->ties, &err), err);
    assert_int_equal(f->ties.count, f->parts.clock_count);
    assert_int_equal(f->ties.items[f->parts.reference].align.state, RKT_ALIGN_REFERENCE);
}

/* The interval at each of a clock's knots, give or take what rho and rounding add at 1 ppb. */
static void assert_between(const struct fixture *f, uint32_t clock, int64_t lower_ns,
                           int64_t upper_ns)
{
    const struct rkt_align_info *align = &f->ties.items[clock].align;

    assert_true(f->ties.items[clock].is_tied);
    assert_int_equal(align->state, RKT_ALIGN_COLLECTIVES);
    assert_true(align->knot_count > 0);
    for (size_t i = 0; i < align->knot_count; i++) {
        const struct rkt_align_knot *knot = &align->knots[i];

        assert_in_range(knot->bound_ns - (upper_ns - lower_ns) / 2, 0, 20);
        assert_in_range(knot->offset_ns + knot->bound_ns - upper_ns + 20, 0, 40);
        assert_in_range(lower_ns - (knot->offset_ns - knot->bound_ns) + 20, 0, 40);
    }
}

/* Clock 1 is ahead by 1,000 us. All durations are in the bound: nobody knows who was last. */
static void one_collective_bounds_by_both_durations(void **state)
{
    struct fixture *f = *state;

    add(f, 0, 0, 100 * US, 130 * US);
    add(f, 0, 1, 1110 * US, 1140 * US);
    solve(f, 1);
    assert_between(f, 1, -1040 * US, -980 * US);
    assert_false(f->ties.items[1].has_rate);
    assert_int_equal(f->ties.items[1].collective_count, 1);
}

/* Clock 0 is last to the first and clock 1 to the second: 10 and 11 us of transfer remain. */
static void the_last_to_arrive_bounds_one_side(void **state)
{
    struct fixture *f = *state;

    add(f, 0, 0, 200 * US, 210 * US);
    add(f, 0, 1, 1100 * US, 1212 * US);
    add(f, 1, 0, 250 * US, 312 * US);
    add(f, 1, 1, 1300 * US, 1311 * US);
    solve(f, 1);
    assert_between(f, 1, -1012 * US, -988 * US);
}

/* 400 ms from both, clocks of 200 ppm may have moved 80 us; 0.8 s tell no rate. */
static void between_collectives_the_bound_opens_by_rho(void **state)
{
    struct fixture *f = *state;
    struct rkt_align_point point;

    for (uint32_t clock = 0; clock < 2; clock++) {
        add(f, 0, clock, 0, 10 * US);
        add(f, 1, clock, 800 * MS, 800 * MS + 10 * US);
    }
    solve(f, 200000);
    point = rkt_align_at(&f->ties.items[1].align, 400 * MS);
    assert_in_range(point.bound_ns, 10 * US + 80 * US, 10 * US + 81 * US);
    point = rkt_align_at(&f->ties.items[1].align, 10 * US + 1 * MS);
    assert_in_range(point.bound_ns, 10 * US + 200, 10 * US + 220);
    point = rkt_align_at(&f->ties.items[1].align, 2 * S);
    assert_true(point.bound_ns >= 10 * US + 240 * US);
}

/* Two, 10 us each, 10 s apart: +- 2 ppm as a mean, hence +- 7 at all times, with the wander. */
static void far_apart_collectives_bound_the_rate(void **state)
{
    struct fixture *f = *state;
    const struct rkt_align_info *align;
    struct rkt_align_point point;

    for (uint32_t clock = 0; clock < 2; clock++) {
        add(f, 0, clock, 0, 10 * US);
        add(f, 1, clock, 10 * S, 10 * S + 10 * US);
    }
    solve(f, 0);
    align = &f->ties.items[1].align;
    assert_int_equal(f->ties.wander_ppb, RKT_COLLECTIVES_WANDER_PPB);
    point = rkt_align_at(align, 5 * S);
    assert_in_range(point.bound_ns, 10 * US + 35 * US, 10 * US + 36 * US);
    point = rkt_align_at(align, 15 * S);
    assert_in_range(point.bound_ns, 10 * US + 35 * US, 10 * US + 36 * US);
    assert_in_range(align->growth_ppb, 7000, 7010);
    assert_true(f->ties.items[1].has_rate);
    assert_in_range(f->ties.items[1].rate_max_ppb, 2000, 2002);
}

/* A collective each second, 10 us long; after half of them clock 1 runs by so much faster. */
static void a_change_of_rate_disproves_the_wander(void **state)
{
    static const struct {
        int64_t from_ppb;
        int64_t to_ppb;
        uint32_t wander_ppb;
    } CASES[] = {
        {30000, 31000, 5000}, {30000, 36000, 20000}, {0, 30000, 160000}, {-95000, 95000, 0}};
    struct fixture *f = *state;

    for (size_t c = 0; c < sizeof(CASES) / sizeof(CASES[0]); c++) {
        int64_t off_ns = 0;

        f->parts.count = f->parts.collective_count = 0;
        for (uint32_t k = 0; k < 60; k++) {
            add(f, k, 0, S + k * S, S + k * S + 10 * US);
            add(f, k, 1, S + k * S + off_ns, S + k * S + off_ns + 10 * US);
            off_ns += k < 30 ? CASES[c].from_ppb : CASES[c].to_ppb;
        }
        solve(f, 0);
        assert_int_equal(f->ties.wander_ppb, CASES[c].wander_ppb);
        assert_true(f->ties.items[1].is_tied);
        off_ns = 0;
        for (int64_t k = 0; k < 59; k++) {
            int64_t step_ns = k < 30 ? CASES[c].from_ppb : CASES[c].to_ppb;

            for (int64_t tenth = 0; tenth < 10; tenth++) {
                int64_t true_off_ns = off_ns + step_ns * tenth / 10;
                int64_t local_ns = S + k * S + tenth * 100 * MS + true_off_ns;
                struct rkt_align_point point = rkt_align_at(&f->ties.items[1].align, local_ns);

                assert_true(llabs(point.offset_ns + true_off_ns) <= point.bound_ns);
            }
            off_ns += step_ns;
        }
    }
}

/* 0 with 1, 1 with 2, in different collectives: offsets add, and so do the widths. */
static void a_clock_is_tied_over_another(void **state)
{
    struct fixture *f = *state;

    add(f, 0, 0, 200 * US, 210 * US);
    add(f, 0, 1, 1200 * US, 1210 * US);
    add(f, 1, 1, 1300 * US, 1320 * US);
    add(f, 1, 2, 5300 * US, 5320 * US);
    solve(f, 1);
    assert_between(f, 1, -1010 * US, -990 * US);
    assert_between(f, 2, -5030 * US, -4970 * US);
}

/* Nothing says that the root of a Broadcast did not end before the others began. */
static void a_broadcast_alone_ties_nobody(void **state)
{
    struct fixture *f = *state;

    add(f, 0, 0, 200 * US, 210 * US);
    add(f, 0, 1, 1200 * US, 1210 * US);
    f->items[0].gives = false;
    f->items[1].takes = false;
    solve(f, 1);
    assert_false(f->ties.items[1].is_tied);
    assert_int_equal(f->ties.items[1].align.state, RKT_ALIGN_UNALIGNED);

    /* One the other way round, and it is. */
    add(f, 1, 0, 250 * US, 260 * US);
    add(f, 1, 1, 1250 * US, 1260 * US);
    f->items[2].takes = false;
    f->items[3].gives = false;
    solve(f, 1);
    assert_between(f, 1, -1010 * US, -990 * US);
}

static void without_a_common_collective_nothing_is_aligned(void **state)
{
    struct fixture *f = *state;

    add(f, 0, 0, 200 * US, 210 * US);
    add(f, 1, 1, 200 * US, 210 * US);
    solve(f, 0);
    assert_false(f->ties.items[1].is_tied);
    assert_int_equal(f->ties.flags, 0);
}

/* Clock 1 is 1,000 us ahead in one collective and 2,000 us 1 ms later. */
static void impossible_stamps_align_nothing(void **state)
{
    struct fixture *f = *state;

    add(f, 0, 0, 200 * US, 210 * US);
    add(f, 0, 1, 1200 * US, 1210 * US);
    add(f, 1, 0, 1200 * US, 1210 * US);
    add(f, 1, 1, 3200 * US, 3210 * US);
    solve(f, 0);
    assert_false(f->ties.items[1].is_tied);
    assert_true(f->ties.flags & RKT_CLOCK_CONTRADICTORY);
}

/*
 * Clocks 1 and 2 contradict each other by 100 us, and are tied to 0 within 1 s: the bounds would
 * meet only after 10,000 rounds.
 */
static void a_contradiction_far_below_the_bounds_is_one(void **state)
{
    struct fixture *f = *state;

    for (uint32_t clock = 0; clock < 3; clock++)
        add(f, 0, clock, 0, S);
    add(f, 1, 1, S, S + 10 * US);
    add(f, 1, 2, S, S + 10 * US);
    add(f, 2, 1, S + 500 * US, S + 510 * US);
    add(f, 2, 2, S + 630 * US, S + 640 * US);
    solve(f, 0);
    assert_false(f->ties.items[1].is_tied);
    assert_true(f->ties.flags & RKT_CLOCK_CONTRADICTORY);
}

/* 150 ppm: more than two free quartzes, less than NTP's fastest. */
static void a_fast_slew_widens_rho(void **state)
{
    struct fixture *f = *state;

    for (int64_t i = 0; i < 10; i++) {
        int64_t at_ns = i * (S + 150 * US);

        add(f, (uint32_t)i, 0, i * S, i * S + 10 * US);
        add(f, (uint32_t)i, 1, at_ns, at_ns + 10 * US);
    }
    solve(f, 0);
    assert_true(f->ties.items[1].is_tied);
    assert_true(f->ties.flags & RKT_CLOCK_RHO_WIDENED);
    assert_int_equal(f->ties.rho_ppb, 200000);
    assert_true(f->ties.items[1].has_rate);
    assert_in_range(-f->ties.items[1].rate_max_ppb, 140000, 150100);
    assert_in_range(-f->ties.items[1].rate_min_ppb, 149000, 160000);
}

static void stamps_without_sense_are_left_out(void **state)
{
    struct fixture *f = *state;
    struct rkt_error err;

    add(f, 0, 0, 200 * US, 210 * US);
    add(f, 0, 1, 1210 * US, 1200 * US);
    add(f, 1, 0, -5, INT64_MAX);
    add(f, 1, 1, INT64_MAX - 1, INT64_MAX);
    solve(f, 0);
    assert_false(f->ties.items[1].is_tied);
    assert_int_equal(f->ties.items[1].collective_count, 0);

    f->parts.clock_count = 1;
    assert_rkt_status(rkt_clock_collectives_solve(&f->parts, 0, &f->arena, &f->ties, &err),
                      RKT_ERR_INVALID);
    f->parts.clock_count = 2;
    f->parts.reference = 2;
    assert_rkt_status(rkt_clock_collectives_solve(&f->parts, 0, &f->arena, &f->ties, &err),
                      RKT_ERR_INVALID);
}

/* 146 years between two stamps: no number overflows, and no bound is made of it. */
static void the_ends_of_time_do_no_harm(void **state)
{
    struct fixture *f = *state;
    int64_t last_ns = (int64_t)RKT_TIME_MAX_NS;

    add(f, 0, 0, 0, last_ns);
    add(f, 0, 1, last_ns - 1, last_ns);
    add(f, 1, 0, last_ns - 1, last_ns);
    add(f, 1, 1, 0, last_ns);
    add(f, 2, 1, 0, 0);
    add(f, 2, 2, last_ns, last_ns);
    solve(f, 0);
    for (uint32_t c = 1; c < 3; c++) {
        for (size_t i = 0; i < f->ties.items[c].align.knot_count; i++)
            assert_in_range(f->ties.items[c].align.knots[i].bound_ns, 0, INT64_MAX / 2);
    }
}

/* ---- made-up runs, whose truth is known ---- */

static uint64_t next_random(struct fixture *f)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return f->random;
}

static int64_t random_below(struct fixture *f, int64_t limit)
{
    return (int64_t)(next_random(f) % (uint64_t)limit);
}

struct truth {
    int64_t offset_ns[16];
    int64_t rate_ppb[16];
};

/* The local stamp of a moment. */
static int64_t stamp_of(const struct truth *truth, uint32_t clock, int64_t true_ns)
{
    return true_ns + truth->offset_ns[clock] + true_ns / 1000 * truth->rate_ppb[clock] / 1000000;
}

/* Transfers of 15 us and more, waits up to 2 ms, ends up to 8 us apart; anybody may be last. */
static void make_run(struct fixture *f, struct truth *truth, uint32_t clocks, uint32_t collectives,
                     int64_t every_ns)
{
    for (uint32_t c = 1; c < clocks; c++) {
        truth->offset_ns[c] = random_below(f, 100 * MS) - 50 * MS;
        truth->rate_ppb[c] = random_below(f, 60000) - 30000;
    }
    for (uint32_t k = 0; k < collectives; k++) {
        int64_t last_ns = 60 * MS + k * every_ns;
        int64_t end_ns = last_ns + 15 * US + random_below(f, 30 * US);
        uint32_t last = (uint32_t)random_below(f, clocks);

        for (uint32_t c = 0; c < clocks; c++) {
            int64_t start_ns = c == last ? last_ns : last_ns - random_below(f, 2 * MS);

            add(f, k, c, stamp_of(truth, c, start_ns),
                stamp_of(truth, c, end_ns + random_below(f, 8 * US)));
        }
    }
}

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Every 1 ms of the run, so between collectives too. */
static void many_collectives_hold_the_truth_and_come_near_it(void **state)
{
    enum {
        CLOCKS = 8,
        COLLECTIVES = 1500,
        EVERY_MS = 20,
        POINTS = COLLECTIVES * EVERY_MS
    };
    struct fixture *f = *state;
    struct truth truth = {{0}, {0}};
    int64_t *errors = calloc(POINTS, sizeof(*errors));
    int64_t *bounds = calloc(POINTS, sizeof(*bounds));

    assert_non_null(errors);
    assert_non_null(bounds);
    make_run(f, &truth, CLOCKS, COLLECTIVES, EVERY_MS * MS);
    solve(f, 0);
    assert_int_equal(f->ties.flags, 0);
    for (uint32_t c = 1; c < CLOCKS; c++) {
        const struct rkt_clock_tie *tie = &f->ties.items[c];

        assert_true(tie->is_tied);
        assert_int_equal(tie->collective_count, COLLECTIVES);
        for (int64_t i = 0; i < POINTS; i++) {
            int64_t true_ns = 60 * MS + i * MS;
            int64_t local_ns = stamp_of(&truth, c, true_ns);
            struct rkt_align_point point = rkt_align_at(&tie->align, local_ns);

            errors[i] = llabs(local_ns + point.offset_ns - true_ns);
            bounds[i] = point.bound_ns;
            assert_true(errors[i] <= bounds[i]);
        }
        qsort(errors, POINTS, sizeof(*errors), compare_i64);
        qsort(bounds, POINTS, sizeof(*bounds), compare_i64);
        print_message("clock %u: error median %lld, 99 %% %lld ns; bound median %lld, 99 %% %lld\n",
                      c, (long long)errors[POINTS / 2], (long long)errors[POINTS * 99 / 100],
                      (long long)bounds[POINTS / 2], (long long)bounds[POINTS * 99 / 100]);
        assert_true(errors[POINTS / 2] * 2 < bounds[POINTS / 2]);
        assert_true(bounds[POINTS / 2] < 30 * US);
        assert_true(tie->has_rate);
        assert_true(tie->rate_min_ppb <= -truth.rate_ppb[c] + 1);
        assert_true(tie->rate_max_ppb >= -truth.rate_ppb[c] - 1);
        assert_true(tie->rate_max_ppb - tie->rate_min_ppb < 10000);
    }
    free(errors);
    free(bounds);
}

/* ---- every path, by brute force ---- */

enum {
    SMALL_CLOCKS = 4,
    SMALL_COLLECTIVES = 5
};

struct node {
    int64_t at_ns;
    uint32_t clock;
    uint32_t collective;
    bool is_end;
};

enum {
    STAMPS = 2 * SMALL_CLOCKS * SMALL_COLLECTIVES,
    NODES = STAMPS + SMALL_COLLECTIVES,
};

static int64_t g_path[NODES][NODES];

/* g_path[a][b]: at least as much is value b less value a. */
static void find_paths(const struct fixture *f, int64_t rho_ppb, struct node *nodes)
{
    for (size_t a = 0; a < NODES; a++) {
        for (size_t b = 0; b < NODES; b++)
            g_path[a][b] = INT64_MAX / 4;
    }
    for (size_t i = 0; i < f->parts.count; i++) {
        const struct rkt_clock_part *part = &f->items[i];

        nodes[2 * i] = (struct node){part->start_ns, part->clock, part->collective, false};
        nodes[2 * i + 1] = (struct node){part->end_ns, part->clock, part->collective, true};
        g_path[STAMPS + part->collective][2 * i] = -part->start_ns;
        g_path[2 * i + 1][STAMPS + part->collective] = part->end_ns;
    }
    for (size_t a = 0; a < STAMPS; a++) {
        for (size_t b = 0; b < STAMPS; b++) {
            if (nodes[a].clock == nodes[b].clock)
                g_path[a][b] =
                    nodes[a].clock == 0 ? 0 : llabs(nodes[a].at_ns - nodes[b].at_ns) * rho_ppb / S;
        }
    }
    for (size_t by = 0; by < NODES; by++) {
        for (size_t a = 0; a < NODES; a++) {
            for (size_t b = 0; b < NODES; b++) {
                if (g_path[a][by] + g_path[by][b] < g_path[a][b])
                    g_path[a][b] = g_path[a][by] + g_path[by][b];
            }
        }
    }
}

/* The bound at a stamp less what is added for the gaps beside it is the constraints' own width. */
static void bounds_are_those_of_all_paths(void **state)
{
    enum {
        RHO_PPB = 100000
    };
    struct fixture *f = *state;
    struct node nodes[STAMPS];
    struct truth truth = {{0}, {0}};
    size_t compared = 0;

    for (int round = 0; round < 20; round++) {
        f->parts.count = 0;
        make_run(f, &truth, SMALL_CLOCKS, SMALL_COLLECTIVES, 40 * MS);
        solve(f, RHO_PPB);
        find_paths(f, RHO_PPB, nodes);
        for (size_t n = 0; n < STAMPS; n++) {
            const struct rkt_align_info *align = &f->ties.items[nodes[n].clock].align;
            int64_t upper_ns = g_path[0][n], lower_ns = -g_path[n][0];

            for (size_t i = 0; i < align->knot_count; i++) {
                const struct rkt_align_knot *knot = &align->knots[i];

                if ((int64_t)knot->local_ns != nodes[n].at_ns)
                    continue;
                assert_in_range(knot->offset_ns - (lower_ns + upper_ns) / 2 + 50, 0, 100);
                assert_in_range(knot->bound_ns - (upper_ns - lower_ns) / 2, 0, 50 + 2200);
                compared++;
            }
        }
    }
    assert_true(compared > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, make, release)
        CASE(one_collective_bounds_by_both_durations),
        CASE(the_last_to_arrive_bounds_one_side),
        CASE(between_collectives_the_bound_opens_by_rho),
        CASE(far_apart_collectives_bound_the_rate),
        CASE(a_change_of_rate_disproves_the_wander),
        CASE(a_clock_is_tied_over_another),
        CASE(a_broadcast_alone_ties_nobody),
        CASE(without_a_common_collective_nothing_is_aligned),
        CASE(impossible_stamps_align_nothing),
        CASE(a_contradiction_far_below_the_bounds_is_one),
        CASE(a_fast_slew_widens_rho),
        CASE(stamps_without_sense_are_left_out),
        CASE(the_ends_of_time_do_no_harm),
        CASE(many_collectives_hold_the_truth_and_come_near_it),
        CASE(bounds_are_those_of_all_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
