/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_GPU_LIBRARY_H
#define RKT_AGENT_SIDECAR_GPU_LIBRARY_H

/*
 * gpu_library - NVIDIA's management library (NVML), found at run time.
 *
 * A machine without it is a normal state. Of an old one some calls are missing (NULL): what they
 * would measure is not sampled. Plain data, so that a test can put its own calls in.
 *
 * Threads: whoever opened it, alone; any call may block for milliseconds, or for ever.
 */

#include <stdbool.h>

#include "agent/sidecar/nvml_api/include/nvml.h"

struct rkt_gpu_library {
    void *handle; /* of dlopen */
    /* always there */
    __typeof__(&nvmlInit_v2) init;
    __typeof__(&nvmlShutdown) shutdown;
    __typeof__(&nvmlDeviceGetHandleByUUID) by_uuid;
    __typeof__(&nvmlDeviceGetHandleByPciBusId_v2) by_pci;
    /* NULL where the library lacks them */
    __typeof__(&nvmlDeviceGetUtilizationRates) utilization;
    __typeof__(&nvmlDeviceGetClockInfo) clock;
    __typeof__(&nvmlDeviceGetMaxClockInfo) max_clock;
    __typeof__(&nvmlDeviceGetPowerUsage) power;
    __typeof__(&nvmlDeviceGetEnforcedPowerLimit) power_limit;
    __typeof__(&nvmlDeviceGetCurrentClocksThrottleReasons) throttle_reasons;
    __typeof__(&nvmlDeviceGetTemperature) temperature;
    __typeof__(&nvmlDeviceGetTotalEccErrors) ecc_errors;
    __typeof__(&nvmlDeviceGetMemoryInfo) memory;
    __typeof__(&nvmlGpmQueryDeviceSupport) gpm_support;
    __typeof__(&nvmlGpmSampleAlloc) gpm_alloc;
    __typeof__(&nvmlGpmSampleFree) gpm_free;
    __typeof__(&nvmlGpmSampleGet) gpm_get;
    __typeof__(&nvmlGpmMetricsGet) gpm_metrics;
};

/*
 * Loads and initialises it. False: *why_out says why, NULL where there simply is no such library or
 * no driver. May take seconds: a driver that no process uses is loaded first.
 */
bool rkt_gpu_library_open(struct rkt_gpu_library *library_out, const char **why_out);
void rkt_gpu_library_close(struct rkt_gpu_library *library);

/* "GPU is lost"; for a line in the log. */
const char *rkt_gpu_error_text(nvmlReturn_t code);

#endif
