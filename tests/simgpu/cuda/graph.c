/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cuda/graph.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t steps_lock = PTHREAD_MUTEX_INITIALIZER; /* guards reference counts; a leaf */

CUgraphNode sim_graph_step_ref(CUgraphNode step)
{
    pthread_mutex_lock(&steps_lock);
    step->ref_count++;
    pthread_mutex_unlock(&steps_lock);
    return step;
}

void sim_graph_step_unref(CUgraphNode step)
{
    bool is_last;

    pthread_mutex_lock(&steps_lock);
    is_last = --step->ref_count == 0;
    pthread_mutex_unlock(&steps_lock);
    if (!is_last)
        return;
    if (step->work.replay.make_gate)
        step->work.replay.release(step->work.replay.arg);
    free(step->name);
    free(step);
}

static bool make_room(CUgraph graph)
{
    size_t capacity = graph->step_capacity ? 2 * graph->step_capacity : 16;
    CUgraphNode *steps;

    if (graph->step_count < graph->step_capacity)
        return true;
    steps = realloc(graph->steps, capacity * sizeof(CUgraphNode));
    if (!steps)
        return false;
    graph->steps = steps;
    graph->step_capacity = capacity;
    return true;
}

/* The function's own name goes with its module. */
static bool keep_name(CUgraphNode step)
{
    const char *name = step->work.activity.name;

    if (!name)
        return true;
    step->name = strdup(name);
    step->work.activity.name = step->name;
    return step->name != NULL;
}

bool sim_graph_add(CUgraph graph, uint32_t lane, uint32_t point, const struct sim_work *work)
{
    CUgraphNode step = make_room(graph) ? calloc(1, sizeof(*step)) : NULL;

    if (!step)
        return false;
    step->ref_count = 1;
    step->lane = lane;
    step->point = point;
    step->work = *work;
    if (!keep_name(step)) {
        free(step);
        return false;
    }
    graph->steps[graph->step_count++] = step;
    return true;
}

bool sim_graph_step_is_node(const struct CUgraphNode_st *step)
{
    return step->work.op.kind == SIM_OP_WORK || step->work.op.kind == SIM_OP_HOST;
}

/* From the end to the beginning: work counts as waited for once its lane is, which for lane 0 is
 * from the end, for others from a point that a lane which counts waits for. */
static bool all_work_is_waited_for(const struct CUgraph_st *graph, bool *points)
{
    bool lanes[SIM_GRAPH_LANES_MAX] = {true};

    for (size_t i = graph->step_count; i-- > 0;) {
        const struct CUgraphNode_st *step = graph->steps[i];

        if (step->work.op.kind == SIM_OP_WAIT && lanes[step->lane])
            points[step->point] = true;
        else if (step->work.op.kind == SIM_OP_MARK && points[step->point])
            lanes[step->lane] = true;
        else if (sim_graph_step_is_node(step) && !lanes[step->lane])
            return false;
    }
    return true;
}

bool sim_graph_is_joined(const struct CUgraph_st *graph)
{
    bool *points = calloc(graph->point_count + 1, sizeof(*points));
    bool is_joined = points && all_work_is_waited_for(graph, points);

    free(points);
    return is_joined;
}

void sim_graph_free(CUgraph graph)
{
    for (size_t i = 0; i < graph->step_count; i++)
        sim_graph_step_unref(graph->steps[i]);
    free(graph->steps);
    free(graph);
}
