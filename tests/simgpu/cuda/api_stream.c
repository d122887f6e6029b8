/* SPDX-License-Identifier: Apache-2.0 */

/* The driver interface: streams and events. */

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/simgpu/cuda/clock.h"
#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/report.h"

#define NO_EVENT UINT32_MAX

static struct {
    pthread_mutex_t lock; /* guards last_id and every event's mark; before a device's lock */
    uint32_t last_id;
} events = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

static CUresult stream_synchronize(const struct simgpu_call *call, CUstream stream)
{
    struct simgpu_sync sync = {.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
                               .event_id = NO_EVENT};
    struct sim_stream *sim;
    CUcontext context;
    CUresult result = sim_stream_resolve(stream, &sim, &context);

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

static CUresult event_create(CUevent *event, unsigned int flags)
{
    CUcontext context = sim_context_current();
    CUevent made;

    if (!context)
        return sim_driver_is_up() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
    if (!event)
        return CUDA_ERROR_INVALID_VALUE;
    made = calloc(1, sizeof(*made));
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->context = context;
    made->has_timing = !(flags & (unsigned int)CU_EVENT_DISABLE_TIMING);
    pthread_mutex_lock(&events.lock);
    made->id = ++events.last_id;
    pthread_mutex_unlock(&events.lock);
    *event = made;
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuEventCreate);
    return sim_report_exit(&call, event_create(event, flags));
}

static CUresult event_destroy(CUevent event)
{
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_event_set_mark(event, NULL);
    free(event);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuEventDestroy_v2);
    return sim_report_exit(&call, event_destroy(event));
}

struct sim_mark *sim_event_take_mark(CUevent event)
{
    struct sim_mark *mark;

    pthread_mutex_lock(&events.lock);
    mark = event->mark;
    if (mark)
        sim_mark_ref(mark);
    pthread_mutex_unlock(&events.lock);
    return mark;
}

void sim_event_set_mark(CUevent event, struct sim_mark *mark)
{
    struct sim_mark *before;

    pthread_mutex_lock(&events.lock);
    before = event->mark;
    event->mark = mark;
    pthread_mutex_unlock(&events.lock);
    sim_mark_unref(before);
}

static CUresult event_record(CUevent event, CUstream stream)
{
    struct sim_op op = {.kind = SIM_OP_MARK};
    struct sim_stream *sim;
    CUcontext context;
    uint64_t ticket;
    CUresult result = sim_stream_resolve(stream, &sim, &context);

    if (result != CUDA_SUCCESS)
        return result;
    if (!event || event->context->sim != context->sim)
        return CUDA_ERROR_INVALID_HANDLE;
    op.mark = sim_mark_create(context->sim);
    if (!op.mark)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_mark_ref(op.mark); /* one for the event, one for the stream */
    sim_event_set_mark(event, op.mark);
    if (sim_stream_submit(sim, &op, &ticket))
        return CUDA_SUCCESS;
    sim_mark_unref(op.mark);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuEventRecord);
    return sim_report_exit(&call, event_record(event, stream));
}

static CUresult event_synchronize(const struct simgpu_call *call, CUevent event)
{
    struct simgpu_sync sync = {.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
                               .stream_id = UINT32_MAX};
    struct sim_mark *mark;

    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    sync.context_id = event->context->id;
    sync.event_id = event->id;
    sync.start_ns = sim_clock_now_ns();
    mark = sim_event_take_mark(event);
    if (mark)
        sim_mark_wait(mark);
    sim_mark_unref(mark);
    sync.end_ns = sim_clock_now_ns();
    sim_report_sync(call, &sync);
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize);
    return sim_report_exit(&call, event_synchronize(&call, event));
}

static CUresult event_query(CUevent event)
{
    struct sim_mark *mark;
    bool is_reached;

    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    mark = sim_event_take_mark(event);
    is_reached = !mark || sim_mark_is_reached(mark);
    sim_mark_unref(mark);
    return is_reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventQuery(CUevent event)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuEventQuery);
    return sim_report_exit(&call, event_query(event));
}

/* 0: never recorded, or not reached. */
static uint64_t event_time_ns(CUevent event)
{
    struct sim_mark *mark = sim_event_take_mark(event);
    uint64_t time_ns = mark ? sim_mark_time_ns(mark) : 0;

    sim_mark_unref(mark);
    return time_ns;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    uint64_t start_ns;
    uint64_t end_ns;

    if (!milliseconds || !start || !end || !start->has_timing || !end->has_timing)
        return CUDA_ERROR_INVALID_HANDLE;
    start_ns = event_time_ns(start);
    end_ns = event_time_ns(end);
    if (start_ns == 0 || end_ns == 0)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)((double)((int64_t)(end_ns - start_ns)) / 1e6);
    return CUDA_SUCCESS;
}
