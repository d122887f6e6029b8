/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUDA_WORK_H
#define SIMGPU_CUDA_WORK_H

/* work - what goes into a stream: to the device at once, or into the graph that the stream is
 * captured into. */

#include <cuda.h>

#include "tests/simgpu/cuda/device.h"
#include "tests/simgpu/hooks.h"

struct sim_work {
    struct simgpu_activity activity; /* kernels, copies and sets; ids are filled in */
    struct sim_op op;                /* without slot; gate only if it runs once */
    struct simgpu_replay replay;     /* with `make_gate` NULL: none */
};

/* Where the work went; `stream` NULL: into a graph. */
struct sim_submitted {
    struct sim_stream *stream;
    uint64_t ticket;
};

/* `stream` may be NULL. On failure gate and replay are still the caller's; on success they are
 * not. */
CUresult sim_work_submit(const struct simgpu_call *call, CUstream stream, struct sim_work *work,
                         struct sim_submitted *submitted_out);

#endif
