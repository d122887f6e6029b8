/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include "common/clock_map.h"
#include "tests/unit/clock_pair.h"

static struct rkt_clock_map *map_of(enum rkt_clock_id rank_clock, const struct rkt_event *pairs,
                                    size_t count, const struct rkt_align_info *align)
{
    struct rkt_clock_map *map;
    struct rkt_error err;

    assert_rkt_ok(rkt_clock_map_create(rank_clock, pairs, count, align, &map, &err), err);
    return map;
}

static int64_t to_rank(const struct rkt_clock_map *map, enum rkt_clock_id clock_id, int64_t ns,
                       int64_t *error_ns_out)
{
    int64_t rank_ns;

    assert_true(rkt_clock_map_to_rank(map, clock_id, (struct rkt_local_time){(uint64_t)ns},
                                      &rank_ns, error_ns_out));
    return rank_ns;
}

static void stamps_of_the_rank_clock_stay_as_they_are(void **state)
{
    struct rkt_clock_map *map = map_of(RKT_CLOCK_TRACE, NULL, 0, NULL);
    int64_t error_ns = -1;

    (void)state;
    assert_int_equal(to_rank(map, RKT_CLOCK_TRACE, 12345, &error_ns), 12345);
    assert_int_equal(error_ns, 0);
    rkt_clock_map_destroy(map);
}

static void without_pairs_another_clock_is_refused(void **state)
{
    static const enum rkt_clock_id foreign[] = {RKT_CLOCK_MONOTONIC_RAW, RKT_CLOCK_MONOTONIC,
                                                RKT_CLOCK_TSC, RKT_CLOCK_GLOBALTIMER,
                                                RKT_CLOCK_UNKNOWN};
    struct rkt_clock_map *map = map_of(RKT_CLOCK_REALTIME, NULL, 0, NULL);
    int64_t rank_ns = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        assert_false(
            rkt_clock_map_to_rank(map, foreign[i], (struct rkt_local_time){5}, &rank_ns, NULL));
    assert_int_equal(rank_ns, 7);
    rkt_clock_map_destroy(map);
}

static void between_two_pairs_the_offset_is_linear(void **state)
{
    /* REALTIME is 1000 s ahead and runs 10 ppm fast. */
    const struct rkt_event pairs[] = {
        pair(1 * SECOND, 80, 1001 * SECOND),
        pair(2 * SECOND, 80, 1002 * SECOND + 10000),
        pair(3 * SECOND, 80, 1003 * SECOND + 20000),
    };
    struct rkt_clock_map *map = map_of(RKT_CLOCK_REALTIME, pairs, 3, NULL);
    int64_t error_ns;

    (void)state;
    assert_int_equal(to_rank(map, RKT_CLOCK_MONOTONIC_RAW, 3 * SECOND / 2, &error_ns),
                     1001 * SECOND + SECOND / 2 + 5000);
    assert_int_equal(error_ns, 40 + LINE_NS); /* half the bracket: the clock ran evenly */
    assert_int_equal(to_rank(map, RKT_CLOCK_MONOTONIC_RAW, 2 * SECOND, &error_ns),
                     1002 * SECOND + 10000);
    assert_int_equal(to_rank(map, RKT_CLOCK_MONOTONIC, 1002 * SECOND + 10077, NULL),
                     1002 * SECOND + 10000);
    rkt_clock_map_destroy(map);
}

static void job_time_adds_the_offset_between_knots(void **state)
{
    const struct rkt_align_knot knots[] = {{1000, 500, 20, 20}, {2000, 700, 60, 60}};
    const struct rkt_align_info align = {
        .state = RKT_ALIGN_MEASURED, .knots = knots, .knot_count = 2};
    struct rkt_clock_map *map = map_of(RKT_CLOCK_MONOTONIC_RAW, NULL, 0, &align);
    int64_t bound_ns;

    (void)state;
    assert_int_equal(rkt_clock_map_state(map), RKT_ALIGN_MEASURED);
    assert_int_equal(rkt_clock_map_to_job(map, 1000, &bound_ns).ns, 1500);
    assert_int_equal(bound_ns, 20);
    assert_int_equal(rkt_clock_map_to_job(map, 1500, &bound_ns).ns, 2100);
    assert_int_equal(bound_ns, 60);
    assert_int_equal(rkt_clock_map_to_job(map, 2000, &bound_ns).ns, 2700);
    assert_int_equal(bound_ns, 60);
    assert_int_equal(rkt_clock_map_to_job(map, 2500, &bound_ns).ns, 3300);
    assert_int_equal(rkt_clock_map_to_job(map, 500, &bound_ns).ns, 900);
    assert_int_equal(bound_ns, 21);
    rkt_clock_map_destroy(map);
}

static void job_time_of_a_realtime_rank_goes_through_the_pairs(void **state)
{
    const struct rkt_event pairs[] = {pair(1 * SECOND, 80, 11 * SECOND),
                                      pair(2 * SECOND, 80, 12 * SECOND),
                                      pair(3 * SECOND, 80, 13 * SECOND)};
    const struct rkt_align_knot knots[] = {{0, 123, 900, 900}};
    const struct rkt_align_info measured = {
        .state = RKT_ALIGN_MEASURED, .knots = knots, .knot_count = 1};
    const struct rkt_align_info reference = {
        .state = RKT_ALIGN_REFERENCE, .knots = NULL, .knot_count = 0};
    struct rkt_clock_map *map = map_of(RKT_CLOCK_REALTIME, pairs, 3, &measured);
    int64_t bound_ns;

    (void)state;
    assert_int_equal(rkt_clock_map_to_job(map, 12 * SECOND, &bound_ns).ns, 2 * SECOND + 123);
    assert_true(bound_ns > 940);
    rkt_clock_map_destroy(map);

    map = map_of(RKT_CLOCK_REALTIME, pairs, 3, &reference);
    assert_int_equal(rkt_clock_map_to_job(map, 12 * SECOND + 5, &bound_ns).ns, 2 * SECOND + 5);
    assert_int_equal(bound_ns, 40 + LINE_NS);
    rkt_clock_map_destroy(map);

    map = map_of(RKT_CLOCK_REALTIME, NULL, 0, &reference);
    assert_int_equal(rkt_clock_map_state(map), RKT_ALIGN_UNALIGNED);
    assert_int_equal(rkt_clock_map_to_job(map, 12, &bound_ns).ns, 12);
    assert_int_equal(bound_ns, -1);
    rkt_clock_map_destroy(map);
}

/* A knot of long ago: its offset is that of today, and nothing grew. */
static void the_reference_is_exact_at_all_times(void **state)
{
    const struct rkt_align_knot knot = {.offset_ns = 123};
    const struct rkt_align_info align = {
        .state = RKT_ALIGN_REFERENCE, .knots = &knot, .knot_count = 1};
    struct rkt_clock_map *map = map_of(RKT_CLOCK_TRACE, NULL, 0, &align);
    int64_t bound_ns;

    (void)state;
    assert_int_equal(rkt_clock_map_to_job(map, 4711 * SECOND, &bound_ns).ns, 4711 * SECOND + 123);
    assert_int_equal(bound_ns, 0);
    rkt_clock_map_destroy(map);
}

static void wall_clock_has_no_bound(void **state)
{
    const struct rkt_align_info align = {
        .state = RKT_ALIGN_WALL_CLOCK, .knots = NULL, .knot_count = 0};
    struct rkt_clock_map *map = map_of(RKT_CLOCK_TRACE, NULL, 0, &align);
    int64_t bound_ns;

    (void)state;
    assert_int_equal(rkt_clock_map_to_job(map, 4711, &bound_ns).ns, 4711);
    assert_int_equal(bound_ns, -1);
    rkt_clock_map_destroy(map);
}

static void an_offset_may_be_a_date(void **state)
{
    /* A trace whose stamps count from baseTimeNanoseconds, in 2024. */
    const struct rkt_align_knot knots[] = {{0, 1727743122000000000, 0, 0}};
    const struct rkt_align_info align = {
        .state = RKT_ALIGN_WALL_CLOCK, .knots = knots, .knot_count = 1};
    struct rkt_clock_map *map;
    struct rkt_error err;

    (void)state;
    assert_rkt_ok(rkt_clock_map_create(RKT_CLOCK_TRACE, NULL, 0, &align, &map, &err), err);
    assert_int_equal(rkt_clock_map_to_job(map, 2413669097444592, NULL).ns, 1730156791097444592);
    rkt_clock_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_of_the_rank_clock_stay_as_they_are),
        cmocka_unit_test(without_pairs_another_clock_is_refused),
        cmocka_unit_test(between_two_pairs_the_offset_is_linear),
        cmocka_unit_test(job_time_adds_the_offset_between_knots),
        cmocka_unit_test(job_time_of_a_realtime_rank_goes_through_the_pairs),
        cmocka_unit_test(the_reference_is_exact_at_all_times),
        cmocka_unit_test(wall_clock_has_no_bound),
        cmocka_unit_test(an_offset_may_be_a_date),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
