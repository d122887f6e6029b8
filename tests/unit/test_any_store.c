/* SPDX-License-Identifier: Apache-2.0 */
/* Events of any values, well packed: the analysis and every report take them. Under the
 * sanitizers this also finds sums that do not fit. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/report/report.h"
#include "rkt_random.h"
#include "rkt_test.h"
#include "store_maker.h"

#define RUNS 60
#define EVENTS 400
#define BASE_NS UINT64_C(1700000000000000000)

/* Mostly plausible, sometimes at the edge. */
static uint64_t any_time(struct rkt_random *random)
{
    static const uint64_t EDGES[] = {0,          1,
                                     INT64_MAX,  (uint64_t)INT64_MAX + 1,
                                     UINT64_MAX, UINT64_MAX - 1,
                                     BASE_NS,    (uint64_t)INT64_MAX - 5};

    if (rkt_random_below(random, 12) == 0)
        return EDGES[rkt_random_below(random, sizeof(EDGES) / sizeof(EDGES[0]))];
    return BASE_NS + rkt_random_below(random, 1000000000);
}

static uint64_t any_number(struct rkt_random *random)
{
    static const uint64_t EDGES[] = {0, 1, UINT32_MAX, UINT64_MAX, INT64_MAX};

    if (rkt_random_below(random, 6) == 0)
        return EDGES[rkt_random_below(random, sizeof(EDGES) / sizeof(EDGES[0]))];
    return rkt_random_below(random, 8);
}

static void fill_kind(struct rkt_random *random, struct rkt_event *event)
{
    if (event->kind == RKT_EVENT_NCCL) {
        event->type = (uint8_t)(rkt_random_below(random, 4) == 0 ? RKT_NCCL_KERNEL_LAUNCH
                                                                 : rkt_random_below(random, 70));
        event->nccl.comm_id = rkt_random_below(random, 3);
        event->nccl.seq = any_number(random);
        event->nccl.count = any_number(random);
        event->nccl.peer = (int32_t)any_number(random);
        event->nccl.func = (uint8_t)rkt_random_below(random, 15);
        event->nccl.datatype = (uint8_t)rkt_random_below(random, 14);
    } else if (event->kind == RKT_EVENT_COMM) {
        event->comm.comm_id = rkt_random_below(random, 3);
        event->comm.rank = (int32_t)any_number(random);
        event->comm.rank_count = (uint32_t)any_number(random);
    } else if (event->kind == RKT_EVENT_BUCKET) {
        event->bucket.bytes = any_number(random);
        event->bucket.step = any_number(random);
        event->bucket.index = (uint32_t)any_number(random);
    } else if (event->kind == RKT_EVENT_RANGE) {
        event->range.value = any_number(random);
    } else {
        event->kernel.device_id = (uint32_t)rkt_random_below(random, 2);
        event->kernel.stream_id = (uint32_t)any_number(random);
        event->memcpy.bytes = any_number(random);
        event->memcpy.copy_kind = (uint8_t)rkt_random_below(random, 13);
    }
}

static struct rkt_event any_event(struct rkt_random *random, const uint32_t names[4])
{
    static const uint8_t KINDS[] = {RKT_EVENT_KERNEL, RKT_EVENT_KERNEL, RKT_EVENT_MEMCPY,
                                    RKT_EVENT_MEMSET, RKT_EVENT_API,    RKT_EVENT_NCCL,
                                    RKT_EVENT_RANGE,  RKT_EVENT_BUCKET, RKT_EVENT_COMM,
                                    RKT_EVENT_SYNC,   RKT_EVENT_LOSS};
    struct rkt_event event = {.kind = KINDS[rkt_random_below(random, sizeof(KINDS))]};

    event.clock_id =
        (uint8_t)(rkt_random_below(random, 9) == 0 ? rkt_random_below(random, RKT_CLOCK_COUNT)
                                                   : RKT_CLOCK_TRACE);
    event.type = (uint8_t)rkt_random_below(random, 15);
    event.flags = (uint8_t)rkt_random_below(random, 16);
    event.name_id = names[rkt_random_below(random, 4)];
    event.start_ns = any_time(random);
    event.end_ns = rkt_random_below(random, 3) == 0
                       ? any_time(random)
                       : event.start_ns + rkt_random_below(random, 1000000);
    event.thread_id = (uint32_t)rkt_random_below(random, 4);
    event.correlation_id = (uint32_t)rkt_random_below(random, EVENTS / 4);
    fill_kind(random, &event);
    return event;
}

static void add_rank(struct store_maker *maker, uint32_t rank, struct rkt_random *random)
{
    static const char *const NAMES[] = {"ncclDevKernel_AllReduce_RING_LL(x)", "gemm",
                                        "cudaLaunchKernel", "ProfilerStep#7"};
    uint32_t source =
        store_add_source(maker, (struct rkt_source_info){.producer = RKT_PRODUCER_KINETO,
                                                         .gpu_clock = RKT_CLOCK_TRACE,
                                                         .rank_known = true,
                                                         .rank = rank,
                                                         .world_size = 3});
    uint32_t names[4];

    for (size_t i = 0; i < 4; i++)
        names[i] = store_name(maker, source, NAMES[i]);
    for (size_t i = 0; i < EVENTS; i++) {
        struct rkt_event event = any_event(random, names);

        store_add(maker, source, event);
    }
}

static void analyse(struct store_maker *maker)
{
    const struct rkt_analysis_options options = {0};
    struct rkt_analysis *analysis;
    struct rkt_error err;

    assert_rkt_ok(rkt_analysis_create(store_open(maker), &options, &analysis, &err), err);
    for (size_t i = 0; i < RKT_REPORT_FORMAT_COUNT; i++) {
        char *text = NULL;
        size_t len_bytes = 0;
        FILE *out = open_memstream(&text, &len_bytes);

        assert_non_null(out);
        assert_rkt_ok(RKT_REPORT_FORMATS[i].write(rkt_analysis_result(analysis), NULL, out, &err),
                      err);
        fclose(out);
        assert_true(len_bytes > 0);
        free(text);
    }
    rkt_analysis_destroy(analysis);
}

static void events_of_any_values_give_a_report(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct rkt_random random = {seed};
        struct store_maker maker;

        store_maker_init(&maker, RKT_PRODUCER_KINETO);
        for (uint32_t rank = 0; rank < 1 + seed % 3; rank++)
            add_rank(&maker, rank, &random);
        analyse(&maker);
        store_maker_release(&maker);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_any_values_give_a_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
