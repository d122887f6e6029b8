/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The driver interface: memory. Device addresses are numbers without memory behind them, and
 * copies move no bytes: only their times, sizes and kinds are simulated.
 */

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/report.h"

#define DEVICE_BASE 0x300000000000ull /* no mapping of a Linux process lies here by itself */
#define DEVICE_END 0x400000000000ull
#define ALIGN_BYTES 512u
#define COPY_SETUP_NS 1500u
#define SET_BYTES_PER_NS 1500.0
#define DEVICE_COPY_BYTES_PER_NS 1200.0
#define PAGEABLE_FACTOR 4

struct block {
    struct block *next;
    uint64_t address;
    size_t bytes;
    bool is_device;
};

static struct {
    pthread_mutex_t lock; /* guards all below; a leaf */
    struct block *blocks;
    uint64_t next_address;
    uint64_t device_bytes;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_address = DEVICE_BASE};

static bool add_block(uint64_t address, size_t bytes, bool is_device)
{
    struct block *block = calloc(1, sizeof(*block));

    if (!block)
        return false;
    block->address = address;
    block->bytes = bytes;
    block->is_device = is_device;
    pthread_mutex_lock(&memory.lock);
    block->next = memory.blocks;
    memory.blocks = block;
    pthread_mutex_unlock(&memory.lock);
    return true;
}

/* Takes the block that begins at `address` out of the list; NULL: there is none. */
static struct block *take_block(uint64_t address, bool is_device)
{
    struct block *found = NULL;

    pthread_mutex_lock(&memory.lock);
    for (struct block **link = &memory.blocks; *link; link = &(*link)->next) {
        if ((*link)->address == address && (*link)->is_device == is_device) {
            found = *link;
            *link = found->next;
            break;
        }
    }
    pthread_mutex_unlock(&memory.lock);
    return found;
}

bool sim_memory_find(uint64_t address, size_t bytes, struct sim_memory *memory_out)
{
    bool is_known = false;

    memory_out->is_device = address >= DEVICE_BASE && address < DEVICE_END;
    memory_out->is_pinned = false;
    pthread_mutex_lock(&memory.lock);
    for (const struct block *block = memory.blocks; block && !is_known; block = block->next)
        is_known = address >= block->address && address - block->address <= block->bytes &&
                   bytes <= block->bytes - (address - block->address);
    pthread_mutex_unlock(&memory.lock);
    memory_out->is_pinned = is_known && !memory_out->is_device;
    return is_known || !memory_out->is_device;
}

static CUresult memory_alloc(CUdeviceptr *address, size_t bytes)
{
    uint64_t start = 0;

    if (!sim_context_current())
        return sim_driver_is_up() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
    if (!address || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&memory.lock);
    if (bytes <= SIM_DEVICE_BYTES - memory.device_bytes &&
        bytes < DEVICE_END - memory.next_address - ALIGN_BYTES) {
        start = memory.next_address;
        memory.next_address += (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
        memory.device_bytes += bytes;
    }
    pthread_mutex_unlock(&memory.lock);
    if (start == 0 || !add_block(start, bytes, true))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = start;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
    return sim_report_exit(&call, memory_alloc(address, bytes));
}

/* As the driver's, it waits for the device. */
static CUresult memory_free(CUdeviceptr address)
{
    struct block *block;

    if (!sim_context_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    block = take_block(address, true);
    if (!block)
        return CUDA_ERROR_INVALID_VALUE;
    sim_device_wait_all(sim_context_current()->sim);
    pthread_mutex_lock(&memory.lock);
    memory.device_bytes -= block->bytes;
    pthread_mutex_unlock(&memory.lock);
    free(block);
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
    return sim_report_exit(&call, memory_free(address));
}

static CUresult host_alloc(void **address, size_t bytes)
{
    if (!sim_context_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!address || bytes == 0 || bytes > SIM_DEVICE_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    *address = calloc(1, bytes);
    if (!*address || !add_block((uint64_t)(uintptr_t)*address, bytes, false)) {
        free(*address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemAllocHost(void **address, size_t bytes)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2);
    return sim_report_exit(&call, host_alloc(address, bytes));
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned int flags)
{
    struct simgpu_call call;

    (void)flags;
    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc);
    return sim_report_exit(&call, host_alloc(address, bytes));
}

static CUresult host_free(void *address)
{
    struct block *block = take_block((uint64_t)(uintptr_t)address, false);

    if (!block)
        return CUDA_ERROR_INVALID_VALUE;
    free(block);
    free(address);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost);
    return sim_report_exit(&call, host_free(address));
}

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
    struct simgpu_activity activity = {.kind = SIMGPU_COPY, .bytes = copy->bytes};
    struct sim_op op = {.kind = SIM_OP_WORK};
    struct sim_stream *sim;
    CUcontext context;
    uint64_t ticket;
    CUresult result = sim_stream_resolve(copy->stream, &sim, &context);

    if (result != CUDA_SUCCESS)
        return result;
    activity.device_id = (uint32_t)context->device;
    activity.context_id = context->id;
    activity.stream_id = sim_stream_id(sim);
    activity.copy_kind = copy_kind(copy);
    activity.from_kind = memory_kind(&copy->from_memory);
    activity.to_kind = memory_kind(&copy->to_memory);
    activity.is_async = copy->is_async;
    op.engine = copy_engine(copy);
    op.duration_ns = copy_duration_ns(copy);
    op.slot = sim_report_reserve(call, &activity);
    if (!sim_stream_submit(sim, &op, &ticket))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!copy->is_async || is_pageable(copy)) /* pageable memory is staged by the caller */
        sim_stream_wait(sim, ticket);
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
    struct simgpu_activity activity = {.kind = SIMGPU_SET,
                                       .bytes = set->bytes,
                                       .value = value,
                                       .to_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                       .is_async = true};
    struct sim_op op = {.kind = SIM_OP_WORK};
    struct sim_memory where;
    struct sim_stream *sim;
    CUcontext context;
    uint64_t ticket;
    CUresult result = sim_stream_resolve(set->stream, &sim, &context);

    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_memory_find(set->to, set->bytes, &where) || !where.is_device)
        return CUDA_ERROR_INVALID_VALUE;
    activity.device_id = (uint32_t)context->device;
    activity.context_id = context->id;
    activity.stream_id = sim_stream_id(sim);
    op.duration_ns = COPY_SETUP_NS + (uint64_t)((double)set->bytes / SET_BYTES_PER_NS);
    op.slot = sim_report_reserve(call, &activity);
    return sim_stream_submit(sim, &op, &ticket) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    struct copy set = {.to = to, .bytes = bytes, .stream = stream};
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async);
    return sim_report_exit(&call, set_submit(&call, &set, value));
}
