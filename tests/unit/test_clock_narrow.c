/* SPDX-License-Identifier: Apache-2.0 */
/* Measured clocks, wide where nobody measured them, and collectives all along. */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "common/align_at.h"
#include "common/clock.h"
#include "common/clock_curve.h"
#include "common/clock_narrow.h"

#define US INT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define OPS 300u
#define AHEAD_NS (7 * MS) /* clock 1, of the reference */

/* Clock 1 was measured until 100 s and from 200 s on; its bound is 60 us in the middle. */
static const struct rkt_align_knot KNOTS[] = {
    {0, -AHEAD_NS, 10 * US, 4 * US},
    {100 * S, -AHEAD_NS + 3 * US, 10 * US, 4 * US},
    {150 * S, -AHEAD_NS + 20 * US, 60 * US, 54 * US},
    {200 * S, -AHEAD_NS - 3 * US, 10 * US, 4 * US},
    {300 * S, -AHEAD_NS, 10 * US, 4 * US},
};
static const struct rkt_align_knot EXACT = {0};

struct fixture {
    struct rkt_arena arena;
    struct rkt_align_info priors[2];
    struct rkt_clock_part items[2 * OPS];
    struct rkt_clock_parts parts;
    struct rkt_clock_narrowing narrowing;
};

/* Each second one of the two is the last, and both end 12 us behind it. */
static void make(struct fixture *f)
{
    *f = (struct fixture){
        .priors = {{.state = RKT_ALIGN_REFERENCE, .knots = &EXACT, .knot_count = 1},
                   {.state = RKT_ALIGN_MEASURED,
                    .knots = KNOTS,
                    .knot_count = sizeof(KNOTS) / sizeof(KNOTS[0]),
                    .growth_ppb = 1000}}};
    rkt_arena_init(&f->arena, (size_t)64 << 20);
    for (uint32_t k = 0; k < OPS; k++) {
        for (uint32_t c = 0; c < 2; c++) {
            int64_t last_ns = 500 * MS + k * S + (c == 1 ? AHEAD_NS : 0);

            f->items[2 * k + c] =
                (struct rkt_clock_part){.clock = c,
                                        .collective = k,
                                        .start_ns = last_ns - (k % 2 == c ? 0 : 300 * US),
                                        .end_ns = last_ns + 12 * US,
                                        .gives = true,
                                        .takes = true};
        }
    }
    f->parts = (struct rkt_clock_parts){.items = f->items,
                                        .count = 2 * (size_t)OPS,
                                        .collective_count = OPS,
                                        .clock_count = 2,
                                        .priors = f->priors};
}

static const struct rkt_clock_narrowed *narrow(struct fixture *f)
{
    struct rkt_error err;

    assert_rkt_ok(rkt_clock_narrow(&f->parts, &f->arena, &f->narrowing, &err), err);
    assert_int_equal(f->narrowing.count, 2);
    return &f->narrowing.items[1];
}

static void assert_as_it_was(struct fixture *f)
{
    const struct rkt_clock_narrowed *narrowed = narrow(f);

    assert_int_equal(narrowed->before_ns, 0);
    assert_ptr_equal(narrowed->align.knots, f->priors[1].knots);
    assert_int_equal(narrowed->align.knot_count, f->priors[1].knot_count);
    assert_int_equal(narrowed->align.flags, f->priors[1].flags);
    rkt_arena_release(&f->arena);
}

static void a_silence_is_narrowed_and_the_rest_stays(void **state)
{
    const struct rkt_clock_narrowed *narrowed;
    struct fixture f;

    (void)state;
    make(&f);
    narrowed = narrow(&f);
    assert_false(f.narrowing.is_contradictory);
    assert_true(narrowed->align.flags & RKT_CLOCK_NARROWED);
    assert_in_range(narrowed->before_ns, 59 * US, 60 * US);
    assert_in_range(narrowed->after_ns, 12 * US, 20 * US);
    for (int64_t at_ns = 0; at_ns < 320 * S; at_ns += 137 * MS) {
        struct rkt_align_point before = rkt_align_at(&f.priors[1], at_ns);
        struct rkt_align_point after = rkt_align_at(&narrowed->align, at_ns);

        assert_true(llabs(after.offset_ns + AHEAD_NS) <= after.bound_ns);
        assert_true(after.bound_ns <= before.bound_ns + 3);
        assert_true(after.likely_ns <= after.bound_ns);
        if (at_ns < 95 * S || at_ns > 205 * S) {
            assert_int_equal(after.offset_ns, before.offset_ns);
            assert_int_equal(after.bound_ns, before.bound_ns);
            assert_int_equal(after.likely_ns, before.likely_ns);
        }
    }
    /* What the clock itself does moves it by no more than some us from one ns to the next. */
    for (size_t i = 1; i < narrowed->align.knot_count; i++) {
        const struct rkt_align_knot *p = &narrowed->align.knots[i - 1], *q = p + 1;

        assert_true(p->local_ns < q->local_ns);
        assert_true(llabs(q->offset_ns - p->offset_ns) <=
                    5 * US + (int64_t)(q->local_ns - p->local_ns) / 10000);
    }
    rkt_arena_release(&f.arena);
}

struct edges {
    int64_t lower_ns;
    int64_t upper_ns;
};

static struct edges edges_at(const struct rkt_align_info *align, int64_t at_ns)
{
    struct rkt_align_point point = rkt_align_at(align, at_ns);

    return (struct edges){point.offset_ns - point.bound_ns, point.offset_ns + point.bound_ns};
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/*
 * What is possible at two times stays so in between, or behind both: the clock may have been at an
 * edge there, and have run from it by 4 ppm, which is less than the wander, unless the prior
 * forbids it.
 */
static void assert_open(const struct fixture *f, const struct rkt_align_info *align,
                        const int64_t known_ns[2], int64_t at_ns)
{
    struct edges at = edges_at(align, at_ns), prior = edges_at(&f->priors[1], at_ns);

    for (int i = 0; i < 2; i++) {
        struct edges from = edges_at(align, known_ns[i]);
        int64_t run_ns = llabs(at_ns - known_ns[i]) / 250000;

        prior.upper_ns = smaller(prior.upper_ns, from.upper_ns + run_ns);
        prior.lower_ns = larger(prior.lower_ns, from.lower_ns - run_ns);
    }
    assert_true(at.upper_ns + 3 >= prior.upper_ns);
    assert_true(at.lower_ns - 3 <= prior.lower_ns);
}

/* Collectives end within the silence. */
static void behind_the_last_collective_the_bound_opens(void **state)
{
    const int64_t last_ns = 159 * S + 500 * MS + AHEAD_NS + 12 * US;
    const struct rkt_clock_narrowed *narrowed;
    struct fixture f;

    (void)state;
    make(&f);
    f.parts.count = (size_t)2 * 160;
    narrowed = narrow(&f);
    assert_true(narrowed->before_ns > 0);
    for (int64_t after_ns = 100 * MS; after_ns < 60 * S; after_ns += 700 * MS)
        assert_open(&f, &narrowed->align, (int64_t[]){last_ns, last_ns}, last_ns + after_ns);
    rkt_arena_release(&f.arena);
}

static void between_two_collectives_the_bound_opens(void **state)
{
    const struct rkt_clock_narrowed *narrowed;
    struct fixture f;

    (void)state;
    make(&f);
    narrowed = narrow(&f);
    for (int64_t k = 102; k < 198; k++) {
        int64_t from_ns = k * S + 500 * MS + AHEAD_NS + 12 * US;
        int64_t to_ns = from_ns + S - 312 * US;

        for (int64_t part = 1; part < 8; part++)
            assert_open(&f, &narrowed->align, (int64_t[]){from_ns, to_ns},
                        from_ns + (to_ns - from_ns) / 8 * part);
    }
    rkt_arena_release(&f.arena);
}

/* The same bits from the same records. */
static void narrowed_again_it_is_the_same(void **state)
{
    const struct rkt_clock_narrowed *narrowed;
    struct rkt_align_info first;
    struct fixture f;

    (void)state;
    make(&f);
    first = narrow(&f)->align;
    narrowed = narrow(&f);
    assert_int_equal(narrowed->align.knot_count, first.knot_count);
    assert_memory_equal(narrowed->align.knots, first.knots,
                        first.knot_count * sizeof(*first.knots));
    rkt_arena_release(&f.arena);
}

/* After the last measurement the bound grows on from what collectives said last. */
static void a_lost_clock_is_narrowed_to_the_end(void **state)
{
    const struct rkt_clock_narrowed *narrowed;
    struct fixture f;

    (void)state;
    make(&f);
    f.priors[1].knot_count = 2; /* nothing behind 100 s, 1 ppm from there on */
    narrowed = narrow(&f);
    assert_in_range(narrowed->before_ns, 200 * US, 215 * US);
    assert_in_range(narrowed->after_ns, 12 * US, 35 * US);
    for (int64_t at_ns = 0; at_ns < 2000 * S; at_ns += 999 * MS) {
        struct rkt_align_point after = rkt_align_at(&narrowed->align, at_ns);

        assert_true(llabs(after.offset_ns + AHEAD_NS) <= after.bound_ns);
        assert_true(after.bound_ns <= rkt_align_at(&f.priors[1], at_ns).bound_ns + 3);
    }
    rkt_arena_release(&f.arena);
}

static void what_is_not_wide_stays(void **state)
{
    static const struct rkt_align_knot FLAT[] = {{0, -AHEAD_NS, 25 * US, 4 * US},
                                                 {150 * S, -AHEAD_NS, 60 * US, 4 * US},
                                                 {300 * S, -AHEAD_NS, 25 * US, 4 * US}};
    struct fixture f;

    (void)state;
    make(&f);
    f.priors[1].knots = FLAT; /* 2.4 times its best */
    f.priors[1].knot_count = 3;
    assert_as_it_was(&f);
}

static void collectives_that_say_less_change_nothing(void **state)
{
    struct fixture f;

    (void)state;
    make(&f);
    for (size_t i = 0; i < f.parts.count; i++)
        f.items[i].end_ns += 200 * US;
    assert_as_it_was(&f);
}

static void a_clock_that_stepped_stays(void **state)
{
    struct fixture f;

    (void)state;
    make(&f);
    f.priors[1].flags = RKT_CLOCK_STEPPED;
    assert_as_it_was(&f);
}

static void unaligned_clocks_stay(void **state)
{
    struct fixture f;

    (void)state;
    make(&f);
    f.priors[1].state = RKT_ALIGN_UNALIGNED;
    f.priors[1].knot_count = 0;
    assert_as_it_was(&f);
}

/* Of a broken file: no number overflows, and nothing is made of it, whether or not collectives tie
 * the clock. */
static void what_is_no_offset_stays(void **state)
{
    static const struct {
        int64_t offset_ns;
        int64_t bound_ns;
    } CASES[] = {{INT64_MAX / 2, 1},
                 {INT64_MIN / 2, 1},
                 {INT64_C(1) << 61, INT64_C(1) << 60},
                 {0, (INT64_C(1) << 61) + 1}};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct rkt_align_knot wrong[] = {
            {0, CASES[i / 2].offset_ns, 1, 1},
            {1, CASES[i / 2].offset_ns, CASES[i / 2].bound_ns, 1},
            {300 * S, CASES[i / 2].offset_ns, CASES[i / 2].bound_ns, 1}};
        struct rkt_error err;
        struct fixture f;

        make(&f);
        f.items[0].end_ns = (int64_t)RKT_TIME_MAX_NS;
        f.items[2].start_ns = 0;
        f.priors[1].knots = wrong;
        f.priors[1].knot_count = 3;
        for (size_t k = 0; k < f.parts.count && i % 2 == 1; k += 2)
            f.items[k].gives = f.items[k].takes = false; /* those of the reference */
        assert_rkt_ok(rkt_clock_narrow(&f.parts, &f.arena, &f.narrowing, &err), err);
        if (i % 2 == 1)
            assert_ptr_equal(f.narrowing.items[1].align.knots, wrong);
        rkt_arena_release(&f.arena);
    }
}

/* One collective of two is matched with its neighbour: by a second. */
static void a_contradiction_narrows_nothing(void **state)
{
    struct fixture f;

    (void)state;
    make(&f);
    f.items[2 * 150 + 1].start_ns += S;
    f.items[2 * 150 + 1].end_ns += S;
    assert_as_it_was(&f);
    assert_true(f.narrowing.is_contradictory);
}

/* Before it is asked what they say: KNOTS is wide from some 120 s to 180 s, and again from 320 s
 * on. */
static void collectives_are_asked_for_only_where_a_bound_is_wide(void **state)
{
    static const struct {
        int64_t start_ns;
        int64_t end_ns;
        uint8_t align_state;
        uint32_t flags;
        bool may;
    } CASES[] = {
        {0, 300 * S, RKT_ALIGN_MEASURED, 0, true},
        {150 * S, 151 * S, RKT_ALIGN_MEASURED, 0, true},
        {0, 100 * S, RKT_ALIGN_MEASURED, 0, false},
        {200 * S, 319 * S, RKT_ALIGN_MEASURED, 0, false},
        {200 * S, 321 * S, RKT_ALIGN_MEASURED, 0, true},
        {0, 300 * S, RKT_ALIGN_MEASURED, RKT_CLOCK_STEPPED, false},
        {0, 300 * S, RKT_ALIGN_COLLECTIVES, 0, false},
        {0, 300 * S, RKT_ALIGN_WALL_CLOCK, 0, false},
        {0, 300 * S, RKT_ALIGN_REFERENCE, 0, false},
    };
    static const struct rkt_align_knot FAST[] = {{0, 0, US, US}, {S, 0, 9 * US, 9 * US}};
    const struct rkt_align_info none = {.state = RKT_ALIGN_MEASURED};
    const struct rkt_align_info fast = {
        .state = RKT_ALIGN_MEASURED, .knots = FAST, .knot_count = 2, .growth_ppb = 1000};
    struct fixture f;

    (void)state;
    make(&f);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        f.priors[1].state = CASES[i].align_state;
        f.priors[1].flags = CASES[i].flags;
        if (rkt_clock_narrow_may(&f.priors[1], CASES[i].start_ns, CASES[i].end_ns) != CASES[i].may)
            fail_msg("case %zu: shall be %d", i, CASES[i].may);
    }
    assert_false(rkt_clock_narrow_may(&none, 0, S));
    assert_false(rkt_clock_narrow_may(&fast, 0, S)); /* no collective says as much */
    assert_true(rkt_clock_narrow_may(&fast, 0, 3 * S));
    rkt_arena_release(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silence_is_narrowed_and_the_rest_stays),
        cmocka_unit_test(behind_the_last_collective_the_bound_opens),
        cmocka_unit_test(between_two_collectives_the_bound_opens),
        cmocka_unit_test(narrowed_again_it_is_the_same),
        cmocka_unit_test(a_lost_clock_is_narrowed_to_the_end),
        cmocka_unit_test(what_is_not_wide_stays),
        cmocka_unit_test(collectives_that_say_less_change_nothing),
        cmocka_unit_test(a_clock_that_stepped_stays),
        cmocka_unit_test(unaligned_clocks_stay),
        cmocka_unit_test(what_is_no_offset_stays),
        cmocka_unit_test(a_contradiction_narrows_nothing),
        cmocka_unit_test(collectives_are_asked_for_only_where_a_bound_is_wide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
