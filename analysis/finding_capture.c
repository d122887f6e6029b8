/* SPDX-License-Identifier: Apache-2.0 */
/* What limits the numbers themselves, and settings under which a job is not itself. */
#include <math.h>

#include "analysis/finding_parts.h"

#define LOST_WARNING 0.01  /* of all records */
#define OVERHEAD_INFO 0.01 /* of a rank's run */
#define OVERHEAD_WARNING 0.05
#define BLOCKING_SHARE 0.9 /* of the launches of kernels */
#define BLOCKING_MIN 100
#define BOUND_SHARE 0.01 /* of a step: clocks that tell ranks apart */

static enum rkt_status status_of(const struct rkt_finding *finding)
{
    return finding ? RKT_OK : RKT_ERR_NOMEM;
}

static enum rkt_status find_lost_records(struct rkt_finder *finder)
{
    const struct rkt_result *result = finder->result;
    double all = (double)result->event_count + (double)result->loss_count;
    double share = all > 0 ? (double)result->loss_count / all : 0;

    if (result->loss_count == 0)
        return RKT_OK;
    return status_of(rkt_add_finding(
        finder, "lost_records", share >= LOST_WARNING ? RKT_SEVERITY_WARNING : RKT_SEVERITY_INFO,
        NULL, "larger rings (RANKTRACE_RING_CAPACITY), fewer kinds of records, or capture windows",
        "%llu records are lost, %.2g%% of all: counts and sums are too small by what they held",
        (unsigned long long)result->loss_count, 100 * share));
}

/* What would have to be aligned is a job of several ranks. */
static enum rkt_status find_clock(struct rkt_finder *finder)
{
    const struct rkt_result *result = finder->result;
    int64_t worst_ns = 0;
    size_t unaligned = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        unaligned += result->ranks[r].align_state == RKT_ALIGN_UNALIGNED;
        worst_ns = result->ranks[r].bound_ns > worst_ns ? result->ranks[r].bound_ns : worst_ns;
    }
    if (result->rank_count < 2)
        return RKT_OK;
    if (unaligned > 0)
        return status_of(rkt_add_finding(
            finder, "clock", RKT_SEVERITY_WARNING, NULL,
            "record under ranktrace run, which measures the clocks; of imports, merge the files of "
            "one job only",
            "The clocks of %zu ranks are not aligned: only durations are compared between ranks",
            unaligned));
    if ((double)worst_ns <= BOUND_SHARE * (double)result->summary.step_ns ||
        result->summary.step_ns == RKT_NA)
        return RKT_OK;
    return status_of(rkt_add_finding(
        finder, "clock", RKT_SEVERITY_WARNING, NULL,
        "a quieter network for clock probes, or a clock synchronised by PTP",
        "Clocks may be off by %.3g ms, a step is %.3g ms: who comes last is not told apart",
        (double)worst_ns / 1e6, (double)result->summary.step_ns / 1e6));
}

static enum rkt_status find_launch_blocking(struct rkt_finder *finder)
{
    double launches = rkt_per_step(finder, RKT_TABLE_STREAMS, NULL, RKT_STREAM_LAUNCH_COUNT);
    double blocking = rkt_per_step(finder, RKT_TABLE_STREAMS, NULL, RKT_STREAM_BLOCKING);
    double copies = rkt_per_step(finder, RKT_TABLE_COPIES, NULL, RKT_COLUMN_COUNT);
    double kernels = launches - copies;

    if (blocking * (double)finder->sum.step_count < BLOCKING_MIN ||
        blocking < BLOCKING_SHARE * kernels)
        return RKT_OK;
    return status_of(
        rkt_add_finding(finder, "launch_blocking", RKT_SEVERITY_WARNING, NULL,
                        "unset CUDA_LAUNCH_BLOCKING, and measure again",
                        "%.0f%% of the kernels had ended when their launch returned, as under "
                        "CUDA_LAUNCH_BLOCKING=1: nothing runs ahead or beside",
                        100 * (kernels > 0 && blocking < kernels ? blocking / kernels : 1)));
}

static enum rkt_status find_warmup(struct rkt_finder *finder)
{
    size_t warmups = 0;

    for (size_t i = 0; i < finder->steps.row_count; i++)
        warmups += finder->steps.rows[i].is_warmup;
    if (warmups == 0)
        return RKT_OK;
    return status_of(rkt_add_finding(
        finder, "warm_up", RKT_SEVERITY_INFO, NULL,
        "record later steps (--steps, --schedule): what is recorded of these is left out",
        "%zu of %zu steps are warm-up, and in no statistic", warmups, finder->steps.row_count));
}

static enum rkt_status find_overhead(struct rkt_finder *finder)
{
    const struct rkt_result *result = finder->result;
    double worst = 0;
    size_t at = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_rank_result *rank = &result->ranks[r];
        double share = rkt_share(rank->trace->overhead_ns, rank->run.end_ns - rank->run.start_ns);

        if (isfinite(share) && share > worst) {
            worst = share;
            at = r;
        }
    }
    if (worst < OVERHEAD_INFO)
        return RKT_OK;
    return status_of(rkt_add_finding(
        finder, "capture_overhead",
        worst >= OVERHEAD_WARNING ? RKT_SEVERITY_WARNING : RKT_SEVERITY_INFO, NULL,
        "record fewer kinds or fewer steps: waits and gaps that are about as long may be the "
        "tracer's",
        "Tracing itself took up to %.1f%% of the time of rank %u, as CUPTI says", 100 * worst,
        result->ranks[at].rank));
}

enum rkt_status rkt_find_capture_limits(struct rkt_finder *finder)
{
    enum rkt_status status = find_lost_records(finder);

    if (status == RKT_OK)
        status = find_clock(finder);
    if (status == RKT_OK)
        status = find_launch_blocking(finder);
    if (status == RKT_OK)
        status = find_warmup(finder);
    return status == RKT_OK ? find_overhead(finder) : status;
}
