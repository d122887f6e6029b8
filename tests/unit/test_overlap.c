/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/activity.h"
#include "analysis/measure.h"
#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_test.h"

static void add_compute(struct fake_run *run, int64_t start_ns, int64_t end_ns, int64_t launch_ns,
                        enum rkt_phase phase)
{
    uint32_t work = fake_add_work(run, 0,
                                  (struct fake_work){.name = "gemm",
                                                     .stream_id = 7,
                                                     .start_ns = start_ns,
                                                     .end_ns = end_ns,
                                                     .launch_ns = launch_ns});

    run->traces[0].works[work].step = 0;
    run->traces[0].works[work].phase = (uint8_t)phase;
}

static void add_bucket(struct fake_run *run, int64_t start_ns, int64_t end_ns)
{
    uint32_t work = fake_add_comm_work(run, 0, "ncclDevKernel_AllReduce(x)", start_ns, end_ns);

    run->traces[0].works[work].step = 0;
    run->traces[0].works[work].is_bucket = 1;
}

static const struct rkt_backward_overlap *overlap_of_step(struct fake_run *run)
{
    struct rkt_rank_result *rank = &run->result.ranks[0];
    struct rkt_error err;

    assert_rkt_ok(rkt_activity_create(rank->trace, &rank->activity, &err), err);
    assert_rkt_ok(rkt_find_overlaps(rank, &err), err);
    rkt_measure_end(rank);
    return &rank->steps[0].backward;
}

/* The worked example of analysis/doc/metrics.md. */
static void a_bucket_is_hidden_by_the_compute_of_the_backward_only(void **state)
{
    const struct rkt_backward_overlap *overlap;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_step(&run, 0, 0, 1000);
    add_compute(&run, 100, 300, 10, RKT_PHASE_FORWARD);
    add_compute(&run, 300, 500, 20, RKT_PHASE_BACKWARD);
    add_bucket(&run, 400, 560); /* 100 under compute, 20 in the gap, 40 under compute */
    add_compute(&run, 520, 700, 30, RKT_PHASE_BACKWARD);
    add_bucket(&run, 650, 900); /* 50 under backward, then the tail under the optimizer */
    add_compute(&run, 750, 800, 40, RKT_PHASE_OPTIMIZER);
    overlap = overlap_of_step(&run);
    assert_int_equal(overlap->bucket_count, 2);
    assert_int_equal(overlap->buckets_ns, 160 + 250);
    assert_int_equal(overlap->overlapped_ns, 100 + 40 + 50);
    assert_int_equal(overlap->tail_ns, 200);
    assert_true(fabs(overlap->ratio - 190.0 / 410) < 1e-9);
    fake_run_release(&run);
}

static void micro_batches_have_a_backward_each(void **state)
{
    const struct rkt_backward_overlap *overlap;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_step(&run, 0, 0, 1000);
    add_compute(&run, 100, 200, 10, RKT_PHASE_BACKWARD);
    add_bucket(&run, 150, 450); /* 50 in the first backward, the forward's 100 do not count, 50 */
    add_compute(&run, 250, 350, 20, RKT_PHASE_FORWARD);
    add_compute(&run, 400, 500, 30, RKT_PHASE_BACKWARD);
    overlap = overlap_of_step(&run);
    assert_int_equal(overlap->overlapped_ns, 100);
    assert_int_equal(overlap->tail_ns, 0);
    fake_run_release(&run);
}

static void without_buckets_or_without_a_backward_the_ratio_is_not_known(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_step(&run, 0, 0, 1000);
    add_compute(&run, 100, 200, 10, RKT_PHASE_BACKWARD);
    assert_true(isnan(overlap_of_step(&run)->ratio));
    assert_int_equal(overlap_of_step(&run)->bucket_count, 0);
    fake_run_release(&run);

    fake_run_init(&run, 1);
    fake_add_step(&run, 0, 0, 1000);
    add_compute(&run, 100, 200, 10, RKT_PHASE_NONE);
    add_bucket(&run, 120, 160);
    assert_true(isnan(overlap_of_step(&run)->ratio));
    assert_int_equal(overlap_of_step(&run)->buckets_ns, 40);
    assert_true(overlap_of_step(&run)->overlapped_ns == RKT_NA);
    fake_run_release(&run);
}

static void add_copy(struct fake_run *run, enum rkt_copy_kind kind, int64_t start_ns,
                     int64_t end_ns, uint32_t step)
{
    uint32_t work = fake_add_work(run, 0,
                                  (struct fake_work){.work_class = RKT_WORK_COPY,
                                                     .name = "Memcpy",
                                                     .stream_id = 9,
                                                     .start_ns = start_ns,
                                                     .end_ns = end_ns,
                                                     .launch_ns = 5});

    run->traces[0].works[work].copy_kind = (uint8_t)kind;
    run->traces[0].works[work].step = step;
}

/* The worked example of analysis/doc/metrics.md, "The next step's copies". */
static void copies_to_the_gpu_under_backward_are_a_later_steps_input(void **state)
{
    const struct rkt_backward_overlap *overlap;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_step(&run, 0, 0, 1000);
    add_copy(&run, RKT_COPY_HTOD, 40, 100, 0); /* its own input */
    add_compute(&run, 100, 300, 10, RKT_PHASE_FORWARD);
    add_copy(&run, RKT_COPY_HTOD, 270, 380, 1); /* 80 under backward, the gap in it counts */
    add_compute(&run, 300, 500, 20, RKT_PHASE_BACKWARD);
    add_copy(&run, RKT_COPY_DTOH, 400, 450, 0);
    add_copy(&run, RKT_COPY_HTOD, 490, 530, 1); /* all of it */
    add_compute(&run, 520, 700, 30, RKT_PHASE_BACKWARD);
    add_copy(&run, RKT_COPY_HTOD, 980, 1050, 1); /* its part in the window: 20 */
    run.result.ranks[0].steps[0].window.copy_by_kind_ns[RKT_COPY_PART_HTOD] = 60 + 110 + 40 + 20;
    overlap = overlap_of_step(&run);
    assert_int_equal(overlap->prefetch_ns, 80 + 40);
    assert_true(fabs(overlap->prefetch_ratio - 120.0 / 230) < 1e-9);
    fake_run_release(&run);
}

static void without_copies_or_a_backward_their_share_is_not_known(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_step(&run, 0, 0, 1000);
    add_compute(&run, 100, 200, 10, RKT_PHASE_BACKWARD);
    assert_int_equal(overlap_of_step(&run)->prefetch_ns, 0);
    assert_true(isnan(overlap_of_step(&run)->prefetch_ratio));
    fake_run_release(&run);

    fake_run_init(&run, 1);
    fake_add_step(&run, 0, 0, 1000);
    add_copy(&run, RKT_COPY_HTOD, 40, 100, 0);
    run.result.ranks[0].steps[0].window.copy_by_kind_ns[RKT_COPY_PART_HTOD] = 60;
    assert_true(overlap_of_step(&run)->prefetch_ns == RKT_NA);
    assert_true(isnan(overlap_of_step(&run)->prefetch_ratio));
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_is_hidden_by_the_compute_of_the_backward_only),
        cmocka_unit_test(micro_batches_have_a_backward_each),
        cmocka_unit_test(without_buckets_or_without_a_backward_the_ratio_is_not_known),
        cmocka_unit_test(copies_to_the_gpu_under_backward_are_a_later_steps_input),
        cmocka_unit_test(without_copies_or_a_backward_their_share_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
