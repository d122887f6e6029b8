/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The driver interface: copies and sets. They move no bytes: only their times, sizes and kinds
 * are simulated.
 */

#include <cuda.h>
#include <cupti.h>

#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/report.h"
#include "tests/simgpu/cuda/work.h"

#define COPY_SETUP_NS 1500u
#define SET_BYTES_PER_NS 1500.0
#define DEVICE_COPY_BYTES_PER_NS 1200.0
#define PAGEABLE_FACTOR 4

/* What is known of a copy before it is on its way. */
struct copy {
    uint64_t to;
    uint64_t from;
    size_t bytes;
    CUstream stream;
    bool is_async;
    struct sim_memory to_memory;
    struct sim_memory from_memory;
};

static uint8_t memory_kind(const struct sim_memory *where)
{
    if (where->is_device)
        return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    return where->is_pinned ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED
                            : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
}

static bool is_pageable(const struct copy *copy)
{
    return memory_kind(&copy->to_memory) == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE ||
           memory_kind(&copy->from_memory) == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
}

static uint8_t copy_kind(const struct copy *copy)
{
    if (copy->from_memory.is_device)
        return copy->to_memory.is_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                                         : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    return copy->to_memory.is_device ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                                     : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

static enum sim_engine copy_engine(const struct copy *copy)
{
    if (copy->from_memory.is_device == copy->to_memory.is_device)
        return SIM_ENGINE_NONE;
    return copy->to_memory.is_device ? SIM_ENGINE_TO_DEVICE : SIM_ENGINE_TO_HOST;
}

static uint64_t copy_duration_ns(const struct copy *copy)
{
    double bytes_per_ns = DEVICE_COPY_BYTES_PER_NS;

    if (copy_engine(copy) != SIM_ENGINE_NONE)
        bytes_per_ns = sim_driver_h2d_bytes_per_ns() / (is_pageable(copy) ? PAGEABLE_FACTOR : 1);
    return COPY_SETUP_NS + (uint64_t)((double)copy->bytes / bytes_per_ns);
}

static CUresult copy_submit(const struct simgpu_call *call, const struct copy *copy)
{
    struct sim_work work = {.activity = {.kind = SIMGPU_COPY,
                                         .bytes = copy->bytes,
                                         .copy_kind = copy_kind(copy),
                                         .from_kind = memory_kind(&copy->from_memory),
                                         .to_kind = memory_kind(&copy->to_memory),
                                         .is_async = copy->is_async},
                            .op = {.kind = SIM_OP_WORK,
                                   .engine = copy_engine(copy),
                                   .duration_ns = copy_duration_ns(copy)}};
    struct sim_submitted submitted;
    CUresult result = sim_work_submit(call, copy->stream, &work, &submitted);

    if (result != CUDA_SUCCESS || !submitted.stream)
        return result;
    if (!copy->is_async || is_pageable(copy)) /* pageable memory is staged by the caller */
        sim_stream_wait(submitted.stream, submitted.ticket);
    return CUDA_SUCCESS;
}

static CUresult copy_run(const struct simgpu_call *call, struct copy *copy)
{
    if (!sim_memory_find(copy->to, copy->bytes, &copy->to_memory) ||
        !sim_memory_find(copy->from, copy->bytes, &copy->from_memory))
        return CUDA_ERROR_INVALID_VALUE;
    if (copy->bytes == 0)
        return CUDA_SUCCESS;
    return copy_submit(call, copy);
}

static CUresult copy_call(uint32_t cbid, struct copy copy)
{
    struct simgpu_call call;

    sim_report_enter(&call, cbid);
    return sim_report_exit(&call, copy_run(&call, &copy));
}

static uint64_t host_address(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,
                     (struct copy){.to = to, .from = host_address(from), .bytes = bytes});
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2,
                     (struct copy){.to = host_address(to), .from = from, .bytes = bytes});
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return copy_call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2,
                     (struct copy){.to = to,
                                   .from = host_address(from),
                                   .bytes = bytes,
                                   .stream = stream,
                                   .is_async = true});
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2,
                     (struct copy){.to = host_address(to),
                                   .from = from,
                                   .bytes = bytes,
                                   .stream = stream,
                                   .is_async = true});
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_call(
        CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2,
        (struct copy){.to = to, .from = from, .bytes = bytes, .stream = stream, .is_async = true});
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_call(
        CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync,
        (struct copy){.to = to, .from = from, .bytes = bytes, .stream = stream, .is_async = true});
}

static CUresult set_submit(const struct simgpu_call *call, const struct copy *set, uint8_t value)
{
    struct sim_work work = {
        .activity = {.kind = SIMGPU_SET,
                     .bytes = set->bytes,
                     .value = value,
                     .to_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                     .is_async = true},
        .op = {.kind = SIM_OP_WORK,
               .duration_ns = COPY_SETUP_NS + (uint64_t)((double)set->bytes / SET_BYTES_PER_NS)}};
    struct sim_submitted submitted;
    struct sim_memory where;

    if (!sim_memory_find(set->to, set->bytes, &where) || !where.is_device)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_work_submit(call, set->stream, &work, &submitted);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    struct copy set = {.to = to, .bytes = bytes, .stream = stream};
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async);
    return sim_report_exit(&call, set_submit(&call, &set, value));
}
