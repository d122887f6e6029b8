/* SPDX-License-Identifier: Apache-2.0 */

/* The driver interface: graphs that were captured, made executable, launched and updated. */

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/cuda/clock.h"
#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/graph.h"
#include "tests/simgpu/cuda/report.h"

struct CUgraphExec_st {
    /* set when it is made, then read only */
    uint32_t id;
    CUcontext context;
    uint32_t lane_count;
    uint32_t point_count;
    size_t step_count;
    struct sim_stream *lanes[SIM_GRAPH_LANES_MAX]; /* lane 0: of the launch under way */

    pthread_mutex_t lock; /* guards what follows; held while a launch is submitted */
    CUgraphNode *steps;
    struct sim_mark **points; /* of the launch under way */
    struct sim_mark *end;     /* of the last launch; NULL: none yet */
};

static _Atomic uint32_t last_exec_id;

CUresult cuGraphDestroy(CUgraph graph)
{
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    sim_graph_free(graph);
    return CUDA_SUCCESS;
}

/* `nodes` NULL: their number; else up to *node_count of them. */
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *node_count)
{
    size_t count = 0;

    if (!graph || !node_count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->step_count; i++) {
        if (!sim_graph_step_is_node(graph->steps[i]))
            continue;
        if (nodes && count < *node_count)
            nodes[count] = graph->steps[i];
        count++;
    }
    if (!nodes || count < *node_count)
        *node_count = count;
    return CUDA_SUCCESS;
}

static void exec_free(CUgraphExec exec)
{
    for (size_t i = 0; exec->steps && i < exec->step_count; i++)
        if (exec->steps[i])
            sim_graph_step_unref(exec->steps[i]);
    for (uint32_t i = 1; i < exec->lane_count; i++)
        if (exec->lanes[i])
            sim_stream_destroy(exec->lanes[i]);
    sim_mark_unref(exec->end);
    free(exec->steps);
    free(exec->points);
    free(exec);
}

static bool exec_fill(CUgraphExec exec, CUgraph graph)
{
    exec->steps = calloc(graph->step_count + 1, sizeof(CUgraphNode));
    exec->points = calloc(graph->point_count + 1, sizeof(struct sim_mark *));
    if (!exec->steps || !exec->points)
        return false;
    for (uint32_t i = 1; i < graph->lane_count; i++) {
        exec->lanes[i] = sim_stream_create(graph->context->sim, sim_next_stream_id());
        if (!exec->lanes[i])
            return false;
    }
    for (size_t i = 0; i < graph->step_count; i++)
        exec->steps[i] = sim_graph_step_ref(graph->steps[i]);
    return true;
}

static CUresult instantiate(CUgraphExec *exec, CUgraph graph)
{
    CUgraphExec made;

    if (!exec || !graph)
        return CUDA_ERROR_INVALID_VALUE;
    made = calloc(1, sizeof(*made));
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    made->id = atomic_fetch_add_explicit(&last_exec_id, 1, memory_order_relaxed) + 1;
    made->context = graph->context;
    made->lane_count = graph->lane_count;
    made->point_count = graph->point_count;
    made->step_count = graph->step_count;
    if (!exec_fill(made, graph)) {
        exec_free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *exec = made;
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    struct simgpu_call call;

    (void)flags;
    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags);
    return sim_report_exit(&call, instantiate(exec, graph));
}

/* Launches that are under way go on. */
CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    exec_free(exec);
    return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    (void)stream;
    return exec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUgraphExecUpdateResult compare(const struct CUgraphNode_st *ours,
                                       const struct CUgraphNode_st *theirs)
{
    if (ours->lane != theirs->lane || ours->point != theirs->point)
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (ours->work.op.kind != theirs->work.op.kind ||
        ours->work.activity.kind != theirs->work.activity.kind)
        return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult can_update(const struct CUgraphExec_st *exec,
                                          const struct CUgraph_st *graph)
{
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;

    if (exec->step_count != graph->step_count || exec->lane_count != graph->lane_count)
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < graph->step_count && result == CU_GRAPH_EXEC_UPDATE_SUCCESS; i++)
        result = compare(exec->steps[i], graph->steps[i]);
    return result;
}

/* The same nodes with other functions, sizes and times; the ids stay. */
static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    if (!exec || !graph || !info)
        return CUDA_ERROR_INVALID_VALUE;
    memset(info, 0, sizeof(*info));
    pthread_mutex_lock(&exec->lock);
    info->result = can_update(exec, graph);
    for (size_t i = 0; info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS && i < exec->step_count; i++) {
        sim_graph_step_unref(exec->steps[i]);
        exec->steps[i] = sim_graph_step_ref(graph->steps[i]);
    }
    pthread_mutex_unlock(&exec->lock);
    return info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
                                                        : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2);
    return sim_report_exit(&call, update(exec, graph, info));
}

/* One launch of an executable. */
struct launch {
    const struct simgpu_call *call;
    uint64_t submit_ns;
    struct sim_span *span; /* NULL: nobody asked for the launch as a whole */
    uint32_t node_count;   /* so far */
    uint32_t work_count;
};

/* All nodes reach the device at one moment, however long it takes to hand them over. */
static CUresult submit(const struct launch *launch, struct sim_stream *stream, struct sim_op op)
{
    uint64_t ticket;

    op.submit_ns = launch->submit_ns;
    if (sim_stream_submit(stream, &op, &ticket))
        return CUDA_SUCCESS;
    sim_mark_unref(op.mark);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* A mark in `stream`, which the caller and the stream hold; NULL: no memory. */
static struct sim_mark *put_mark(CUgraphExec exec, const struct launch *launch,
                                 struct sim_stream *stream)
{
    struct sim_op op = {.kind = SIM_OP_MARK, .mark = sim_mark_create(exec->context->sim)};

    if (!op.mark)
        return NULL;
    sim_mark_ref(op.mark);
    if (submit(launch, stream, op) == CUDA_SUCCESS)
        return op.mark;
    sim_mark_unref(op.mark);
    return NULL;
}

static CUresult put_wait(const struct launch *launch, struct sim_stream *stream,
                         struct sim_mark *mark)
{
    struct sim_op op = {.kind = SIM_OP_WAIT, .mark = mark};

    sim_mark_ref(mark);
    return submit(launch, stream, op);
}

static CUresult put_work(CUgraphExec exec, struct sim_stream *stream, struct launch *launch,
                         const struct sim_work *work)
{
    struct simgpu_activity activity = work->activity;
    struct sim_op op = work->op;

    if (work->replay.make_gate && !work->replay.make_gate(work->replay.arg, &op.gate))
        return CUDA_ERROR_OUT_OF_MEMORY;
    activity.device_id = (uint32_t)exec->context->device;
    activity.context_id = exec->context->id;
    activity.stream_id = sim_stream_id(stream);
    activity.graph_id = exec->id;
    activity.graph_node_id = (uint64_t)exec->id << 32 | launch->node_count;
    op.span = launch->span;
    op.slot = sim_report_reserve(launch->call, &activity);
    launch->work_count++;
    return submit(launch, stream, op);
}

static CUresult put_step(CUgraphExec exec, struct launch *launch, const struct CUgraphNode_st *step)
{
    struct sim_stream *stream = exec->lanes[step->lane];

    if (sim_graph_step_is_node(step))
        launch->node_count++;
    switch (step->work.op.kind) {
    case SIM_OP_WORK:
        return put_work(exec, stream, launch, &step->work);
    case SIM_OP_HOST:
        return submit(launch, stream, step->work.op);
    case SIM_OP_MARK:
        sim_mark_unref(exec->points[step->point]);
        exec->points[step->point] = put_mark(exec, launch, stream);
        return exec->points[step->point] ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    case SIM_OP_WAIT:
        return put_wait(launch, stream, exec->points[step->point]);
    }
    return CUDA_ERROR_UNKNOWN;
}

static uint32_t count_work(const struct CUgraphExec_st *exec)
{
    uint32_t count = 0;

    for (size_t i = 0; i < exec->step_count; i++)
        count += exec->steps[i]->work.op.kind == SIM_OP_WORK;
    return count;
}

/* NULL: the client did not ask for whole launches, or nothing in it takes time. */
static struct sim_span *reserve_span(const struct CUgraphExec_st *exec,
                                     const struct simgpu_call *call)
{
    struct simgpu_activity activity = {.kind = SIMGPU_GRAPH,
                                       .device_id = (uint32_t)exec->context->device,
                                       .context_id = exec->context->id,
                                       .stream_id = sim_stream_id(exec->lanes[0]),
                                       .graph_id = exec->id};
    uint32_t count = count_work(exec);
    void *slot = count > 0 ? sim_report_reserve(call, &activity) : NULL;
    struct sim_span *span = slot ? calloc(1, sizeof(*span)) : NULL;

    if (span) {
        span->slot = slot;
        span->left = count;
    }
    return span;
}

/* Launches of one executable follow one another, in whatever streams. */
static CUresult launch_locked(const struct simgpu_call *call, CUgraphExec exec,
                              struct sim_stream *stream)
{
    struct launch launch = {.call = call, .submit_ns = sim_clock_now_ns()};
    CUresult result = CUDA_SUCCESS;

    exec->lanes[0] = stream;
    if (exec->end)
        result = put_wait(&launch, stream, exec->end);
    launch.span = reserve_span(exec, call);
    for (size_t i = 0; i < exec->step_count && result == CUDA_SUCCESS; i++)
        result = put_step(exec, &launch, exec->steps[i]);
    if (launch.work_count == 0)
        free(launch.span); /* it never became the device's */
    for (uint32_t i = 0; i < exec->point_count; i++) {
        sim_mark_unref(exec->points[i]);
        exec->points[i] = NULL;
    }
    sim_mark_unref(exec->end);
    exec->end = put_mark(exec, &launch, stream);
    return exec->end ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult launch_graph(const struct simgpu_call *call, CUgraphExec exec, CUstream stream)
{
    struct sim_stream *sim;
    CUcontext context;
    CUresult result = sim_stream_resolve(stream, &sim, &context);

    if (result != CUDA_SUCCESS)
        return result;
    if (!exec || context->sim != exec->context->sim)
        return CUDA_ERROR_INVALID_VALUE;
    result = sim_capture_check_idle(stream); /* no graph inside a graph here */
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&exec->lock);
    result = launch_locked(call, exec, sim);
    pthread_mutex_unlock(&exec->lock);
    return result;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
    return sim_report_exit(&call, launch_graph(&call, exec, stream));
}
