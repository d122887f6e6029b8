/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one call of a collective leaves on its thread (common/doc/architecture.md has more):
 *
 *   GroupApi [------------------------------------------------------------)
 *   CollApi    [---)
 *   KernelLaunch      [-------------)        <- encloses the driver's launch, whose
 *   API cuLaunchKernelEx  [------)              correlation id is the kernel's
 *   Group                            [----------)
 *   Coll                               [-----)   <- carried out by that kernel
 */
#include "analysis/rank_trace_parts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/time_find.h"
#include "analysis/time_sort.h"
#include "common/array.h"

struct linker {
    struct rkt_rank_trace *trace;
    struct rkt_key_index *kernels;   /* by correlation id */
    struct rkt_key_index *by_thread; /* ops by thread, in order of start */
    size_t kernel_count;
    uint8_t *has_info; /* by work */
};

/* The group that a walk along one thread is in. */
struct group {
    size_t begin;          /* position of its first op in by_thread */
    uint32_t work;         /* of the last launch in it; RKT_INDEX_NONE */
    uint32_t launch_count; /* whose kernel was found */
    uint32_t linked_count;
};

static void linker_release(struct linker *linker)
{
    free(linker->kernels);
    free(linker->by_thread);
    free(linker->has_info);
}

/* On failure as on success, release is the caller's. */
static enum rkt_status linker_init(struct linker *linker, struct rkt_rank_trace *trace,
                                   struct rkt_error *err)
{
    *linker = (struct linker){.trace = trace};
    linker->kernels = rkt_array_room(trace->work_count + 1, sizeof(*linker->kernels));
    linker->by_thread = rkt_array_room(trace->op_count + 1, sizeof(*linker->by_thread));
    linker->has_info = calloc(trace->work_count + 1, 1);
    if (!linker->kernels || !linker->by_thread || !linker->has_info)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to join %zu NCCL events", trace->op_count);
    for (size_t i = 0; i < trace->work_count; i++) {
        if (trace->works[i].work_class != RKT_WORK_COPY && trace->works[i].correlation_id != 0)
            linker->kernels[linker->kernel_count++] =
                (struct rkt_key_index){trace->works[i].correlation_id, (uint32_t)i};
    }
    for (size_t i = 0; i < trace->op_count; i++)
        linker->by_thread[i] = (struct rkt_key_index){trace->ops[i].thread_id, (uint32_t)i};
    if (rkt_key_index_sort(linker->kernels, linker->kernel_count) != RKT_OK ||
        rkt_key_index_sort(linker->by_thread, trace->op_count) != RKT_OK)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to join %zu NCCL events", trace->op_count);
    return RKT_OK;
}

static uint32_t first_kernel_of(const struct linker *linker, uint32_t correlation_id)
{
    size_t at = rkt_key_index_find(linker->kernels, linker->kernel_count, correlation_id);

    if (at < linker->kernel_count && linker->kernels[at].key == correlation_id)
        return linker->kernels[at].index;
    return RKT_INDEX_NONE;
}

/* The first call from `at` on, begun by to_ns, with which the thread launched something; NULL. */
static const struct rkt_call *next_launch(const struct rkt_rank_trace *trace, size_t *at,
                                          uint32_t thread_id, int64_t to_ns)
{
    for (; *at < trace->call_count && trace->calls[*at].start_ns <= to_ns; ++*at) {
        const struct rkt_call *call = &trace->calls[*at];

        if (call->thread_id == thread_id && call->call_class == RKT_CALL_LAUNCH &&
            call->correlation_id != 0)
            return call;
    }
    return NULL;
}

/* Of calls that start at or after a time. */
static size_t first_call(const struct rkt_rank_trace *trace, int64_t start_ns)
{
    return trace->call_count == 0 ? 0
                                  : rkt_time_find(&trace->calls->start_ns, trace->call_count,
                                                  sizeof(*trace->calls), start_ns);
}

/*
 * The kernel that a KernelLaunch bracket launched. The bracket is of NCCL's clock and the call of
 * CUPTI's, so the ends may differ by the error of the map; of several calls within that the
 * one closest to the bracket's start counts.
 */
static uint32_t kernel_of_bracket(const struct linker *linker, const struct rkt_op *bracket)
{
    const struct rkt_rank_trace *trace = linker->trace;
    int64_t slack_ns = trace->clock_error_ns;
    int64_t best_ns = INT64_MAX;
    uint32_t best = RKT_INDEX_NONE;
    size_t at = first_call(trace, bracket->start_ns - slack_ns);
    const struct rkt_call *call;

    for (; (call = next_launch(trace, &at, bracket->thread_id, bracket->end_ns + slack_ns)); at++) {
        int64_t distance_ns = llabs(call->start_ns - bracket->start_ns);
        uint32_t kernel;

        if (call->end_ns > bracket->end_ns + slack_ns || distance_ns >= best_ns)
            continue;
        kernel = first_kernel_of(linker, call->correlation_id);
        if (kernel != RKT_INDEX_NONE) {
            best = kernel;
            best_ns = distance_ns;
        }
    }
    return best;
}

static void mark_as_comm(const struct linker *linker, uint32_t correlation_id)
{
    size_t at = rkt_key_index_find(linker->kernels, linker->kernel_count, correlation_id);

    for (; at < linker->kernel_count && linker->kernels[at].key == correlation_id; at++)
        linker->trace->works[linker->kernels[at].index].work_class = RKT_WORK_COMM;
}

/*
 * A group whose operations were not reported as Coll (they come from another thread under graph
 * replay and CUDA_LAUNCH_BLOCKING): its calls stand for them, as long as one kernel did it all.
 */
static void close_group(struct linker *linker, const struct group *group, size_t end)
{
    if (group->launch_count != 1 || group->linked_count > 0)
        return;
    for (size_t i = group->begin; i < end; i++) {
        struct rkt_op *op = &linker->trace->ops[linker->by_thread[i].index];

        if (op->type == RKT_NCCL_COLL_API || op->type == RKT_NCCL_P2P_API)
            op->work = group->work;
    }
}

/* NCCL without a plugin tells of no launches: those inside the group whose kernels are NCCL's. */
static void find_launches_of(const struct linker *linker, const struct rkt_op *op,
                             struct group *group)
{
    const struct rkt_rank_trace *trace = linker->trace;
    int64_t slack_ns = trace->clock_error_ns;
    size_t at = first_call(trace, op->start_ns - slack_ns);
    const struct rkt_call *call;

    for (; (call = next_launch(trace, &at, op->thread_id, op->end_ns + slack_ns)); at++) {
        uint32_t kernel = first_kernel_of(linker, call->correlation_id);

        if (kernel == RKT_INDEX_NONE || kernel == group->work ||
            trace->works[kernel].work_class != RKT_WORK_COMM)
            continue; /* the driver's call inside the runtime's has the same kernel */
        group->work = kernel;
        group->launch_count++;
    }
}

static void link_thread(struct linker *linker, size_t begin, size_t end)
{
    struct group group = {.begin = begin, .work = RKT_INDEX_NONE};

    for (size_t i = begin; i < end; i++) {
        struct rkt_op *op = &linker->trace->ops[linker->by_thread[i].index];

        if (op->type == RKT_NCCL_GROUP_API) {
            close_group(linker, &group, i);
            group = (struct group){.begin = i, .work = RKT_INDEX_NONE};
            if (op->is_by_nvtx)
                find_launches_of(linker, op, &group);
        } else if (op->type == RKT_NCCL_KERNEL_LAUNCH) {
            group.work = kernel_of_bracket(linker, op);
            if (group.work == RKT_INDEX_NONE)
                continue;
            op->correlation_id = linker->trace->works[group.work].correlation_id;
            mark_as_comm(linker, op->correlation_id);
            group.launch_count++;
        } else if ((op->type == RKT_NCCL_COLL || op->type == RKT_NCCL_P2P) &&
                   group.work != RKT_INDEX_NONE) {
            op->work = group.work;
            group.linked_count++;
        }
    }
    close_group(linker, &group, end);
}

/* Of imports. Kernels of a graph share one correlation id: there equal starts tell them apart,
 * else order does. */
static void link_info(struct linker *linker, struct rkt_op *op)
{
    const struct rkt_rank_trace *trace = linker->trace;
    size_t at = rkt_key_index_find(linker->kernels, linker->kernel_count, op->correlation_id);
    uint32_t found = RKT_INDEX_NONE;

    if (op->correlation_id == 0)
        return;
    for (; at < linker->kernel_count && linker->kernels[at].key == op->correlation_id; at++) {
        uint32_t index = linker->kernels[at].index;

        if (trace->works[index].work_class != RKT_WORK_COMM)
            continue;
        if (trace->works[index].start_ns == op->start_ns) {
            found = index;
            break;
        }
        if (found == RKT_INDEX_NONE || (linker->has_info[found] && !linker->has_info[index]))
            found = index;
    }
    if (found == RKT_INDEX_NONE)
        return;
    op->work = found;
    linker->has_info[found] = 1;
}

static enum rkt_status build_ops(struct rkt_rank_trace *trace, const struct rkt_raw_events *events,
                                 struct rkt_error *err)
{
    if (events->count >= RKT_INDEX_NONE)
        return rkt_fail(err, RKT_ERR_RANGE, "%zu NCCL events in one rank", events->count);
    trace->ops = rkt_array_room(events->count + 1, sizeof(*trace->ops));
    if (!trace->ops)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu NCCL events", events->count);
    for (size_t i = 0; i < events->count; i++) {
        const struct rkt_event *event = rkt_raw_event(events, i);
        struct rkt_op *op = &trace->ops[trace->op_count];

        /* Channels are of a clock that nothing ties to the others, and no operations. */
        if (event->clock_id == RKT_CLOCK_GLOBALTIMER ||
            !rkt_rank_trace_times(trace, event, &op->start_ns, &op->end_ns, NULL))
            continue;
        op->thread_id = event->thread_id;
        op->correlation_id = event->correlation_id;
        op->work = RKT_INDEX_NONE;
        op->type = event->type;
        op->is_graph = (event->flags & RKT_FLAG_GRAPH) != 0;
        op->is_by_nvtx = (event->flags & RKT_FLAG_BY_NVTX) != 0;
        op->nccl = event->nccl;
        trace->op_count++;
    }
    if (rkt_time_sort(trace->ops, trace->op_count, sizeof(*trace->ops), RKT_BY_START_LONGEST) !=
        RKT_OK)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to sort %zu NCCL events", trace->op_count);
    return RKT_OK;
}

/* Operations of a kernel become neighbours, in order of works; the others keep theirs, behind. */
static enum rkt_status group_ops(struct rkt_rank_trace *trace, struct rkt_error *err)
{
    struct rkt_key_index *items = rkt_array_room(trace->op_count + 1, sizeof(*items));
    struct rkt_op *moved = rkt_array_room(trace->op_count + 1, sizeof(*moved));

    for (size_t i = 0; items && i < trace->op_count; i++)
        items[i] = (struct rkt_key_index){trace->ops[i].work, (uint32_t)i};
    if (!items || !moved || rkt_key_index_sort(items, trace->op_count) != RKT_OK) {
        free(items);
        free(moved);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to order %zu NCCL events", trace->op_count);
    }
    for (size_t i = 0; i < trace->op_count; i++) {
        struct rkt_work *work;

        moved[i] = trace->ops[items[i].index];
        if (moved[i].work == RKT_INDEX_NONE)
            continue;
        work = &trace->works[moved[i].work];
        if (work->op_count++ == 0)
            work->op = (uint32_t)i;
        moved[i].correlation_id = work->correlation_id;
    }
    free(trace->ops);
    trace->ops = moved;
    free(items);
    return RKT_OK;
}

static void link_all(struct linker *linker)
{
    struct rkt_rank_trace *trace = linker->trace;

    for (size_t i = 0, next; i < trace->op_count; i = next) {
        for (next = i;
             next < trace->op_count && linker->by_thread[next].key == linker->by_thread[i].key;)
            next++;
        link_thread(linker, i, next);
    }
    for (size_t i = 0; i < trace->op_count; i++) {
        if (trace->ops[i].type == RKT_NCCL_KERNEL_INFO)
            link_info(linker, &trace->ops[i]);
    }
}

enum rkt_status rkt_rank_trace_link_ops(struct rkt_rank_trace *trace,
                                        const struct rkt_raw_events *events, struct rkt_error *err)
{
    struct linker linker;
    enum rkt_status status = build_ops(trace, events, err);

    if (status != RKT_OK || trace->op_count == 0)
        return status;
    status = linker_init(&linker, trace, err);
    if (status == RKT_OK) {
        link_all(&linker);
        status = group_ops(trace, err);
    }
    linker_release(&linker);
    return status;
}
