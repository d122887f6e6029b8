/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdbool.h>

#include "common/event_fields.h"

#define HEAD_BYTES offsetof(struct rkt_event, kernel)

/* Per kind: where its part of the union ends, and which bytes inside it hold nothing. */
static const struct {
    size_t end;
    size_t hole;
} LAYOUTS[RKT_EVENT_KIND_COUNT] = {
    [RKT_EVENT_KERNEL] = {offsetof(struct rkt_event, kernel.graph_id) + 4, 0},
    [RKT_EVENT_MEMCPY] = {offsetof(struct rkt_event, memcpy.graph_id) + 4,
                          offsetof(struct rkt_event, memcpy.reserved)},
    [RKT_EVENT_MEMSET] = {offsetof(struct rkt_event, memset.graph_id) + 4, 0},
    [RKT_EVENT_SYNC] = {HEAD_BYTES + sizeof(struct rkt_event_sync), 0},
    [RKT_EVENT_API] = {HEAD_BYTES + sizeof(struct rkt_event_api), 0},
    [RKT_EVENT_NCCL] = {HEAD_BYTES + sizeof(struct rkt_event_nccl), 0},
    [RKT_EVENT_RANGE] = {offsetof(struct rkt_event, range.inputs_id) + 4, 0},
    [RKT_EVENT_BUCKET] = {HEAD_BYTES + sizeof(struct rkt_event_bucket), 0},
    [RKT_EVENT_NAME] = {offsetof(struct rkt_event, name.sort_index) + 4, 0},
    [RKT_EVENT_COMM] = {HEAD_BYTES + sizeof(struct rkt_event_comm), 0},
    [RKT_EVENT_SHAPE] = {HEAD_BYTES + sizeof(struct rkt_event_shape), 0},
    [RKT_EVENT_CLOCK_PAIR] = {HEAD_BYTES + sizeof(struct rkt_event_clock_pair), 0},
    [RKT_EVENT_CLOCK_EXCHANGE] = {HEAD_BYTES + sizeof(struct rkt_event_clock_exchange), 0},
    [RKT_EVENT_LOSS] = {offsetof(struct rkt_event, loss.lost_kind) + 4, 0},
    [RKT_EVENT_MEMORY] = {offsetof(struct rkt_event, memory.memory_kind) + 1, 0},
    [RKT_EVENT_GRAPH] = {offsetof(struct rkt_event, graph.graph_id) + 4, 0},
    [RKT_EVENT_OVERHEAD] = {offsetof(struct rkt_event, overhead.stream_id) + 4, 0},
    [RKT_EVENT_COUNTER] = {offsetof(struct rkt_event, counter.device_id) + 4, 0},
    [RKT_EVENT_WINDOW] = {offsetof(struct rkt_event, window.step) + 8, 0},
    [RKT_EVENT_DEVICE] = {offsetof(struct rkt_event, device.pci_device) + 2, 0},
    [RKT_EVENT_CLOCK_STATE] = {HEAD_BYTES + sizeof(struct rkt_event_clock_state), 0},
    [RKT_EVENT_CLOCK_TRUE] = {HEAD_BYTES + sizeof(struct rkt_event_clock_true), 0},
};

static void columns_of_a_kind_are_unique_and_outside_the_batch_keys(void **state)
{
    (void)state;
    for (int kind = 1; kind < RKT_EVENT_KIND_COUNT; kind++) {
        size_t count;
        const struct rkt_field *fields = rkt_event_fields((enum rkt_event_kind)kind, &count);

        for (size_t i = 0; i < count; i++) {
            assert_in_range(fields[i].column, 16, 127);
            for (size_t j = 0; j < i; j++)
                assert_int_not_equal(fields[i].column, fields[j].column);
        }
    }
}

static void every_byte_of_every_kind_is_in_one_column(void **state)
{
    (void)state;
    for (size_t kind = 1; kind < RKT_EVENT_KIND_COUNT; kind++) {
        uint8_t covered[sizeof(struct rkt_event)] = {0};
        size_t count;
        const struct rkt_field *fields = rkt_event_fields((enum rkt_event_kind)kind, &count);

        assert_true(count > 7);
        for (size_t i = 0; i < count; i++) {
            for (size_t b = 0; b < fields[i].bytes; b++)
                covered[fields[i].offset + b]++;
        }
        for (size_t b = 0; b < sizeof(covered); b++) {
            bool is_of_batch = b < 2; /* kind and clock_id */
            bool is_hole = b >= LAYOUTS[kind].end || (b == LAYOUTS[kind].hole && b > 0);

            if (covered[b] != !(is_of_batch || is_hole))
                fail_msg("kind %zu: byte %zu is in %u columns", kind, b, covered[b]);
        }
    }
}

static void a_duration_follows_its_start(void **state)
{
    (void)state;
    for (int kind = 1; kind < RKT_EVENT_KIND_COUNT; kind++) {
        bool has_start = false;
        size_t count;
        const struct rkt_field *fields = rkt_event_fields((enum rkt_event_kind)kind, &count);

        for (size_t i = 0; i < count; i++) {
            has_start |= fields[i].coding == RKT_CODING_START;
            if (fields[i].coding == RKT_CODING_DURATION)
                assert_true(has_start);
        }
        assert_true(has_start);
    }
}

static void a_number_that_is_no_kind_has_no_fields(void **state)
{
    static const int NO_KINDS[] = {RKT_EVENT_NONE, RKT_EVENT_KIND_COUNT, 255, -1};

    (void)state;
    for (size_t i = 0; i < sizeof(NO_KINDS) / sizeof(*NO_KINDS); i++) {
        size_t count = 1;

        rkt_event_fields((enum rkt_event_kind)NO_KINDS[i], &count);
        assert_int_equal(count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_a_kind_are_unique_and_outside_the_batch_keys),
        cmocka_unit_test(every_byte_of_every_kind_is_in_one_column),
        cmocka_unit_test(a_duration_follows_its_start),
        cmocka_unit_test(a_number_that_is_no_kind_has_no_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
