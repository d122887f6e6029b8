/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUDA_CAPTURE_H
#define SIMGPU_CUDA_CAPTURE_H

/*
 * capture - streams whose work goes into a graph instead of to the device.
 *
 * A capture begins in one stream; others join it when they wait for an event that was recorded
 * in it. Each stream of a capture is a lane of its graph.
 *
 * Threads: all calls from any thread; one lock for all captures. As in the driver, streams of one
 *          capture must not be used by two threads at once if the order of their work matters.
 */

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct sim_work;

/* Where in a capture a stream, or the last record of an event, is. Guarded by the captures'
 * lock. */
struct sim_capture_place {
    uint64_t capture_id; /* 0: in none */
    uint32_t lane;       /* streams */
    uint32_t point;      /* events */
};

/* True: it is the capture's, and *result_out says how that went. False: it is for the device. */
bool sim_capture_add(CUstream stream, const struct sim_work *work, CUresult *result_out);
bool sim_capture_record(CUstream stream, CUevent event, CUresult *result_out);
bool sim_capture_wait(CUstream stream, CUevent event, CUresult *result_out);

/* What may not be done while `stream` is captured; it invalidates the capture. */
CUresult sim_capture_check_idle(CUstream stream);
CUresult sim_capture_check_context(CUcontext context);
/* An event that was last recorded in a capture cannot be asked or waited for. */
CUresult sim_capture_check_event(CUevent event);

#endif
