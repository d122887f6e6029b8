/* SPDX-License-Identifier: Apache-2.0 */
/* Knots between pins: as much as the rates allow everywhere, and hardly more. */
#include "tests/unit/rkt_test.h"

#include <math.h>

#include "common/align_at.h"
#include "common/clock_tube.h"
#include "tests/unit/rkt_random.h"

#define US INT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define PINS 40u
#define PPB 1e9

struct made {
    struct rkt_arena arena;
    struct rkt_clock_pin pins[PINS];
    struct rkt_clock_rates rates;
    struct rkt_align_info align;
};

static void make_knots(struct made *made, size_t count)
{
    struct rkt_clock_pins pins = {made->pins, count, made->rates};
    struct rkt_align_knot *knots;
    struct rkt_error err;

    assert_rkt_ok(rkt_clock_tube_knots(&pins, &made->arena, &knots, &made->align.knot_count, &err),
                  err);
    made->align.knots = knots;
    made->align.growth_ppb = 1; /* bounds are linear between knots */
    for (size_t i = 1; i < made->align.knot_count; i++)
        assert_true(knots[i - 1].local_ns < knots[i].local_ns);
}

/* Upper: 10 at both, +- 100 ppm: 10 + 50 in the middle of 1 s. */
static void a_gap_has_its_widest_place_where_the_lines_meet(void **state)
{
    struct made made = {.pins = {{0, -10 * US, 10 * US}, {S, -10 * US, 10 * US}},
                        .rates = {-100000, 100000}};

    (void)state;
    rkt_arena_init(&made.arena, 1 << 20);
    make_knots(&made, 2);
    assert_int_equal(made.align.knot_count, 3); /* both bends are at one place */
    assert_int_equal(made.align.knots[1].local_ns, S / 2);
    assert_in_range(made.align.knots[1].bound_ns, 60 * US, 60 * US + 5);
    assert_in_range(made.align.knots[0].bound_ns, 10 * US, 10 * US + 5);
    rkt_arena_release(&made.arena);
}

/* The offset is known to rise by 50 to 150 ppm; upper edges bend elsewhere than lower ones. */
static void edges_bend_at_their_own_places(void **state)
{
    struct made made = {.pins = {{0, 0, 10 * US}, {S, 90 * US, 130 * US}},
                        .rates = {50000, 150000}};

    (void)state;
    rkt_arena_init(&made.arena, 1 << 20);
    make_knots(&made, 2);
    assert_int_equal(made.align.knot_count, 4);
    /* 10 + 150 x = 130 - 50 (1 - x) at 0.7 s; 50 x = 90 - 150 (1 - x) at 0.6 s */
    assert_int_equal(made.align.knots[1].local_ns, 600 * MS);
    assert_int_equal(made.align.knots[2].local_ns, 700 * MS);
    rkt_arena_release(&made.arena);
}

static void short_gaps_have_no_bends(void **state)
{
    struct made made = {.pins = {{0, 0, 10 * US}, {MS, 0, 10 * US}, {4 * MS, 0, 10 * US}},
                        .rates = {-100000, 100000}};

    (void)state;
    rkt_arena_init(&made.arena, 1 << 20);
    make_knots(&made, 3);
    assert_int_equal(made.align.knot_count, 4); /* 50 ns in the first gap, 150 in the second */
    assert_in_range(made.align.knots[0].bound_ns, 5 * US + 50, 5 * US + 60);
    assert_in_range(made.align.knots[3].bound_ns, 5 * US, 5 * US + 5);
    rkt_arena_release(&made.arena);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Pins that a curve made, each as narrow as the others allow. */
static void make_pins(struct made *made, struct rkt_random *random)
{
    int64_t at_ns = 0, offset_ns = 0;
    int64_t low_ppb = (int64_t)rkt_random_below(random, 200000) - 100000;

    made->rates =
        (struct rkt_clock_rates){low_ppb, low_ppb + (int64_t)rkt_random_below(random, 200000)};
    for (size_t i = 0; i < PINS; i++) {
        int64_t gap_ns = 1 + (int64_t)rkt_random_below(random, i % 3 == 0 ? MS : 3 * S);
        int64_t span_ppb = made->rates.max_ppb - made->rates.min_ppb + 1;
        int64_t rate_ppb =
            made->rates.min_ppb + (int64_t)rkt_random_below(random, (uint64_t)span_ppb);

        made->pins[i] =
            (struct rkt_clock_pin){at_ns, offset_ns - (int64_t)rkt_random_below(random, 100 * US),
                                   offset_ns + (int64_t)rkt_random_below(random, 100 * US)};
        at_ns += gap_ns;
        offset_ns += (int64_t)((double)gap_ns * (double)rate_ppb / PPB);
    }
    for (unsigned round = 0; round < 2 * PINS; round++) {
        for (size_t i = 0; i + 1 < PINS; i++) {
            struct rkt_clock_pin *p = &made->pins[i], *q = p + 1;
            int64_t gap_ns = q->at_ns - p->at_ns;
            int64_t most_ns = rkt_clock_rise_most_ns(gap_ns, made->rates.max_ppb);
            int64_t least_ns = rkt_clock_rise_least_ns(gap_ns, made->rates.min_ppb);

            q->upper_ns = smaller(q->upper_ns, p->upper_ns + most_ns);
            q->lower_ns = larger(q->lower_ns, p->lower_ns + least_ns);
            p->upper_ns = smaller(p->upper_ns, q->upper_ns - least_ns);
            p->lower_ns = larger(p->lower_ns, q->lower_ns - most_ns);
        }
    }
}

/* At random places: nothing that the rates allow is outside, and the bound is no wider but for what
 * is flat. */
static void knots_are_all_that_the_rates_allow(void **state)
{
    struct rkt_random random = {7};

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct made made;

        rkt_arena_init(&made.arena, 1 << 20);
        make_pins(&made, &random);
        make_knots(&made, PINS);
        for (size_t i = 0; i + 1 < PINS; i++) {
            const struct rkt_clock_pin *p = &made.pins[i], *q = p + 1;
            double gap = (double)(q->at_ns - p->at_ns);
            double x = (double)rkt_random_below(&random, (uint64_t)(q->at_ns - p->at_ns) + 1);
            double upper = fmin((double)p->upper_ns + x * (double)made.rates.max_ppb / PPB,
                                (double)q->upper_ns - (gap - x) * (double)made.rates.min_ppb / PPB);
            double lower = fmax((double)p->lower_ns + x * (double)made.rates.min_ppb / PPB,
                                (double)q->lower_ns - (gap - x) * (double)made.rates.max_ppb / PPB);
            struct rkt_align_point point = rkt_align_at(&made.align, p->at_ns + (int64_t)x);

            assert_true((double)(point.offset_ns + point.bound_ns) >= upper);
            assert_true((double)(point.offset_ns - point.bound_ns) <= lower);
            assert_true(2 * (double)point.bound_ns <=
                        upper - lower + 2 * RKT_CLOCK_TUBE_FLAT_NS + 10);
        }
        rkt_arena_release(&made.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_has_its_widest_place_where_the_lines_meet),
        cmocka_unit_test(edges_bend_at_their_own_places),
        cmocka_unit_test(short_gaps_have_no_bends),
        cmocka_unit_test(knots_are_all_that_the_rates_allow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
