/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUDA_DRIVER_H
#define SIMGPU_CUDA_DRIVER_H

/*
 * driver - what stands behind the handles of the driver interface: devices, contexts, streams,
 * events, allocations and modules of this process.
 *
 * Environment: SIMGPU_DEVICE_COUNT (0 to 64, default 8), SIMGPU_H2D_GBPS (pinned memory,
 *              default 25; pageable is a quarter of it), CUDA_INJECTION64_PATH.
 * Threads:     all calls from any thread.
 */

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simgpu/cuda/capture.h"
#include "tests/simgpu/cuda/device.h"
#include "tests/simgpu/hooks.h"

#define SIM_DEVICES_MAX 64
#define SIM_DEVICE_BYTES (80ull << 30)
#define SIM_DRIVER_VERSION 13000
#define SIM_DEFAULT_STREAM_ID 7u /* as CUPTI numbers it; streams of the user's: 14 and on */

struct CUctx_st {
    uint32_t id;
    CUdevice device;
    struct sim_device *sim;
    struct sim_stream *default_stream;
    bool is_primary;
};

struct CUstream_st {
    struct sim_stream *sim;
    CUcontext context;
    struct sim_capture_place place;
};

struct CUevent_st {
    CUcontext context;
    uint32_t id;
    bool has_timing;
    struct sim_mark *mark;          /* of the last record; NULL: none yet. Guarded by sim_event_* */
    struct sim_capture_place place; /* of the last record, if that was captured */
};

/* What memory an address is in. */
struct sim_memory {
    bool is_device;
    bool is_pinned;
};

/* True once cuInit has returned CUDA_SUCCESS. */
bool sim_driver_is_up(void);
int sim_driver_device_count(void);
double sim_driver_h2d_bytes_per_ns(void);

/* The calling thread's context; NULL: none. */
CUcontext sim_context_current(void);
bool sim_context_exists(void); /* any was ever made */
uint32_t sim_next_stream_id(void);

/* Where work for `stream` goes; NULL stands for the default stream of the current context. */
CUresult sim_stream_resolve(CUstream stream, struct sim_stream **sim_out, CUcontext *context_out);

/* The event's last record, with a reference of the caller's; NULL: never recorded. */
struct sim_mark *sim_event_take_mark(CUevent event);
void sim_event_set_mark(CUevent event, struct sim_mark *mark);

/* Which memory [address, address + bytes) lies in; false: a device range that is not allocated. */
bool sim_memory_find(uint64_t address, size_t bytes, struct sim_memory *memory_out);

#endif
