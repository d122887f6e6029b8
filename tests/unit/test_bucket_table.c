/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/arrival.h"
#include "analysis/bucket_table.h"
#include "analysis/interval.h"
#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_test.h"

#define US INT64_C(1000)

/*
 * Backward begins at 100 us on the host and at 200 us on the GPU; gradients are there at 300 and
 * 400. AllReduces run 300..500 and 500..600 (queued), of which what comes after 450 is exposed.
 */
static void add_step(struct fake_run *run, size_t rank, int64_t at_us, uint64_t seq)
{
    struct rkt_step_result *step = fake_add_step(run, rank, at_us * US, (at_us + 1000) * US);
    uint32_t index = (uint32_t)step->number;

    step->backward_launch_ns = (at_us + 100) * US;
    step->backward.start_ns = (at_us + 200) * US;
    for (int64_t i = 0; i < 2; i++) {
        struct fake_op op = {99, seq + (uint64_t)i, 25000, -1, RKT_NCCL_FUNC_ALLREDUCE};
        uint32_t work = fake_add_work(run, rank,
                                      (struct fake_work){.work_class = RKT_WORK_COMPUTE,
                                                         .name = "gemm",
                                                         .stream_id = 7,
                                                         .start_ns = (at_us + 200 + 100 * i) * US,
                                                         .end_ns = (at_us + 300 + 100 * i) * US,
                                                         .launch_ns = (at_us + 100 + 20 * i) * US});

        run->traces[rank].works[work].step = index;
        work = fake_add_work(run, rank,
                             (struct fake_work){.work_class = RKT_WORK_COMM,
                                                .name = "ncclDevKernel_AllReduce",
                                                .stream_id = 20,
                                                .start_ns = (at_us + 300 + 200 * i) * US,
                                                .end_ns = (at_us + 500 + 100 * i) * US,
                                                .launch_ns = (at_us + 110 + 20 * i) * US});
        run->traces[rank].works[work].step = index;
        run->traces[rank].works[work].is_bucket = 1;
        fake_add_op(run, rank, op);
    }
}

static void buckets_are_told_one_by_one(void **state)
{
    struct rkt_interval_set exposed = {0};
    const struct rkt_bucket_row *row;
    struct rkt_error err;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        fake_add_comm(&run, r, 99, (int32_t)r, 2);
        for (int64_t s = 0; s < 3; s++)
            add_step(&run, r, s * 1000, (uint64_t)s * 2);
        run.result.ranks[r].exposed = &exposed;
        run.result.ranks[r].steps[0].is_warmup = true;
    }
    for (int64_t s = 0; s < 3; s++)
        assert_rkt_status(
            rkt_interval_set_add(&exposed, (s * 1000 + 450) * US, (s * 1000 + 600) * US), RKT_OK);
    rkt_interval_set_normalise(&exposed);
    fake_match(&run);
    assert_rkt_ok(rkt_find_buckets(&run.result, &run.arena, &err), err);
    assert_int_equal(run.result.bucket_count, 2);
    row = run.result.buckets;
    assert_int_equal(row->index, 0);
    assert_int_equal(row->bytes, 100000);
    assert_int_equal(row->collective_count, 2); /* the warm-up is left out */
    assert_int_equal(row->launch_offset_ns, 10 * US);
    assert_int_equal(row->ready_ns, 100 * US);
    assert_int_equal(row->start_ns, 100 * US);
    assert_true(row->queued_share == 0);
    assert_int_equal(row->transfer_ns, 200 * US);
    assert_int_equal(row->wait_ns, 0);
    assert_int_equal(row->exposed_ns, 50 * US);
    assert_true(row->busbw_bytes_per_s > 4.99e8 && row->busbw_bytes_per_s < 5.01e8);
    row++;
    assert_int_equal(row->index, 1);
    assert_int_equal(row->launch_offset_ns, 30 * US);
    assert_int_equal(row->ready_ns, 200 * US);
    assert_int_equal(row->start_ns, 300 * US); /* 100 after it was ready */
    assert_true(row->queued_share == 1);
    assert_int_equal(row->transfer_ns, 100 * US);
    assert_int_equal(row->exposed_ns, 100 * US);
    rkt_interval_set_release(&exposed);
    fake_run_release(&run);
}

static void what_is_not_known_of_a_bucket_is_not_given(void **state)
{
    struct rkt_error err;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        struct rkt_step_result *step = fake_add_step(&run, r, 0, 1000 * US);

        step->backward_launch_ns = RKT_NA;
        step->backward.start_ns = RKT_NA;
        fake_add_bucket(&run, r, 0, 0, 100 * US, 200 * US); /* host view */
    }
    fake_match(&run);
    assert_rkt_ok(rkt_find_buckets(&run.result, &run.arena, &err), err);
    assert_int_equal(run.result.bucket_count, 1);
    assert_true(run.result.buckets->launch_offset_ns == RKT_NA);
    assert_true(run.result.buckets->ready_ns == RKT_NA);
    assert_true(run.result.buckets->exposed_ns == RKT_NA);
    assert_int_equal(run.result.buckets->transfer_ns, 100 * US);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_told_one_by_one),
        cmocka_unit_test(what_is_not_known_of_a_bucket_is_not_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
