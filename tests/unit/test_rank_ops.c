/* SPDX-License-Identifier: Apache-2.0 */
/* Comm kernels and the NCCL operations that they carry out. */
#include "common/clock_line.h"
#include "tests/unit/rank_store.h"
#include "tests/unit/rkt_test.h"

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
    struct rank_store *fx = *state;
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
    rank_store_load(fx, NULL);
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
    assert_int_equal(fx->trace->clock_error_ns, BRACKET_NS / 2 + RKT_CLOCK_PAIR_LINE_NS);
}

static void each_launch_of_a_group_has_the_operations_that_follow_it(void **state)
{
    struct rank_store *fx = *state;
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
    rank_store_load(fx, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(fx->trace->works[i].op_count, 1);
        assert_int_equal(fx->trace->ops[fx->trace->works[i].op].nccl.seq, 40 + i);
    }
}

/* Another thread, and a call that launches nothing, are nearer to the bracket's start. */
static void a_bracket_looks_only_at_launches_of_its_thread(void **state)
{
    struct rank_store *fx = *state;
    const uint64_t t = SECOND;

    add_pairs(fx);
    add_kernel(fx, "gemm", 1, real(t + 1100), real(t + 1200));
    add_kernel(fx, "copy kernel", 2, real(t + 1300), real(t + 1400));
    add_kernel(fx, "mystery", 3, real(t + 1500), real(t + 1600));
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_API,
                                     .name_id = store_name(&fx->maker, fx->rank, "cuLaunchKernel"),
                                     .start_ns = real(t + 1020),
                                     .end_ns = real(t + 1025),
                                     .thread_id = MAIN + 1,
                                     .correlation_id = 1});
    add_call(fx, "cudaEventRecord", 2, real(t + 1021), real(t + 1023));
    add_call(fx, "cuLaunchKernelEx", 3, real(t + 1025), real(t + 1035));
    add_nccl(fx, RKT_NCCL_KERNEL_LAUNCH, UINT64_MAX, t + 1020, t + 1040);
    add_nccl(fx, RKT_NCCL_COLL, 5, t + 1050, t + 1055);
    rank_store_load(fx, NULL);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(fx->trace->works[i].op_count, i == 2);
}

/* Under graph replay and CUDA_LAUNCH_BLOCKING the Coll events come from another thread. */
static void calls_stand_for_operations_that_were_not_reported(void **state)
{
    struct rank_store *fx = *state;
    const uint64_t t = SECOND;

    add_pairs(fx);
    add_nccl(fx, RKT_NCCL_GROUP_API, UINT64_MAX, t + 1000, t + 1100);
    add_nccl(fx, RKT_NCCL_COLL_API, UINT64_MAX, t + 1005, t + 1010);
    add_nccl(fx, RKT_NCCL_KERNEL_LAUNCH, UINT64_MAX, t + 1020, t + 1040);
    add_call(fx, "cuLaunchKernelEx", 2, real(t + 1025), real(t + 1035));
    add_kernel(fx, "ncclDevKernel_AllReduce", 2, real(t + 1100), real(t + 1200));
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->works[0].op_count, 1);
    assert_int_equal(fx->trace->ops[fx->trace->works[0].op].type, RKT_NCCL_COLL_API);
}

static void operations_whose_kernel_is_not_there_join_none(void **state)
{
    struct rank_store *fx = *state;
    const uint64_t t = SECOND;

    add_pairs(fx);
    add_kernel(fx, "ncclDevKernel_AllReduce", 9, real(t + 100), real(t + 200));
    add_nccl(fx, RKT_NCCL_KERNEL_LAUNCH, UINT64_MAX, t + 1020, t + 1040);
    add_nccl(fx, RKT_NCCL_COLL, 5, t + 1050, t + 1055);
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->works[0].op, RKT_INDEX_NONE);
    assert_int_equal(fx->trace->op_count, 2);
    assert_int_equal(fx->trace->ops[1].work, RKT_INDEX_NONE);
}

static void add_by_nvtx(struct rank_store *fx, enum rkt_nccl_type type, uint64_t count,
                        uint64_t start_ns, uint64_t end_ns)
{
    add_event(
        fx, (struct rkt_event){
                .kind = RKT_EVENT_NCCL,
                .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                .type = (uint8_t)type,
                .flags = RKT_FLAG_BY_NVTX,
                .thread_id = MAIN,
                .start_ns = start_ns,
                .end_ns = end_ns,
                .nccl = {.seq = UINT64_MAX, .count = count, .datatype = RKT_DATATYPE_BYTE_COUNT}});
}

/* One call by itself, with other work launched around it; and a group with one kernel for both. */
static void calls_that_nvtx_tells_join_the_kernel_launched_inside(void **state)
{
    struct rank_store *fx = *state;
    const uint64_t t = SECOND;

    add_pairs(fx);
    add_call(fx, "cudaLaunchKernel", 4, real(t + 10), real(t + 20));
    add_kernel(fx, "gemm", 4, real(t + 300), real(t + 400));
    add_by_nvtx(fx, RKT_NCCL_GROUP_API, UINT64_MAX, t + 5000, t + 9000);
    add_by_nvtx(fx, RKT_NCCL_COLL_API, 4000, t + 5000, t + 9000);
    add_call(fx, "cudaLaunchKernelExC", 5, real(t + 7000), real(t + 8000));
    add_call(fx, "cuLaunchKernelEx", 5, real(t + 7100), real(t + 7900));
    add_kernel(fx, "ncclKernel_AllReduce_RING_LL_Sum_float", 5, real(t + 8000), real(t + 9900));
    add_by_nvtx(fx, RKT_NCCL_GROUP_API, UINT64_MAX, t + 20000, t + 40000);
    add_by_nvtx(fx, RKT_NCCL_P2P_API, 100, t + 21000, t + 22000);
    add_by_nvtx(fx, RKT_NCCL_P2P_API, 200, t + 23000, t + 24000);
    add_call(fx, "cuLaunchKernelEx", 6, real(t + 35000), real(t + 36000));
    add_kernel(fx, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", 6, real(t + 37000),
               real(t + 38000));
    rank_store_load(fx, NULL);
    assert_int_equal(fx->trace->works[0].op_count, 0);
    assert_int_equal(fx->trace->works[1].op_count, 1);
    assert_int_equal(fx->trace->ops[fx->trace->works[1].op].nccl.count, 4000);
    assert_int_equal(fx->trace->works[2].op_count, 2);
    assert_int_equal(fx->trace->ops[fx->trace->works[2].op].nccl.count, 100);
}

static void imported_operations_join_by_correlation_and_in_graphs_by_start(void **state)
{
    struct rank_store *fx = *state;

    add_kernel(fx, "ncclDevKernel_AllReduce", 1, 1000, 1100);
    add_kernel(fx, "ncclDevKernel_AllReduce", 2, 2000, 2100); /* two kernels of one graph */
    add_kernel(fx, "ncclDevKernel_AllGather", 2, 3000, 3100);
    add_kernel(fx, "gemm", 3, 4000, 4100);
    for (uint32_t i = 0; i < 4; i++) {
        static const uint64_t starts[] = {3000, 2000, 1000, 4000};
        static const uint32_t correlations[] = {2, 2, 1, 3};

        add_event(fx, (struct rkt_event){.kind = RKT_EVENT_NCCL,
                                         .type = RKT_NCCL_KERNEL_INFO,
                                         .start_ns = starts[i],
                                         .end_ns = starts[i] + 100,
                                         .correlation_id = correlations[i],
                                         .nccl = {.seq = starts[i]}});
    }
    rank_store_load(fx, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fx->trace->works[i].op_count, 1);
        assert_int_equal(fx->trace->ops[fx->trace->works[i].op].nccl.seq,
                         fx->trace->works[i].start_ns);
    }
    assert_int_equal(fx->trace->works[3].work_class, RKT_WORK_COMPUTE); /* its name decides */
    assert_int_equal(fx->trace->works[3].op, RKT_INDEX_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rank_store_set_up, rank_store_tear_down)

/* A SendRecv inside torch's range of an all_to_all, if it is one, and what matching has no use
 * for. */
static void add_for_matching(struct rank_store *fx, const char *range_name)
{
    add_pairs(fx);
    add_kernel(fx, "ncclDevKernel_SendRecv(x)", 1, real(SECOND) + 500, real(SECOND) + 900);
    add_call(fx, "cudaLaunchKernelExC", 1, real(SECOND) + 100, real(SECOND) + 200);
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_RANGE,
                                     .type = RKT_RANGE_ANNOTATION,
                                     .name_id = store_name(&fx->maker, fx->rank, range_name),
                                     .start_ns = real(SECOND) + 50,
                                     .end_ns = real(SECOND) + 300,
                                     .thread_id = MAIN});
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_COUNTER, .start_ns = real(SECOND)});
}

static void for_matching_alone_only_ranges_of_an_all_to_all_are_taken(void **state)
{
    struct rank_store *fx = *state;

    add_for_matching(fx, "nccl:all_to_all");
    rank_store_load_matches(fx);
    assert_int_equal(fx->trace->gpu.counter_count, 0);
    assert_int_equal(fx->trace->range_count, 1);
    assert_true(fx->trace->works[0].is_all_to_all);
    assert_int_equal(fx->trace->works[0].start_ns, real(SECOND) + 500);
}

static void for_matching_alone_other_ranges_are_not_taken(void **state)
{
    struct rank_store *fx = *state;

    add_for_matching(fx, "nccl:send");
    rank_store_load_matches(fx);
    assert_int_equal(fx->trace->range_count, 0);
    assert_int_equal(fx->trace->work_count, 1);
    assert_false(fx->trace->works[0].is_all_to_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(operations_join_the_kernel_that_their_bracket_launched),
        TEST(a_bracket_looks_only_at_launches_of_its_thread),
        TEST(each_launch_of_a_group_has_the_operations_that_follow_it),
        TEST(calls_stand_for_operations_that_were_not_reported),
        TEST(operations_whose_kernel_is_not_there_join_none),
        TEST(calls_that_nvtx_tells_join_the_kernel_launched_inside),
        TEST(imported_operations_join_by_correlation_and_in_graphs_by_start),
        TEST(for_matching_alone_only_ranges_of_an_all_to_all_are_taken),
        TEST(for_matching_alone_other_ranges_are_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
