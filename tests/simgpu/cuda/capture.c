/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cuda/capture.h"

#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/graph.h"
#include "tests/simgpu/cuda/report.h"

struct capture {
    struct capture *next;
    uint64_t id;
    CUstream origin;
    CUcontext context;
    CUstreamCaptureMode mode;
    pthread_t thread; /* that began it */
    bool is_invalid;
    CUgraph graph;
};

static struct {
    pthread_mutex_t lock; /* guards all below, graphs under capture, and places; a leaf */
    uint64_t last_id;
    struct capture *captures;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* NULL: there is none, or it has ended. */
static struct capture *find_locked(const struct sim_capture_place *place)
{
    struct capture *capture = place->capture_id ? state.captures : NULL;

    while (capture && capture->id != place->capture_id)
        capture = capture->next;
    return capture;
}

static CUresult add_locked(struct capture *capture, uint32_t lane, uint32_t point,
                           const struct sim_work *work)
{
    if (capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!sim_graph_add(capture->graph, lane, point, work))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

bool sim_capture_add(CUstream stream, const struct sim_work *work, CUresult *result_out)
{
    struct capture *capture;

    if (!stream)
        return false;
    pthread_mutex_lock(&state.lock);
    capture = find_locked(&stream->place);
    if (capture && work->op.gate.ended)
        *result_out = CUDA_ERROR_NOT_SUPPORTED; /* a gate is good for one launch */
    else if (capture)
        *result_out = add_locked(capture, stream->place.lane, 0, work);
    pthread_mutex_unlock(&state.lock);
    return capture != NULL;
}

static CUresult record_locked(struct capture *capture, uint32_t lane, CUevent event)
{
    struct sim_work work = {.op = {.kind = SIM_OP_MARK}};
    CUresult result;

    if (capture->graph->point_count == SIM_GRAPH_POINTS_MAX)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = add_locked(capture, lane, capture->graph->point_count, &work);
    if (result == CUDA_SUCCESS) {
        event->place.capture_id = capture->id;
        event->place.point = capture->graph->point_count++;
    }
    return result;
}

bool sim_capture_record(CUstream stream, CUevent event, CUresult *result_out)
{
    struct capture *capture = NULL;

    pthread_mutex_lock(&state.lock);
    if (stream)
        capture = find_locked(&stream->place);
    if (capture)
        *result_out = record_locked(capture, stream->place.lane, event);
    else
        event->place.capture_id = 0;
    pthread_mutex_unlock(&state.lock);
    return capture != NULL;
}

/* The stream becomes the next lane of the capture. */
static CUresult join_locked(struct capture *capture, CUstream stream)
{
    if (!stream || stream->context != capture->context)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (capture->graph->lane_count == SIM_GRAPH_LANES_MAX)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->place.capture_id = capture->id;
    stream->place.lane = capture->graph->lane_count++;
    return CUDA_SUCCESS;
}

static CUresult wait_locked(struct capture *of_stream, struct capture *of_event, CUstream stream,
                            CUevent event)
{
    struct sim_work work = {.op = {.kind = SIM_OP_WAIT}};
    CUresult result = CUDA_SUCCESS;

    if (!of_event) { /* the graph would depend on what is outside, or on another, ended capture */
        of_stream->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (of_stream && of_stream != of_event) {
        of_stream->is_invalid = true;
        of_event->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!of_stream)
        result = join_locked(of_event, stream);
    if (result == CUDA_SUCCESS)
        result = add_locked(of_event, stream->place.lane, event->place.point, &work);
    return result;
}

bool sim_capture_wait(CUstream stream, CUevent event, CUresult *result_out)
{
    struct capture *of_stream = NULL;
    struct capture *of_event;
    bool is_captured;

    pthread_mutex_lock(&state.lock);
    if (stream)
        of_stream = find_locked(&stream->place);
    of_event = find_locked(&event->place);
    is_captured = of_stream || event->place.capture_id;
    if (of_stream || of_event)
        *result_out = wait_locked(of_stream, of_event, stream, event);
    else if (is_captured) /* in a capture that has ended */
        *result_out = CUDA_ERROR_CAPTURED_EVENT;
    pthread_mutex_unlock(&state.lock);
    return is_captured;
}

CUresult sim_capture_check_idle(CUstream stream)
{
    struct capture *capture = NULL;

    pthread_mutex_lock(&state.lock);
    if (stream)
        capture = find_locked(&stream->place);
    if (capture)
        capture->is_invalid = true;
    pthread_mutex_unlock(&state.lock);
    return capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult sim_capture_check_context(CUcontext context)
{
    CUresult result = CUDA_SUCCESS;

    pthread_mutex_lock(&state.lock);
    for (struct capture *capture = state.captures; capture; capture = capture->next) {
        if (capture->context == context) {
            capture->is_invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    pthread_mutex_unlock(&state.lock);
    return result;
}

CUresult sim_capture_check_event(CUevent event)
{
    bool is_captured;

    pthread_mutex_lock(&state.lock);
    is_captured = event->place.capture_id != 0;
    pthread_mutex_unlock(&state.lock);
    return is_captured ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

static CUresult begin_locked(CUstream stream, CUstreamCaptureMode mode)
{
    struct capture *capture;

    if (find_locked(&stream->place))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    capture = calloc(1, sizeof(*capture));
    if (capture)
        capture->graph = calloc(1, sizeof(*capture->graph));
    if (!capture || !capture->graph) {
        free(capture);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    capture->id = ++state.last_id;
    capture->origin = stream;
    capture->context = stream->context;
    capture->mode = mode;
    capture->thread = pthread_self();
    capture->graph->context = stream->context;
    capture->graph->lane_count = 1;
    capture->next = state.captures;
    state.captures = capture;
    stream->place.capture_id = capture->id;
    stream->place.lane = 0;
    return CUDA_SUCCESS;
}

static CUresult begin(CUstream stream, CUstreamCaptureMode mode)
{
    CUresult result;

    if (!stream) /* the default stream cannot be captured */
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&state.lock);
    result = begin_locked(stream, mode);
    pthread_mutex_unlock(&state.lock);
    return result;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2);
    return sim_report_exit(&call, begin(stream, mode));
}

static CUresult check_end(const struct capture *capture, CUstream stream)
{
    if (!capture || capture->origin != stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        !pthread_equal(capture->thread, pthread_self()))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    return CUDA_SUCCESS;
}

/* Out of the list: streams and events that name it are in no capture from now on. */
static void remove_locked(struct capture *capture)
{
    struct capture **link = &state.captures;

    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
}

static CUresult end(CUstream stream, CUgraph *graph)
{
    struct capture *capture;
    CUresult result;

    if (!stream || !graph)
        return CUDA_ERROR_INVALID_VALUE;
    *graph = NULL;
    pthread_mutex_lock(&state.lock);
    capture = find_locked(&stream->place);
    result = check_end(capture, stream);
    if (result == CUDA_SUCCESS)
        remove_locked(capture);
    pthread_mutex_unlock(&state.lock);
    if (result != CUDA_SUCCESS)
        return result;
    if (capture->is_invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!sim_graph_is_joined(capture->graph))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (result == CUDA_SUCCESS)
        *graph = capture->graph;
    else
        sim_graph_free(capture->graph);
    free(capture);
    return result;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture);
    return sim_report_exit(&call, end(stream, graph));
}

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    const struct capture *capture = NULL;

    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    pthread_mutex_lock(&state.lock);
    if (stream)
        capture = find_locked(&stream->place);
    if (capture)
        *status = capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    pthread_mutex_unlock(&state.lock);
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuStreamIsCapturing);
    return sim_report_exit(&call, is_capturing(stream, status));
}

/* Kept and given back; nothing is refused because of it. */
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode before = thread_mode;

    if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
