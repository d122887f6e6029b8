/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_NVML_H
#define RKT_NVML_H

/*
 * nvml.h - the part of NVML that is used, declared by the project itself: it is called through
 * dlopen alone, so no build needs the toolkit. A test compares it with the toolkit's header.
 */

typedef enum nvmlReturn_enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
    NVML_ERROR_IN_USE = 19,
    NVML_ERROR_MEMORY = 20,
    NVML_ERROR_NO_DATA = 21,
    NVML_ERROR_UNKNOWN = 999,
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t;

typedef enum nvmlClockType_enum {
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEM = 2,
} nvmlClockType_t;

typedef enum nvmlTemperatureSensors_enum {
    NVML_TEMPERATURE_GPU = 0,
} nvmlTemperatureSensors_t;

typedef enum nvmlMemoryErrorType_enum {
    NVML_MEMORY_ERROR_TYPE_CORRECTED = 0,
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1,
} nvmlMemoryErrorType_t;

typedef enum nvmlEccCounterType_enum {
    NVML_VOLATILE_ECC = 0, /* since the driver was loaded */
} nvmlEccCounterType_t;

typedef struct nvmlUtilization_st {
    unsigned int gpu; /* percent */
    unsigned int memory;
} nvmlUtilization_t;

typedef struct nvmlMemory_st {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
} nvmlMemory_t;

/* Why clocks are lower than they could be; one bit each. */
#define nvmlClocksThrottleReasonGpuIdle 0x0000000000000001ull
#define nvmlClocksThrottleReasonApplicationsClocksSetting 0x0000000000000002ull
#define nvmlClocksThrottleReasonSwPowerCap 0x0000000000000004ull
#define nvmlClocksThrottleReasonHwSlowdown 0x0000000000000008ull
#define nvmlClocksThrottleReasonSyncBoost 0x0000000000000010ull
#define nvmlClocksThrottleReasonSwThermalSlowdown 0x0000000000000020ull
#define nvmlClocksThrottleReasonHwThermalSlowdown 0x0000000000000040ull
#define nvmlClocksThrottleReasonHwPowerBrakeSlowdown 0x0000000000000080ull

typedef enum {
    NVML_GPM_METRIC_SM_UTIL = 2, /* percent, as all up to DRAM */
    NVML_GPM_METRIC_SM_OCCUPANCY = 3,
    NVML_GPM_METRIC_ANY_TENSOR_UTIL = 5,
    NVML_GPM_METRIC_DRAM_BW_UTIL = 10,
    NVML_GPM_METRIC_PCIE_TX_PER_SEC = 20, /* MiB/s from the GPU, as all below */
    NVML_GPM_METRIC_PCIE_RX_PER_SEC = 21,
    NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC = 60,
    NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC = 61,
} nvmlGpmMetricId_t;

typedef struct nvmlGpmSample_st *nvmlGpmSample_t;

typedef struct {
    unsigned int metricId;
    nvmlReturn_t nvmlReturn;
    double value;
    struct {
        char *shortName;
        char *longName;
        char *unit;
    } metricInfo;
} nvmlGpmMetric_t;

/*
 * The library looks at numMetrics of them. Each toolkit's array is as long as it has metrics, and
 * the version stays 1: so this one is longer than any.
 */
typedef struct {
    unsigned int version;
    unsigned int numMetrics;
    nvmlGpmSample_t sample1;
    nvmlGpmSample_t sample2;
    nvmlGpmMetric_t metrics[512];
} nvmlGpmMetricsGet_t;

#define NVML_GPM_METRICS_GET_VERSION 1

typedef struct {
    unsigned int version;
    unsigned int isSupportedDevice;
} nvmlGpmSupport_t;

#define NVML_GPM_SUPPORT_VERSION 1

#include "nvml_calls.h"

#endif
