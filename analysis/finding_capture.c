/* SPDX-License-Identifier: Apache-2.0 */
/* What limits the numbers themselves, and settings under which a job is not itself. */
#include <math.h>
#include <string.h>

#include "analysis/finding_parts.h"

#define LOST_WARNING 0.01  /* of all records */
#define OVERHEAD_INFO 0.01 /* of a rank's run */
#define OVERHEAD_WARNING 0.05
#define LOAD_MAX 0.02      /* of a core */
#define BLOCKING_SHARE 0.9 /* of the launches of kernels */
#define BLOCKING_MIN 100
#define BOUND_SHARE 0.01 /* of a step: clocks that tell ranks apart */

static enum rkt_status status_of(const struct rkt_finding *finding)
{
    return finding ? RKT_OK : RKT_ERR_NOMEM;
}

/* Of files that other tools wrote: how they were captured, they do not say. */
static bool is_imported(const struct rkt_result *result)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        if (result->ranks[r].trace->source.info.producer != RKT_PRODUCER_KINETO)
            return false;
    }
    return result->rank_count > 0;
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
        NULL,
        is_imported(result)
            ? "'ranktrace merge --check FILE' names them; export the trace again"
            : "larger rings (RANKTRACE_RING_CAPACITY), fewer kinds of records, or capture windows",
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

/* Of all sidecars on the host of rank `at`, in cores. Ranks of one sidecar stand together. */
static double load_of_host(const struct rkt_result *result, size_t at)
{
    const char *host = result->ranks[at].trace->source.info.host;
    const struct rkt_source_info *last = NULL;
    double load = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_rank_trace *trace = result->ranks[r].trace;
        double share = rkt_share(trace->sidecar_cpu_ns, trace->sidecar_ns);

        if (strcmp(trace->source.info.host, host) != 0 ||
            (last && last->node == trace->source.info.node))
            continue;
        last = &trace->source.info;
        load += isfinite(share) ? share : 0;
    }
    return load;
}

/* What takes a rank's CPU from it makes its host late, not its GPU. */
static bool is_of_the_host(enum rkt_cause cause)
{
    return cause != RKT_CAUSE_NONE && cause != RKT_CAUSE_COMPUTE && cause != RKT_CAUSE_COPY;
}

/* Only beside a straggler: elsewhere nobody waits for it. */
static enum rkt_status find_tracer_load(struct rkt_finder *finder)
{
    const struct rkt_result *result = finder->result;
    const struct rkt_straggler *straggler = &result->straggler;
    int64_t step_ns = result->summary.step_ns;
    enum rkt_severity severity = RKT_SEVERITY_INFO;
    struct rkt_loss loss;
    double load;

    if (!straggler->is_found || !is_of_the_host(straggler->cause) || step_ns == RKT_NA)
        return RKT_OK;
    load = load_of_host(result, straggler->rank);
    if (load <= LOAD_MAX)
        return RKT_OK;
    loss.loss_ns = (int64_t)(load * (double)step_ns);
    loss.save_ns = straggler->gain_ns != RKT_NA ? straggler->gain_ns : straggler->excess_ns;
    loss.save_ns = loss.loss_ns < loss.save_ns ? loss.loss_ns : loss.save_ns;
    loss.share = rkt_share(loss.loss_ns, step_ns);
    loss.save_share = rkt_share(loss.save_ns, step_ns);
    (void)rkt_severity_of(&loss, &severity);
    return status_of(rkt_add_finding(
        finder, "tracer_load", severity, &loss,
        "leave a core to the sidecar, record fewer kinds or steps, or, where it is the host that "
        "receives all others' records, --store sharded; then measure again",
        "It may be the tracer: on the straggler's host, %s, it took %.1f%% of a core",
        result->ranks[straggler->rank].trace->source.info.host, 100 * load));
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
    if (status == RKT_OK)
        status = find_overhead(finder);
    return status == RKT_OK ? find_tracer_load(finder) : status;
}
