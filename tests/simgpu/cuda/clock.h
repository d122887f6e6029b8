/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUDA_CLOCK_H
#define SIMGPU_CUDA_CLOCK_H

/*
 * clock - the device runs on CLOCK_MONOTONIC, CUPTI's stamps are CLOCK_REALTIME. One constant
 * joins them, read when the driver is initialised, so that stamps never overtake one another but
 * where clock/shift.h sets CLOCK_REALTIME back.
 */

#include <stdint.h>

void sim_clock_init(void); /* once, before the others */
uint64_t sim_clock_now_ns(void);
uint64_t sim_clock_to_realtime_ns(uint64_t monotonic_ns);

#endif
