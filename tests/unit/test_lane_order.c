/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/activity.h"
#include "analysis/arrival.h"
#include "analysis/lane.h"
#include "analysis/measure.h"
#include "fake_run.h"
#include "rkt_test.h"

#define US INT64_C(1000)

/*
 *     launches    1       4 bucket 1, 6 bucket 2, 7 send
 *     compute     |==2..20==|
 *     AllReduce             |--20..40--|--40..50--|
 *     send                  |20..25|                       ready as the buckets are, and begins before the second
 */
static void what_is_ready_at_one_time_is_posted_in_order_of_launches(void **state)
{
    static const struct fake_work WORKS[] = {
        {RKT_WORK_COMPUTE, .name = "gemm", .stream_id = 7, .start_ns = 2 * US, .end_ns = 20 * US,
         .launch_ns = 1 * US},
        {RKT_WORK_COMM, .name = "bucket 1", .stream_id = 20, .start_ns = 20 * US, .end_ns = 40 * US,
         .launch_ns = 4 * US},
        {RKT_WORK_COMM, .name = "send", .stream_id = 21, .start_ns = 20 * US, .end_ns = 25 * US,
         .launch_ns = 7 * US},
        {RKT_WORK_COMM, .name = "bucket 2", .stream_id = 20, .start_ns = 40 * US, .end_ns = 50 * US,
         .launch_ns = 6 * US},
    };
    static const uint32_t POSTED[] = {1, 3, 2};
    struct fake_run run;
    struct rkt_rank_trace *trace;
    struct rkt_rank_result *rank;
    struct rkt_error err;

    (void)state;
    fake_run_init(&run, 1);
    trace = &run.traces[0];
    rank = &run.result.ranks[0];
    (void)fake_add_step(&run, 0, 0, 50 * US);
    for (size_t i = 0; i < 4; i++) {
        (void)fake_add_work(&run, 0, WORKS[i]);
        trace->works[i].step = 0;
    }
    assert_rkt_ok(rkt_find_arrivals(trace, &err), err);
    assert_rkt_ok(rkt_activity_create(trace, &rank->activity, &err), err);
    assert_rkt_ok(rkt_lane_find(trace, rank, &err), err);
    rkt_measure_end(rank);
    assert_int_equal(trace->lane_count, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(trace->lane[i].kind, RKT_REPLAY_POST);
        assert_int_equal(trace->lane[i].work, POSTED[i]);
        assert_int_equal(rkt_lane_own_ns(&trace->lane[i]), i == 0 ? 20 * US : 0);
    }
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_ready_at_one_time_is_posted_in_order_of_launches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
