/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analysis/rank_trace_parts.h"
#include "common/array.h"

#define ROUNDING_NS 1000

/* ---- what a trace says of itself ---- */

static void take_earlier(int64_t *first_ns, int64_t start_ns)
{
    if (*first_ns == RKT_TIME_UNKNOWN || start_ns < *first_ns)
        *first_ns = start_ns;
}

/* Every array is by start. */
static int64_t find_first(const struct rkt_rank_trace *trace)
{
    int64_t first_ns = RKT_TIME_UNKNOWN;

    if (trace->work_count > 0)
        take_earlier(&first_ns, trace->works[0].start_ns);
    if (trace->call_count > 0)
        take_earlier(&first_ns, trace->calls[0].start_ns);
    if (trace->range_count > 0)
        take_earlier(&first_ns, trace->ranges[0].start_ns);
    if (trace->bucket_count > 0)
        take_earlier(&first_ns, trace->buckets[0].start_ns);
    if (trace->gpu.counter_count > 0)
        take_earlier(&first_ns, trace->gpu.counters[0].start_ns);
    return first_ns;
}

void rkt_rank_trace_count(struct rkt_rank_trace *trace)
{
    size_t graph_count = 0;

    trace->first_ns = find_first(trace);
    trace->early_count = trace->whole_graph_count = trace->hidden_count = 0;
    trace->hidden_ns = 0;
    memset(trace->work_counts, 0, sizeof(trace->work_counts));
    for (size_t i = 0; i < trace->range_count; i++)
        trace->has_sync_calls |= trace->ranges[i].type == RKT_RANGE_SYNC_CALL;
    for (size_t i = 0; i < trace->op_count; i++)
        trace->is_nccl_by_nvtx |= trace->ops[i].is_by_nvtx;
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        /* By more than whole microseconds explain: the device's clock was not yet mapped well. */
        trace->early_count += work->launch_start_ns != RKT_TIME_UNKNOWN &&
                              work->start_ns + ROUNDING_NS < work->launch_start_ns;
        graph_count += work->from_graph;
        trace->whole_graph_count += work->is_whole_graph;
        if (work->device_id < RKT_DEVICES_MAX)
            trace->work_counts[work->device_id]++;
    }
    if (graph_count > 0)
        rkt_rank_trace_find_hidden(trace);
}

size_t rkt_rank_trace_bytes(const struct rkt_rank_trace *trace)
{
    return sizeof(*trace) + trace->work_count * sizeof(*trace->works) +
           trace->call_count * sizeof(*trace->calls) + trace->range_count * sizeof(*trace->ranges) +
           trace->op_count * sizeof(*trace->ops) + trace->bucket_count * sizeof(*trace->buckets) +
           trace->shape_count * sizeof(*trace->shapes) +
           trace->gpu.counter_count * sizeof(*trace->gpu.counters);
}

/* ---- thin ---- */

/* What is freed may be asked for no more; the room that is left is given back. */
static void let_go(void **items, size_t *count)
{
    free(*items);
    *items = NULL;
    *count = 0;
}

/* Operations of kernels come first, in order of works, so their places stay; the others go. */
static void keep_linked_ops(struct rkt_rank_trace *trace)
{
    struct rkt_op *shrunk;
    size_t count = 0;

    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->op == RKT_INDEX_NONE)
            continue;
        for (size_t k = work->op; k < (size_t)work->op + work->op_count; k++)
            trace->ops[k].work = (uint32_t)i;
        if ((size_t)work->op + work->op_count > count)
            count = (size_t)work->op + work->op_count;
    }
    shrunk = realloc(trace->ops, (count + 1) * sizeof(*trace->ops));
    if (shrunk)
        trace->ops = shrunk;
    trace->op_count = count;
}

enum rkt_status rkt_rank_trace_thin(struct rkt_rank_trace *trace, struct rkt_error *err)
{
    struct rkt_comm_arrival *shrunk_arrivals;
    struct rkt_work *shrunk;
    uint32_t *shrunk_index;
    size_t count = 0;

    if (trace->whole_index)
        return RKT_OK;
    trace->whole_index = rkt_array_room(trace->work_count + 1, sizeof(*trace->whole_index));
    if (!trace->whole_index)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the collectives of a rank");
    for (size_t i = 0; i < trace->work_count; i++) {
        if (trace->works[i].work_class != RKT_WORK_COMM)
            continue;
        trace->whole_index[count] = (uint32_t)i;
        if (trace->arrivals)
            trace->arrivals[count] = trace->arrivals[i];
        trace->works[count++] = trace->works[i];
    }
    trace->work_count = count;
    keep_linked_ops(trace);
    shrunk = realloc(trace->works, (count + 1) * sizeof(*trace->works));
    if (shrunk)
        trace->works = shrunk;
    shrunk_arrivals =
        trace->arrivals ? realloc(trace->arrivals, (count + 1) * sizeof(*shrunk_arrivals)) : NULL;
    if (shrunk_arrivals)
        trace->arrivals = shrunk_arrivals;
    shrunk_index = realloc(trace->whole_index, (count + 1) * sizeof(*shrunk_index));
    if (shrunk_index)
        trace->whole_index = shrunk_index;
    let_go((void **)&trace->calls, &trace->call_count);
    let_go((void **)&trace->ranges, &trace->range_count);
    let_go((void **)&trace->shapes, &trace->shape_count);
    if (trace->has_gpu)
        let_go((void **)&trace->buckets, &trace->bucket_count);
    return RKT_OK;
}

struct rkt_work *rkt_rank_trace_work(const struct rkt_rank_trace *trace, uint32_t whole_index)
{
    size_t low = 0;
    size_t high = trace->work_count;

    if (!trace->whole_index)
        return &trace->works[whole_index];
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (trace->whole_index[middle] < whole_index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < trace->work_count && trace->whole_index[low] == whole_index ? &trace->works[low]
                                                                             : NULL;
}
