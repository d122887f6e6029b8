/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/host_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stages.h"
#include "analysis/steady.h"

static enum rkt_status collect_ranges(const struct rkt_rank_trace *trace, uint32_t type_bits,
                                      struct rkt_interval_set *set)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < trace->range_count && status == RKT_OK; i++) {
        const struct rkt_range *range = &trace->ranges[i];

        if (range->type < 32 && (type_bits >> range->type & 1) != 0)
            status = rkt_interval_set_add(set, range->start_ns, range->end_ns);
    }
    rkt_interval_set_normalise(set);
    return status;
}

static enum rkt_status collect_buckets(const struct rkt_rank_trace *trace,
                                       struct rkt_interval_set *set)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < trace->bucket_count && status == RKT_OK; i++)
        status = rkt_interval_set_add(set, trace->buckets[i].start_ns, trace->buckets[i].end_ns);
    rkt_interval_set_normalise(set);
    return status;
}

/* *out = ranges of these types less `minus`. */
static enum rkt_status ranges_without(const struct rkt_rank_trace *trace, uint32_t type_bits,
                                      const struct rkt_interval_set *minus,
                                      struct rkt_interval_set *out)
{
    struct rkt_interval_set all = {0};
    enum rkt_status status = collect_ranges(trace, type_bits, &all);

    if (status == RKT_OK)
        status = rkt_interval_set_subtract(&all, minus, out);
    rkt_interval_set_release(&all);
    return status;
}

static enum rkt_phase phase_of(const struct rkt_range *range)
{
    switch (range->type) {
    case RKT_RANGE_FORWARD:
        return RKT_PHASE_FORWARD;
    case RKT_RANGE_BACKWARD:
        return RKT_PHASE_BACKWARD;
    case RKT_RANGE_OPTIMIZER:
        return RKT_PHASE_OPTIMIZER;
    default:
        return RKT_PHASE_NONE;
    }
}

/* As told, which may be anything. */
static int64_t told_asleep_ns(const struct rkt_range *range)
{
    int64_t length_ns = range->end_ns - range->start_ns;

    return range->value < (uint64_t)length_ns ? (int64_t)range->value : length_ns;
}

static enum rkt_status add_asleep(const struct rkt_range *phase, int64_t asleep_ns,
                                  struct rkt_interval_set *told)
{
    if (phase == NULL || asleep_ns <= 0)
        return RKT_OK;
    return rkt_interval_set_add(&told[phase_of(phase)], phase->start_ns,
                                phase->start_ns + asleep_ns);
}

/* Of each phase that is in no other: what it tells, less what its waits do. */
static enum rkt_status collect_asleep(const struct rkt_rank_trace *trace,
                                      struct rkt_interval_set *told)
{
    const struct rkt_range *outer = NULL;
    enum rkt_status status = RKT_OK;
    int64_t asleep_ns = 0;

    for (size_t i = 0; i < trace->range_count && status == RKT_OK; i++) {
        const struct rkt_range *range = &trace->ranges[i];
        bool is_inside = outer != NULL && range->start_ns < outer->end_ns;

        if (range->type == RKT_RANGE_COMM_WAIT && is_inside && range->thread_id == outer->thread_id)
            asleep_ns -= told_asleep_ns(range);
        if (phase_of(range) == RKT_PHASE_NONE || is_inside)
            continue;
        status = add_asleep(outer, asleep_ns, told);
        outer = range;
        asleep_ns = told_asleep_ns(range);
    }
    return status == RKT_OK ? add_asleep(outer, asleep_ns, told) : status;
}

/* What phases slept is no compute: takes it out of *compute. */
static enum rkt_status take_asleep(const struct rkt_rank_trace *trace, struct rkt_host_view *view)
{
    struct rkt_interval_set told[RKT_PHASE_OPTIMIZER + 1] = {0};
    enum rkt_status status = collect_asleep(trace, told);

    for (int phase = RKT_PHASE_FORWARD; phase <= RKT_PHASE_OPTIMIZER; phase++) {
        struct rkt_interval_set awake = {0};

        rkt_interval_set_normalise(&told[phase]);
        if (status == RKT_OK)
            status = rkt_interval_set_intersect(&told[phase], &view->compute, &view->asleep[phase]);
        if (status == RKT_OK)
            status = rkt_interval_set_subtract(&view->compute, &view->asleep[phase], &awake);
        if (status == RKT_OK) {
            rkt_interval_set_release(&view->compute);
            view->compute = awake;
        } else {
            rkt_interval_set_release(&awake);
        }
        rkt_interval_set_release(&told[phase]);
    }
    return status;
}

static enum rkt_status fill_view(const struct rkt_rank_trace *trace, struct rkt_host_view *view)
{
    const uint32_t backward = 1u << RKT_RANGE_BACKWARD;
    const uint32_t phases = backward | 1u << RKT_RANGE_FORWARD | 1u << RKT_RANGE_OPTIMIZER;
    struct rkt_interval_set waits = {0};
    struct rkt_interval_set not_compute = {0};
    enum rkt_status status = collect_ranges(trace, 1u << RKT_RANGE_COMM_WAIT, &waits);

    if (status == RKT_OK)
        status = ranges_without(trace, phases, &waits, &view->compute);
    if (status == RKT_OK)
        status = take_asleep(trace, view);
    if (status == RKT_OK)
        status = ranges_without(trace, backward, &waits, &view->backward);
    if (status == RKT_OK)
        status = collect_buckets(trace, &view->comm);
    if (status == RKT_OK)
        status = rkt_interval_set_intersect(&view->compute, &view->comm, &view->together);
    if (status == RKT_OK)
        status = ranges_without(trace, 1u << RKT_RANGE_INPUT, &view->compute, &not_compute);
    if (status == RKT_OK)
        status = rkt_interval_set_subtract(&not_compute, &view->comm, &view->input);
    rkt_interval_set_release(&waits);
    rkt_interval_set_release(&not_compute);
    return status;
}

enum rkt_status rkt_host_view_create(const struct rkt_rank_trace *trace,
                                     struct rkt_host_view **view_out, struct rkt_error *err)
{
    struct rkt_host_view *view = calloc(1, sizeof(*view));

    if (view == NULL || fill_view(trace, view) != RKT_OK) {
        rkt_host_view_destroy(view);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the host view of a rank");
    }
    *view_out = view;
    return RKT_OK;
}

void rkt_host_view_destroy(struct rkt_host_view *view)
{
    if (view == NULL)
        return;
    rkt_interval_set_release(&view->compute);
    rkt_interval_set_release(&view->backward);
    rkt_interval_set_release(&view->comm);
    rkt_interval_set_release(&view->together);
    rkt_interval_set_release(&view->input);
    for (int phase = RKT_PHASE_FORWARD; phase <= RKT_PHASE_OPTIMIZER; phase++)
        rkt_interval_set_release(&view->asleep[phase]);
    free(view);
}

static void fill_shares(struct rkt_window *window)
{
    const struct rkt_host_partition *parts = &window->host;

    window->comm_share = rkt_share(window->comm_ns, parts->window_ns);
    window->exposed_share = rkt_share(parts->comm_ns, parts->window_ns);
    window->overlap = rkt_share(parts->overlapped_ns, window->comm_ns);
    window->compute_share = rkt_share(window->compute_ns, parts->window_ns);
    window->gpu_util = (double)NAN;
}

void rkt_host_view_fill(const struct rkt_host_view *view, struct rkt_window *window)
{
    int64_t start_ns = window->start_ns;
    int64_t end_ns = window->end_ns;
    struct rkt_host_partition *parts = &window->host;

    window->is_host_view = true;
    window->compute_ns = rkt_interval_set_length_within(&view->compute, start_ns, end_ns);
    window->comm_ns = rkt_interval_set_length_within(&view->comm, start_ns, end_ns);
    window->copy_ns = RKT_NA;
    for (int i = 0; i < RKT_COPY_PART_COUNT; i++)
        window->copy_by_kind_ns[i] = RKT_NA;
    memset(window->kernel_counts, 0, sizeof(window->kernel_counts));
    parts->window_ns = end_ns - start_ns;
    parts->overlapped_ns = rkt_interval_set_length_within(&view->together, start_ns, end_ns);
    parts->compute_ns = window->compute_ns - parts->overlapped_ns;
    parts->comm_ns = window->comm_ns - parts->overlapped_ns;
    parts->input_ns = rkt_interval_set_length_within(&view->input, start_ns, end_ns);
    parts->host_ns = parts->window_ns - parts->overlapped_ns - parts->compute_ns - parts->comm_ns -
                     parts->input_ns;
    fill_shares(window);
}

void rkt_host_view_asleep(const struct rkt_host_view *view, const struct rkt_window *window,
                          int64_t asleep_ns[RKT_PHASE_OPTIMIZER + 1])
{
    for (int phase = 0; phase <= RKT_PHASE_OPTIMIZER; phase++)
        asleep_ns[phase] =
            rkt_interval_set_length_within(&view->asleep[phase], window->start_ns, window->end_ns);
}

void rkt_host_view_add(struct rkt_window *to, const struct rkt_window *window)
{
    to->compute_ns += window->compute_ns;
    to->comm_ns += window->comm_ns;
    rkt_host_partition_add(&to->host, &window->host);
    fill_shares(to);
}

enum rkt_status rkt_host_view_window(const struct rkt_rank_result *rank, struct rkt_window *window,
                                     struct rkt_error *err)
{
    const struct rkt_host_view *view = rank->host_view;

    if (view == NULL)
        return rkt_fail(err, RKT_ERR_INVALID, "rank %u has no host view", rank->rank);
    rkt_host_view_fill(view, window);
    return RKT_OK;
}
