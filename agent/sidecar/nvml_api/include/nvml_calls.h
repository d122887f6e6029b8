/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_NVML_CALLS_H
#define RKT_NVML_CALLS_H

/*
 * nvml_calls.h - NVML's calls by the names under which they are exported, apart from the types so
 * that a test can declare them a second time after the toolkit's own header: a difference does
 * not compile.
 */

nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlShutdown(void);

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device);

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates);
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz);
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                       unsigned int *mhz);
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts);
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *milliwatts);
/* The second name is what a driver of 2023 or later calls the first. */
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long *reasons);
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long *reasons);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned int *celsius);
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t error,
                                         nvmlEccCounterType_t counter, unsigned long long *count);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support);
nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample);
nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample);
nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample);
nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *metrics);

#endif
