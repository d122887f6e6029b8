/* SPDX-License-Identifier: Apache-2.0 */

/* Names of the driver calls that the stand-in driver reports. */

#include <cupti.h>

#define CALL(name)                            \
    {                                         \
        CUPTI_DRIVER_TRACE_CBID_##name, #name \
    }

static const struct {
    uint32_t cbid;
    const char *name;
} CALLS[] = {
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

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    if (!name || domain != CUPTI_CB_DOMAIN_DRIVER_API)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++) {
        if (CALLS[i].cbid == cbid) {
            *name = CALLS[i].name;
            return CUPTI_SUCCESS;
        }
    }
    return CUPTI_ERROR_INVALID_PARAMETER;
}
