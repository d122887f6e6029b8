/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "analysis/match_unit.h"
#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_test.h"

#define COMM 0xc0ffeeu

static void match(struct fake_run *run)
{
    struct rkt_error err;

    assert_rkt_ok(rkt_match_collectives(&run->result, &run->arena, &err), err);
    rkt_measure_collectives(&run->result);
}

/* The rank's part in collective `c`, by position in ranks. */
static const struct rkt_participant *part_of(const struct fake_run *run, size_t c, uint32_t rank)
{
    const struct rkt_collective *collective = &run->result.collectives[c];

    for (size_t i = 0; i < collective->participant_count; i++) {
        if (collective->participants[i].rank == rank)
            return &collective->participants[i];
    }
    fail_msg("rank %u has no part in collective %zu", rank, c);
    return NULL;
}

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
    match(&run);
    assert_int_equal(run.result.collective_count, 1);
    assert_int_equal(run.result.unmatched_count, 2);
    assert_int_equal(run.result.collectives[0].seq, 5);
    assert_int_equal(run.result.collectives[0].confidence, RKT_MATCH_EXACT);
    assert_int_equal(run.result.collectives[0].expected_count, 2);
    assert_int_equal(run.result.collectives[0].bytes, 40);
    assert_int_equal(part_of(&run, 0, 0)->work, 1);
    assert_int_equal(part_of(&run, 0, 1)->work, 0);
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
    match(&run);
    assert_int_equal(run.result.collective_count, 3);
    assert_int_equal(run.result.unmatched_count, 0);
    for (size_t c = 0; c < 3; c++) {
        assert_int_equal(part_of(&run, c, 0)->work, c);
        assert_int_equal(part_of(&run, c, 1)->work, c);
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
    match(&run);
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
    match(&run);
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
        match(&run);
        if (run.result.collective_count != last - first + 1)
            fail_msg("%s: %zu collectives", CASES[i].what, run.result.collective_count);
        for (size_t c = 0; c < run.result.collective_count; c++) {
            size_t k = part_of(&run, c, 0)->work + 10;

            if (part_of(&run, c, 1)->work + CASES[i].first != k)
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
        match(&run);
        assert_int_equal(run.result.collective_count, 60);
        assert_int_equal(run.result.unmatched_count, 0);
        for (size_t c = 0; c < 60; c++) {
            const struct rkt_collective *collective = &run.result.collectives[c];
            size_t k = part_of(&run, c, 0)->work;

            assert_int_equal(collective->participant_count, 3 - (k == 22) - (k < 4 || k == 41));
            if (k != 22)
                assert_int_equal(part_of(&run, c, 1)->work, k - (k > 22));
            if (k >= 4 && k != 41)
                assert_int_equal(part_of(&run, c, 2)->work, k - 4 - (k > 41));
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
    match(&run);
    assert_int_equal(run.result.collective_count, 20);
    assert_int_equal(run.result.collectives[0].confidence, RKT_MATCH_WEAK);
    assert_int_equal(run.result.collectives[0].last_rank, RKT_INDEX_NONE);
    assert_true(part_of(&run, 0, 0)->wait_ns == RKT_NA);
    assert_int_equal(part_of(&run, 0, 0)->clock_free_wait_ns, 0);
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
    match(&run);
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
    match(&run);
    assert_int_equal(run.result.collective_count, 7);
    assert_int_equal(run.result.unmatched_count, 1);
    for (size_t c = 0; c < 7; c++) {
        assert_int_equal(run.result.collectives[c].comm_id, COMM);
        assert_int_equal(run.result.collectives[c].confidence,
                         c < 2 ? RKT_MATCH_WEAK : RKT_MATCH_ORDERED);
        assert_int_equal(part_of(&run, c, 0)->work, part_of(&run, c, 1)->work + 1);
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
    match(&run);
    assert_int_equal(run.result.collective_count, 2);
    for (size_t c = 0; c < 2; c++) {
        assert_int_equal(run.result.collectives[c].func, RKT_NCCL_FUNC_ALLTOALL);
        assert_int_equal(run.result.collectives[c].participant_count, 3);
        assert_int_equal(run.result.collectives[c].bytes, 3 * 16 * 4);
        assert_int_equal(part_of(&run, c, 0)->wait_ns, 2);
        assert_int_equal(part_of(&run, c, 2)->wait_ns, 0);
    }
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
    match(&run);
    assert_int_equal(run.result.collective_count, 2);
    assert_int_equal(run.result.collectives[0].participant_count, 2);
    assert_int_equal(run.result.collectives[0].func, RKT_NCCL_FUNC_SENDRECV);
    assert_int_equal(part_of(&run, 0, 0)->wait_ns, 200);
    assert_int_equal(part_of(&run, 0, 1)->wait_ns, 0);
    assert_int_equal(part_of(&run, 1, 1)->wait_ns, 0);
    assert_int_equal(part_of(&run, 1, 2)->wait_ns, 0);
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
    match(&run);
    assert_int_equal(run.result.collective_count, 4);
    assert_int_equal(run.result.unmatched_count, 1);
    assert_int_equal(run.result.collectives[2].bucket_index, 0);
    assert_int_equal(run.result.collectives[2].step, 1);
    assert_int_equal(run.result.collectives[2].last_rank, 2);
    assert_int_equal(part_of(&run, 2, 0)->wait_ns, 20);
    assert_int_equal(part_of(&run, 2, 0)->active_ns, 80);
    assert_true(isnan(run.result.collectives[2].busbw_bytes_per_s));
    fake_run_release(&run);
}

static void wait_and_active_add_up_on_every_rank_of_any_job(void **state)
{
    static const enum rkt_nccl_func FUNCS[] = {RKT_NCCL_FUNC_ALLREDUCE, RKT_NCCL_FUNC_BROADCAST,
                                               RKT_NCCL_FUNC_REDUCE, RKT_NCCL_FUNC_ALLGATHER};
    struct fake_run run;
    uint32_t seed = 1;

    (void)state;
    fake_run_init(&run, 5);
    for (size_t r = 0; r < 5; r++)
        fake_add_comm(&run, r, COMM, (int32_t)r, 5);
    for (uint64_t k = 0; k < 400; k++) {
        struct fake_op op = {COMM, k, 8, (int32_t)(k % 5), FUNCS[k % 4]};

        for (size_t r = 0; r < 5; r++) {
            int64_t start_ns;

            seed = seed * 1664525u + 1013904223u;
            start_ns = (int64_t)k * 10000 + seed % 5000;
            fake_add_collective(&run, r, op, start_ns, start_ns + 1 + seed / 65536 % 4000);
        }
    }
    match(&run);
    assert_int_equal(run.result.collective_count, 400);
    for (size_t c = 0; c < 400; c++) {
        const struct rkt_collective *collective = &run.result.collectives[c];

        for (uint32_t r = 0; r < 5; r++) {
            const struct rkt_participant *part = part_of(&run, c, r);

            assert_int_equal(part->wait_ns + part->active_ns, part->end_ns - part->start_ns);
            assert_int_equal(part->clock_free_wait_ns + collective->transfer_ns,
                             part->end_ns - part->start_ns);
            assert_true(part->wait_ns >= 0 && part->active_ns >= 0);
        }
    }
    fake_run_release(&run);
}

static void only_the_root_of_a_reduce_waits_and_never_the_root_of_a_broadcast(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        int64_t start_ns = (int64_t)r * 100;

        fake_add_comm(&run, r, COMM, (int32_t)r, 3);
        fake_add_collective(&run, r, (struct fake_op){COMM, 0, 8, 1, RKT_NCCL_FUNC_BROADCAST},
                            start_ns, 1000);
        fake_add_collective(&run, r, (struct fake_op){COMM, 0, 8, 1, RKT_NCCL_FUNC_REDUCE},
                            2000 + start_ns, 3000);
    }
    match(&run);
    assert_int_equal(part_of(&run, 0, 0)->wait_ns, 100);
    assert_int_equal(part_of(&run, 0, 1)->wait_ns, 0);
    assert_int_equal(part_of(&run, 0, 2)->wait_ns, 0);
    assert_int_equal(part_of(&run, 1, 0)->wait_ns, 0);
    assert_int_equal(part_of(&run, 1, 1)->wait_ns, 100);
    assert_int_equal(part_of(&run, 1, 2)->wait_ns, 0);
    fake_run_release(&run);
}

static void the_last_to_arrive_must_lead_by_more_than_the_clocks_can_be_off(void **state)
{
    static const struct {
        const char *what;
        int64_t lead_ns, bound_ns, end_spread_ns;
        bool want;
    } CASES[] = {
        {"one clock", 1, 0, 50, true},
        {"a tie on one clock", 0, 0, 0, false},
        {"beyond both bounds", 2001, 1000, 0, true},
        {"as large as both bounds", 2000, 1000, 0, false},
        {"no bound, beyond the spread of the ends", 100, -1, 30, true},
        {"no bound, within the spread of the ends", 25, -1, 30, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct fake_run run;

        fake_run_init(&run, 2);
        for (size_t r = 0; r < 2; r++) {
            fake_add_comm(&run, r, COMM, (int32_t)r, 2);
            fake_add_collective(&run, r, all_reduce(0, 8), r == 1 ? 1000 + CASES[i].lead_ns : 1000,
                                r == 1 ? 9000 + CASES[i].end_spread_ns : 9000);
            run.result.ranks[r].bound_ns = CASES[i].bound_ns;
        }
        match(&run);
        if (run.result.collectives[0].last_is_distinguishable != CASES[i].want)
            fail_msg("%s", CASES[i].what);
        fake_run_release(&run);
    }
}

static void a_start_behind_the_comm_before_it_is_queued(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        fake_add_comm(&run, r, COMM, (int32_t)r, 2);
        fake_add_work(&run, r, (struct fake_work){RKT_WORK_COMPUTE, "gemm", 7, 2000, 9000, 500, 1});
        for (uint64_t k = 0; k < 3; k++) {
            static const int64_t STARTS[] = {9100, 20000, 60000};
            static const int64_t ENDS[] = {19990, 30000, 70000};
            struct fake_work work = {RKT_WORK_COMM,
                                     "ncclDevKernel_AllReduce(x)",
                                     20,
                                     STARTS[k],
                                     ENDS[k],
                                     k < 2 ? 1000 + (int64_t)k * 2000 : 50000,
                                     1};

            fake_add_work(&run, r, work);
            fake_add_op(&run, r, all_reduce(k, 8));
        }
    }
    match(&run);
    assert_int_equal(part_of(&run, 0, 0)->ready_ns, 9000); /* the gemm's end, after the launch */
    assert_true(part_of(&run, 0, 0)->late_ns == RKT_NA);
    assert_false(part_of(&run, 0, 0)->is_queued);
    assert_int_equal(part_of(&run, 1, 0)->late_ns, 10);
    assert_true(part_of(&run, 1, 0)->is_queued);
    assert_int_equal(part_of(&run, 2, 0)->ready_ns, 51000);
    assert_int_equal(part_of(&run, 2, 0)->late_ns, 30000);
    assert_false(part_of(&run, 2, 0)->is_queued);
    fake_run_release(&run);
}

static void busbw_is_as_nccl_tests_count_it(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 4);
    for (size_t r = 0; r < 4; r++) {
        fake_add_comm(&run, r, COMM, (int32_t)r, 4);
        fake_add_collective(&run, r, all_reduce(0, 250000), 0, 1000000); /* 1 MB in 1 ms */
    }
    match(&run);
    assert_true(fabs(run.result.collectives[0].busbw_bytes_per_s - 1.5e9) < 1);
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
        cmocka_unit_test(a_pipeline_hop_joins_the_sender_and_its_receiver_only),
        cmocka_unit_test(buckets_of_equal_step_and_index_are_one_collective),
        cmocka_unit_test(wait_and_active_add_up_on_every_rank_of_any_job),
        cmocka_unit_test(only_the_root_of_a_reduce_waits_and_never_the_root_of_a_broadcast),
        cmocka_unit_test(the_last_to_arrive_must_lead_by_more_than_the_clocks_can_be_off),
        cmocka_unit_test(a_start_behind_the_comm_before_it_is_queued),
        cmocka_unit_test(busbw_is_as_nccl_tests_count_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
