/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "analysis/rank_trace.h"

/* The first rule whose prefix fits. CUPTI's names may carry a suffix ("_v2", "_v7000",
 * "_ptsz"), so no rule asks for a whole name. */
struct call_rule {
    const char *prefix;
    enum rkt_call_class call_class;
    enum rkt_call_class async_class; /* for names that contain "Async" */
};

static const struct call_rule RULES[] = {
    {"cudaMemcpy", RKT_CALL_BLOCKING, RKT_CALL_LAUNCH},
    {"cuMemcpy", RKT_CALL_BLOCKING, RKT_CALL_LAUNCH},
    {"hipMemcpy", RKT_CALL_BLOCKING, RKT_CALL_LAUNCH},
    {"cudaMemset", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"cuMemset", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"hipMemset", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},

    {"cudaLaunchHostFunc", RKT_CALL_OTHER, RKT_CALL_OTHER},
    {"cuLaunchHostFunc", RKT_CALL_OTHER, RKT_CALL_OTHER},
    {"hipLaunchHostFunc", RKT_CALL_OTHER, RKT_CALL_OTHER},
    {"cudaLaunch", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"cuLaunch", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"hipLaunch", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"hipModuleLaunch", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"hipExtLaunch", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"hipExtModuleLaunch", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"hipHccModuleLaunch", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"hipDrvLaunch", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"cudaGraphLaunch", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"cuGraphLaunch", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},
    {"hipGraphLaunch", RKT_CALL_LAUNCH, RKT_CALL_LAUNCH},

    {"cudaStreamSynchronize", RKT_CALL_BLOCKING, RKT_CALL_BLOCKING},
    {"cudaDeviceSynchronize", RKT_CALL_BLOCKING, RKT_CALL_BLOCKING},
    {"cudaEventSynchronize", RKT_CALL_BLOCKING, RKT_CALL_BLOCKING},
    {"cudaThreadSynchronize", RKT_CALL_BLOCKING, RKT_CALL_BLOCKING},
    {"cuStreamSynchronize", RKT_CALL_BLOCKING, RKT_CALL_BLOCKING},
    {"cuCtxSynchronize", RKT_CALL_BLOCKING, RKT_CALL_BLOCKING},
    {"cuEventSynchronize", RKT_CALL_BLOCKING, RKT_CALL_BLOCKING},
    {"hipStreamSynchronize", RKT_CALL_BLOCKING, RKT_CALL_BLOCKING},
    {"hipDeviceSynchronize", RKT_CALL_BLOCKING, RKT_CALL_BLOCKING},
    {"hipEventSynchronize", RKT_CALL_BLOCKING, RKT_CALL_BLOCKING},
    {"hipCtxSynchronize", RKT_CALL_BLOCKING, RKT_CALL_BLOCKING},

    {"cudaMalloc", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"cudaFree", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"cudaHostAlloc", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"cudaHostRegister", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"cudaHostUnregister", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"cuMem", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipMalloc", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipFree", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipExtMalloc", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipHostMalloc", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipHostAlloc", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipHostFree", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipHostRegister", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipHostUnregister", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipMemAlloc", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipMemCreate", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipMemMap", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipMemUnmap", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipMemRelease", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipMemSetAccess", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
    {"hipMemAddress", RKT_CALL_ALLOC, RKT_CALL_ALLOC},
};

enum rkt_call_class rkt_call_class_of_name(const char *name)
{
    for (size_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]); i++) {
        if (strncmp(name, RULES[i].prefix, strlen(RULES[i].prefix)) == 0)
            return strstr(name, "Async") ? RULES[i].async_class : RULES[i].call_class;
    }
    return RKT_CALL_OTHER;
}
