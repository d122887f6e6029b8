/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cuda/work.h"

#include <cupti.h>

#include "tests/simgpu/cuda/capture.h"
#include "tests/simgpu/cuda/clock.h"
#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/report.h"

static CUresult submit(const struct simgpu_call *call, struct sim_stream *stream,
                       const struct sim_op *op, struct sim_submitted *submitted_out)
{
    bool was_full = sim_stream_is_full(stream);
    uint64_t start_ns = sim_clock_now_ns();

    if (!sim_stream_submit(stream, op, &submitted_out->ticket))
        return CUDA_ERROR_OUT_OF_MEMORY;
    submitted_out->stream = stream;
    if (was_full)
        sim_report_overhead(call, CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, start_ns);
    return CUDA_SUCCESS;
}

static CUresult submit_reported(const struct simgpu_call *call, struct sim_stream *sim,
                                CUcontext context, struct sim_work *work,
                                struct sim_submitted *submitted_out)
{
    if (work->op.kind == SIM_OP_WORK) {
        work->activity.device_id = (uint32_t)context->device;
        work->activity.context_id = context->id;
        work->activity.stream_id = sim_stream_id(sim);
        work->op.slot = sim_report_reserve(call, &work->activity);
    }
    return submit(call, sim, &work->op, submitted_out);
}

/* A replay makes its one gate, and is done with. */
static CUresult submit_replay(const struct simgpu_call *call, struct sim_stream *sim,
                              CUcontext context, struct sim_work *work,
                              struct sim_submitted *submitted_out)
{
    CUresult result;

    if (!work->replay.make_gate(work->replay.arg, &work->op.gate))
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = submit_reported(call, sim, context, work, submitted_out);
    if (result == CUDA_SUCCESS)
        work->replay.release(work->replay.arg);
    else
        work->op.gate.release(work->op.gate.arg);
    return result;
}

CUresult sim_work_submit(const struct simgpu_call *call, CUstream stream, struct sim_work *work,
                         struct sim_submitted *submitted_out)
{
    struct sim_stream *sim;
    CUcontext context;
    CUresult result = sim_stream_resolve(stream, &sim, &context);

    submitted_out->stream = NULL;
    if (result != CUDA_SUCCESS || sim_capture_add(stream, work, &result))
        return result;
    if (work->replay.make_gate)
        return submit_replay(call, sim, context, work, submitted_out);
    return submit_reported(call, sim, context, work, submitted_out);
}
