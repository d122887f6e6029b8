/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steady.h"

#include <math.h>

/* Capture windows make a run shorter than from its start to its end. */
static int64_t measured_ns(const struct rkt_window *window)
{
    return window->is_host_view ? window->host.window_ns : window->parts.window_ns;
}

static void add_window(struct rkt_steady *sum, const struct rkt_window *window, int64_t length_ns)
{
    int64_t together_ns =
        window->is_host_view ? window->host.overlapped_ns : window->parts.overlapped_ns;

    sum->is_host_view |= window->is_host_view;
    sum->window_ns += length_ns;
    sum->compute_ns += window->compute_ns;
    sum->comm_ns += window->comm_ns;
    sum->together_ns += together_ns;
    sum->exposed_ns += window->comm_ns - together_ns;
    sum->kernels_ns += window->compute_ns + window->comm_ns - together_ns;
    if (window->is_host_view)
        rkt_host_partition_add(&sum->host, &window->host);
    else
        rkt_partition_add(&sum->parts, &window->parts);
}

struct rkt_steady rkt_steady_of(const struct rkt_rank_result *rank)
{
    struct rkt_steady sum = {0};

    for (size_t i = 0; i < rank->step_count; i++) {
        const struct rkt_step_result *step = &rank->steps[i];

        if (!rkt_step_counts(step))
            continue;
        add_window(&sum, &step->window, step->window.end_ns - step->window.start_ns);
        sum.step_count++;
    }
    sum.has_steps = sum.step_count > 0 && rank->step_source != RKT_STEPS_WINDOW;
    if (sum.step_count == 0) {
        add_window(&sum, &rank->run,
                   rank->trace != NULL && rank->trace->has_windows
                       ? measured_ns(&rank->run)
                       : rank->run.end_ns - rank->run.start_ns);
        sum.step_count = 1;
    }
    return sum;
}

void rkt_steady_stretch(const struct rkt_rank_result *rank, int64_t *start_ns, int64_t *end_ns)
{
    bool is_found = false;

    *start_ns = rank->run.start_ns;
    *end_ns = rank->run.end_ns;
    for (size_t i = 0; i < rank->step_count && rank->step_source != RKT_STEPS_WINDOW; i++) {
        if (!rkt_step_counts(&rank->steps[i]))
            continue;
        if (!is_found)
            *start_ns = rank->steps[i].window.start_ns;
        *end_ns = rank->steps[i].window.end_ns;
        is_found = true;
    }
}

void rkt_steady_add(struct rkt_steady *to, const struct rkt_steady *from)
{
    to->step_count += from->step_count;
    to->has_steps |= from->has_steps;
    to->is_host_view |= from->is_host_view;
    to->window_ns += from->window_ns;
    to->compute_ns += from->compute_ns;
    to->comm_ns += from->comm_ns;
    to->exposed_ns += from->exposed_ns;
    to->together_ns += from->together_ns;
    to->kernels_ns += from->kernels_ns;
    rkt_partition_add(&to->parts, &from->parts);
    rkt_host_partition_add(&to->host, &from->host);
}

int64_t rkt_partition_idle_ns(const struct rkt_partition *parts)
{
    int64_t sum_ns = 0;

    for (int i = 0; i < RKT_IDLE_CAUSE_COUNT; i++)
        sum_ns += parts->idle_ns[i];
    return sum_ns;
}

int64_t rkt_partition_copy_ns(const struct rkt_partition *parts)
{
    int64_t sum_ns = 0;

    for (int i = 0; i < RKT_COPY_PART_COUNT; i++)
        sum_ns += parts->copy_ns[i];
    return sum_ns;
}

double rkt_share(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? (double)part_ns / (double)whole_ns : (double)NAN;
}

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;

    *a = *b;
    *b = kept;
}

/* Of values[first, end): to its front what is below, to its end what is above `pivot`. What is
 * equal is then in [*first, *end). */
static void part(int64_t *values, int64_t pivot, size_t *first, size_t *end)
{
    for (size_t at = *first; at < *end;) {
        if (values[at] < pivot)
            swap(&values[at++], &values[(*first)++]);
        else if (values[at] > pivot)
            swap(&values[at], &values[--*end]);
        else
            at++;
    }
}

int64_t rkt_select_i64(int64_t *values, size_t count, size_t place)
{
    uint64_t chance = count; /* no order of values makes this slow but one that knows the numbers */
    size_t low = 0;
    size_t high = count;

    for (;;) {
        size_t first = low;
        size_t end = high;

        chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        part(values, values[low + (chance >> 33) % (high - low)], &first, &end);
        if (place < first)
            high = first;
        else if (place >= end)
            low = end;
        else
            return values[place];
    }
}

int64_t rkt_median_i64(int64_t *values, size_t count)
{
    return count == 0 ? RKT_NA : rkt_select_i64(values, count, (count - 1) / 2);
}

int64_t rkt_mad_i64(int64_t *values, size_t count, int64_t centre)
{
    for (size_t i = 0; i < count; i++)
        values[i] = values[i] < centre ? centre - values[i] : values[i] - centre;
    return rkt_median_i64(values, count);
}
