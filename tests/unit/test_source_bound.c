/* SPDX-License-Identifier: Apache-2.0 */
/* How wide an alignment gets before its first knot and after its last. */
#include "tests/unit/rkt_test.h"

#include "common/clock.h"
#include "common/source_bound.h"
#include "tests/unit/store_maker.h"

#define S UINT64_C(1000000000)
#define FIRST (10 * S)

static const struct rkt_align_knot KNOTS[] = {{FIRST, 5, 100, 40}, {FIRST + S, 7, 300, 80}};

static const struct rkt_align_info ALIGN = {
    .state = RKT_ALIGN_MEASURED, .knots = KNOTS, .knot_count = 2, .growth_ppb = 1000};

struct stamp {
    enum rkt_event_kind kind;
    enum rkt_clock_id clock_id;
    uint64_t start_ns;
    uint64_t end_ns;
};

/* Of a source with these records. */
static struct rkt_source_bound find(const struct rkt_align_info *align, enum rkt_clock_id gpu_clock,
                                    const struct stamp *stamps, size_t count)
{
    struct rkt_source_bound bound = {.bound_ns = -2};
    struct rkt_store_reader *reader;
    struct store_maker maker;
    struct rkt_error err;

    store_maker_init(&maker, RKT_PRODUCER_CAPTURE);
    (void)store_add_source(&maker, (struct rkt_source_info){.role = RKT_ROLE_RANK,
                                                            .rank_known = true,
                                                            .gpu_clock = (uint8_t)gpu_clock});
    for (size_t i = 0; i < count; i++)
        store_add(&maker, 0,
                  (struct rkt_event){.kind = (uint8_t)stamps[i].kind,
                                     .clock_id = (uint8_t)stamps[i].clock_id,
                                     .start_ns = stamps[i].start_ns,
                                     .end_ns = stamps[i].end_ns});
    store_end(&maker, 0, (struct rkt_end_info){.reason = RKT_END_EXITED});
    reader = store_open(&maker);
    assert_rkt_ok(rkt_source_bound_find(reader, &rkt_store_reader_source(reader, 0)->info, align,
                                        &bound, &err),
                  err);
    store_maker_release(&maker);
    return bound;
}

static void outside_the_knots_it_is_as_wide_as_it_gets(void **state)
{
    static const struct stamp STAMPS[] = {
        {RKT_EVENT_KERNEL, RKT_CLOCK_MONOTONIC_RAW, FIRST - 5 * S, FIRST},
        {RKT_EVENT_KERNEL, RKT_CLOCK_MONOTONIC_RAW, FIRST + S / 2, FIRST + 11 * S}};
    struct rkt_source_bound bound;

    (void)state;
    bound = find(&ALIGN, RKT_CLOCK_MONOTONIC_RAW, STAMPS, 1);
    assert_int_equal(bound.bound_ns, 100 + 5001); /* 1 ppm */
    assert_int_equal(bound.likely_ns, 40 + 5001);
    assert_int_equal(find(&ALIGN, RKT_CLOCK_MONOTONIC_RAW, STAMPS, 2).bound_ns, 300 + 10001);
}

static void what_counts_is_the_gpus_work_or_all_where_there_is_none(void **state)
{
    static const struct stamp STAMPS[] = {
        {RKT_EVENT_API, RKT_CLOCK_MONOTONIC_RAW, FIRST, FIRST + 3 * S},
        {RKT_EVENT_DEVICE, RKT_CLOCK_MONOTONIC_RAW, S, S},
        {RKT_EVENT_MEMCPY, RKT_CLOCK_MONOTONIC_RAW, FIRST, FIRST + 2 * S}};

    (void)state;
    assert_int_equal(find(&ALIGN, RKT_CLOCK_MONOTONIC_RAW, STAMPS, 2).bound_ns, 300 + 2001);
    assert_int_equal(find(&ALIGN, RKT_CLOCK_MONOTONIC_RAW, STAMPS, 3).bound_ns, 300 + 1001);
}

/* Damage, and stamps of a clock that the alignment is not in. */
static void what_is_no_time_of_its_clock_does_not_count(void **state)
{
    static const struct stamp STAMPS[] = {
        {RKT_EVENT_KERNEL, RKT_CLOCK_REALTIME, FIRST + 50 * S, FIRST + 60 * S},
        {RKT_EVENT_KERNEL, RKT_CLOCK_TRACE, FIRST, FIRST + 3 * S},
        {RKT_EVENT_KERNEL, RKT_CLOCK_TRACE, 0, FIRST + 70 * S},
        {RKT_EVENT_KERNEL, RKT_CLOCK_TRACE, FIRST, UINT64_MAX},
        {RKT_EVENT_KERNEL, RKT_CLOCK_TRACE, FIRST, FIRST + 200 * (uint64_t)86400 * S}};

    (void)state;
    assert_int_equal(find(&ALIGN, RKT_CLOCK_TRACE, STAMPS, 5).bound_ns, 300 + 2001);
    assert_int_equal(find(&ALIGN, RKT_CLOCK_MONOTONIC_RAW, STAMPS, 5).bound_ns, 300); /* knots */
}

static void without_an_alignment_none_is_known(void **state)
{
    static const struct stamp STAMP = {RKT_EVENT_KERNEL, RKT_CLOCK_MONOTONIC_RAW, FIRST, FIRST + S};
    static const struct rkt_align_knot ABSURD[] = {{UINT64_MAX, 0, 1, 1}};
    struct rkt_align_info align = {.state = RKT_ALIGN_UNALIGNED};

    (void)state;
    assert_int_equal(find(&align, RKT_CLOCK_MONOTONIC_RAW, &STAMP, 1).bound_ns, -1);
    align.state = RKT_ALIGN_WALL_CLOCK;
    assert_int_equal(find(&align, RKT_CLOCK_MONOTONIC_RAW, &STAMP, 1).bound_ns, -1);
    align.state = RKT_ALIGN_MEASURED;
    assert_int_equal(find(&align, RKT_CLOCK_MONOTONIC_RAW, &STAMP, 1).bound_ns, -1);
    align.knots = ABSURD;
    align.knot_count = 1;
    assert_int_equal(find(&align, RKT_CLOCK_MONOTONIC_RAW, &STAMP, 1).bound_ns, -1);
    align.state = RKT_ALIGN_REFERENCE;
    assert_int_equal(find(&align, RKT_CLOCK_MONOTONIC_RAW, &STAMP, 1).bound_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_the_knots_it_is_as_wide_as_it_gets),
        cmocka_unit_test(what_counts_is_the_gpus_work_or_all_where_there_is_none),
        cmocka_unit_test(what_is_no_time_of_its_clock_does_not_count),
        cmocka_unit_test(without_an_alignment_none_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
