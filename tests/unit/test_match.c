/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/match_unit.h"
#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_test.h"

#define COMM 0xc0ffeeu

static struct fake_op all_reduce(uint64_t seq, uint64_t count)
{
    return (struct fake_op){
        .comm_id = COMM, .seq = seq, .count = count, .peer = -1, .func = RKT_NCCL_FUNC_ALLREDUCE};
}

static void kernel_names_say_the_function(void **state)
{
    static const struct {
        const char *name;
        enum rkt_nccl_func func;
    } CASES[] = {
        {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         RKT_NCCL_FUNC_ALLGATHER},
        {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)", RKT_NCCL_FUNC_REDUCESCATTER},
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", RKT_NCCL_FUNC_ALLREDUCE},
        {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", RKT_NCCL_FUNC_SENDRECV},
        {"ncclDevKernel_Generic(ncclDevComm*, reduce)", RKT_NCCL_FUNC_UNKNOWN},
        {"void cross_device_reduce_2stage<float>(x)", RKT_NCCL_FUNC_ALLREDUCE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        if (rkt_match_func_of_kernel(CASES[i].name) != CASES[i].func)
            fail_msg("%s", CASES[i].name);
    }
}

static void equal_seq_is_one_collective_whatever_the_order(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++)
        fake_add_comm(&run, r, COMM, (int32_t)r, 2);
    fake_add_collective(&run, 0, all_reduce(4, 10), 100, 200);
    fake_add_collective(&run, 0, all_reduce(5, 10), 300, 420);
    fake_add_collective(&run, 1, all_reduce(5, 10), 350, 425); /* its capture began later */
    fake_add_collective(&run, 1, all_reduce(6, 10), 500, 600);
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 1);
    assert_int_equal(run.result.unmatched_count, 2);
    assert_int_equal(run.result.collectives[0].seq, 5);
    assert_int_equal(run.result.collectives[0].confidence, RKT_MATCH_EXACT);
    assert_int_equal(run.result.collectives[0].expected_count, 2);
    assert_int_equal(run.result.collectives[0].bytes, 40);
    assert_int_equal(fake_part_of(&run, 0, 0)->work, 1);
    assert_int_equal(fake_part_of(&run, 0, 1)->work, 0);
    assert_int_equal(run.traces[0].works[1].collective, 0);
    assert_int_equal(run.traces[0].works[0].collective, RKT_INDEX_NONE);
    fake_run_release(&run);
}

static void a_seq_shared_by_funcs_and_by_coalesced_calls_stays_apart(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        struct fake_op gather = all_reduce(7, 20);

        gather.func = RKT_NCCL_FUNC_ALLGATHER;
        fake_add_comm(&run, r, COMM, (int32_t)r, 2);
        fake_add_collective(&run, r, all_reduce(7, 10), 100, 200);
        fake_add_collective(&run, r, all_reduce(7, 11), 300, 400);
        fake_add_collective(&run, r, gather, 500, 600);
    }
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 3);
    assert_int_equal(run.result.unmatched_count, 0);
    for (size_t c = 0; c < 3; c++) {
        assert_int_equal(fake_part_of(&run, c, 0)->work, c);
        assert_int_equal(fake_part_of(&run, c, 1)->work, c);
    }
    assert_int_equal(run.result.collectives[2].bytes, 20 * 4 * 2);
    fake_run_release(&run);
}

static void communicators_of_some_ranks_have_only_these(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 4);
    for (size_t r = 0; r < 4; r++) {
        struct fake_op op = all_reduce(0, 8);

        op.comm_id = 100 + r / 2;
        fake_add_comm(&run, r, op.comm_id, (int32_t)(r % 2), 2);
        fake_add_collective(&run, r, op, 10 + (int64_t)(r / 2), 90);
    }
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 2);
    for (size_t c = 0; c < 2; c++) {
        assert_int_equal(run.result.collectives[c].comm_id, 100 + c);
        assert_int_equal(run.result.collectives[c].participant_count, 2);
        assert_int_equal(run.result.collectives[c].participants[0].rank, 2 * c);
        assert_int_equal(run.result.collectives[c].expected_count, 2);
    }
    fake_run_release(&run);
}

static void what_a_rank_lost_is_marked_as_incomplete(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        fake_add_comm(&run, r, COMM, (int32_t)r, 3);
        for (uint64_t seq = 0; seq < 3; seq++) {
            if (r != 1 || seq != 1)
                fake_add_collective(&run, r, all_reduce(seq, 8), 100 * (int64_t)seq + (int64_t)r,
                                    100 * (int64_t)seq + 50);
        }
    }
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 3);
    assert_int_equal(run.result.collectives[1].participant_count, 2);
    assert_int_equal(run.result.collectives[1].expected_count, 3);
    assert_false(run.result.collectives[1].last_is_distinguishable);
    assert_true(run.result.collectives[0].last_is_distinguishable);
    assert_int_equal(run.result.unmatched_count, 0);
    fake_run_release(&run);
}

/* Ends of the true collectives; gaps as irregular as those of a real step. */
static int64_t true_end_ns(size_t k)
{
    static const int64_t GAPS[] = {400000, 90000, 61000, 250000, 33000};
    int64_t at = 0;

    for (size_t i = 0; i <= k; i++)
        at += GAPS[i % 5] + (int64_t)(i * 7919 % 23) * 1000;
    return at;
}

/* Collectives first .. last of the job on a rank whose clock is `offset_ns` ahead; no seq. */
static void add_window(struct fake_run *run, size_t rank, size_t first, size_t last,
                       int64_t offset_ns, size_t lost)
{
    for (size_t k = first; k <= last; k++) {
        struct fake_op op = all_reduce(UINT64_MAX, k % 5 == 0 ? 64 : 32);
        int64_t end_ns = true_end_ns(k) + offset_ns + (int64_t)(rank * 300);

        if (k != lost)
            fake_add_collective(run, rank, op, end_ns - 20000 - (int64_t)(k * 31 % 7) * 1000,
                                end_ns);
    }
}

static void windows_that_begin_at_different_collectives_find_their_shift(void **state)
{
    static const struct {
        const char *what;
        int64_t offset_ns;
        enum rkt_align_state align;
        size_t first, last; /* of rank 1; rank 0 has 10 to 49 */
    } CASES[] = {
        {"the same", 0, RKT_ALIGN_REFERENCE, 10, 49},
        {"later", 0, RKT_ALIGN_REFERENCE, 18, 49},
        {"earlier", 0, RKT_ALIGN_REFERENCE, 3, 44},
        {"later by a whole period", 0, RKT_ALIGN_REFERENCE, 20, 49},
        {"clocks 2 ms apart", 2000000, RKT_ALIGN_WALL_CLOCK, 20, 49},
        {"clocks of no relation", 900000000000, RKT_ALIGN_UNALIGNED, 17, 48},
        {"no relation, a whole period", -700000000, RKT_ALIGN_UNALIGNED, 15, 44},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        size_t last = CASES[i].last < 49 ? CASES[i].last : 49;
        size_t first = CASES[i].first > 10 ? CASES[i].first : 10;
        struct fake_run run;

        fake_run_init(&run, 2);
        fake_add_comm(&run, 0, COMM, 0, 2);
        fake_add_comm(&run, 1, COMM, 1, 2);
        add_window(&run, 0, 10, 49, 1000000000, SIZE_MAX);
        add_window(&run, 1, CASES[i].first, CASES[i].last, 1000000000 + CASES[i].offset_ns,
                   SIZE_MAX);
        run.result.ranks[1].align_state = CASES[i].align;
        fake_match(&run);
        if (run.result.collective_count != last - first + 1)
            fail_msg("%s: %zu collectives", CASES[i].what, run.result.collective_count);
        for (size_t c = 0; c < run.result.collective_count; c++) {
            size_t k = fake_part_of(&run, c, 0)->work + 10;

            if (fake_part_of(&run, c, 1)->work + CASES[i].first != k)
                fail_msg("%s: %zu", CASES[i].what, k);
            if (run.result.collectives[c].confidence != RKT_MATCH_ORDERED)
                fail_msg("%s: %u", CASES[i].what, run.result.collectives[c].confidence);
        }
        fake_run_release(&run);
    }
}

static void a_collective_lost_in_the_middle_costs_only_itself(void **state)
{
    struct fake_run run;

    (void)state;
    for (int aligned = 0; aligned < 2; aligned++) {
        fake_run_init(&run, 3);
        for (size_t r = 0; r < 3; r++)
            fake_add_comm(&run, r, COMM, (int32_t)r, 3);
        add_window(&run, 0, 0, 59, 0, SIZE_MAX);
        add_window(&run, 1, 0, 59, 0, 22);
        add_window(&run, 2, 4, 59, aligned ? 0 : 5000000, 41);
        if (!aligned)
            run.result.ranks[2].align_state = RKT_ALIGN_UNALIGNED;
        fake_match(&run);
        assert_int_equal(run.result.collective_count, 60);
        assert_int_equal(run.result.unmatched_count, 0);
        for (size_t c = 0; c < 60; c++) {
            const struct rkt_collective *collective = &run.result.collectives[c];
            size_t k = fake_part_of(&run, c, 0)->work;

            assert_int_equal(collective->participant_count, 3 - (k == 22) - (k < 4 || k == 41));
            if (k != 22)
                assert_int_equal(fake_part_of(&run, c, 1)->work, k - (k > 22));
            if (k >= 4 && k != 41)
                assert_int_equal(fake_part_of(&run, c, 2)->work, k - 4 - (k > 41));
        }
        fake_run_release(&run);
    }
}

static void a_perfectly_regular_job_without_clocks_is_matched_weakly(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        fake_add_comm(&run, r, COMM, (int32_t)r, 2);
        for (int64_t k = 0; k < 20; k++)
            fake_add_collective(&run, r, all_reduce(UINT64_MAX, 8), 1000 * k, 1000 * k + 100);
        run.result.ranks[r].align_state = RKT_ALIGN_UNALIGNED;
    }
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 20);
    assert_int_equal(run.result.collectives[0].confidence, RKT_MATCH_WEAK);
    assert_int_equal(run.result.collectives[0].last_rank, RKT_INDEX_NONE);
    assert_true(fake_part_of(&run, 0, 0)->wait_ns == RKT_NA);
    assert_int_equal(fake_part_of(&run, 0, 0)->clock_free_wait_ns, 0);
    fake_run_release(&run);
}

static void kernels_of_unknown_operations_match_by_name_and_say_weak(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        fake_add_comm_work(&run, r, "ncclKernel_SendRecv_RING(int)", 100 + (int64_t)r, 200);
        fake_add_comm_work(&run, r, "ncclKernel_AllReduce_RING(float)", 300, 400);
        fake_add_comm_work(&run, r, "ncclKernel_SendRecv_RING(int)", 500, 600);
    }
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 3);
    assert_string_equal(run.result.collectives[0].func_name, "SendRecv");
    assert_string_equal(run.result.collectives[1].func_name, "AllReduce");
    for (size_t c = 0; c < 3; c++) {
        assert_int_equal(run.result.collectives[c].confidence, RKT_MATCH_WEAK);
        assert_int_equal(run.result.collectives[c].expected_count, 0);
        assert_true(isnan(run.result.collectives[c].busbw_bytes_per_s));
    }
    assert_int_equal(run.result.collectives[0].last_rank, 1);
    fake_run_release(&run);
}

static void launches_before_the_capture_take_their_streams_communicator(void **state)
{
    struct fake_run run;
    const char *name = "ncclDevKernel_AllReduce_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        fake_add_comm(&run, r, COMM, (int32_t)r, 2);
        for (size_t k = r; k < 8; k++) {
            int64_t end_ns = true_end_ns(k);

            if (k < 3)
                fake_add_comm_work(&run, r, name, end_ns - 20000, end_ns);
            else
                fake_add_collective(&run, r, all_reduce(UINT64_MAX, 32), end_ns - 20000, end_ns);
        }
    }
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 7);
    assert_int_equal(run.result.unmatched_count, 1);
    for (size_t c = 0; c < 7; c++) {
        assert_int_equal(run.result.collectives[c].comm_id, COMM);
        assert_int_equal(run.result.collectives[c].confidence,
                         c < 2 ? RKT_MATCH_WEAK : RKT_MATCH_ORDERED);
        assert_int_equal(fake_part_of(&run, c, 0)->work, fake_part_of(&run, c, 1)->work + 1);
    }
    fake_run_release(&run);
}

static struct fake_op p2p(enum rkt_nccl_func func, int32_t peer)
{
    return (struct fake_op){
        .comm_id = COMM, .seq = UINT64_MAX, .count = 16, .peer = peer, .func = func};
}

static void a_group_with_every_pair_is_an_all_to_all(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        fake_add_comm(&run, r, COMM, (int32_t)r, 3);
        for (int64_t k = 0; k < 2; k++) {
            fake_add_comm_work(&run, r, "ncclDevKernel_SendRecv(x)", 1000 * k + (int64_t)r,
                               1000 * k + 500);
            for (int32_t peer = 0; peer < 3; peer++) {
                fake_add_op(&run, r, p2p(RKT_NCCL_FUNC_SEND, peer));
                fake_add_op(&run, r, p2p(RKT_NCCL_FUNC_RECV, peer));
            }
        }
    }
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 2);
    for (size_t c = 0; c < 2; c++) {
        assert_int_equal(run.result.collectives[c].func, RKT_NCCL_FUNC_ALLTOALL);
        assert_int_equal(run.result.collectives[c].participant_count, 3);
        assert_int_equal(run.result.collectives[c].bytes, 3 * 16 * 4);
        assert_int_equal(fake_part_of(&run, c, 0)->wait_ns, 2);
        assert_int_equal(fake_part_of(&run, c, 2)->wait_ns, 0);
    }
    fake_run_release(&run);
}

/* Of two ranks it might be an exchange between stages of a pipeline: a rank's own part tells. */
static void two_ranks_have_an_all_to_all_only_with_their_own_parts(void **state)
{
    (void)state;
    for (int has_own = 0; has_own < 2; has_own++) {
        struct fake_run run;

        fake_run_init(&run, 2);
        for (size_t r = 0; r < 2; r++) {
            fake_add_comm(&run, r, COMM, (int32_t)r, 2);
            fake_add_comm_work(&run, r, "ncclDevKernel_SendRecv(x)", 100 + (int64_t)r, 500);
            for (int32_t peer = 0; peer < 2; peer++) {
                if (!has_own && peer == (int32_t)r)
                    continue;
                fake_add_op(&run, r, p2p(RKT_NCCL_FUNC_SEND, peer));
                fake_add_op(&run, r, p2p(RKT_NCCL_FUNC_RECV, peer));
            }
        }
        fake_match(&run);
        assert_int_equal(run.result.collective_count, 1);
        assert_int_equal(run.result.collectives[0].func,
                         has_own ? RKT_NCCL_FUNC_ALLTOALL : RKT_NCCL_FUNC_SENDRECV);
        assert_int_equal(run.result.collectives[0].participant_count, 2);
        assert_int_equal(run.result.collectives[0].bytes, (has_own ? 2 : 1) * 16 * 4);
        fake_run_release(&run);
    }
}

/* All wait for rank 2, which gets 10, 20 and 30; what the others get and what all give is less. */
static void an_uneven_all_to_all_has_the_bytes_of_the_rank_with_most(void **state)
{
    static const uint64_t GIVEN[3][3] = {{1, 2, 10}, {2, 3, 20}, {3, 4, 30}};
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        fake_add_comm(&run, r, COMM, (int32_t)r, 3);
        fake_add_comm_work(&run, r, "ncclDevKernel_SendRecv(x)", 100, 500);
        for (int32_t peer = 0; peer < 3; peer++) {
            struct fake_op send = p2p(RKT_NCCL_FUNC_SEND, peer);
            struct fake_op receive = p2p(RKT_NCCL_FUNC_RECV, peer);

            send.count = GIVEN[r][peer];
            receive.count = GIVEN[peer][r];
            fake_add_op(&run, r, send);
            fake_add_op(&run, r, receive);
        }
    }
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 1);
    assert_int_equal(run.result.collectives[0].func, RKT_NCCL_FUNC_ALLTOALL);
    assert_int_equal(run.result.collectives[0].bytes, (10 + 20 + 30) * 4);
    fake_run_release(&run);
}

static void a_pipeline_hop_joins_the_sender_and_its_receiver_only(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    for (size_t r = 0; r < 3; r++)
        fake_add_comm(&run, r, COMM, (int32_t)r, 3);
    /* 0 sends to 1 while 1 is late; 1 sends to 2, buffered: 2 comes after its end. */
    fake_add_comm_work(&run, 0, "ncclDevKernel_SendRecv(x)", 100, 400);
    fake_add_op(&run, 0, p2p(RKT_NCCL_FUNC_SEND, 1));
    fake_add_comm_work(&run, 1, "ncclDevKernel_SendRecv(x)", 300, 400);
    fake_add_op(&run, 1, p2p(RKT_NCCL_FUNC_RECV, 0));
    fake_add_comm_work(&run, 1, "ncclDevKernel_SendRecv(x)", 500, 600);
    fake_add_op(&run, 1, p2p(RKT_NCCL_FUNC_SEND, 2));
    fake_add_comm_work(&run, 2, "ncclDevKernel_SendRecv(x)", 700, 800);
    fake_add_op(&run, 2, p2p(RKT_NCCL_FUNC_RECV, 1));
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 2);
    assert_int_equal(run.result.collectives[0].participant_count, 2);
    assert_int_equal(run.result.collectives[0].func, RKT_NCCL_FUNC_SENDRECV);
    assert_int_equal(fake_part_of(&run, 0, 0)->wait_ns, 200);
    assert_int_equal(fake_part_of(&run, 0, 1)->wait_ns, 0);
    assert_int_equal(fake_part_of(&run, 1, 1)->wait_ns, 0);
    assert_int_equal(fake_part_of(&run, 1, 2)->wait_ns, 0);
    fake_run_release(&run);
}

static void buckets_of_equal_step_and_index_are_one_collective(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        for (uint64_t step = 5; step < 7; step++) {
            int64_t at = (int64_t)step * 1000;

            fake_add_step(&run, r, at, at + 1000);
            run.result.ranks[r].steps[step - 5].number = step;
            fake_add_bucket(&run, r, step, 0, at + 100 + (int64_t)r * 10, at + 200);
            fake_add_bucket(&run, r, step, 1, at + 150, at + 300);
        }
    }
    fake_add_bucket(&run, 2, 7, 0, 7100, 7100); /* rank 2 went on, the others were killed */
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 4);
    assert_int_equal(run.result.unmatched_count, 1);
    assert_int_equal(run.result.collectives[2].bucket_index, 0);
    assert_int_equal(run.result.collectives[2].step, 1);
    assert_int_equal(run.result.collectives[2].last_rank, 2);
    assert_int_equal(fake_part_of(&run, 2, 0)->wait_ns, 20);
    assert_int_equal(fake_part_of(&run, 2, 0)->active_ns, 80);
    assert_true(isnan(run.result.collectives[2].busbw_bytes_per_s));
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_names_say_the_function),
        cmocka_unit_test(equal_seq_is_one_collective_whatever_the_order),
        cmocka_unit_test(a_seq_shared_by_funcs_and_by_coalesced_calls_stays_apart),
        cmocka_unit_test(communicators_of_some_ranks_have_only_these),
        cmocka_unit_test(what_a_rank_lost_is_marked_as_incomplete),
        cmocka_unit_test(windows_that_begin_at_different_collectives_find_their_shift),
        cmocka_unit_test(a_collective_lost_in_the_middle_costs_only_itself),
        cmocka_unit_test(a_perfectly_regular_job_without_clocks_is_matched_weakly),
        cmocka_unit_test(kernels_of_unknown_operations_match_by_name_and_say_weak),
        cmocka_unit_test(launches_before_the_capture_take_their_streams_communicator),
        cmocka_unit_test(a_group_with_every_pair_is_an_all_to_all),
        cmocka_unit_test(two_ranks_have_an_all_to_all_only_with_their_own_parts),
        cmocka_unit_test(an_uneven_all_to_all_has_the_bytes_of_the_rank_with_most),
        cmocka_unit_test(a_pipeline_hop_joins_the_sender_and_its_receiver_only),
        cmocka_unit_test(buckets_of_equal_step_and_index_are_one_collective),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
