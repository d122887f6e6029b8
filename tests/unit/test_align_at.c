/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include "common/align_at.h"

#define S INT64_C(1000000000)

static const struct rkt_align_knot KNOTS[] = {
    {1000000000, 5000, 100, 40}, {2000000000, 7000, 300, 80}, {3000000000, 8000, 200, 60}};

static void check(const struct rkt_align_info *align, int64_t local_ns, struct rkt_align_point want)
{
    struct rkt_align_point got = rkt_align_at(align, local_ns);

    if (got.offset_ns != want.offset_ns || got.bound_ns != want.bound_ns ||
        got.likely_ns != want.likely_ns)
        fail_msg("at %lld: %lld +- %lld (%lld)", (long long)local_ns, (long long)got.offset_ns,
                 (long long)got.bound_ns, (long long)got.likely_ns);
}

static void between_knots_all_is_linear_and_outside_it_goes_on(void **state)
{
    const struct rkt_align_info align = {.knots = KNOTS,
                                         .knot_count = 3,
                                         .growth_ppb = 400,
                                         .first_rate_ppb = -2000,
                                         .last_rate_ppb = 1500};

    (void)state;
    check(&align, 1 * S, (struct rkt_align_point){5000, 100, 40});
    check(&align, 3 * S / 2, (struct rkt_align_point){6000, 200, 60});
    check(&align, 3 * S, (struct rkt_align_point){8000, 200, 60});
    check(&align, 5 * S, (struct rkt_align_point){11000, 200 + 801, 60 + 801});
    check(&align, S / 2, (struct rkt_align_point){6000, 100 + 201, 40 + 201});
}

static void one_of_before_1_3_takes_the_larger_bound(void **state)
{
    const struct rkt_align_info align = {.knots = KNOTS, .knot_count = 3};

    (void)state;
    check(&align, 3 * S / 2, (struct rkt_align_point){6000, 300, 80});
    check(&align, 4 * S, (struct rkt_align_point){9000, 200 + 1001, 60 + 1001}); /* 1 ppm */
    check(&align, 0, (struct rkt_align_point){3000, 100 + 1001, 40 + 1001});
}

static void one_knot_alone_says_what_quartzes_may_do(void **state)
{
    const struct rkt_align_info align = {.knots = KNOTS, .knot_count = 1};

    (void)state;
    check(&align, 2 * S, (struct rkt_align_point){5000, 100 + 100001, 40 + 100001});
}

static void no_knot_is_no_offset(void **state)
{
    const struct rkt_align_info align = {0};

    (void)state;
    check(&align, 5, (struct rkt_align_point){0, 0, 0});
}

static void the_worst_is_that_of_the_ends_and_all_knots_between(void **state)
{
    const struct rkt_align_info align = {.knots = KNOTS, .knot_count = 3, .growth_ppb = 400};

    (void)state;
    assert_int_equal(rkt_align_worst(&align, 3 * S / 2, 5 * S / 2).bound_ns, 300);
    assert_int_equal(rkt_align_worst(&align, 1 * S, 3 * S / 2).bound_ns, 200);
    assert_int_equal(rkt_align_worst(&align, 3 * S / 2, 5 * S).bound_ns, 1001);
    assert_int_equal(rkt_align_worst(&align, 3 * S / 2, 5 * S / 2).likely_ns, 80);
}

static void bounds_of_all_time_do_not_overflow(void **state)
{
    static const struct rkt_align_knot FAR[] = {{0, INT64_C(1) << 61, INT64_C(1) << 60, 0}};
    const struct rkt_align_info align = {
        .knots = FAR, .knot_count = 1, .growth_ppb = UINT32_MAX, .last_rate_ppb = INT32_MAX};

    (void)state;
    assert_true(rkt_align_at(&align, INT64_MAX).bound_ns <= INT64_C(1) << 60);
}

/* 0.4 ms in a second is a clock that is slewed; 0.6 ms are none. */
static void a_jump_is_what_no_clock_does(void **state)
{
    static const struct rkt_align_knot JUMPS[] = {{1000000000, 0, 1, 1},
                                                  {2000000000, 400000, 1, 1},
                                                  {3000000000, 1000000, 1, 1},
                                                  {3000000001, 994000, 1, 1},
                                                  {4000000000, 994000, 1, 1}};
    const struct rkt_align_info align = {.knots = JUMPS, .knot_count = 5};
    const struct rkt_align_info none = {0};

    (void)state;
    assert_int_equal(rkt_align_jumps_ns(&align, 0, 9 * S), 606000);
    assert_int_equal(rkt_align_jumps_ns(&align, 0, 3 * S / 2), 0);
    assert_int_equal(rkt_align_jumps_ns(&align, 5 * S / 2, 5 * S / 2), 600000);
    assert_int_equal(rkt_align_jumps_ns(&align, 7 * S / 2, 9 * S), 0);
    assert_int_equal(rkt_align_jumps_ns(&none, 0, S), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_knots_all_is_linear_and_outside_it_goes_on),
        cmocka_unit_test(one_of_before_1_3_takes_the_larger_bound),
        cmocka_unit_test(one_knot_alone_says_what_quartzes_may_do),
        cmocka_unit_test(a_jump_is_what_no_clock_does),
        cmocka_unit_test(no_knot_is_no_offset),
        cmocka_unit_test(the_worst_is_that_of_the_ends_and_all_knots_between),
        cmocka_unit_test(bounds_of_all_time_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
