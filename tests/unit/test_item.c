/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.md, Idle: `.item()` from records to a report's numbers. It is a copy whose call waits, so
 * the host comes back with nothing launched; the Python that the lead had hidden is the call's
 * doing.
 *
 *     device   =====10|copy|11                            |20 =====|30
 *     host        |4 cudaMemcpyAsync 12|   Python   |17 18|              lead: 11 - 4 = 7
 *     cause                |sync       |sync (tail) |l.|dep|
 */
#include "analysis/analysis.h"
#include "tests/unit/rkt_test.h"
#include "tests/unit/store_maker.h"

#define US 1000ull
#define START_US 1000ull

static struct rkt_event event_at(enum rkt_event_kind kind, uint64_t start_us, uint64_t end_us)
{
    return (struct rkt_event){
        .kind = (uint8_t)kind,
        .clock_id = RKT_CLOCK_REALTIME,
        .start_ns = (START_US + start_us) * US,
        .end_ns = (START_US + end_us) * US,
    };
}

static void add_call(struct store_maker *maker, uint32_t source, const char *name,
                     uint32_t correlation_id, uint64_t start_us, uint64_t end_us)
{
    struct rkt_event event = event_at(RKT_EVENT_API, start_us, end_us);

    event.type = RKT_API_RUNTIME;
    event.thread_id = 1;
    event.name_id = store_name(maker, source, name);
    event.correlation_id = correlation_id;
    store_add(maker, source, event);
}

static void add_kernel(struct store_maker *maker, uint32_t source, uint32_t correlation_id,
                       uint64_t start_us, uint64_t end_us)
{
    struct rkt_event event = event_at(RKT_EVENT_KERNEL, start_us, end_us);

    event.name_id = store_name(maker, source, "gemm");
    event.correlation_id = correlation_id;
    event.kernel = (struct rkt_event_kernel){.context_id = 1, .stream_id = 7};
    store_add(maker, source, event);
}

static void add_item(struct store_maker *maker, uint32_t source)
{
    struct rkt_event copy = event_at(RKT_EVENT_MEMCPY, 10, 11);

    copy.flags = RKT_FLAG_ASYNC;
    copy.correlation_id = 2;
    copy.memcpy = (struct rkt_event_memcpy){.context_id = 1,
                                            .stream_id = 7,
                                            .bytes = 4,
                                            .copy_kind = RKT_COPY_DTOH,
                                            .src_kind = RKT_MEMORY_DEVICE,
                                            .dst_kind = RKT_MEMORY_PAGEABLE};
    add_call(maker, source, "cudaMemcpyAsync", 2, 4, 12);
    store_add(maker, source, copy);
}

static void the_tail_of_an_item_is_sync_and_not_host(void **state)
{
    const struct rkt_analysis_options options = {0};
    const struct rkt_partition *parts;
    struct rkt_analysis *analysis;
    struct store_maker maker;
    struct rkt_error err;
    uint32_t source;

    (void)state;
    store_maker_init(&maker, RKT_PRODUCER_CAPTURE);
    source = store_add_source(&maker, (struct rkt_source_info){.producer = RKT_PRODUCER_CAPTURE,
                                                               .role = RKT_ROLE_RANK,
                                                               .gpu_clock = RKT_CLOCK_REALTIME,
                                                               .rank_known = true,
                                                               .world_size = 1,
                                                               .pid = 100});
    add_call(&maker, source, "cudaLaunchKernel", 1, 0, 1);
    add_kernel(&maker, source, 1, 2, 10);
    add_item(&maker, source);
    add_call(&maker, source, "cudaLaunchKernel", 3, 17, 18);
    add_kernel(&maker, source, 3, 20, 30);
    store_end(&maker, source, (struct rkt_end_info){.reason = RKT_END_EXITED});

    assert_rkt_ok(rkt_analysis_create(store_open(&maker), &options, &analysis, &err), err);
    parts = &rkt_analysis_result(analysis)->ranks[0].run.parts;
    assert_int_equal(parts->window_ns, 28 * US);
    assert_int_equal(parts->compute_ns, 18 * US);
    assert_int_equal(parts->idle_ns[RKT_IDLE_SYNC], (1 + 5) * US);
    assert_int_equal(parts->idle_ns[RKT_IDLE_HOST], 0);
    assert_int_equal(parts->idle_ns[RKT_IDLE_LAUNCH], 1 * US);
    assert_int_equal(parts->idle_ns[RKT_IDLE_DEPENDENCY], 2 * US);
    rkt_analysis_destroy(analysis);
    store_maker_release(&maker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tail_of_an_item_is_sync_and_not_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
