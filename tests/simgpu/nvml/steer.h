/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NVML_STEER_H
#define SIMGPU_NVML_STEER_H

/*
 * steer - what the environment asks of the stand-in NVML, and the values where it asks nothing.
 *
 * The environment is read at each call: a test may change it between two.
 */

#include <stdint.h>

#include "agent/sidecar/nvml_api/include/nvml.h"

#define SIM_NVML_GPU_BUSY 99
#define SIM_NVML_MEMORY_BUSY 41
#define SIM_NVML_SM_MHZ 1980
#define SIM_NVML_THROTTLED_MHZ 1485 /* three quarters */
#define SIM_NVML_MEMORY_MHZ 2619
#define SIM_NVML_POWER_MW 512000
#define SIM_NVML_POWER_LIMIT_MW 700000
#define SIM_NVML_CELSIUS 61
#define SIM_NVML_HOT_CELSIUS 92
#define SIM_NVML_ECC_CORRECTED 3
#define SIM_NVML_MEMORY_BYTES (80ull << 30)
#define SIM_NVML_USED_BYTES (33ull << 30)
#define SIM_NVML_SM_ACTIVE 31.25
#define SIM_NVML_OCCUPANCY 18.5
#define SIM_NVML_TENSOR 12.5
#define SIM_NVML_DRAM 27.75
#define SIM_NVML_LINK_MIB 1024.0

uint64_t sim_nvml_now_ns(void);
int sim_nvml_device_count(void);

/* Waits as asked; the error that was asked for this call, or NVML_SUCCESS. Hangs where asked. */
nvmlReturn_t sim_nvml_enter(const char *call);

unsigned long long sim_nvml_throttle(int device);
unsigned int sim_nvml_has_gpm(void);
nvmlReturn_t sim_nvml_metric_code(unsigned int metric);

#endif
