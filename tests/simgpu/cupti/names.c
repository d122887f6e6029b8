/* SPDX-License-Identifier: Apache-2.0 */

/* Names of the calls that the stand-in driver reports, and of the runtime's that a program may
 * play. */

#include <cupti.h>

#include "tests/simgpu/cupti/say.h"

#define CALL(name)                            \
    {                                         \
        CUPTI_DRIVER_TRACE_CBID_##name, #name \
    }
#define RUNTIME_CALL(name)                     \
    {                                          \
        CUPTI_RUNTIME_TRACE_CBID_##name, #name \
    }

struct call {
    uint32_t cbid;
    const char *name;
};

static const struct call CALLS[] = {
    CALL(cuDevicePrimaryCtxRetain),
    CALL(cuCtxSynchronize),
    CALL(cuModuleLoadData),
    CALL(cuModuleUnload),
    CALL(cuModuleGetFunction),
    CALL(cuMemAlloc_v2),
    CALL(cuMemFree_v2),
    CALL(cuMemAllocHost_v2),
    CALL(cuMemHostAlloc),
    CALL(cuMemFreeHost),
    CALL(cuMemAllocAsync),
    CALL(cuMemFreeAsync),
    CALL(cuMemcpyHtoD_v2),
    CALL(cuMemcpyDtoH_v2),
    CALL(cuMemcpyHtoDAsync_v2),
    CALL(cuMemcpyDtoHAsync_v2),
    CALL(cuMemcpyDtoDAsync_v2),
    CALL(cuMemcpyAsync),
    CALL(cuMemsetD8Async),
    CALL(cuStreamCreate),
    CALL(cuStreamCreateWithPriority),
    CALL(cuStreamDestroy_v2),
    CALL(cuStreamQuery),
    CALL(cuStreamSynchronize),
    CALL(cuStreamWaitEvent),
    CALL(cuEventCreate),
    CALL(cuEventDestroy_v2),
    CALL(cuEventRecord),
    CALL(cuEventQuery),
    CALL(cuEventSynchronize),
    CALL(cuLaunchKernel),
    CALL(cuLaunchKernelEx),
    CALL(cuLaunchHostFunc),
    CALL(cuStreamBeginCapture_v2),
    CALL(cuStreamEndCapture),
    CALL(cuStreamIsCapturing),
    CALL(cuGraphInstantiateWithFlags),
    CALL(cuGraphExecUpdate_v2),
    CALL(cuGraphLaunch),
};

static const struct call RUNTIME_CALLS[] = {
    RUNTIME_CALL(cudaMalloc_v3020),
    RUNTIME_CALL(cudaFree_v3020),
    RUNTIME_CALL(cudaMemcpyAsync_v3020),
    RUNTIME_CALL(cudaMemsetAsync_v3020),
    RUNTIME_CALL(cudaStreamSynchronize_v3020),
    RUNTIME_CALL(cudaDeviceSynchronize_v3020),
    RUNTIME_CALL(cudaLaunchKernel_v7000),
    RUNTIME_CALL(cudaGraphLaunch_v10000),
    RUNTIME_CALL(cudaLaunchKernelExC_v11060),
};

static const char *find(const struct call *calls, size_t count, uint32_t cbid)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i].cbid == cbid)
            return calls[i].name;
    return NULL;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    const char *found = NULL;

    if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
        found = find(CALLS, sizeof(CALLS) / sizeof(CALLS[0]), cbid);
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
        found = find(RUNTIME_CALLS, sizeof(RUNTIME_CALLS) / sizeof(RUNTIME_CALLS[0]), cbid);
    if (!found || !name)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    *name = found;
    return sim_say(CUPTI_SUCCESS);
}
