/* SPDX-License-Identifier: Apache-2.0 */

/* The driver interface: streams. */

#include <cuda.h>
#include <cupti.h>
#include <stdlib.h>

#include "tests/simgpu/cuda/clock.h"
#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/report.h"

#define NO_EVENT UINT32_MAX

static CUresult stream_create(CUstream *stream, unsigned int flags)
{
    CUcontext context = sim_context_current();
    CUstream made;

    if (!context)
        return sim_driver_is_up() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
    if (!stream || (flags & ~(unsigned int)CU_STREAM_NON_BLOCKING))
        return CUDA_ERROR_INVALID_VALUE;
    made = calloc(1, sizeof(*made));
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->context = context;
    made->sim = sim_stream_create(context->sim, sim_next_stream_id());
    if (!made->sim) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *stream = made;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuStreamCreate);
    return sim_report_exit(&call, stream_create(stream, flags));
}

/* Priorities change nothing: streams run side by side without limit. */
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    struct simgpu_call call;

    (void)priority;
    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority);
    return sim_report_exit(&call, stream_create(stream, flags));
}

static CUresult stream_destroy(CUstream stream)
{
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_stream_destroy(stream->sim);
    free(stream);
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2);
    return sim_report_exit(&call, stream_destroy(stream));
}

CUresult sim_stream_resolve(CUstream stream, struct sim_stream **sim_out, CUcontext *context_out)
{
    CUcontext context = stream ? stream->context : sim_context_current();

    if (!context)
        return sim_driver_is_up() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
    *sim_out = stream ? stream->sim : context->default_stream;
    *context_out = context;
    return CUDA_SUCCESS;
}

bool simgpuStreamId(void *context, void *stream, uint32_t *id_out)
{
    CUcontext of_default = context ? context : sim_context_current();

    if (stream)
        *id_out = sim_stream_id(((CUstream)stream)->sim);
    else if (of_default)
        *id_out = sim_stream_id(of_default->default_stream);
    return stream || of_default;
}

static CUresult stream_synchronize(const struct simgpu_call *call, CUstream stream)
{
    struct simgpu_sync sync = {.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
                               .event_id = NO_EVENT};
    struct sim_stream *sim;
    CUcontext context;
    CUresult result = sim_stream_resolve(stream, &sim, &context);

    if (result == CUDA_SUCCESS)
        result = sim_capture_check_idle(stream);
    if (result != CUDA_SUCCESS)
        return result;
    sync.context_id = context->id;
    sync.stream_id = sim_stream_id(sim);
    sync.start_ns = sim_clock_now_ns();
    sim_stream_wait_all(sim);
    sync.end_ns = sim_clock_now_ns();
    sim_report_sync(call, &sync);
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize);
    return sim_report_exit(&call, stream_synchronize(&call, stream));
}

static CUresult stream_query(CUstream stream)
{
    struct sim_stream *sim;
    CUcontext context;
    CUresult result = sim_stream_resolve(stream, &sim, &context);

    if (result == CUDA_SUCCESS)
        result = sim_capture_check_idle(stream);
    if (result != CUDA_SUCCESS)
        return result;
    return sim_stream_is_idle(sim) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamQuery(CUstream stream)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuStreamQuery);
    return sim_report_exit(&call, stream_query(stream));
}

static CUresult submit_wait(struct sim_stream *sim, struct sim_mark *mark)
{
    struct sim_op op = {.kind = SIM_OP_WAIT, .mark = mark};
    uint64_t ticket;

    if (sim_stream_submit(sim, &op, &ticket))
        return CUDA_SUCCESS;
    sim_mark_unref(mark);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult stream_wait_event(const struct simgpu_call *call, CUstream stream, CUevent event)
{
    struct simgpu_sync sync = {.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT};
    struct sim_stream *sim;
    struct sim_mark *mark;
    CUcontext context;
    CUresult result = sim_stream_resolve(stream, &sim, &context);

    if (result != CUDA_SUCCESS)
        return result;
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (sim_capture_wait(stream, event, &result))
        return result;
    sync.context_id = context->id;
    sync.stream_id = sim_stream_id(sim);
    sync.event_id = event->id;
    sync.start_ns = sim_clock_now_ns();
    mark = sim_event_take_mark(event);
    if (mark) /* never recorded: nothing to wait for */
        result = submit_wait(sim, mark);
    sync.end_ns = sim_clock_now_ns();
    if (result == CUDA_SUCCESS)
        sim_report_sync(call, &sync);
    return result;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    struct simgpu_call call;

    (void)flags;
    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent);
    return sim_report_exit(&call, stream_wait_event(&call, stream, event));
}
