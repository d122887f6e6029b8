/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/gpu_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *name;
    size_t offset;
    bool is_needed;
} CALLS[] = {
#define CALL(member, name, is_needed)                             \
    {                                                             \
        name, offsetof(struct rkt_gpu_library, member), is_needed \
    }
    CALL(init, "nvmlInit_v2", true),
    CALL(shutdown, "nvmlShutdown", true),
    CALL(by_uuid, "nvmlDeviceGetHandleByUUID", true),
    CALL(by_pci, "nvmlDeviceGetHandleByPciBusId_v2", true),
    CALL(utilization, "nvmlDeviceGetUtilizationRates", false),
    CALL(clock, "nvmlDeviceGetClockInfo", false),
    CALL(max_clock, "nvmlDeviceGetMaxClockInfo", false),
    CALL(power, "nvmlDeviceGetPowerUsage", false),
    CALL(power_limit, "nvmlDeviceGetEnforcedPowerLimit", false),
    CALL(throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", false),
    CALL(throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons", false),
    CALL(temperature, "nvmlDeviceGetTemperature", false),
    CALL(ecc_errors, "nvmlDeviceGetTotalEccErrors", false),
    CALL(memory, "nvmlDeviceGetMemoryInfo", false),
    CALL(gpm_support, "nvmlGpmQueryDeviceSupport", false),
    CALL(gpm_alloc, "nvmlGpmSampleAlloc", false),
    CALL(gpm_free, "nvmlGpmSampleFree", false),
    CALL(gpm_get, "nvmlGpmSampleGet", false),
    CALL(gpm_metrics, "nvmlGpmMetricsGet", false),
#undef CALL
};

static bool find_calls(struct rkt_gpu_library *library)
{
    for (size_t i = 0; i < COUNT(CALLS); i++) {
        void *address = dlsym(library->handle, CALLS[i].name);

        if (!address && CALLS[i].is_needed)
            return false;
        if (address) /* of two names for one call the newer, where both are there */
            memcpy((char *)library + CALLS[i].offset, &address, sizeof(address));
    }
    return true;
}

bool rkt_gpu_library_open(struct rkt_gpu_library *library_out, const char **why_out)
{
    struct rkt_gpu_library library = {.handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
    nvmlReturn_t code;

    *why_out = NULL;
    if (!library.handle)
        return false;
    if (!find_calls(&library)) {
        *why_out = "libnvidia-ml.so.1 is too old";
        (void)dlclose(library.handle);
        return false;
    }
    code = library.init();
    if (code != NVML_SUCCESS) {
        if (code != NVML_ERROR_DRIVER_NOT_LOADED)
            *why_out = rkt_gpu_error_text(code);
        (void)dlclose(library.handle);
        return false;
    }
    *library_out = library;
    return true;
}

void rkt_gpu_library_close(struct rkt_gpu_library *library)
{
    (void)library->shutdown();
    if (library->handle)
        (void)dlclose(library->handle);
    *library = (struct rkt_gpu_library){0};
}

const char *rkt_gpu_error_text(nvmlReturn_t code)
{
    switch (code) {
    case NVML_SUCCESS:
        return "no error";
    case NVML_ERROR_UNINITIALIZED:
        return "not initialised";
    case NVML_ERROR_INVALID_ARGUMENT:
        return "invalid argument";
    case NVML_ERROR_NOT_SUPPORTED:
        return "not supported";
    case NVML_ERROR_NO_PERMISSION:
        return "no permission";
    case NVML_ERROR_NOT_FOUND:
        return "not found";
    case NVML_ERROR_DRIVER_NOT_LOADED:
        return "the driver is not loaded";
    case NVML_ERROR_TIMEOUT:
        return "timeout";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
        return "the driver lacks the function";
    case NVML_ERROR_GPU_IS_LOST:
        return "the GPU is lost";
    case NVML_ERROR_RESET_REQUIRED:
        return "the GPU must be reset";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return "driver and library are of different versions";
    case NVML_ERROR_IN_USE:
        return "in use";
    case NVML_ERROR_MEMORY:
        return "no memory";
    case NVML_ERROR_NO_DATA:
        return "no data";
    case NVML_ERROR_UNKNOWN:
        break;
    }
    return "an error that NVML does not explain";
}
