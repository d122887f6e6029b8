/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CLOCK_SHIFT_H
#define SIMGPU_CLOCK_SHIFT_H

/*
 * shift - a CLOCK_REALTIME that is set or runs wrong while a job runs, the same in every process
 * that has the environment:
 *
 *   SIMGPU_REALTIME_AT_NS     CLOCK_MONOTONIC from which on it is wrong; unset: never
 *   SIMGPU_REALTIME_STEP_NS   by how much it is set then; may be negative
 *   SIMGPU_REALTIME_DRIFT_PPB by how much it runs fast from then on; may be negative
 *
 * or, as on a host that PTP steers well, whatever steers this machine's:
 *
 *   SIMGPU_REALTIME_STEERED   it is MONOTONIC_RAW and so many ns; adjtimex(2) says that a daemon steers
 *
 * The stand-ins stamp with it, and libsimgpu-clock.so, preloaded, gives it to all other code.
 *
 * Threads: all calls from any thread.
 */

#include <stdint.h>

/* What is to be added to the true CLOCK_REALTIME at that moment. */
int64_t sim_shift_ns(uint64_t monotonic_ns);

/* 0: it is not steered. */
uint64_t sim_shift_steered_ns(void);

/* The clocks as the kernel has them, whatever is preloaded. */
uint64_t sim_shift_true_realtime_ns(void);
uint64_t sim_shift_monotonic_ns(void);

#endif
