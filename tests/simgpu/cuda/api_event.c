/* SPDX-License-Identifier: Apache-2.0 */

/* The driver interface: events. */

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/simgpu/cuda/clock.h"
#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/report.h"

static struct {
    pthread_mutex_t lock; /* guards last_id and every event's mark; before a device's lock */
    uint32_t last_id;
} events = {.lock = PTHREAD_MUTEX_INITIALIZER};

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
    if (sim_capture_record(stream, event, &result))
        return result;
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
    if (sim_capture_check_event(event) != CUDA_SUCCESS)
        return CUDA_ERROR_CAPTURED_EVENT;
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
    if (sim_capture_check_event(event) != CUDA_SUCCESS)
        return CUDA_ERROR_CAPTURED_EVENT;
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
