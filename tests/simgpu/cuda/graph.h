/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUDA_GRAPH_H
#define SIMGPU_CUDA_GRAPH_H

/*
 * graph - captured work, and how it runs again.
 *
 * A graph is a list of steps in the order of their capture, each in a lane (a stream of the
 * capture). What one lane waits for in another is a point: a step marks it, others wait
 * for it. A launch puts lane 0 into the stream that it is launched in and the other lanes into
 * streams of the executable's own, so that it runs as the captured streams would have.
 *
 * Ids: of executables, counted in the process; a node's is (executable's << 32 | number of the
 * node).
 */

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/simgpu/cuda/device.h"
#include "tests/simgpu/cuda/work.h"

#define SIM_GRAPH_LANES_MAX 64u
#define SIM_GRAPH_POINTS_MAX 65536u

/* Counted references: by its graph and by what was instantiated from it. */
struct CUgraphNode_st {
    uint32_t ref_count; /* guarded by the steps' lock */
    uint32_t lane;
    uint32_t point; /* MARK and WAIT */
    char *name;     /* kernels: its own copy, which `work` points to */
    struct sim_work work;
};

struct CUgraph_st {
    CUcontext context;
    uint32_t lane_count;
    uint32_t point_count;
    size_t step_count;
    size_t step_capacity;
    CUgraphNode *steps;
};

/* Add a step to `graph`. On failure the replay of `work` is still the caller's. */
bool sim_graph_add(CUgraph graph, uint32_t lane, uint32_t point, const struct sim_work *work);

/* False: a lane ends in work that lane 0 does not wait for. */
bool sim_graph_is_joined(const struct CUgraph_st *graph);

/* Work, host functions: what the driver counts as nodes. Marks and waits are edges. */
bool sim_graph_step_is_node(const struct CUgraphNode_st *step);

void sim_graph_free(CUgraph graph);

CUgraphNode sim_graph_step_ref(CUgraphNode step);
void sim_graph_step_unref(CUgraphNode step);

#endif
