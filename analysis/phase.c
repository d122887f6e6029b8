/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   launches   f f f f | b b b b | f f f | b b b b | o o o
 *                      |- run 1 -|       |- run 2 -|          the host's backward, Bh
 *
 * A phase belongs to a launch, not to a stretch of the device's time: the host runs ahead.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/interval.h"
#include "analysis/phase_backward.h"
#include "analysis/range_name.h"
#include "analysis/stages.h"
#include "analysis/time_sort.h"
#include "common/array.h"

/* Host time of the marks, by enum rkt_phase; [0] is input. */
struct phase_marks {
    struct rkt_interval_set sets[4];
};

static enum rkt_status collect_launches(const struct rkt_rank_trace *trace,
                                        struct rkt_launch **launches_out, size_t *count_out)
{
    struct rkt_launch *launches = rkt_array_room(trace->work_count + 1, sizeof(*launches));
    size_t count = 0;

    if (!launches)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->launch_start_ns != RKT_TIME_UNKNOWN)
            launches[count++] = (struct rkt_launch){
                .start_ns = work->launch_start_ns,
                .end_ns = work->launch_end_ns,
                .work = (uint32_t)i,
                .thread_id = work->launch_thread_id,
            };
    }
    *launches_out = launches;
    *count_out = count;
    return rkt_time_sort(launches, count, sizeof(*launches), RKT_BY_START);
}

/* Gives NONE back to what no backward pass of its step tells apart, and to threads that launch
 * beside a backward pass (prefetching), which are no part of it and do not split it. */
static enum rkt_phase phase_of(const struct rkt_rank_trace *trace, const struct rkt_launch *launch,
                               bool is_before_last, bool in_run)
{
    bool is_main = trace->main_thread_id == 0 || launch->thread_id == trace->main_thread_id;

    if (launch->is_backward)
        return RKT_PHASE_BACKWARD;
    if (!is_before_last)
        return RKT_PHASE_OPTIMIZER;
    return in_run && !is_main ? RKT_PHASE_NONE : RKT_PHASE_FORWARD;
}

/* Phases of one step's launches. Where steps have no marks of their own, optimizer and the next
 * forward cannot be told apart: only backward is given. */
static void set_phases(struct rkt_rank_trace *trace, const struct rkt_launch *launches,
                       size_t count, bool has_marks)
{
    size_t backward_left = 0;
    bool in_run = false;

    for (size_t i = 0; i < count; i++)
        backward_left += launches[i].is_backward;
    if (backward_left == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        enum rkt_phase phase = phase_of(trace, &launches[i], backward_left > 0, in_run);

        if (phase == RKT_PHASE_BACKWARD)
            backward_left--;
        if (phase != RKT_PHASE_NONE)
            in_run = phase == RKT_PHASE_BACKWARD;
        if (phase == RKT_PHASE_BACKWARD || has_marks)
            trace->works[launches[i].work].phase = (uint8_t)phase;
    }
}

/* What a step's launches tell of the host's time. */
struct host_times {
    int64_t forward_ns;
    int64_t backward_ns;
    int64_t run_start_ns; /* of the backward run that is open; RKT_TIME_UNKNOWN */
    int64_t run_end_ns;   /* of the last run; at first where the step begins */
};

static void close_run(struct host_times *times)
{
    if (times->run_start_ns != RKT_TIME_UNKNOWN)
        times->backward_ns += times->run_end_ns - times->run_start_ns;
    times->run_start_ns = RKT_TIME_UNKNOWN;
}

/* Backward is its runs, forward what led to them. */
static struct host_times times_of(const struct rkt_rank_trace *trace,
                                  const struct rkt_launch *launches, size_t count,
                                  int64_t step_start_ns)
{
    struct host_times times = {.run_start_ns = RKT_TIME_UNKNOWN, .run_end_ns = step_start_ns};

    for (size_t i = 0; i < count; i++) {
        uint8_t phase = trace->works[launches[i].work].phase;

        if (phase != RKT_PHASE_BACKWARD) {
            if (phase != RKT_PHASE_NONE)
                close_run(&times);
            continue;
        }
        if (times.run_start_ns == RKT_TIME_UNKNOWN) {
            times.run_start_ns = launches[i].start_ns;
            times.forward_ns += times.run_start_ns - times.run_end_ns;
        }
        if (launches[i].end_ns > times.run_end_ns)
            times.run_end_ns = launches[i].end_ns;
    }
    close_run(&times);
    return times;
}

static void set_host_times(const struct rkt_rank_trace *trace, const struct rkt_launch *launches,
                           size_t count, bool has_marks, struct rkt_step_result *step)
{
    struct host_times times = times_of(trace, launches, count, step->host_start_ns);

    if (times.backward_ns == 0)
        return;
    step->phase_ns[RKT_PHASE_BACKWARD] = times.backward_ns;
    if (!has_marks)
        return;
    step->phase_ns[RKT_PHASE_FORWARD] = times.forward_ns;
    step->phase_ns[RKT_PHASE_OPTIMIZER] =
        step->host_end_ns > times.run_end_ns ? step->host_end_ns - times.run_end_ns : 0;
}

static enum rkt_status read_marks(const struct rkt_rank_trace *trace, struct phase_marks *marks)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < trace->range_count && status == RKT_OK; i++) {
        const struct rkt_range *range = &trace->ranges[i];
        const char *name = rkt_strtab_get(trace->names, range->name_id, NULL);
        struct rkt_interval_set *set = NULL;

        if (range->type == RKT_RANGE_FORWARD)
            set = &marks->sets[RKT_PHASE_FORWARD];
        else if (range->type == RKT_RANGE_BACKWARD)
            set = &marks->sets[RKT_PHASE_BACKWARD];
        else if (range->type == RKT_RANGE_OPTIMIZER)
            set = &marks->sets[RKT_PHASE_OPTIMIZER];
        else if (rkt_range_is_input(range, name))
            set = &marks->sets[RKT_PHASE_NONE];
        if (set)
            status = rkt_interval_set_add(set, range->start_ns, range->end_ns);
    }
    for (size_t i = 0; i < 4; i++)
        rkt_interval_set_normalise(&marks->sets[i]);
    return status;
}

/* The job's own marks say best how long a phase took on the host. */
static void use_marks(const struct phase_marks *marks, struct rkt_step_result *step)
{
    for (size_t i = 0; i < 4; i++) {
        if (marks->sets[i].count > 0)
            step->phase_ns[i] = rkt_interval_set_length_within(&marks->sets[i], step->host_start_ns,
                                                               step->host_end_ns);
    }
}

static bool is_gradient_func(uint8_t func)
{
    return func == RKT_NCCL_FUNC_ALLREDUCE || func == RKT_NCCL_FUNC_REDUCESCATTER;
}

/* An AllReduce, or a ReduceScatter (FSDP, ZeRO), that the backward pass launched. */
static bool is_bucket(const struct rkt_rank_trace *trace, const struct rkt_work *work)
{
    const char *name;

    if (work->work_class != RKT_WORK_COMM || work->phase != RKT_PHASE_BACKWARD)
        return false;
    for (uint32_t i = 0; work->op != RKT_INDEX_NONE && i < work->op_count; i++) {
        uint8_t func = trace->ops[work->op + i].nccl.func;

        if (func != RKT_NCCL_FUNC_UNKNOWN)
            return is_gradient_func(func);
    }
    name = rkt_strtab_get(trace->names, work->name_id, NULL);
    return strcasestr(name, "AllReduce") || strcasestr(name, "ReduceScatter");
}

/* Launches are in order of time, and so are their steps. */
static void walk_steps(struct rkt_rank_trace *trace, struct rkt_rank_result *result,
                       const struct rkt_launch *launches, size_t count)
{
    bool has_marks =
        result->step_source == RKT_STEPS_MARKS || result->step_source == RKT_STEPS_ANNOTATION;

    for (size_t i = 0, next; i < count; i = next) {
        uint32_t step = trace->works[launches[i].work].step;

        for (next = i; next < count && trace->works[launches[next].work].step == step;)
            next++;
        if (step == RKT_INDEX_NONE)
            continue;
        set_phases(trace, &launches[i], next - i, has_marks);
        set_host_times(trace, &launches[i], next - i, has_marks, &result->steps[step]);
    }
}

/* Buckets, and where the run of backward begins on the host in which a step's first was
 * launched. */
static void find_buckets(const struct rkt_rank_trace *trace, struct rkt_rank_result *result,
                         const struct rkt_launch *launches, size_t count)
{
    uint32_t step = RKT_INDEX_NONE;
    int64_t run_start_ns = RKT_NA;

    for (size_t i = 0; i < result->step_count; i++)
        result->steps[i].backward_launch_ns = RKT_NA;
    for (size_t i = 0; i < count; i++) {
        struct rkt_work *work = &trace->works[launches[i].work];

        work->is_bucket = is_bucket(trace, work);
        if (work->step != step ||
            (work->phase != RKT_PHASE_BACKWARD && work->phase != RKT_PHASE_NONE))
            run_start_ns = RKT_NA;
        step = work->step;
        if (work->phase != RKT_PHASE_BACKWARD || step == RKT_INDEX_NONE)
            continue;
        if (run_start_ns == RKT_NA)
            run_start_ns = launches[i].start_ns;
        if (work->is_bucket && result->steps[step].backward_launch_ns == RKT_NA)
            result->steps[step].backward_launch_ns = run_start_ns;
    }
}

enum rkt_status rkt_find_phases(struct rkt_rank_trace *trace, struct rkt_rank_result *result,
                                struct rkt_error *err)
{
    struct rkt_launch *launches = NULL;
    struct phase_marks marks = {0};
    size_t count = 0;
    enum rkt_status status = collect_launches(trace, &launches, &count);

    if (status == RKT_OK)
        status = rkt_find_backward(trace, launches, count, &result->phase_source);
    if (status == RKT_OK)
        status = read_marks(trace, &marks);
    if (status == RKT_OK) {
        for (size_t i = 0; i < result->step_count; i++) {
            for (size_t phase = 0; phase < 4; phase++)
                result->steps[i].phase_ns[phase] = RKT_NA;
        }
        walk_steps(trace, result, launches, count);
        for (size_t i = 0; i < result->step_count; i++)
            use_marks(&marks, &result->steps[i]);
        find_buckets(trace, result, launches, count);
        if (result->phase_source == RKT_PHASES_NONE && marks.sets[RKT_PHASE_BACKWARD].count > 0)
            result->phase_source = RKT_PHASES_MARKS;
    }
    for (size_t i = 0; i < 4; i++)
        rkt_interval_set_release(&marks.sets[i]);
    free(launches);
    return status == RKT_OK
               ? RKT_OK
               : rkt_fail(err, status, "no memory for the phases of rank %u", result->rank);
}
