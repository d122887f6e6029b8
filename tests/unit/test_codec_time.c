/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include "common/codec_column.h"
#include "common/codec_time.h"
#include "tests/unit/rkt_random.h"

#define ROWS 200u

static struct rkt_event kernel(uint32_t stream_id, uint64_t start_ns, uint64_t end_ns)
{
    return (struct rkt_event){.kind = RKT_EVENT_KERNEL,
                              .start_ns = start_ns,
                              .end_ns = end_ns,
                              .kernel.stream_id = stream_id};
}

static void starts_are_written_as_gaps_of_their_stream(void **state)
{
    struct rkt_event events[] = {kernel(7, 1000, 1500), kernel(8, 1200, 5000),
                                 kernel(7, 1507, 2000), kernel(8, 5001, 5002)};
    uint64_t starts[4], durations[4];

    (void)state;
    assert_int_equal(rkt_times_encode(events, 4, starts, durations), 1);
    assert_int_equal(rkt_unzigzag(starts[0]), 0);
    assert_int_equal(rkt_unzigzag(starts[1]), 200); /* the first of its lane: from the base */
    assert_int_equal(rkt_unzigzag(starts[2]), 7);
    assert_int_equal(rkt_unzigzag(starts[3]), 1);
    assert_int_equal(rkt_unzigzag(durations[1]), 3800);
}

static void whole_microseconds_are_divided(void **state)
{
    struct rkt_event events[] = {kernel(7, 1000123, 1004123), kernel(7, 1006123, 1007123),
                                 kernel(7, 1003123, 1003123)};
    uint64_t starts[3], durations[3];

    (void)state;
    assert_int_equal(rkt_times_encode(events, 3, starts, durations), 1000);
    assert_int_equal(starts[1], rkt_zigzag(2));
    assert_int_equal(starts[2], rkt_zigzag((uint64_t)-4));
    assert_int_equal(durations[0], rkt_zigzag(4));
}

static void events_that_are_all_alike_have_a_unit_of_one(void **state)
{
    struct rkt_event events[] = {kernel(7, 5, 5), kernel(7, 5, 5)};
    uint64_t starts[2], durations[2];

    (void)state;
    assert_int_equal(rkt_times_encode(events, 2, starts, durations), 1);
}

/* Times of any kind come back: reversed, wrapped, in many lanes or in lanes that share a slot. */
static void any_times_come_back(void **state)
{
    static const uint8_t KINDS[] = {RKT_EVENT_KERNEL, RKT_EVENT_MEMCPY, RKT_EVENT_MEMSET,
                                    RKT_EVENT_GRAPH,  RKT_EVENT_API,    RKT_EVENT_RANGE,
                                    RKT_EVENT_NCCL,   RKT_EVENT_COUNTER};
    static const uint64_t UNITS[] = {1, 2, 1000, 1000000, UINT64_C(1) << 62};
    struct rkt_random random = {4711};

    (void)state;
    for (int round = 0; round < 400; round++) {
        struct rkt_event events[ROWS], again[ROWS];
        uint64_t starts[ROWS], durations[ROWS], unit;
        uint64_t scale = UNITS[rkt_random_next(&random) % 5];
        uint64_t mask = rkt_random_next(&random) % 2 ? UINT64_MAX : 0xffffff;
        size_t count = 1 + rkt_random_next(&random) % ROWS;
        uint8_t kind = KINDS[rkt_random_next(&random) % sizeof(KINDS)];

        for (size_t i = 0; i < count; i++) {
            uint64_t start_ns = (rkt_random_next(&random) & mask) * scale;

            events[i] = kernel((uint32_t)rkt_random_next(&random), start_ns,
                               start_ns + (rkt_random_next(&random) & mask) * scale);
            events[i].kind = kind;
            events[i].thread_id = (uint32_t)rkt_random_next(&random) % 2000;
            again[i] = events[i];
            again[i].start_ns = again[i].end_ns = 0;
        }
        unit = rkt_times_encode(events, count, starts, durations);
        rkt_times_decode(again, count, events[0].start_ns, unit, starts, durations);
        assert_memory_equal(again, events, count * sizeof(*events));
    }
}

/* Also where numbers are as large as they can be, and next to a multiple of the unit. */
static void the_unit_is_the_largest_that_divides_all(void **state)
{
    static const uint64_t UNITS[] = {2,
                                     3,
                                     7,
                                     1000,
                                     1024,
                                     999983,
                                     UINT64_C(0xffffffff),
                                     UINT64_C(0x100000001),
                                     UINT64_C(1000000000039),
                                     UINT64_C(1) << 40};

    (void)state;
    for (size_t u = 0; u < sizeof(UNITS) / sizeof(UNITS[0]); u++) {
        uint64_t most = INT64_MAX / UNITS[u];
        uint64_t lengths[] = {2, 3, most, most - 1, 1};
        struct rkt_event events[5];
        uint64_t starts[5], durations[5];

        for (size_t i = 0; i < 5; i++)
            events[i] = kernel((uint32_t)i, 0, lengths[i] * UNITS[u]);
        assert_int_equal(rkt_times_encode(events, 5, starts, durations), UNITS[u]);
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(rkt_unzigzag(durations[i]), lengths[i]);
        for (int off = -1; off <= 1; off += 2) {
            events[4].end_ns = most * UNITS[u] + (uint64_t)(int64_t)off;
            assert_in_range(rkt_times_encode(events, 5, starts, durations), 1, UNITS[u] - 1);
        }
    }
}

static void without_a_unit_starts_follow_starts(void **state)
{
    struct rkt_event events[3] = {kernel(7, 0, 0), kernel(8, 0, 0), kernel(7, 0, 0)};
    const uint64_t starts[] = {rkt_zigzag(0), rkt_zigzag(10), rkt_zigzag((uint64_t)-3)};
    const uint64_t durations[] = {rkt_zigzag(100), rkt_zigzag(5), rkt_zigzag(0)};

    (void)state;
    rkt_times_decode(events, 3, 1000, 0, starts, durations);
    assert_int_equal(events[1].start_ns, 1010);
    assert_int_equal(events[2].start_ns, 1007);
    assert_int_equal(events[0].end_ns, 1100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_are_written_as_gaps_of_their_stream),
        cmocka_unit_test(whole_microseconds_are_divided),
        cmocka_unit_test(events_that_are_all_alike_have_a_unit_of_one),
        cmocka_unit_test(any_times_come_back),
        cmocka_unit_test(the_unit_is_the_largest_that_divides_all),
        cmocka_unit_test(without_a_unit_starts_follow_starts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
