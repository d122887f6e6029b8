/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "tests/unit/rank_store.h"
#include "tests/unit/rkt_test.h"

static void a_launch_joins_its_kernel_whichever_was_stored_first(void **state)
{
    struct rank_store *fx = *state;

    add_kernel(fx, "late", 2, 3000, 3500); /* BR-95 */
    add_call(fx, "cudaLaunchKernel", 2, 2000, 2010);
    add_call(fx, "cudaLaunchKernel", 1, 1000, 1010);
    add_kernel(fx, "early", 1, 1500, 1700);
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->work_count, 2);
    assert_string_equal(name_of(fx, fx->trace->works[0].name_id), "early");
    assert_int_equal(fx->trace->works[0].launch_start_ns, 1000);
    assert_int_equal(fx->trace->works[0].launch_end_ns, 1010);
    assert_int_equal(fx->trace->works[0].launch_thread_id, MAIN);
    assert_int_equal(fx->trace->works[1].launch_start_ns, 2000);
    assert_int_equal(fx->trace->main_thread_id, MAIN);
}

static void of_runtime_and_driver_call_the_outer_one_is_the_launch(void **state)
{
    struct rank_store *fx = *state;

    add_call(fx, "cuLaunchKernel", 1, 1002, 1008);
    add_call(fx, "cudaLaunchKernel", 1, 1000, 1010);
    add_call(fx, "cuLaunchKernel", 2, 1100, 1104);
    add_call(fx, "cudaLaunchKernel", 2, 1100, 1110); /* the same start, in whole microseconds */
    add_kernel(fx, "k", 1, 1500, 1700);
    add_kernel(fx, "k", 2, 1700, 1800);
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->works[0].launch_end_ns, 1010);
    assert_int_equal(fx->trace->works[1].launch_end_ns, 1110);
}

static void work_without_a_launch_record_says_so(void **state)
{
    struct rank_store *fx = *state;

    add_kernel(fx, "of a graph", 7, 1500, 1700); /* BR-112 */
    add_kernel(fx, "without a correlation", 0, 1800, 1900);
    add_call(fx, "cudaLaunchKernel", 0, 1000, 1010);
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->works[0].launch_start_ns, RKT_TIME_UNKNOWN);
    assert_int_equal(fx->trace->works[1].launch_start_ns, RKT_TIME_UNKNOWN);
}

static void impossible_times_are_left_out_and_counted(void **state)
{
    struct rank_store *fx = *state;

    add_kernel(fx, "good", 1, 1000, 2000);
    add_kernel(fx, "without a start", 2, 0, 2000);
    add_kernel(fx, "backwards", 3, 3000, 2000);            /* BR-51 */
    add_kernel(fx, "for an hour", 4, 3000, 3600 * SECOND); /* BR-56 */
    add_kernel(fx, "past all numbers", 5, 3000, UINT64_MAX);
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->work_count, 1);
    assert_int_equal(fx->trace->left_out_count, 4);
}

static void add_edge(struct rank_store *fx, enum rkt_window_edge edge, uint64_t raw_ns)
{
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_WINDOW,
                                     .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                     .type = (uint8_t)edge,
                                     .start_ns = raw_ns,
                                     .end_ns = raw_ns});
}

static void capture_is_open_between_the_edges_of_its_windows(void **state)
{
    struct rank_store *fx = *state;
    const struct rkt_open_span *spans;

    add_pairs(fx);
    add_kernel(fx, "k", 1, real(3 * SECOND), real(4 * SECOND));
    add_edge(fx, RKT_WINDOW_CLOSED, 1 * SECOND);
    add_edge(fx, RKT_WINDOW_OPENED, 3 * SECOND); /* as it may be stored */
    add_edge(fx, RKT_WINDOW_WARMUP, 2 * SECOND);
    add_edge(fx, RKT_WINDOW_WARMUP, 4 * SECOND);
    add_edge(fx, RKT_WINDOW_OPENED, 5 * SECOND);
    add_edge(fx, RKT_WINDOW_CLOSED, 6 * SECOND);
    add_edge(fx, RKT_WINDOW_OPENED, 8 * SECOND);
    rank_store_load(fx, NULL);
    spans = fx->trace->open_spans;
    assert_true(fx->trace->has_windows);
    assert_int_equal(fx->trace->open_count, 4);
    assert_true(spans[0].start_ns == INT64_MIN && spans[0].traced_from_ns == INT64_MIN);
    assert_int_equal(spans[0].end_ns, real(1 * SECOND));
    assert_int_equal(spans[1].start_ns, real(3 * SECOND));
    assert_int_equal(spans[1].end_ns, real(4 * SECOND));
    assert_int_equal(spans[1].traced_from_ns, real(2 * SECOND));
    assert_int_equal(spans[2].start_ns, real(5 * SECOND));
    assert_int_equal(spans[2].traced_from_ns, real(2 * SECOND)); /* it was never off */
    assert_int_equal(spans[3].start_ns, real(8 * SECOND));
    assert_int_equal(spans[3].traced_from_ns, real(8 * SECOND));
    assert_true(spans[3].end_ns == INT64_MAX);
    assert_ptr_equal(rkt_open_span_find(fx->trace->open_spans, fx->trace->open_count,
                                        spans[2].start_ns, spans[2].end_ns),
                     &spans[2]);
    assert_null(rkt_open_span_find(fx->trace->open_spans, fx->trace->open_count,
                                   spans[2].start_ns - 1, spans[2].end_ns));
    assert_null(rkt_open_span_find(fx->trace->open_spans, fx->trace->open_count, spans[2].start_ns,
                                   spans[2].end_ns + 1));
}

static void add_gap(struct rank_store *fx, uint64_t start_ns, uint64_t end_ns)
{
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_LOSS,
                                     .type = RKT_LOSS_CAPTURE_OFF,
                                     .start_ns = start_ns,
                                     .end_ns = end_ns});
}

static void assert_span(const struct rank_store *fx, size_t i, int64_t start_ns, int64_t end_ns,
                        int64_t traced_from_ns)
{
    const struct rkt_open_span *span = &fx->trace->open_spans[i];

    assert_true(i < fx->trace->open_count);
    assert_true(span->start_ns == start_ns && span->end_ns == end_ns);
    assert_true(span->traced_from_ns == traced_from_ns);
}

static void time_without_capture_is_in_no_window(void **state)
{
    struct rank_store *fx = *state;

    add_kernel(fx, "k", 1, 1000, 2000);
    add_gap(fx, 6000, 7000);
    add_gap(fx, 3000, 3000); /* of no length: an alarm that begins */
    add_gap(fx, 3000, 4000);
    add_gap(fx, 4000, 5000); /* it goes out in pieces */
    rank_store_load(fx, NULL);
    assert_true(fx->trace->has_windows);
    assert_int_equal(fx->trace->open_count, 3);
    assert_span(fx, 0, INT64_MIN, 3000, INT64_MIN);
    assert_span(fx, 1, 5000, 6000, 5000);
    assert_span(fx, 2, 7000, INT64_MAX, 7000);
}

static void time_without_capture_cuts_the_windows_that_it_meets(void **state)
{
    struct rank_store *fx = *state;
    int64_t second = (int64_t)SECOND;

    add_pairs(fx);
    add_kernel(fx, "k", 1, real(3 * SECOND), real(4 * SECOND));
    add_edge(fx, RKT_WINDOW_CLOSED, 1 * SECOND);
    add_edge(fx, RKT_WINDOW_OPENED, 3 * SECOND);
    add_edge(fx, RKT_WINDOW_CLOSED, 4 * SECOND);
    add_edge(fx, RKT_WINDOW_OPENED, 6 * SECOND);
    add_gap(fx, real(2 * SECOND), real(7 * SECOND));
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->open_count, 2);
    assert_span(fx, 0, INT64_MIN, (int64_t)real(1 * SECOND), INT64_MIN);
    assert_span(fx, 1, (int64_t)real(6 * SECOND) + second, INT64_MAX,
                (int64_t)real(6 * SECOND) + second);
}

static void channels_of_kernels_are_no_operations(void **state)
{
    struct rank_store *fx = *state;

    add_kernel(fx, "ncclDevKernel_AllReduce", 1, 1000, 2000);
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_NCCL,
                                     .clock_id = RKT_CLOCK_GLOBALTIMER, /* tied to no other */
                                     .type = RKT_NCCL_KERNEL_CH,
                                     .start_ns = 1700000000000000000u,
                                     .end_ns = 1700000000000000320u,
                                     .nccl = {.peer = 7, .func = RKT_NCCL_FUNC_ALLREDUCE}});
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->op_count, 0);
    assert_int_equal(fx->trace->unmapped_count, 0);
    assert_int_equal(fx->trace->left_out_count, 0);
}

static void a_collective_on_which_the_host_waits_as_long_is_kept(void **state)
{
    struct rank_store *fx = *state;

    add_kernel(fx, "ncclDevKernel_AllReduce", 1, 1000, 3600 * SECOND);
    add_call(fx, "cudaStreamSynchronize", 2, 2000, 3600 * SECOND + 5);
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->work_count, 1);
    assert_int_equal(fx->trace->left_out_count, 0);
}

static void copies_keep_what_is_known_of_them(void **state)
{
    struct rank_store *fx = *state;

    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_MEMCPY,
                                     .flags = RKT_FLAG_ASYNC,
                                     .start_ns = 1000,
                                     .end_ns = 1200,
                                     .memcpy = {.stream_id = 8,
                                                .bytes = 4096,
                                                .copy_kind = RKT_COPY_HTOD,
                                                .src_kind = RKT_MEMORY_PAGEABLE,
                                                .dst_kind = RKT_MEMORY_DEVICE}});
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_MEMSET,
                                     .start_ns = 1300,
                                     .end_ns = 1310,
                                     .memset = {.bytes = 64}});
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->works[0].work_class, RKT_WORK_COPY);
    assert_int_equal(fx->trace->works[0].copy_kind, RKT_COPY_HTOD);
    assert_int_equal(fx->trace->works[0].src_kind, RKT_MEMORY_PAGEABLE);
    assert_int_equal(fx->trace->works[0].bytes, 4096);
    assert_int_equal(fx->trace->works[0].is_async, 1);
    assert_int_equal(fx->trace->works[1].copy_kind, RKT_COPY_MEMSET);
    assert_int_equal(fx->trace->works[1].is_async, 0);
}

static void a_copy_that_its_call_waited_for_blocked_the_host(void **state)
{
    static const struct {
        uint64_t call_end_ns;
        enum rkt_call_class call_class;
    } cases[] = {
        {1199, RKT_CALL_LAUNCH}, /* returned before the copy's end */
        {1200, RKT_CALL_BLOCKING},
        {1900, RKT_CALL_BLOCKING},
    };
    struct rank_store *fx = *state;

    for (uint32_t i = 0; i < 3; i++) {
        add_call(fx, "cudaMemcpyAsync", i + 1, 900 + i, cases[i].call_end_ns);
        add_event(fx, (struct rkt_event){.kind = RKT_EVENT_MEMCPY,
                                         .start_ns = 1000,
                                         .end_ns = 1200,
                                         .correlation_id = i + 1});
    }
    rank_store_load(fx, NULL);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(fx->trace->calls[i].call_class, cases[i].call_class);
}

static void the_users_pattern_names_more_comm_kernels(void **state)
{
    struct rank_store *fx = *state;

    add_kernel(fx, "my_all_reduce_v2", 1, 1000, 2000);
    add_kernel(fx, "gemm", 2, 2000, 3000);
    rank_store_load(fx, "^my_.*reduce");
    assert_int_equal(fx->trace->works[0].work_class, RKT_WORK_COMM);
    assert_int_equal(fx->trace->works[1].work_class, RKT_WORK_COMPUTE);
}

static void a_pattern_that_is_none_is_refused_by_name(void **state)
{
    const struct rkt_work_rules rules = {.comm_kernel_regex = "my_["};
    struct rank_store *fx = *state;
    struct rkt_error err;

    assert_rkt_status(
        rkt_rank_trace_load(store_open(&fx->maker), fx->rank, &rules, &fx->trace, &err),
        RKT_ERR_INVALID);
    assert_non_null(strstr(err.text, "my_["));
}

static void sync_records_block_only_where_no_call_says_it(void **state)
{
    struct rank_store *fx = *state;

    add_kernel(fx, "k", 1, 100, 200);
    add_call(fx, "cudaStreamSynchronize", 5, 1000, 2000);
    for (uint32_t i = 0; i < 3; i++)
        add_event(fx,
                  (struct rkt_event){.kind = RKT_EVENT_SYNC,
                                     .type = i == 2 ? RKT_SYNC_STREAM_WAIT_EVENT : RKT_SYNC_STREAM,
                                     .start_ns = 1010 + 3000 * i,
                                     .end_ns = 1990 + 3000 * i,
                                     .correlation_id = 5 + i}); /* the first is the call's own */
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->call_count, 2);
    assert_int_equal(fx->trace->calls[1].start_ns, 4010);
    assert_int_equal(fx->trace->calls[1].call_class, RKT_CALL_BLOCKING);
}

static void marks_are_mapped_to_the_clock_of_the_gpu(void **state)
{
    struct rank_store *fx = *state;

    add_pairs(fx);
    add_kernel(fx, "k", 1, real(2 * SECOND), real(2 * SECOND + 10));
    add_range(fx, RKT_RANGE_STEP, AUTOGRAD, SECOND + 5, 3 * SECOND);
    rank_store_load(fx, NULL);
    assert_int_equal(rkt_clock_map_rank_clock(fx->trace->clock), RKT_CLOCK_REALTIME);
    assert_int_equal(fx->trace->ranges[0].start_ns, real(SECOND + 5));
    assert_int_equal(fx->trace->ranges[0].end_ns, real(3 * SECOND));
    assert_int_equal(fx->trace->main_thread_id, AUTOGRAD); /* of the step marks */
}

static void without_clock_records_marks_are_left_out_and_counted(void **state)
{
    struct rank_store *fx = *state;

    add_kernel(fx, "k", 1, real(2 * SECOND), real(2 * SECOND + 10));
    add_range(fx, RKT_RANGE_STEP, MAIN, SECOND, 3 * SECOND);
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->work_count, 1);
    assert_int_equal(fx->trace->range_count, 0);
    assert_int_equal(fx->trace->unmapped_count, 1);
    assert_int_equal(rkt_clock_map_state(fx->trace->clock), RKT_ALIGN_UNALIGNED);
}

static void a_rank_without_gpu_work_computes_in_the_clock_of_its_marks(void **state)
{
    struct rank_store *fx = *state;

    add_range(fx, RKT_RANGE_STEP, MAIN, SECOND, 3 * SECOND);
    rank_store_load(fx, NULL);
    assert_false(fx->trace->has_gpu);
    assert_int_equal(rkt_clock_map_rank_clock(fx->trace->clock), RKT_CLOCK_MONOTONIC_RAW);
    assert_int_equal(fx->trace->ranges[0].start_ns, SECOND);
}

/* The run was cut before its alignment was stored: the exchanges are. */
static void exchanges_align_a_run_that_was_cut(void **state)
{
    struct rank_store *fx = *state;
    struct rkt_job_time job;
    int64_t bound_ns;

    add_pairs(fx);
    add_kernel(fx, "k", 1, real(2 * SECOND), real(2 * SECOND + 10));
    add_exchanges(fx, fx->sidecar, 777);
    rank_store_load(fx, NULL);
    assert_int_equal(rkt_clock_map_state(fx->trace->clock), RKT_ALIGN_MEASURED);
    job = rkt_clock_map_to_job(fx->trace->clock, (int64_t)real(2 * SECOND), &bound_ns);
    assert_true(llabs(job.ns - (int64_t)(2 * SECOND + 777)) <= bound_ns);
    assert_true(bound_ns >= 1000 && bound_ns < 2000);
}

/* MONOTONIC_RAW is one clock per machine: node 3 measured nothing, node 4 of its machine did. */
static void a_sidecar_of_the_same_machine_aligns_a_run_that_was_cut(void **state)
{
    struct rank_store *fx = *state;
    const struct rkt_source_info other = {
        .producer = RKT_PRODUCER_CAPTURE,
        .role = RKT_ROLE_SIDECAR,
        .node = 4,
        .boot_id = "a",
    };
    struct rkt_source_info far = other;
    int64_t bound_ns;
    int64_t job_ns;

    far.node = 5;
    far.boot_id[0] = 'b';
    add_exchanges(fx, store_add_source(&fx->maker, far), 5000000);
    add_exchanges(fx, store_add_source(&fx->maker, other), 777);
    add_pairs(fx);
    add_kernel(fx, "k", 1, real(2 * SECOND), real(2 * SECOND + 10));
    rank_store_load(fx, NULL);
    assert_int_equal(rkt_clock_map_state(fx->trace->clock), RKT_ALIGN_MEASURED);
    job_ns = rkt_clock_map_to_job(fx->trace->clock, (int64_t)real(2 * SECOND), &bound_ns).ns;
    assert_true(llabs(job_ns - (int64_t)(2 * SECOND + 777)) <= bound_ns);
}

static void on_the_machine_of_node_0_a_run_that_was_cut_is_aligned(void **state)
{
    struct rank_store *fx = *state;
    int64_t bound_ns;

    store_add_source(&fx->maker, (struct rkt_source_info){.producer = RKT_PRODUCER_CAPTURE,
                                                          .role = RKT_ROLE_SIDECAR,
                                                          .node = 0,
                                                          .boot_id = "a"});
    add_pairs(fx);
    add_kernel(fx, "k", 1, real(2 * SECOND), real(2 * SECOND + 10));
    rank_store_load(fx, NULL);
    assert_int_equal(rkt_clock_map_state(fx->trace->clock), RKT_ALIGN_SAME_HOST);
    assert_int_equal(
        rkt_clock_map_to_job(fx->trace->clock, (int64_t)real(2 * SECOND), &bound_ns).ns,
        2 * SECOND);
    assert_int_equal(bound_ns, BRACKET_NS / 2);
}

static void what_describes_others_is_kept(void **state)
{
    struct rank_store *fx = *state;
    uint32_t name = store_name(&fx->maker, fx->rank, "pt_autograd_0");

    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_NAME,
                                     .type = RKT_NAMED_THREAD,
                                     .name_id = name,
                                     .start_ns = 1,
                                     .end_ns = 1,
                                     .name = {.object_id = AUTOGRAD}});
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_COMM,
                                     .start_ns = 1,
                                     .end_ns = 1,
                                     .comm = {.comm_id = 99, .rank = 2, .rank_count = 8}});
    for (uint32_t i = 2; i >= 1; i--)
        add_event(fx, (struct rkt_event){.kind = RKT_EVENT_SHAPE,
                                         .start_ns = 1,
                                         .end_ns = 1,
                                         .shape = {.shape_id = i, .grid_x = 100 * i}});
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_LOSS,
                                     .type = RKT_LOSS_RING_FULL,
                                     .start_ns = 1,
                                     .end_ns = 1,
                                     .loss = {.count = 12}});
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_BUCKET,
                                     .start_ns = 100,
                                     .end_ns = 200,
                                     .thread_id = AUTOGRAD,
                                     .bucket = {.bytes = 1 << 20, .step = 3, .index = 1}});
    add_kernel(fx, "k", 1, 1000, 1100);
    rank_store_load(fx, NULL);
    assert_string_equal(rkt_rank_trace_thread_name(fx->trace, AUTOGRAD), "pt_autograd_0");
    assert_string_equal(rkt_rank_trace_thread_name(fx->trace, MAIN), "");
    assert_int_equal(fx->trace->comms[0].rank_count, 8);
    assert_int_equal(fx->trace->shapes[0].shape_id, 1);
    assert_int_equal(fx->trace->shapes[1].grid_x, 200);
    assert_int_equal(fx->trace->losses[RKT_LOSS_RING_FULL], 12);
    assert_int_equal(fx->trace->buckets[0].bytes, 1 << 20);
}

static void a_graph_that_is_one_piece_is_compute(void **state)
{
    struct rank_store *fx = *state;
    const struct rkt_work *work;

    add_kernel(fx, "k", 1, 1000, 1100);
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_GRAPH,
                                     .start_ns = 1200,
                                     .end_ns = 1900,
                                     .correlation_id = 2,
                                     .graph = {.device_id = 3, .stream_id = 7, .graph_id = 5}});
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->work_count, 2);
    work = &fx->trace->works[1];
    assert_int_equal(work->end_ns - work->start_ns, 700);
    assert_int_equal(work->work_class, RKT_WORK_COMPUTE);
    assert_int_equal(work->device_id, 3);
    assert_int_equal(work->stream_id, 7);
    assert_true(work->is_whole_graph);
    assert_string_equal(rkt_strtab_get(fx->trace->names, work->name_id, NULL), "CUDA graph");
    assert_false(fx->trace->works[0].is_whole_graph);
}

static void time_without_capture_and_cost_of_tracing_are_summed(void **state)
{
    struct rank_store *fx = *state;

    add_kernel(fx, "k", 1, 1000, 1100);
    for (uint64_t i = 0; i < 2; i++) {
        add_event(fx, (struct rkt_event){.kind = RKT_EVENT_LOSS,
                                         .type = RKT_LOSS_CAPTURE_OFF,
                                         .start_ns = 2000 + i * 5000,
                                         .end_ns = 5000 + i * 5000});
        add_event(fx, (struct rkt_event){.kind = RKT_EVENT_OVERHEAD,
                                         .type = RKT_OVERHEAD_BUFFER_FLUSH,
                                         .start_ns = 1000,
                                         .end_ns = 1010 + i});
    }
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->capture_off_ns, 6000);
    assert_int_equal(fx->trace->overhead_ns, 21);
}

static void samples_are_sorted_in_rank_time_and_a_gpu_is_known_once(void **state)
{
    struct rank_store *fx = *state;
    struct rkt_event sample = {.kind = RKT_EVENT_COUNTER,
                               .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                               .type = RKT_COUNTER_SM_CLOCK,
                               .start_ns = 20 * SECOND,
                               .end_ns = 20 * SECOND,
                               .counter = {.value = 1410, .device_id = 3}};
    struct rkt_event device = {.kind = RKT_EVENT_DEVICE,
                               .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                               .start_ns = 11 * SECOND,
                               .end_ns = 11 * SECOND,
                               .device = {.uuid_low = 7, .device_id = 3, .pci_bus = 0x5e}};
    const struct rkt_rank_trace *trace;

    add_pairs(fx);
    add_kernel(fx, "gemm", 1, real(15 * SECOND), real(15 * SECOND) + 1000);
    add_event(fx, device);
    device.device.pci_bus = 1;
    add_event(fx, device);
    add_event(fx, sample);
    sample.type = RKT_COUNTER_SM_ACTIVE;
    sample.start_ns = 18 * SECOND;
    add_event(fx, sample);
    sample.type = RKT_COUNTER_COUNT; /* of a later version */
    add_event(fx, sample);
    rank_store_load(fx, NULL);
    trace = fx->trace;
    assert_int_equal(trace->gpu.counter_count, 2);
    assert_int_equal(trace->gpu.counters[0].counter, RKT_COUNTER_SM_ACTIVE);
    assert_int_equal(trace->gpu.counters[0].start_ns, real(18 * SECOND));
    assert_int_equal(trace->gpu.counters[0].end_ns, real(20 * SECOND));
    assert_int_equal(trace->gpu.counters[1].value, 1410);
    assert_int_equal(trace->gpu.counters[1].device_id, 3);
    assert_int_equal(trace->gpu.longest_ns, 2 * SECOND);
    assert_int_equal(trace->gpu.device_count, 1);
    assert_int_equal(trace->gpu.devices[0].pci_bus, 0x5e);
}

static void an_autograd_thread_is_main_only_where_there_is_no_other(void **state)
{
    struct rank_store *fx = *state;
    uint32_t name = store_name(&fx->maker, fx->rank, "pt_autograd_0");

    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_NAME,
                                     .type = RKT_NAMED_THREAD,
                                     .name_id = name,
                                     .start_ns = 1,
                                     .end_ns = 1,
                                     .name = {.object_id = AUTOGRAD}});
    for (uint32_t i = 1; i <= 3; i++) {
        add_event(
            fx, (struct rkt_event){.kind = RKT_EVENT_API,
                                   .name_id = store_name(&fx->maker, fx->rank, "cudaLaunchKernel"),
                                   .start_ns = 100ull * i,
                                   .end_ns = 100ull * i + 10,
                                   .thread_id = i == 1 ? MAIN : AUTOGRAD,
                                   .correlation_id = i});
        add_kernel(fx, "k", i, 1000ull * i, 1000ull * i + 10);
    }
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->main_thread_id, MAIN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rank_store_set_up, rank_store_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_launch_joins_its_kernel_whichever_was_stored_first),
        TEST(of_runtime_and_driver_call_the_outer_one_is_the_launch),
        TEST(work_without_a_launch_record_says_so),
        TEST(impossible_times_are_left_out_and_counted),
        TEST(capture_is_open_between_the_edges_of_its_windows),
        TEST(time_without_capture_is_in_no_window),
        TEST(time_without_capture_cuts_the_windows_that_it_meets),
        TEST(channels_of_kernels_are_no_operations),
        TEST(a_collective_on_which_the_host_waits_as_long_is_kept),
        TEST(copies_keep_what_is_known_of_them),
        TEST(a_copy_that_its_call_waited_for_blocked_the_host),
        TEST(the_users_pattern_names_more_comm_kernels),
        TEST(a_pattern_that_is_none_is_refused_by_name),
        TEST(sync_records_block_only_where_no_call_says_it),
        TEST(marks_are_mapped_to_the_clock_of_the_gpu),
        TEST(without_clock_records_marks_are_left_out_and_counted),
        TEST(a_rank_without_gpu_work_computes_in_the_clock_of_its_marks),
        TEST(exchanges_align_a_run_that_was_cut),
        TEST(a_sidecar_of_the_same_machine_aligns_a_run_that_was_cut),
        TEST(on_the_machine_of_node_0_a_run_that_was_cut_is_aligned),
        TEST(what_describes_others_is_kept),
        TEST(a_graph_that_is_one_piece_is_compute),
        TEST(time_without_capture_and_cost_of_tracing_are_summed),
        TEST(samples_are_sorted_in_rank_time_and_a_gpu_is_known_once),
        TEST(an_autograd_thread_is_main_only_where_there_is_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
