/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_trace_parts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/time_sort.h"
#include "common/array.h"

/* Calls by correlation; of one correlation the earliest first, which encloses the others. */
static enum rkt_status index_calls(const struct rkt_rank_trace *trace,
                                   struct rkt_key_index **items_out, size_t *count_out,
                                   struct rkt_error *err)
{
    struct rkt_key_index *items = rkt_array_room(trace->call_count + 1, sizeof(*items));
    size_t count = 0;

    if (!items)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to join %zu API calls", trace->call_count);
    for (size_t i = 0; i < trace->call_count; i++) {
        if (trace->calls[i].correlation_id != 0)
            items[count++] = (struct rkt_key_index){trace->calls[i].correlation_id, (uint32_t)i};
    }
    if (rkt_key_index_sort(items, count) != RKT_OK) {
        free(items);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to join %zu API calls", trace->call_count);
    }
    *items_out = items;
    *count_out = count;
    return RKT_OK;
}

/*
 * The runtime's call and the driver's inside it have one correlation: the outermost is the launch
 * as the program sees it. Calls are sorted by start, so only equal starts need a second look.
 */
static void join_launch(struct rkt_rank_trace *trace, const struct rkt_key_index *items,
                        size_t count, struct rkt_work *work, size_t *near)
{
    struct rkt_call *launch;
    size_t at;

    if (work->correlation_id == 0)
        return;
    at = rkt_key_index_find_near(items, count, work->correlation_id, *near);
    *near = at;
    if (at == count || items[at].key != work->correlation_id)
        return;
    launch = &trace->calls[items[at].index];
    for (at++; at < count && items[at].key == work->correlation_id; at++) {
        struct rkt_call *other = &trace->calls[items[at].index];

        if (other->start_ns == launch->start_ns && other->end_ns > launch->end_ns)
            launch = other;
    }
    work->launch_start_ns = launch->start_ns;
    work->launch_end_ns = launch->end_ns;
    work->launch_thread_id = launch->thread_id;
    /* A copy to or from pageable memory waits for its end, whatever its name says. */
    if (work->work_class == RKT_WORK_COPY && launch->end_ns >= work->end_ns)
        launch->call_class = RKT_CALL_BLOCKING;
}

static bool is_host_wait(const struct rkt_event *sync)
{
    return sync->type == RKT_SYNC_EVENT || sync->type == RKT_SYNC_STREAM ||
           sync->type == RKT_SYNC_CONTEXT;
}

/* Where calls are not recorded, CUPTI's own records still tell when the host waited. */
static enum rkt_status add_syncs(struct rkt_rank_trace *trace, const struct rkt_raw_events *syncs,
                                 const struct rkt_key_index *items, size_t count,
                                 struct rkt_error *err)
{
    size_t before = trace->call_count;

    for (size_t i = 0; i < syncs->count; i++) {
        const struct rkt_event *event = rkt_raw_event(syncs, i);
        struct rkt_call *call = &trace->calls[trace->call_count];
        size_t at = rkt_key_index_find(items, count, event->correlation_id);

        if (!is_host_wait(event) ||
            (event->correlation_id != 0 && at < count && items[at].key == event->correlation_id))
            continue;
        if (!rkt_rank_trace_times(trace, event, &call->start_ns, &call->end_ns, NULL))
            continue;
        call->thread_id = event->thread_id;
        call->name_id = event->name_id;
        call->correlation_id = event->correlation_id;
        call->call_class = RKT_CALL_BLOCKING;
        trace->call_count++;
    }
    if (trace->call_count > before && rkt_time_sort(trace->calls, trace->call_count,
                                                    sizeof(*trace->calls), RKT_BY_START) != RKT_OK)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to sort %zu API calls", trace->call_count);
    return RKT_OK;
}

const char *rkt_rank_trace_thread_name(const struct rkt_rank_trace *trace, uint32_t thread_id)
{
    for (size_t i = trace->named_count; i-- > 0;) { /* the last name given counts */
        const struct rkt_named *named = &trace->named[i];

        if (named->type == RKT_NAMED_THREAD && named->object_id == thread_id)
            return rkt_strtab_get(trace->names, named->name_id, NULL);
    }
    return "";
}

uint32_t rkt_rank_trace_thread_of_marks(const struct rkt_rank_trace *trace)
{
    static const char profiler_step[] = "ProfilerStep#";
    uint32_t found = 0;

    for (size_t i = 0; i < trace->range_count; i++) {
        const struct rkt_range *range = &trace->ranges[i];
        const char *name;

        if (range->type == RKT_RANGE_STEP)
            return range->thread_id;
        if (found != 0 || range->type == RKT_RANGE_GPU_ANNOTATION)
            continue;
        name = rkt_strtab_get(trace->names, range->name_id, NULL);
        if (strncmp(name, profiler_step, sizeof(profiler_step) - 1) == 0)
            found = range->thread_id;
    }
    return found;
}

/* With most launches; autograd's threads, which often have more, only where there is no other. */
static enum rkt_status thread_of_most_launches(const struct rkt_rank_trace *trace,
                                               uint32_t *thread_id_out, struct rkt_error *err)
{
    struct rkt_key_index *items = rkt_array_room(trace->work_count + 1, sizeof(*items));
    size_t best_count = 0;
    bool best_is_autograd = true;
    size_t count = 0;

    if (!items)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu launches", trace->work_count);
    for (size_t i = 0; i < trace->work_count; i++) {
        if (trace->works[i].launch_start_ns == RKT_TIME_UNKNOWN)
            continue;
        if (count == 0 || items[count - 1].key != trace->works[i].launch_thread_id)
            items[count++] = (struct rkt_key_index){trace->works[i].launch_thread_id, 0};
        items[count - 1].index++; /* launches in a row */
    }
    if (rkt_key_index_sort(items, count) != RKT_OK) {
        free(items);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu launches", trace->work_count);
    }
    for (size_t i = 0, next; i < count; i = next) {
        uint32_t thread_id = (uint32_t)items[i].key;
        size_t launch_count = 0;
        bool is_autograd;

        for (next = i; next < count && items[next].key == items[i].key; next++)
            launch_count += items[next].index;
        is_autograd = strstr(rkt_rank_trace_thread_name(trace, thread_id), "pt_autograd_") != NULL;
        if ((best_is_autograd && !is_autograd) ||
            (best_is_autograd == is_autograd && launch_count > best_count)) {
            *thread_id_out = thread_id;
            best_count = launch_count;
            best_is_autograd = is_autograd;
        }
    }
    free(items);
    return RKT_OK;
}

enum rkt_status rkt_rank_trace_join(struct rkt_rank_trace *trace,
                                    const struct rkt_raw_events *syncs, struct rkt_error *err)
{
    struct rkt_key_index *items = NULL;
    size_t count = 0;
    size_t near = 0; /* the device works nearly in the order of launches */
    enum rkt_status status = index_calls(trace, &items, &count, err);

    if (status != RKT_OK || !items)
        return status;
    for (size_t i = 0; i < trace->work_count; i++)
        join_launch(trace, items, count, &trace->works[i], &near);
    status = add_syncs(trace, syncs, items, count, err); /* moves calls: items end here */
    free(items);
    if (status != RKT_OK)
        return status;
    trace->main_thread_id = rkt_rank_trace_thread_of_marks(trace);
    if (trace->main_thread_id == 0)
        status = thread_of_most_launches(trace, &trace->main_thread_id, err);
    return status;
}
