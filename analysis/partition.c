/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/activity.h"
#include "analysis/stages.h"
#include "analysis/time_find.h"

static double ratio_of(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? (double)part_ns / (double)whole_ns : (double)NAN;
}

/* A record of no length at the very end of the run starts nowhere else: the last window has it. */
static void count_works(const struct rkt_rank_result *rank, struct rkt_window *window)
{
    const struct rkt_rank_trace *trace = rank->trace;
    bool is_last = window->end_ns == rank->run.end_ns;
    size_t first = rkt_time_find(&trace->works->start_ns, trace->work_count, sizeof(*trace->works),
                                 window->start_ns);

    for (size_t i = first; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->start_ns > window->end_ns || (work->start_ns == window->end_ns && !is_last))
            break;
        window->kernel_counts[work->work_class]++;
    }
}

static void fill_unions(const struct rkt_activity *activity, struct rkt_window *window)
{
    int64_t start_ns = window->start_ns;
    int64_t end_ns = window->end_ns;

    window->compute_ns = rkt_interval_set_length_within(&activity->compute, start_ns, end_ns);
    window->comm_ns = rkt_interval_set_length_within(&activity->comm, start_ns, end_ns);
    window->copy_ns = rkt_interval_set_length_within(&activity->copy, start_ns, end_ns);
    for (size_t i = 0; i < RKT_COPY_PART_COUNT; i++)
        window->copy_by_kind_ns[i] =
            rkt_interval_set_length_within(&activity->copy_by_part[i], start_ns, end_ns);
}

void rkt_window_shares(struct rkt_window *window)
{
    const struct rkt_partition *parts = &window->parts;
    int64_t exposed_ns = window->comm_ns - parts->overlapped_ns;

    window->comm_share = ratio_of(window->comm_ns, parts->window_ns);
    window->exposed_share = ratio_of(exposed_ns, parts->window_ns);
    window->overlap = ratio_of(parts->overlapped_ns, window->comm_ns);
    window->gpu_util = ratio_of(window->compute_ns + exposed_ns, parts->window_ns);
    window->compute_share = ratio_of(window->compute_ns, parts->window_ns);
}

enum rkt_status rkt_partition_window(const struct rkt_rank_result *rank, struct rkt_window *window,
                                     struct rkt_error *err)
{
    const struct rkt_activity *activity = rank->activity;
    int64_t length_ns = window->end_ns - window->start_ns;

    if (!activity)
        return rkt_fail(err, RKT_ERR_INVALID, "rank %u has no GPU activity to partition",
                        rank->rank);
    *window = (struct rkt_window){.start_ns = window->start_ns, .end_ns = window->end_ns};
    rkt_activity_parts_within(activity, window->start_ns, window->end_ns, &window->parts);
    /* Outside the run nothing is known of the device. */
    window->parts.idle_ns[RKT_IDLE_UNKNOWN] += length_ns - window->parts.window_ns;
    window->parts.window_ns = length_ns;
    fill_unions(activity, window);
    count_works(rank, window);
    rkt_window_shares(window);
    return RKT_OK;
}

void rkt_window_add(struct rkt_window *to, const struct rkt_window *window)
{
    rkt_partition_add(&to->parts, &window->parts);
    to->compute_ns += window->compute_ns;
    to->comm_ns += window->comm_ns;
    to->copy_ns += window->copy_ns;
    for (size_t i = 0; i < RKT_COPY_PART_COUNT; i++)
        to->copy_by_kind_ns[i] += window->copy_by_kind_ns[i];
    for (size_t i = 0; i < 3; i++)
        to->kernel_counts[i] += window->kernel_counts[i];
    rkt_window_shares(to);
}
