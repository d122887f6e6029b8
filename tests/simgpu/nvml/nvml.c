/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libnvidia-ml.so.1 as a stand-in: GPUs with the UUIDs and PCI addresses of the stand-in driver,
 * whose values, errors and delays the environment sets (README.md). Built a second time as an old
 * library (SIMGPU_NVML_OLD) without the calls that came last.
 *
 * Threads: any; no state but the count of GPM samples.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sidecar/nvml_api/include/nvml.h"
#include "tests/simgpu/nvml/steer.h"

#define DEVICES_MAX 64

struct nvmlDevice_st {
    int index;
};

struct nvmlGpmSample_st {
    int device;
    uint64_t time_ns;
};

static struct nvmlDevice_st devices[DEVICES_MAX];

static nvmlReturn_t find(int index, nvmlDevice_t *device)
{
    if (index < 0 || index >= sim_nvml_device_count() || index >= DEVICES_MAX)
        return NVML_ERROR_NOT_FOUND;
    devices[index].index = index;
    *device = &devices[index];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void)
{
    return sim_nvml_enter(__func__);
}

nvmlReturn_t nvmlShutdown(void)
{
    return sim_nvml_enter(__func__);
}

/* The UUID's bytes are "simgpu", zeros and the device's number. */
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    static const char PREFIX[] = "GPU-73696d67-7075-0000-0000-0000000000";
    nvmlReturn_t code = sim_nvml_enter(__func__);

    if (code != NVML_SUCCESS)
        return code;
    if (strncmp(uuid, PREFIX, sizeof(PREFIX) - 1) != 0)
        return NVML_ERROR_NOT_FOUND;
    return find((int)strtol(uuid + sizeof(PREFIX) - 1, NULL, 16), device);
}

/* The bus is the device's number plus one; "00000000:03:00.0". */
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device)
{
    nvmlReturn_t code = sim_nvml_enter(__func__);
    char *at;
    long domain = strtol(id, &at, 16);
    long bus = *at == ':' ? strtol(at + 1, &at, 16) : 0;

    if (code != NVML_SUCCESS)
        return code;
    if (domain != 0 || strcmp(at, ":00.0") != 0)
        return NVML_ERROR_NOT_FOUND;
    return find((int)bus - 1, device);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
    nvmlReturn_t code = sim_nvml_enter(__func__);

    (void)device;
    *rates = (nvmlUtilization_t){.gpu = SIM_NVML_GPU_BUSY, .memory = SIM_NVML_MEMORY_BUSY};
    return code;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
    nvmlReturn_t code = sim_nvml_enter(__func__);

    *mhz = type == NVML_CLOCK_MEM ? SIM_NVML_MEMORY_MHZ : SIM_NVML_SM_MHZ;
    if (type == NVML_CLOCK_SM && sim_nvml_throttle(device->index) != 0)
        *mhz = SIM_NVML_THROTTLED_MHZ;
    return code;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
    (void)device;
    *mhz = type == NVML_CLOCK_MEM ? SIM_NVML_MEMORY_MHZ : SIM_NVML_SM_MHZ;
    return sim_nvml_enter(__func__);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts)
{
    (void)device;
    *milliwatts = SIM_NVML_POWER_MW;
    return sim_nvml_enter(__func__);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *milliwatts)
{
    (void)device;
    *milliwatts = SIM_NVML_POWER_LIMIT_MW;
    return sim_nvml_enter(__func__);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long *reasons)
{
    *reasons = sim_nvml_throttle(device->index);
    return sim_nvml_enter(__func__);
}

#ifndef SIMGPU_NVML_OLD
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long *reasons)
{
    *reasons = sim_nvml_throttle(device->index);
    return sim_nvml_enter(__func__);
}
#endif

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned int *celsius)
{
    (void)sensor;
    *celsius = sim_nvml_throttle(device->index) != 0 ? SIM_NVML_HOT_CELSIUS : SIM_NVML_CELSIUS;
    return sim_nvml_enter(__func__);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t error,
                                         nvmlEccCounterType_t counter, unsigned long long *count)
{
    (void)device;
    (void)counter;
    *count = error == NVML_MEMORY_ERROR_TYPE_CORRECTED ? SIM_NVML_ECC_CORRECTED : 0;
    return sim_nvml_enter(__func__);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    (void)device;
    *memory = (nvmlMemory_t){.total = SIM_NVML_MEMORY_BYTES,
                             .free = SIM_NVML_MEMORY_BYTES - SIM_NVML_USED_BYTES,
                             .used = SIM_NVML_USED_BYTES};
    return sim_nvml_enter(__func__);
}

#ifndef SIMGPU_NVML_OLD
nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support)
{
    (void)device;
    if (support->version != NVML_GPM_SUPPORT_VERSION)
        return NVML_ERROR_INVALID_ARGUMENT;
    support->isSupportedDevice = sim_nvml_has_gpm();
    return sim_nvml_enter(__func__);
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample)
{
    nvmlReturn_t code = sim_nvml_enter(__func__);

    if (code != NVML_SUCCESS)
        return code;
    *sample = calloc(1, sizeof(**sample));
    return *sample ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
    free(sample);
    return sim_nvml_enter(__func__);
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample)
{
    sample->device = device->index;
    sample->time_ns = sim_nvml_now_ns();
    return sim_nvml_enter(__func__);
}

static double metric_value(unsigned int id)
{
    switch (id) {
    case NVML_GPM_METRIC_SM_UTIL:
        return SIM_NVML_SM_ACTIVE;
    case NVML_GPM_METRIC_SM_OCCUPANCY:
        return SIM_NVML_OCCUPANCY;
    case NVML_GPM_METRIC_ANY_TENSOR_UTIL:
        return SIM_NVML_TENSOR;
    case NVML_GPM_METRIC_DRAM_BW_UTIL:
        return SIM_NVML_DRAM;
    default:
        return SIM_NVML_LINK_MIB;
    }
}

/* As the library does: it takes what is between two different moments of one device. */
nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *request)
{
    nvmlReturn_t code = sim_nvml_enter(__func__);

    if (code != NVML_SUCCESS)
        return code;
    if (request->version != NVML_GPM_METRICS_GET_VERSION ||
        request->sample1->device != request->sample2->device ||
        request->sample1->time_ns >= request->sample2->time_ns)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int i = 0; i < request->numMetrics; i++) {
        request->metrics[i].nvmlReturn = sim_nvml_metric_code(request->metrics[i].metricId);
        request->metrics[i].value = metric_value(request->metrics[i].metricId);
    }
    return NVML_SUCCESS;
}
#endif
