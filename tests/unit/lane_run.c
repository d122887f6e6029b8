/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_run.h"

#include "analysis/activity.h"
#include "analysis/arrival.h"
#include "analysis/lane.h"
#include "analysis/measure.h"
#include "rkt_test.h"

void lane_compute(struct fake_run *run, int64_t launch_us, int64_t start_us, int64_t end_us)
{
    (void)fake_add_work(run, 0,
                        (struct fake_work){.work_class = RKT_WORK_COMPUTE,
                                           .name = "gemm",
                                           .stream_id = STREAM,
                                           .start_ns = start_us * US,
                                           .end_ns = end_us * US,
                                           .launch_ns = launch_us * US});
}

void lane_copy(struct fake_run *run, uint32_t stream_id, int64_t launch_us, int64_t start_us,
               int64_t end_us)
{
    (void)fake_add_work(run, 0,
                        (struct fake_work){.work_class = RKT_WORK_COPY,
                                           .name = "copy",
                                           .stream_id = stream_id,
                                           .start_ns = start_us * US,
                                           .end_ns = end_us * US,
                                           .launch_ns = launch_us * US});
}

uint32_t lane_all_reduce(struct fake_run *run, int64_t launch_us, int64_t start_us, int64_t end_us)
{
    return fake_add_work(run, 0,
                         (struct fake_work){.work_class = RKT_WORK_COMM,
                                            .name = "ncclDevKernel_AllReduce",
                                            .stream_id = 20,
                                            .start_ns = start_us * US,
                                            .end_ns = end_us * US,
                                            .launch_ns = launch_us * US});
}

const struct rkt_step_result *lane_find(struct fake_run *run, int64_t end_us)
{
    struct rkt_rank_result *rank = &run->result.ranks[0];
    struct rkt_error err;

    if (rank->step_count == 0) {
        (void)fake_add_step(run, 0, 0, end_us * US);
        for (size_t i = 0; i < rank->trace->work_count; i++)
            rank->trace->works[i].step = 0;
    }
    assert_rkt_ok(rkt_find_arrivals(rank->trace, &err), err);
    assert_rkt_ok(rkt_activity_create(rank->trace, &rank->activity, &err), err);
    assert_rkt_ok(rkt_lane_find(rank->trace, rank, &err), err);
    rkt_measure_end(rank);
    return &rank->steps[0];
}

void assert_lane_host(const struct fake_run *run, size_t at, struct rkt_replay_host want_us,
                      int64_t idle_us)
{
    const struct rkt_lane_item *item = &run->traces[0].lane[at];

    if (item->host.bound_ns != want_us.bound_ns * US || item->host.own_ns != want_us.own_ns * US ||
        item->host.lead_ns != want_us.lead_ns * US || item->host.wait_ns != want_us.wait_ns * US ||
        item->host.wait_back != want_us.wait_back || item->host_idle_ns != idle_us * US)
        fail_msg("item %zu: bound %lld, own %lld, lead %lld, wait %lld after %u, idle %lld", at,
                 (long long)item->host.bound_ns, (long long)item->host.own_ns,
                 (long long)item->host.lead_ns, (long long)item->host.wait_ns, item->host.wait_back,
                 (long long)item->host_idle_ns);
}
