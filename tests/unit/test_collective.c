/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_test.h"

#define COMM 0xc0ffeeu

static struct fake_op all_reduce(uint64_t seq, uint64_t count)
{
    return (struct fake_op){
        .comm_id = COMM, .seq = seq, .count = count, .peer = -1, .func = RKT_NCCL_FUNC_ALLREDUCE};
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
    fake_match(&run);
    assert_int_equal(run.result.collective_count, 400);
    for (size_t c = 0; c < 400; c++) {
        const struct rkt_collective *collective = &run.result.collectives[c];

        for (uint32_t r = 0; r < 5; r++) {
            const struct rkt_participant *part = fake_part_of(&run, c, r);

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
    fake_match(&run);
    assert_int_equal(fake_part_of(&run, 0, 0)->wait_ns, 100);
    assert_int_equal(fake_part_of(&run, 0, 1)->wait_ns, 0);
    assert_int_equal(fake_part_of(&run, 0, 2)->wait_ns, 0);
    assert_int_equal(fake_part_of(&run, 1, 0)->wait_ns, 0);
    assert_int_equal(fake_part_of(&run, 1, 1)->wait_ns, 100);
    assert_int_equal(fake_part_of(&run, 1, 2)->wait_ns, 0);
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
        fake_match(&run);
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
    fake_match(&run);
    assert_int_equal(fake_part_of(&run, 0, 0)->ready_ns,
                     9000); /* the gemm's end, after the launch */
    assert_true(fake_part_of(&run, 0, 0)->late_ns == RKT_NA);
    assert_false(fake_part_of(&run, 0, 0)->is_queued);
    assert_int_equal(fake_part_of(&run, 1, 0)->late_ns, 10);
    assert_true(fake_part_of(&run, 1, 0)->is_queued);
    assert_int_equal(fake_part_of(&run, 2, 0)->ready_ns, 51000);
    assert_int_equal(fake_part_of(&run, 2, 0)->late_ns, 30000);
    assert_false(fake_part_of(&run, 2, 0)->is_queued);
    fake_run_release(&run);
}

/* Autograd's thread has launched no work yet; what it receives follows the forward all the same. */
static void a_collective_is_ready_after_the_one_launched_before_it_on_any_thread(void **state)
{
    static const struct {
        int64_t start_ns;
        int64_t launch_ns;
        uint32_t stream_id;
        uint32_t thread_id;
        int64_t ready_ns;
    } COMMS[] = {
        {9100, 1000, 20, 1, 9000},
        {12000, 3000, 21, 2, 9000}, /* waited for something, so for what came before */
        {5000, 3500, 22, 2, 4500},  /* had started */
    };
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        fake_add_comm(&run, r, COMM, (int32_t)r, 2);
        fake_add_work(&run, r, (struct fake_work){RKT_WORK_COMPUTE, "gemm", 7, 2000, 9000, 500, 1});
        for (uint64_t k = 0; k < 3; k++) {
            fake_add_work(&run, r,
                          (struct fake_work){RKT_WORK_COMM, "ncclDevKernel_AllReduce(x)",
                                             COMMS[k].stream_id, COMMS[k].start_ns, 20000,
                                             COMMS[k].launch_ns, COMMS[k].thread_id});
            fake_add_op(&run, r, all_reduce(k, 8));
        }
    }
    fake_match(&run);
    for (size_t i = 0; i < run.result.collective_count; i++)
        assert_int_equal(fake_part_of(&run, i, 0)->ready_ns,
                         COMMS[run.result.collectives[i].seq].ready_ns);
    fake_run_release(&run);
}

/* 1F1B: the main thread exchanges what autograd's thread has computed, on the stream of both. A
 * thread's work on another stream is not waited for. */
static void a_collective_is_ready_after_what_its_stream_was_given_by_any_thread(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        fake_add_comm(&run, r, COMM, (int32_t)r, 2);
        fake_add_work(&run, r, (struct fake_work){RKT_WORK_COMPUTE, "f", 7, 2000, 4000, 500, 1});
        fake_add_work(&run, r, (struct fake_work){RKT_WORK_COMPUTE, "b", 7, 4000, 9000, 1600, 2});
        fake_add_work(&run, r, (struct fake_work){RKT_WORK_COPY, "c", 8, 4000, 9900, 1700, 3});
        fake_add_work(&run, r,
                      (struct fake_work){RKT_WORK_COMM, "ncclDevKernel_SendRecv(x)", 20, 12000,
                                         20000, 3000, 1});
        fake_add_op(&run, r, all_reduce(0, 8));
    }
    fake_match(&run);
    assert_int_equal(fake_part_of(&run, 0, 0)->ready_ns, 9000);
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
    fake_match(&run);
    assert_true(fabs(run.result.collectives[0].busbw_bytes_per_s - 1.5e9) < 1);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_and_active_add_up_on_every_rank_of_any_job),
        cmocka_unit_test(only_the_root_of_a_reduce_waits_and_never_the_root_of_a_broadcast),
        cmocka_unit_test(the_last_to_arrive_must_lead_by_more_than_the_clocks_can_be_off),
        cmocka_unit_test(a_start_behind_the_comm_before_it_is_queued),
        cmocka_unit_test(a_collective_is_ready_after_the_one_launched_before_it_on_any_thread),
        cmocka_unit_test(a_collective_is_ready_after_what_its_stream_was_given_by_any_thread),
        cmocka_unit_test(busbw_is_as_nccl_tests_count_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
