/* SPDX-License-Identifier: Apache-2.0 */

/* The driver interface: devices and contexts. */

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/cuda/clock.h"
#include "tests/simgpu/cuda/driver.h"
#include "tests/simgpu/cuda/report.h"

static struct {
    pthread_mutex_t lock; /* guards all below; taken before a device's own lock */
    uint32_t last_context_id;
    uint32_t last_stream_id;
    struct {
        struct sim_device *sim;
        CUcontext primary;
        unsigned int primary_ref_count;
    } devices[SIM_DEVICES_MAX];
} contexts = {.lock = PTHREAD_MUTEX_INITIALIZER, .last_stream_id = 13};

static _Thread_local CUcontext current;

static CUresult check_device(CUdevice device)
{
    if (!sim_driver_is_up())
        return CUDA_ERROR_NOT_INITIALIZED;
    if (device < 0 || device >= sim_driver_device_count())
        return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    if (!sim_driver_is_up())
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = sim_driver_device_count();
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult result = check_device(ordinal);

    if (result == CUDA_SUCCESS)
        *device = ordinal;
    return result;
}

CUresult cuDeviceGetName(char *name, int name_bytes, CUdevice device)
{
    CUresult result = check_device(device);

    if (result != CUDA_SUCCESS)
        return result;
    if (!name || name_bytes <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)name_bytes, "ranktrace simulated GPU");
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    CUresult result = check_device(device);

    if (result != CUDA_SUCCESS)
        return result;
    memset(uuid, 0, sizeof(*uuid));
    memcpy(uuid->bytes, "simgpu", 6);
    uuid->bytes[15] = (char)device;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int id_bytes, CUdevice device)
{
    CUresult result = check_device(device);

    if (result != CUDA_SUCCESS)
        return result;
    if (!id || id_bytes < 13)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(id, (size_t)id_bytes, "0000:%02x:00.0", (unsigned int)device + 1);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    static const struct {
        CUdevice_attribute attribute;
        int value;
    } VALUES[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
        {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
        {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, SIM_ENGINE_COUNT - 1},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    };
    CUresult result = check_device(device);

    if (result != CUDA_SUCCESS)
        return result;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    *value = 0; /* what the stand-in does not know, it does not have */
    if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
        *value = device + 1;
    for (size_t i = 0; i < sizeof(VALUES) / sizeof(VALUES[0]); i++)
        if (VALUES[i].attribute == attribute)
            *value = VALUES[i].value;
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    CUresult result = check_device(device);

    if (result == CUDA_SUCCESS)
        *bytes = SIM_DEVICE_BYTES;
    return result;
}

static void context_free(CUcontext context)
{
    if (context && context->default_stream)
        sim_stream_destroy(context->default_stream);
    free(context);
}

static CUcontext context_create_locked(CUdevice device)
{
    CUcontext context = calloc(1, sizeof(*context));

    if (!context)
        return NULL;
    if (!contexts.devices[device].sim)
        contexts.devices[device].sim = sim_device_create();
    context->sim = contexts.devices[device].sim;
    if (context->sim)
        context->default_stream = sim_stream_create(context->sim, SIM_DEFAULT_STREAM_ID);
    if (!context->default_stream) {
        context_free(context);
        return NULL;
    }
    context->id = ++contexts.last_context_id;
    context->device = device;
    return context;
}

static CUresult primary_retain(CUcontext *context, CUdevice device)
{
    CUresult result = check_device(device);

    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&contexts.lock);
    if (!contexts.devices[device].primary)
        contexts.devices[device].primary = context_create_locked(device);
    *context = contexts.devices[device].primary;
    if (*context) {
        (*context)->is_primary = true;
        contexts.devices[device].primary_ref_count++;
    }
    pthread_mutex_unlock(&contexts.lock);
    if (!*context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_report_context();
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain);
    return sim_report_exit(&call, primary_retain(context, device));
}

/* The context itself is kept: threads may still have it current. */
CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult result = check_device(device);

    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&contexts.lock);
    if (contexts.devices[device].primary_ref_count == 0)
        result = CUDA_ERROR_INVALID_CONTEXT;
    else
        contexts.devices[device].primary_ref_count--;
    pthread_mutex_unlock(&contexts.lock);
    return result;
}

CUresult cuCtxCreate(CUcontext *context, CUctxCreateParams *params, unsigned int flags,
                     CUdevice device)
{
    CUresult result = check_device(device);

    (void)flags;
    if (result != CUDA_SUCCESS)
        return result;
    if (params)
        return CUDA_ERROR_NOT_SUPPORTED;
    pthread_mutex_lock(&contexts.lock);
    *context = context_create_locked(device);
    pthread_mutex_unlock(&contexts.lock);
    if (!*context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_report_context();
    current = *context;
    return CUDA_SUCCESS;
}

/* The forms of older headers; an affinity is not looked at. */
/* NOLINTNEXTLINE(readability-identifier-naming): the driver's own name */
CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    return cuCtxCreate(context, NULL, flags, device);
}

/* NOLINTNEXTLINE(readability-identifier-naming): as above */
CUresult cuCtxCreate_v3(CUcontext *context, void *affinities, int affinity_count,
                        unsigned int flags, CUdevice device);
CUresult cuCtxCreate_v3(CUcontext *context, void *affinities, int affinity_count,
                        unsigned int flags, CUdevice device)
{
    (void)affinities;
    (void)affinity_count;
    return cuCtxCreate(context, NULL, flags, device);
}

CUresult cuCtxDestroy(CUcontext context)
{
    if (!context || context->is_primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (current == context)
        current = NULL;
    context_free(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    if (!sim_driver_is_up())
        return CUDA_ERROR_NOT_INITIALIZED;
    current = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    if (!sim_driver_is_up())
        return CUDA_ERROR_NOT_INITIALIZED;
    *context = current;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = current->device;
    return CUDA_SUCCESS;
}

static CUresult context_synchronize(const struct simgpu_call *call)
{
    struct simgpu_sync sync = {.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE,
                               .stream_id = UINT32_MAX,
                               .event_id = UINT32_MAX};

    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (sim_capture_check_context(current) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    sync.context_id = current->id;
    sync.start_ns = sim_clock_now_ns();
    sim_device_wait_all(current->sim);
    sync.end_ns = sim_clock_now_ns();
    sim_report_sync(call, &sync);
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    struct simgpu_call call;

    sim_report_enter(&call, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
    return sim_report_exit(&call, context_synchronize(&call));
}

CUcontext sim_context_current(void)
{
    return current;
}

bool sim_context_exists(void)
{
    bool has_been_made;

    pthread_mutex_lock(&contexts.lock);
    has_been_made = contexts.last_context_id > 0;
    pthread_mutex_unlock(&contexts.lock);
    return has_been_made;
}

uint32_t sim_next_stream_id(void)
{
    uint32_t id;

    pthread_mutex_lock(&contexts.lock);
    id = ++contexts.last_stream_id;
    pthread_mutex_unlock(&contexts.lock);
    return id;
}
