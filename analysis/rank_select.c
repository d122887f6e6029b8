/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps keep the windows that they have in the whole run: those are found before.
 *
 *     steps      0    1    2    3    4    5          --steps 3:5
 *     stays           | c  | x    x |                c: its work goes before, in no number
 *     device     ......[  work of 2 ][G3   ][G4   ]  all that runs in G3 and G4, whoever launched it
 *     host            |    records from the start of 2 to the end of G4    |
 */
#include <string.h>

#include "analysis/run_start.h"
#include "analysis/selection.h"
#include "analysis/stages.h"

struct span {
    int64_t start_ns;
    int64_t end_ns;
};

/* What stays of a rank. */
struct part {
    size_t first_step; /* with the one before the selected ones */
    size_t end_step;
    bool has_steps; /* else the only step is as long as the run */
    struct span device;
    struct span host;
};

static bool is_in(const struct span *span, int64_t start_ns, int64_t end_ns)
{
    return start_ns < span->end_ns && (end_ns > span->start_ns || start_ns == span->start_ns);
}

/* ---- which steps ---- */

static bool is_selected(const struct rkt_selection *selection, const struct rkt_step_result *step,
                        const struct span *time)
{
    return rkt_selection_has_step(selection, step->number) &&
           step->window.start_ns >= time->start_ns && step->window.end_ns <= time->end_ns;
}

/* Marks the others; the part from the first to the last, empty where none is selected. */
static struct part select_steps(const struct rkt_selection *selection, struct rkt_rank_result *rank,
                                const struct span *time)
{
    struct part part = {.first_step = rank->step_count};

    for (size_t i = 0; i < rank->step_count; i++) {
        struct rkt_step_result *step = &rank->steps[i];

        if (!is_selected(selection, step, time)) {
            step->is_unrecorded = true;
            continue;
        }
        rank->whole.selected_count++;
        if (part.end_step == 0)
            part.first_step = i;
        part.end_step = i + 1;
    }
    if (part.end_step == 0)
        return (struct part){0};
    part.device.start_ns = rank->steps[part.first_step].window.start_ns;
    part.device.end_ns = rank->steps[part.end_step - 1].window.end_ns;
    part.has_steps = true;
    part.first_step -= part.first_step > 0;
    part.host.start_ns = rank->steps[part.first_step].host_start_ns;
    part.host.end_ns = rank->steps[part.end_step - 1].host_end_ns;
    if (part.device.end_ns > part.host.end_ns) /* what the host did while its last work ran */
        part.host.end_ns = part.device.end_ns;
    return part;
}

/* Without steps: the stretch of the run that lies in the time. */
static struct part select_stretch(const struct rkt_selection *selection,
                                  struct rkt_rank_result *rank, const struct span *time)
{
    struct part part = {.device = {rank->run.start_ns, rank->run.end_ns}};

    if (part.device.start_ns < time->start_ns)
        part.device.start_ns = time->start_ns;
    if (part.device.end_ns > time->end_ns)
        part.device.end_ns = time->end_ns;
    if (selection->has_steps || part.device.end_ns <= part.device.start_ns)
        return (struct part){0};
    part.end_step = 1;
    part.host = part.device;
    rank->whole.selected_count = 1;
    rank->steps[0].host_start_ns = rank->steps[0].window.start_ns = part.device.start_ns;
    rank->steps[0].host_end_ns = rank->steps[0].window.end_ns = part.device.end_ns;
    return part;
}

/* ---- letting go of the rest ---- */

static bool is_work_in(const struct part *part, const struct rkt_work *work)
{
    return (part->has_steps && work->step >= part->first_step && work->step < part->end_step) ||
           is_in(&part->device, work->start_ns, work->end_ns);
}

/* The operations of a kernel to the place where they belong now. */
static void move_ops(struct rkt_rank_trace *trace, struct rkt_work *work, uint32_t index,
                     size_t *op_count)
{
    if (work->op == RKT_INDEX_NONE)
        return;
    for (size_t k = 0; k < work->op_count; k++) {
        trace->ops[*op_count + k] = trace->ops[work->op + k];
        trace->ops[*op_count + k].work = index;
    }
    work->op = (uint32_t)*op_count;
    *op_count += work->op_count;
}

/* Operations of kernels come first, in order of works; the others follow. */
static void keep_works(struct rkt_rank_trace *trace, const struct part *part)
{
    size_t linked_end = 0;
    size_t op_count = 0;
    size_t count = 0;

    for (size_t i = 0; i < trace->work_count; i++) {
        struct rkt_work work = trace->works[i];

        if (work.op != RKT_INDEX_NONE)
            linked_end = (size_t)work.op + work.op_count;
        if (!is_work_in(part, &work))
            continue;
        move_ops(trace, &work, (uint32_t)count, &op_count);
        work.step = work.step >= part->first_step && work.step < part->end_step
                        ? work.step - (uint32_t)part->first_step
                        : RKT_INDEX_NONE;
        trace->works[count++] = work;
    }
    for (size_t i = linked_end; i < trace->op_count; i++) {
        if (is_in(&part->host, trace->ops[i].start_ns, trace->ops[i].end_ns))
            trace->ops[op_count++] = trace->ops[i];
    }
    trace->work_count = count;
    trace->op_count = op_count;
}

/* Items of `item_bytes` that begin with their start and end; returns how many stay. */
static size_t keep_items(void *items, size_t count, size_t item_bytes, const struct span *span)
{
    char *bytes = items;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t times[2];

        memcpy(times, bytes + i * item_bytes, sizeof(times));
        if (!is_in(span, times[0], times[1]))
            continue;
        if (kept != i)
            memcpy(bytes + kept * item_bytes, bytes + i * item_bytes, item_bytes);
        kept++;
    }
    return kept;
}

static void keep_part(struct rkt_rank_trace *trace, const struct part *part)
{
    keep_works(trace, part);
    trace->call_count =
        keep_items(trace->calls, trace->call_count, sizeof(*trace->calls), &part->host);
    trace->range_count =
        keep_items(trace->ranges, trace->range_count, sizeof(*trace->ranges), &part->host);
    trace->bucket_count =
        keep_items(trace->buckets, trace->bucket_count, sizeof(*trace->buckets), &part->host);
    trace->gpu.counter_count = keep_items(trace->gpu.counters, trace->gpu.counter_count,
                                          sizeof(*trace->gpu.counters), &part->host);
    rkt_rank_trace_count(trace);
}

/* ---- the rank ---- */

static void describe_whole(const struct rkt_selection *selection,
                           const struct rkt_rank_trace *trace, struct rkt_rank_result *rank)
{
    int64_t start_ns = rkt_time_since_start(trace, selection->job_start_ns, 0);

    rank->whole.length_ns = rank->run.end_ns - start_ns;
    if (rank->step_source == RKT_STEPS_WINDOW)
        return;
    rank->whole.step_count = rank->step_count;
    rank->whole.first_step = rank->steps[0].number;
    rank->whole.last_step = rank->steps[rank->step_count - 1].number;
}

static struct span time_of(const struct rkt_selection *selection,
                           const struct rkt_rank_trace *trace)
{
    if (!selection->has_time)
        return (struct span){INT64_MIN, INT64_MAX};
    return (struct span){rkt_time_since_start(trace, selection->job_start_ns, selection->since_ns),
                         rkt_time_since_start(trace, selection->job_start_ns, selection->until_ns)};
}

/* Of the steps from the first that was read on the windows are right, if its own work outlasts what
 * was launched before. No earlier one may be selected, nor the one before the selected ones be
 * among these. */
static bool is_read_from(const struct rkt_rank_result *rank, size_t first, const struct span *time)
{
    const struct rkt_step_result *step = &rank->steps[first];

    return first == 0 || (step->window.end_ns >= step->host_start_ns &&
                          (time->start_ns == INT64_MIN || step->window.end_ns < time->start_ns));
}

bool rkt_part_is_read(const struct rkt_selection *selection, const struct rkt_rank_trace *trace,
                      const struct rkt_rank_result *rank)
{
    struct span time = time_of(selection, trace);
    size_t first = trace->read.first_step;

    if (!trace->read.is_part || !trace->has_gpu)
        return true;
    if (first >= rank->step_count || !is_read_from(rank, first, &time))
        return false;
    for (size_t i = 0; i < rank->step_count; i++) {
        if (is_selected(selection, &rank->steps[i], &time) &&
            ((first > 0 && i < first + 2) || rank->steps[i].window.end_ns > trace->read.end_ns))
            return false;
    }
    return true;
}

void rkt_select_part(const struct rkt_selection *selection, struct rkt_rank_trace *trace,
                     struct rkt_rank_result *rank)
{
    struct span time = time_of(selection, trace);
    struct part part;

    describe_whole(selection, trace, rank);
    if (!selection->has_steps && !selection->has_time)
        return;
    part = rank->step_source == RKT_STEPS_WINDOW ? select_stretch(selection, rank, &time)
                                                 : select_steps(selection, rank, &time);
    keep_part(trace, &part);
    rank->run.start_ns = rank->outside.start_ns = part.device.start_ns;
    rank->run.end_ns = rank->outside.end_ns = part.device.end_ns;
    rank->steps += part.first_step;
    rank->step_count = part.end_step - part.first_step;
    if (rank->step_count > 0)
        return;
    rank->step_count = 1; /* every rank has one */
    rank->steps[0].is_unrecorded = rank->step_source != RKT_STEPS_WINDOW;
    rank->steps[0].window.start_ns = rank->steps[0].window.end_ns = 0;
}
