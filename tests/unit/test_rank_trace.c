/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/rank_trace.h"
#include "tests/unit/rkt_test.h"
#include "tests/unit/store_maker.h"

#define SECOND 1000000000ull
/* REALTIME is this far ahead of MONOTONIC_RAW and does not drift. */
#define AHEAD_NS (1000 * SECOND)
#define BRACKET_NS 100ull

enum {
    MAIN = 11,
    AUTOGRAD = 12,
};

struct fixture {
    struct store_maker maker;
    uint32_t rank;    /* source */
    uint32_t sidecar; /* source */
    struct rkt_rank_trace *trace;
};

/* A captured rank, its GPU records in REALTIME, with its node's sidecar. */
static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));

    if (!fx)
        return -1;
    store_maker_init(&fx->maker, RKT_PRODUCER_CAPTURE);
    fx->rank = store_add_source(&fx->maker, (struct rkt_source_info){
                                                .producer = RKT_PRODUCER_CAPTURE,
                                                .role = RKT_ROLE_RANK,
                                                .gpu_clock = RKT_CLOCK_REALTIME,
                                                .rank_known = true,
                                                .node = 3,
                                            });
    fx->sidecar = store_add_source(&fx->maker, (struct rkt_source_info){
                                                   .producer = RKT_PRODUCER_CAPTURE,
                                                   .role = RKT_ROLE_SIDECAR,
                                                   .node = 3,
                                               });
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    rkt_rank_trace_destroy(fx->trace);
    store_maker_release(&fx->maker);
    free(fx);
    return 0;
}

static void load(struct fixture *fx, const char *comm_kernel)
{
    const struct rkt_work_rules rules = {comm_kernel};
    struct rkt_error err;

    assert_rkt_ok(rkt_rank_trace_load(store_open(&fx->maker), fx->rank, &rules, &fx->trace, &err),
                  err);
}

static void add(struct fixture *fx, struct rkt_event event)
{
    if (event.clock_id == RKT_CLOCK_UNKNOWN)
        event.clock_id = RKT_CLOCK_REALTIME;
    store_add(&fx->maker, fx->rank, event);
}

static void add_kernel(struct fixture *fx, const char *name, uint32_t correlation_id,
                       uint64_t start_ns, uint64_t end_ns)
{
    add(fx, (struct rkt_event){.kind = RKT_EVENT_KERNEL,
                               .name_id = store_name(&fx->maker, fx->rank, name),
                               .start_ns = start_ns,
                               .end_ns = end_ns,
                               .correlation_id = correlation_id,
                               .kernel = {.stream_id = 7}});
}

static void add_call(struct fixture *fx, const char *name, uint32_t correlation_id,
                     uint64_t start_ns, uint64_t end_ns)
{
    add(fx, (struct rkt_event){.kind = RKT_EVENT_API,
                               .name_id = store_name(&fx->maker, fx->rank, name),
                               .start_ns = start_ns,
                               .end_ns = end_ns,
                               .thread_id = MAIN,
                               .correlation_id = correlation_id});
}

/* NCCL's and the marks' stamps are RAW. */
static void add_nccl(struct fixture *fx, enum rkt_nccl_type type, uint64_t seq, uint64_t start_ns,
                     uint64_t end_ns)
{
    add(fx, (struct rkt_event){.kind = RKT_EVENT_NCCL,
                               .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                               .type = (uint8_t)type,
                               .start_ns = start_ns,
                               .end_ns = end_ns,
                               .thread_id = MAIN,
                               .nccl = {.comm_id = 99,
                                        .seq = seq,
                                        .count = 1000,
                                        .peer = -1,
                                        .func = RKT_NCCL_FUNC_ALLREDUCE,
                                        .datatype = 7}});
}

static void add_range(struct fixture *fx, enum rkt_range_type type, uint32_t thread_id,
                      uint64_t start_ns, uint64_t end_ns)
{
    add(fx, (struct rkt_event){.kind = RKT_EVENT_RANGE,
                               .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                               .type = (uint8_t)type,
                               .start_ns = start_ns,
                               .end_ns = end_ns,
                               .thread_id = thread_id});
}

static void add_pairs(struct fixture *fx)
{
    for (uint64_t k = 1; k <= 4; k++)
        store_add(&fx->maker, fx->sidecar,
                  (struct rkt_event){.kind = RKT_EVENT_CLOCK_PAIR,
                                     .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                     .start_ns = k * SECOND - BRACKET_NS / 2,
                                     .end_ns = k * SECOND + BRACKET_NS / 2,
                                     .clock_pair = {.realtime_ns = k * SECOND + AHEAD_NS,
                                                    .monotonic_ns = k * SECOND}});
}

/* RAW to rank time */
static uint64_t real(uint64_t raw_ns)
{
    return raw_ns + AHEAD_NS;
}

static const char *name_of(const struct fixture *fx, uint32_t name_id)
{
    return rkt_strtab_get(fx->trace->names, name_id, NULL);
}

static void a_launch_joins_its_kernel_whichever_was_stored_first(void **state)
{
    struct fixture *fx = *state;

    add_kernel(fx, "late", 2, 3000, 3500); /* BR-95 */
    add_call(fx, "cudaLaunchKernel", 2, 2000, 2010);
    add_call(fx, "cudaLaunchKernel", 1, 1000, 1010);
    add_kernel(fx, "early", 1, 1500, 1700);
    load(fx, NULL);
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
    struct fixture *fx = *state;

    add_call(fx, "cuLaunchKernel", 1, 1002, 1008);
    add_call(fx, "cudaLaunchKernel", 1, 1000, 1010);
    add_call(fx, "cuLaunchKernel", 2, 1100, 1104);
    add_call(fx, "cudaLaunchKernel", 2, 1100, 1110); /* the same start, in whole microseconds */
    add_kernel(fx, "k", 1, 1500, 1700);
    add_kernel(fx, "k", 2, 1700, 1800);
    load(fx, NULL);
    assert_int_equal(fx->trace->works[0].launch_end_ns, 1010);
    assert_int_equal(fx->trace->works[1].launch_end_ns, 1110);
}

static void work_without_a_launch_record_says_so(void **state)
{
    struct fixture *fx = *state;

    add_kernel(fx, "of a graph", 7, 1500, 1700); /* BR-112 */
    add_kernel(fx, "without a correlation", 0, 1800, 1900);
    add_call(fx, "cudaLaunchKernel", 0, 1000, 1010);
    load(fx, NULL);
    assert_int_equal(fx->trace->works[0].launch_start_ns, RKT_TIME_UNKNOWN);
    assert_int_equal(fx->trace->works[1].launch_start_ns, RKT_TIME_UNKNOWN);
}

static void impossible_times_are_left_out_and_counted(void **state)
{
    struct fixture *fx = *state;

    add_kernel(fx, "good", 1, 1000, 2000);
    add_kernel(fx, "without a start", 2, 0, 2000);
    add_kernel(fx, "backwards", 3, 3000, 2000);            /* BR-51 */
    add_kernel(fx, "for an hour", 4, 3000, 3600 * SECOND); /* BR-56 */
    add_kernel(fx, "past all numbers", 5, 3000, UINT64_MAX);
    load(fx, NULL);
    assert_int_equal(fx->trace->work_count, 1);
    assert_int_equal(fx->trace->left_out_count, 4);
}

static void a_collective_on_which_the_host_waits_as_long_is_kept(void **state)
{
    struct fixture *fx = *state;

    add_kernel(fx, "ncclDevKernel_AllReduce", 1, 1000, 3600 * SECOND);
    add_call(fx, "cudaStreamSynchronize", 2, 2000, 3600 * SECOND + 5);
    load(fx, NULL);
    assert_int_equal(fx->trace->work_count, 1);
    assert_int_equal(fx->trace->left_out_count, 0);
}

static void copies_keep_what_is_known_of_them(void **state)
{
    struct fixture *fx = *state;

    add(fx, (struct rkt_event){.kind = RKT_EVENT_MEMCPY,
                               .flags = RKT_FLAG_ASYNC,
                               .start_ns = 1000,
                               .end_ns = 1200,
                               .memcpy = {.stream_id = 8,
                                          .bytes = 4096,
                                          .copy_kind = RKT_COPY_HTOD,
                                          .src_kind = RKT_MEMORY_PAGEABLE,
                                          .dst_kind = RKT_MEMORY_DEVICE}});
    add(fx,
        (struct rkt_event){
            .kind = RKT_EVENT_MEMSET, .start_ns = 1300, .end_ns = 1310, .memset = {.bytes = 64}});
    load(fx, NULL);
    assert_int_equal(fx->trace->works[0].work_class, RKT_WORK_COPY);
    assert_int_equal(fx->trace->works[0].copy_kind, RKT_COPY_HTOD);
    assert_int_equal(fx->trace->works[0].src_kind, RKT_MEMORY_PAGEABLE);
    assert_int_equal(fx->trace->works[0].bytes, 4096);
    assert_int_equal(fx->trace->works[0].is_async, 1);
    assert_int_equal(fx->trace->works[1].copy_kind, RKT_COPY_MEMSET);
    assert_int_equal(fx->trace->works[1].is_async, 0);
}

static void the_users_pattern_names_more_comm_kernels(void **state)
{
    struct fixture *fx = *state;

    add_kernel(fx, "my_all_reduce_v2", 1, 1000, 2000);
    add_kernel(fx, "gemm", 2, 2000, 3000);
    load(fx, "^my_.*reduce");
    assert_int_equal(fx->trace->works[0].work_class, RKT_WORK_COMM);
    assert_int_equal(fx->trace->works[1].work_class, RKT_WORK_COMPUTE);
}

static void a_pattern_that_is_none_is_refused_by_name(void **state)
{
    const struct rkt_work_rules rules = {"my_["};
    struct fixture *fx = *state;
    struct rkt_error err;

    assert_rkt_status(
        rkt_rank_trace_load(store_open(&fx->maker), fx->rank, &rules, &fx->trace, &err),
        RKT_ERR_INVALID);
    assert_non_null(strstr(err.text, "my_["));
}

static void sync_records_block_only_where_no_call_says_it(void **state)
{
    struct fixture *fx = *state;

    add_kernel(fx, "k", 1, 100, 200);
    add_call(fx, "cudaStreamSynchronize", 5, 1000, 2000);
    for (uint32_t i = 0; i < 3; i++)
        add(fx, (struct rkt_event){.kind = RKT_EVENT_SYNC,
                                   .type = i == 2 ? RKT_SYNC_STREAM_WAIT_EVENT : RKT_SYNC_STREAM,
                                   .start_ns = 1010 + 3000 * i,
                                   .end_ns = 1990 + 3000 * i,
                                   .correlation_id = 5 + i}); /* the first is the call's own */
    load(fx, NULL);
    assert_int_equal(fx->trace->call_count, 2);
    assert_int_equal(fx->trace->calls[1].start_ns, 4010);
    assert_int_equal(fx->trace->calls[1].call_class, RKT_CALL_BLOCKING);
}

/*
 * Two collectives in one group are one kernel; its name says nothing of communication:
 *
 *   GroupApi [1000 ......................................... 1100)
 *   KernelLaunch       [1020 ... 1040)      RAW
 *   cuLaunchKernelEx     [1025 1035)        REALTIME
 *   Coll 5, Coll 6                    [1050 1055) [1060 1065)
 */
static void operations_join_the_kernel_that_their_bracket_launched(void **state)
{
    struct fixture *fx = *state;
    const uint64_t t = SECOND;
    const struct rkt_work *work;

    add_pairs(fx);
    add_kernel(fx, "gemm", 1, real(t + 900), real(t + 1090));
    add_kernel(fx, "mystery", 2, real(t + 1100), real(t + 1200));
    add_call(fx, "cudaLaunchKernel", 1, real(t + 800), real(t + 810));
    add_call(fx, "cuLaunchKernelEx", 2, real(t + 1025), real(t + 1035));
    add_nccl(fx, RKT_NCCL_COLL, 6, t + 1060, t + 1065);
    add_nccl(fx, RKT_NCCL_COLL, 5, t + 1050, t + 1055);
    add_nccl(fx, RKT_NCCL_KERNEL_LAUNCH, UINT64_MAX, t + 1020, t + 1040);
    add_nccl(fx, RKT_NCCL_COLL_API, UINT64_MAX, t + 1005, t + 1010);
    add_nccl(fx, RKT_NCCL_GROUP_API, UINT64_MAX, t + 1000, t + 1100);
    load(fx, NULL);
    work = &fx->trace->works[1];
    assert_string_equal(name_of(fx, work->name_id), "mystery");
    assert_int_equal(work->work_class, RKT_WORK_COMM);
    assert_int_equal(work->op_count, 2);
    assert_int_equal(fx->trace->ops[work->op].nccl.seq, 5);
    assert_int_equal(fx->trace->ops[work->op].work, 1);
    assert_int_equal(fx->trace->ops[work->op].correlation_id, 2);
    assert_int_equal(fx->trace->ops[work->op].start_ns, real(t + 1050));
    assert_int_equal(fx->trace->ops[work->op + 1].nccl.seq, 6);
    assert_int_equal(fx->trace->works[0].work_class, RKT_WORK_COMPUTE);
    assert_int_equal(fx->trace->works[0].op, RKT_INDEX_NONE);
    assert_int_equal(fx->trace->clock_error_ns, BRACKET_NS / 2);
}

static void each_launch_of_a_group_has_the_operations_that_follow_it(void **state)
{
    struct fixture *fx = *state;
    const uint64_t t = SECOND;

    add_pairs(fx);
    add_nccl(fx, RKT_NCCL_GROUP_API, UINT64_MAX, t + 1000, t + 1900);
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t at = t + 1100 + 400 * i;

        add_kernel(fx, "ncclDevKernel_AllReduce", 1 + (uint32_t)i, real(at + 300), real(at + 400));
        add_call(fx, "cuLaunchKernelEx", 1 + (uint32_t)i, real(at + 10), real(at + 20));
        add_nccl(fx, RKT_NCCL_KERNEL_LAUNCH, UINT64_MAX, at, at + 30);
        add_nccl(fx, RKT_NCCL_COLL, 40 + i, at + 50, at + 60);
    }
    load(fx, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(fx->trace->works[i].op_count, 1);
        assert_int_equal(fx->trace->ops[fx->trace->works[i].op].nccl.seq, 40 + i);
    }
}

/* Under graph replay and CUDA_LAUNCH_BLOCKING the Coll events come from another thread. */
static void calls_stand_for_operations_that_were_not_reported(void **state)
{
    struct fixture *fx = *state;
    const uint64_t t = SECOND;

    add_pairs(fx);
    add_nccl(fx, RKT_NCCL_GROUP_API, UINT64_MAX, t + 1000, t + 1100);
    add_nccl(fx, RKT_NCCL_COLL_API, UINT64_MAX, t + 1005, t + 1010);
    add_nccl(fx, RKT_NCCL_KERNEL_LAUNCH, UINT64_MAX, t + 1020, t + 1040);
    add_call(fx, "cuLaunchKernelEx", 2, real(t + 1025), real(t + 1035));
    add_kernel(fx, "ncclDevKernel_AllReduce", 2, real(t + 1100), real(t + 1200));
    load(fx, NULL);
    assert_int_equal(fx->trace->works[0].op_count, 1);
    assert_int_equal(fx->trace->ops[fx->trace->works[0].op].type, RKT_NCCL_COLL_API);
}

static void operations_whose_kernel_is_not_there_join_none(void **state)
{
    struct fixture *fx = *state;
    const uint64_t t = SECOND;

    add_pairs(fx);
    add_kernel(fx, "ncclDevKernel_AllReduce", 9, real(t + 100), real(t + 200));
    add_nccl(fx, RKT_NCCL_KERNEL_LAUNCH, UINT64_MAX, t + 1020, t + 1040);
    add_nccl(fx, RKT_NCCL_COLL, 5, t + 1050, t + 1055);
    load(fx, NULL);
    assert_int_equal(fx->trace->works[0].op, RKT_INDEX_NONE);
    assert_int_equal(fx->trace->op_count, 2);
    assert_int_equal(fx->trace->ops[1].work, RKT_INDEX_NONE);
}

static void imported_operations_join_by_correlation_and_in_graphs_by_start(void **state)
{
    struct fixture *fx = *state;

    add_kernel(fx, "ncclDevKernel_AllReduce", 1, 1000, 1100);
    add_kernel(fx, "ncclDevKernel_AllReduce", 2, 2000, 2100); /* two kernels of one graph */
    add_kernel(fx, "ncclDevKernel_AllGather", 2, 3000, 3100);
    add_kernel(fx, "gemm", 3, 4000, 4100);
    for (uint32_t i = 0; i < 4; i++) {
        static const uint64_t starts[] = {3000, 2000, 1000, 4000};
        static const uint32_t correlations[] = {2, 2, 1, 3};

        add(fx, (struct rkt_event){.kind = RKT_EVENT_NCCL,
                                   .type = RKT_NCCL_KERNEL_INFO,
                                   .start_ns = starts[i],
                                   .end_ns = starts[i] + 100,
                                   .correlation_id = correlations[i],
                                   .nccl = {.seq = starts[i]}});
    }
    load(fx, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fx->trace->works[i].op_count, 1);
        assert_int_equal(fx->trace->ops[fx->trace->works[i].op].nccl.seq,
                         fx->trace->works[i].start_ns);
    }
    assert_int_equal(fx->trace->works[3].work_class, RKT_WORK_COMPUTE); /* its name decides */
    assert_int_equal(fx->trace->works[3].op, RKT_INDEX_NONE);
}

static void marks_are_mapped_to_the_clock_of_the_gpu(void **state)
{
    struct fixture *fx = *state;

    add_pairs(fx);
    add_kernel(fx, "k", 1, real(2 * SECOND), real(2 * SECOND + 10));
    add_range(fx, RKT_RANGE_STEP, AUTOGRAD, SECOND + 5, 3 * SECOND);
    load(fx, NULL);
    assert_int_equal(rkt_clock_map_rank_clock(fx->trace->clock), RKT_CLOCK_REALTIME);
    assert_int_equal(fx->trace->ranges[0].start_ns, real(SECOND + 5));
    assert_int_equal(fx->trace->ranges[0].end_ns, real(3 * SECOND));
    assert_int_equal(fx->trace->main_thread_id, AUTOGRAD); /* of the step marks */
}

static void without_clock_records_marks_are_left_out_and_counted(void **state)
{
    struct fixture *fx = *state;

    add_kernel(fx, "k", 1, real(2 * SECOND), real(2 * SECOND + 10));
    add_range(fx, RKT_RANGE_STEP, MAIN, SECOND, 3 * SECOND);
    load(fx, NULL);
    assert_int_equal(fx->trace->work_count, 1);
    assert_int_equal(fx->trace->range_count, 0);
    assert_int_equal(fx->trace->unmapped_count, 1);
    assert_int_equal(rkt_clock_map_state(fx->trace->clock), RKT_ALIGN_UNALIGNED);
}

static void a_rank_without_gpu_work_computes_in_the_clock_of_its_marks(void **state)
{
    struct fixture *fx = *state;

    add_range(fx, RKT_RANGE_STEP, MAIN, SECOND, 3 * SECOND);
    load(fx, NULL);
    assert_false(fx->trace->has_gpu);
    assert_int_equal(rkt_clock_map_rank_clock(fx->trace->clock), RKT_CLOCK_MONOTONIC_RAW);
    assert_int_equal(fx->trace->ranges[0].start_ns, SECOND);
}

/* The run was cut before its alignment was stored: the exchanges are. */
static void exchanges_align_a_run_that_was_cut(void **state)
{
    struct fixture *fx = *state;
    struct rkt_job_time job;
    int64_t bound_ns;

    add_pairs(fx);
    add_kernel(fx, "k", 1, real(2 * SECOND), real(2 * SECOND + 10));
    for (uint32_t burst = 0; burst < 3; burst++) {
        uint64_t t1 = (burst + 1) * SECOND;

        store_add(&fx->maker, fx->sidecar,
                  (struct rkt_event){.kind = RKT_EVENT_CLOCK_EXCHANGE,
                                     .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                     .start_ns = t1,
                                     .end_ns = t1 + 2000,
                                     .clock_exchange = {.t2_ns = t1 + 1000 + 777,
                                                        .t3_ns = t1 + 1000 + 777,
                                                        .burst = burst}});
    }
    load(fx, NULL);
    assert_int_equal(rkt_clock_map_state(fx->trace->clock), RKT_ALIGN_MEASURED);
    job = rkt_clock_map_to_job(fx->trace->clock, (int64_t)real(2 * SECOND), &bound_ns);
    assert_true(llabs(job.ns - (int64_t)(2 * SECOND + 777)) <= bound_ns);
    assert_true(bound_ns >= 1000 && bound_ns < 2000);
}

static void what_describes_others_is_kept(void **state)
{
    struct fixture *fx = *state;
    uint32_t name = store_name(&fx->maker, fx->rank, "pt_autograd_0");

    add(fx, (struct rkt_event){.kind = RKT_EVENT_NAME,
                               .type = RKT_NAMED_THREAD,
                               .name_id = name,
                               .start_ns = 1,
                               .end_ns = 1,
                               .name = {.object_id = AUTOGRAD}});
    add(fx, (struct rkt_event){.kind = RKT_EVENT_COMM,
                               .start_ns = 1,
                               .end_ns = 1,
                               .comm = {.comm_id = 99, .rank = 2, .rank_count = 8}});
    for (uint32_t i = 2; i >= 1; i--)
        add(fx, (struct rkt_event){.kind = RKT_EVENT_SHAPE,
                                   .start_ns = 1,
                                   .end_ns = 1,
                                   .shape = {.shape_id = i, .grid_x = 100 * i}});
    add(fx, (struct rkt_event){.kind = RKT_EVENT_LOSS,
                               .type = RKT_LOSS_RING_FULL,
                               .start_ns = 1,
                               .end_ns = 1,
                               .loss = {.count = 12}});
    add(fx, (struct rkt_event){.kind = RKT_EVENT_BUCKET,
                               .start_ns = 100,
                               .end_ns = 200,
                               .thread_id = AUTOGRAD,
                               .bucket = {.bytes = 1 << 20, .step = 3, .index = 1}});
    add_kernel(fx, "k", 1, 1000, 1100);
    load(fx, NULL);
    assert_string_equal(rkt_rank_trace_thread_name(fx->trace, AUTOGRAD), "pt_autograd_0");
    assert_string_equal(rkt_rank_trace_thread_name(fx->trace, MAIN), "");
    assert_int_equal(fx->trace->comms[0].rank_count, 8);
    assert_int_equal(fx->trace->shapes[0].shape_id, 1);
    assert_int_equal(fx->trace->shapes[1].grid_x, 200);
    assert_int_equal(fx->trace->losses[RKT_LOSS_RING_FULL], 12);
    assert_int_equal(fx->trace->buckets[0].bytes, 1 << 20);
}

static void an_autograd_thread_is_main_only_where_there_is_no_other(void **state)
{
    struct fixture *fx = *state;
    uint32_t name = store_name(&fx->maker, fx->rank, "pt_autograd_0");

    add(fx, (struct rkt_event){.kind = RKT_EVENT_NAME,
                               .type = RKT_NAMED_THREAD,
                               .name_id = name,
                               .start_ns = 1,
                               .end_ns = 1,
                               .name = {.object_id = AUTOGRAD}});
    for (uint32_t i = 1; i <= 3; i++) {
        add(fx, (struct rkt_event){.kind = RKT_EVENT_API,
                                   .name_id = store_name(&fx->maker, fx->rank, "cudaLaunchKernel"),
                                   .start_ns = 100ull * i,
                                   .end_ns = 100ull * i + 10,
                                   .thread_id = i == 1 ? MAIN : AUTOGRAD,
                                   .correlation_id = i});
        add_kernel(fx, "k", i, 1000ull * i, 1000ull * i + 10);
    }
    load(fx, NULL);
    assert_int_equal(fx->trace->main_thread_id, MAIN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_launch_joins_its_kernel_whichever_was_stored_first),
        TEST(of_runtime_and_driver_call_the_outer_one_is_the_launch),
        TEST(work_without_a_launch_record_says_so),
        TEST(impossible_times_are_left_out_and_counted),
        TEST(a_collective_on_which_the_host_waits_as_long_is_kept),
        TEST(copies_keep_what_is_known_of_them),
        TEST(the_users_pattern_names_more_comm_kernels),
        TEST(a_pattern_that_is_none_is_refused_by_name),
        TEST(sync_records_block_only_where_no_call_says_it),
        TEST(operations_join_the_kernel_that_their_bracket_launched),
        TEST(each_launch_of_a_group_has_the_operations_that_follow_it),
        TEST(calls_stand_for_operations_that_were_not_reported),
        TEST(operations_whose_kernel_is_not_there_join_none),
        TEST(imported_operations_join_by_correlation_and_in_graphs_by_start),
        TEST(marks_are_mapped_to_the_clock_of_the_gpu),
        TEST(without_clock_records_marks_are_left_out_and_counted),
        TEST(a_rank_without_gpu_work_computes_in_the_clock_of_its_marks),
        TEST(exchanges_align_a_run_that_was_cut),
        TEST(what_describes_others_is_kept),
        TEST(an_autograd_thread_is_main_only_where_there_is_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
