/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank with any values in every member, packed and unpacked: packed again it is the same bytes.
 * Bytes that end early, or are others, are refused or taken, and nothing worse.
 */
#include "analysis/rank_pack.h"

#include <stdlib.h>

#include "analysis/key_table.h"
#include "analysis/lane.h"
#include "analysis/place.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define ROWS 5u

struct sample {
    struct rkt_loaded_rank loaded;
    struct rkt_rank_result rank;
    struct rkt_arena arena;
};

static void fill(struct rkt_random *random, void *to, size_t len_bytes)
{
    unsigned char *bytes = to;

    for (size_t i = 0; i < len_bytes; i++)
        bytes[i] = (unsigned char)rkt_random_next(random);
}

static void *rows(struct rkt_random *random, size_t elem_bytes)
{
    void *items = calloc(ROWS + 1, elem_bytes);

    assert_non_null(items);
    fill(random, items, ROWS * elem_bytes);
    return items;
}

/* Bools may only be 0 or 1. */
static void make_bools_valid(struct sample *sample)
{
    struct rkt_rank_trace *trace = sample->loaded.trace;
    struct rkt_rank_result *rank = &sample->rank;

    for (size_t i = 0; i < ROWS; i++) {
        memset(&trace->arrivals[i].is_queued, (int)(i % 2), sizeof(bool));
        memset(&trace->lane[i].is_coarse, (int)(i % 2), sizeof(bool));
        memset(&rank->steps[i].is_unrecorded, (int)(i % 2), sizeof(bool));
        memset(&rank->steps[i].is_cut, i % 3 == 0, sizeof(bool));
        memset(&rank->steps[i].window.is_host_view, (int)(i % 2), sizeof(bool));
    }
    memset(&rank->run.is_host_view, 1, sizeof(bool));
    memset(&rank->outside.is_host_view, 0, sizeof(bool));
    memset(&rank->is_cut_short, 1, sizeof(bool));
}

static void make_tables(struct sample *sample, struct rkt_random *random)
{
    static struct rkt_place items[2] = {{.start_ns = -5, .what = "Tensor.item", .line = "a.py:1"},
                                        {.end_ns = 7, .what = "", .line = "", .kind = 3}};
    static const struct rkt_places places = {items, 2};
    struct rkt_tables *tables = RKT_ARENA_ARRAY(&sample->arena, struct rkt_tables, 1);
    struct rkt_row *of_kernels = RKT_ARENA_ARRAY(&sample->arena, struct rkt_row, ROWS);

    assert_non_null(tables);
    assert_non_null(of_kernels);
    for (size_t i = 0; i < ROWS; i++) {
        of_kernels[i] = (struct rkt_row){.kind = i % 2 ? "compute" : "comm",
                                         .name = i < 3 ? "gemm" : "",
                                         .bin = INT64_MIN,
                                         .segment = (unsigned)i};
        fill(random, of_kernels[i].values, sizeof(of_kernels[i].values));
    }
    tables->of[RKT_TABLE_KERNELS] = (struct rkt_table){of_kernels, ROWS};
    tables->of[RKT_TABLE_IDLE] = (struct rkt_table){of_kernels, 1};
    sample->rank.tables = tables;
    sample->rank.places = &places;
}

static void make_sample(struct sample *sample, struct rkt_random *random)
{
    struct rkt_rank_trace *trace = calloc(1, sizeof(*trace));

    memset(sample, 0, sizeof(*sample));
    rkt_arena_init(&sample->arena, (size_t)64 << 20);
    assert_non_null(trace);
    sample->loaded.trace = trace;
    sample->loaded.source = 7;
    sample->loaded.event_count = rkt_random_next(random);
    fill(random, &sample->loaded.damage, sizeof(sample->loaded.damage));
    trace->names = rkt_strtab_create();
    assert_non_null(trace->names);
    (void)rkt_strtab_intern(trace->names, "gemm", 4);
    assert_int_equal(rkt_strtab_define(trace->names, 9, "after a hole\0and a NUL", 22), RKT_OK);
    trace->works = rows(random, sizeof(*trace->works));
    trace->arrivals = rows(random, sizeof(*trace->arrivals));
    trace->whole_index = rows(random, sizeof(*trace->whole_index));
    trace->ops = rows(random, sizeof(*trace->ops));
    trace->buckets = rows(random, sizeof(*trace->buckets));
    trace->comms = rows(random, sizeof(*trace->comms));
    trace->named = rows(random, sizeof(*trace->named));
    trace->open_spans = rows(random, sizeof(*trace->open_spans));
    trace->gpu.counters = rows(random, sizeof(*trace->gpu.counters));
    fill(random, trace->gpu.devices, sizeof(trace->gpu.devices));
    trace->lane = rows(random, sizeof(*trace->lane));
    trace->lane_count = ROWS;
    trace->work_count = trace->op_count = trace->bucket_count = trace->comm_count = ROWS;
    trace->named_count = trace->open_count = trace->gpu.counter_count = ROWS;
    trace->gpu.device_count = RKT_DEVICES_MAX;
    trace->gpu.longest_ns = INT64_MIN;
    trace->middle_ns = RKT_TIME_UNKNOWN;
    trace->clock_id = 3;
    trace->has_windows = trace->has_sync_calls = true;
    trace->losses[2] = UINT64_MAX;
    fill(random, &sample->rank.run, sizeof(sample->rank.run));
    fill(random, &sample->rank.outside, sizeof(sample->rank.outside));
    sample->rank.bound_ns = -1;
    sample->rank.align_state = RKT_ALIGN_REFERENCE;
    sample->rank.steps = RKT_ARENA_ARRAY(&sample->arena, struct rkt_step_result, ROWS);
    assert_non_null(sample->rank.steps);
    fill(random, sample->rank.steps, ROWS * sizeof(*sample->rank.steps));
    sample->rank.step_count = ROWS;
    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(rkt_interval_set_add(&sample->loaded.exposed, 10 * i, 10 * i + 5), RKT_OK);
    sample->loaded.names = calloc(1, sizeof(*sample->loaded.names));
    assert_non_null(sample->loaded.names);
    rkt_packed_u64(&sample->loaded.names->packed, 12345);
    for (size_t kind = 2; kind < RKT_NAMES_KIND_COUNT; kind++)
        sample->loaded.names->ends[kind] = sample->loaded.names->packed.len_bytes;
    make_bools_valid(sample);
    make_tables(sample, random);
}

static void release(struct sample *sample)
{
    rkt_loaded_rank_release(&sample->loaded);
    rkt_arena_release(&sample->arena);
}

static enum rkt_status unpack(const struct rkt_packed *packed, size_t len_bytes,
                              struct sample *sample)
{
    struct rkt_unpacking from;

    memset(sample, 0, sizeof(*sample));
    rkt_arena_init(&sample->arena, (size_t)64 << 20);
    rkt_unpacking_init(&from, (struct rkt_bytes){packed->bytes, len_bytes});
    return rkt_rank_unpack(&from, &sample->loaded, &sample->arena, &sample->rank, NULL);
}

static void what_is_packed_comes_back_as_it_was(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rkt_random random = {seed};
        struct rkt_packed packed = {0};
        struct rkt_packed again = {0};
        struct sample sample;
        struct sample copy;

        make_sample(&sample, &random);
        rkt_rank_pack(&sample.loaded, &sample.rank, &packed);
        assert_false(packed.has_failed);
        assert_rkt_status(unpack(&packed, packed.len_bytes, &copy), RKT_OK);
        rkt_rank_pack(&copy.loaded, &copy.rank, &again);
        assert_int_equal(packed.len_bytes, again.len_bytes);
        assert_memory_equal(packed.bytes, again.bytes, packed.len_bytes);
        assert_memory_equal(copy.loaded.trace->whole_index, sample.loaded.trace->whole_index,
                            ROWS * sizeof(uint32_t));
        assert_memory_equal(copy.loaded.trace->ops, sample.loaded.trace->ops,
                            offsetof(struct rkt_op, type));
        for (size_t i = 0; i < ROWS; i++) /* all before the padding */
            assert_memory_equal(&copy.loaded.trace->lane[i], &sample.loaded.trace->lane[i],
                                offsetof(struct rkt_lane_item, is_coarse) + 1);
        assert_string_equal(rkt_strtab_get(copy.loaded.trace->names, 1, NULL), "gemm");
        assert_string_equal(copy.rank.tables->of[RKT_TABLE_KERNELS].rows[2].name, "gemm");
        assert_string_equal(copy.rank.tables->of[RKT_TABLE_KERNELS].rows[1].kind, "compute");
        assert_string_equal(copy.rank.places->items[0].line, "a.py:1");
        assert_int_equal(copy.loaded.exposed.count, 4);
        assert_int_equal(copy.loaded.source, 7);
        release(&sample);
        release(&copy);
        rkt_packed_release(&packed);
        rkt_packed_release(&again);
    }
}

static void bytes_that_end_early_or_are_others_are_refused(void **state)
{
    struct rkt_random random = {1};
    struct rkt_packed packed = {0};
    struct sample sample;

    (void)state;
    make_sample(&sample, &random);
    rkt_rank_pack(&sample.loaded, &sample.rank, &packed);
    for (size_t len_bytes = 0; len_bytes < packed.len_bytes; len_bytes += 13) {
        struct sample copy;

        assert_rkt_status(unpack(&packed, len_bytes, &copy), RKT_ERR_INTERNAL);
        release(&copy);
    }
    for (int i = 0; i < 500 && packed.len_bytes > 0; i++) {
        size_t at = rkt_random_below(&random, packed.len_bytes);
        uint8_t before = packed.bytes[at];
        struct sample copy;

        packed.bytes[at] = (uint8_t)rkt_random_next(&random);
        (void)unpack(&packed, packed.len_bytes, &copy);
        release(&copy);
        packed.bytes[at] = before;
    }
    release(&sample);
    rkt_packed_release(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_back_as_it_was),
        cmocka_unit_test(bytes_that_end_early_or_are_others_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
