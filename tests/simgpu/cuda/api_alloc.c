/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The driver interface: memory taken and given back. Device addresses are numbers without memory
 * behind them.
 */

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/simgpu/cuda/clock.h"
#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/report.h"

#define DEVICE_BASE 0x300000000000ull /* no mapping of a Linux process lies here by itself */
#define DEVICE_END 0x400000000000ull
#define ALIGN_BYTES 512u
#define NO_STREAM UINT32_MAX

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

/* Takes the block that begins at `address` out of the list; false: there is none. */
static bool take_block(uint64_t address, bool is_device, size_t *bytes_out)
{
    struct block *found = NULL;

    pthread_mutex_lock(&memory.lock);
    for (struct block **link = &memory.blocks; *link; link = &(*link)->next) {
        if ((*link)->address == address && (*link)->is_device == is_device) {
            found = *link;
            *link = found->next;
            if (is_device)
                memory.device_bytes -= found->bytes;
            break;
        }
    }
    pthread_mutex_unlock(&memory.lock);
    if (!found)
        return false;
    *bytes_out = found->bytes;
    free(found);
    return true;
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

static CUresult check_context(void)
{
    if (sim_context_current())
        return CUDA_SUCCESS;
    return sim_driver_is_up() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
}

/* One of the four: taken or given back, on the device or pinned on the host. */
static struct simgpu_memory describe(bool is_release, bool is_device)
{
    const struct CUctx_st *context = sim_context_current();
    struct simgpu_memory what = {.is_release = is_release,
                                 .memory_kind = is_device ? CUPTI_ACTIVITY_MEMORY_KIND_DEVICE
                                                          : CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
                                 .stream_id = NO_STREAM,
                                 .time_ns = sim_clock_now_ns()};

    if (context) {
        what.device_id = (uint32_t)context->device;
        what.context_id = context->id;
    }
    return what;
}

/* *address: where `bytes` of the device are now taken. */
static CUresult take_device(CUdeviceptr *address, size_t bytes)
{
    uint64_t start = 0;

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

static CUresult memory_alloc(const struct simgpu_call *call, CUdeviceptr *address, size_t bytes)
{
    struct simgpu_memory what = describe(false, true);
    CUresult result = check_context();

    if (result == CUDA_SUCCESS)
        result = take_device(address, bytes);
    if (result != CUDA_SUCCESS)
        return result;
    what.address = *address;
    what.bytes = bytes;
    sim_report_memory(call, &what);
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
    return sim_report_exit(&call, memory_alloc(&call, address, bytes));
}

/* As the driver's, it waits for the device. */
static CUresult memory_free(const struct simgpu_call *call, CUdeviceptr address)
{
    struct simgpu_memory what = describe(true, true);
    CUresult result = check_context();

    if (result != CUDA_SUCCESS)
        return result;
    if (!take_block(address, true, &what.bytes))
        return CUDA_ERROR_INVALID_VALUE;
    sim_device_wait_all(sim_context_current()->sim);
    what.address = address;
    sim_report_memory(call, &what);
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
    return sim_report_exit(&call, memory_free(&call, address));
}

/* From the device's pool, in the order of `stream`: nothing waits. The address is good at once. */
static CUresult pool_alloc(const struct simgpu_call *call, CUdeviceptr *address, size_t bytes,
                           CUstream stream)
{
    struct simgpu_memory what = describe(false, true);
    struct sim_stream *sim;
    CUcontext context;
    CUresult result = sim_stream_resolve(stream, &sim, &context);

    if (result == CUDA_SUCCESS)
        result = sim_capture_check_idle(stream); /* no nodes of memory here */
    if (result == CUDA_SUCCESS)
        result = take_device(address, bytes);
    if (result != CUDA_SUCCESS)
        return result;
    what.is_async = true;
    what.stream_id = sim_stream_id(sim);
    what.address = *address;
    what.bytes = bytes;
    sim_report_memory(call, &what);
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync);
    return sim_report_exit(&call, pool_alloc(&call, address, bytes, stream));
}

static CUresult pool_free(const struct simgpu_call *call, CUdeviceptr address, CUstream stream)
{
    struct simgpu_memory what = describe(true, true);
    struct sim_stream *sim;
    CUcontext context;
    CUresult result = sim_stream_resolve(stream, &sim, &context);

    if (result == CUDA_SUCCESS)
        result = sim_capture_check_idle(stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!take_block(address, true, &what.bytes))
        return CUDA_ERROR_INVALID_VALUE;
    what.is_async = true;
    what.stream_id = sim_stream_id(sim);
    what.address = address;
    sim_report_memory(call, &what);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync);
    return sim_report_exit(&call, pool_free(&call, address, stream));
}

static CUresult host_alloc(const struct simgpu_call *call, void **address, size_t bytes)
{
    struct simgpu_memory what = describe(false, false);

    if (!sim_context_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!address || bytes == 0 || bytes > SIM_DEVICE_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    *address = calloc(1, bytes);
    if (!*address || !add_block((uint64_t)(uintptr_t)*address, bytes, false)) {
        free(*address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    what.address = (uint64_t)(uintptr_t)*address;
    what.bytes = bytes;
    sim_report_memory(call, &what);
    return CUDA_SUCCESS;
}

CUresult cuMemAllocHost(void **address, size_t bytes)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2);
    return sim_report_exit(&call, host_alloc(&call, address, bytes));
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned int flags)
{
    struct simgpu_call call;

    (void)flags;
    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc);
    return sim_report_exit(&call, host_alloc(&call, address, bytes));
}

static CUresult host_free(const struct simgpu_call *call, void *address)
{
    struct simgpu_memory what = describe(true, false);

    what.address = (uint64_t)(uintptr_t)address;
    if (!take_block(what.address, false, &what.bytes))
        return CUDA_ERROR_INVALID_VALUE;
    free(address);
    sim_report_memory(call, &what);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost);
    return sim_report_exit(&call, host_free(&call, address));
}
