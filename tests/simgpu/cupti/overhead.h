/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_OVERHEAD_H
#define SIMGPU_CUPTI_OVERHEAD_H

/*
 * overhead - records of the time that the driver and the library take of a thread, when kind
 * OVERHEAD is on. The times are real: what the stand-in takes, not what a GPU machine would.
 */

#include "tests/simgpu/hooks.h"

void sim_overhead_write(const struct simgpu_overhead *overhead);

/* The library's own: since `start_ns` up to now. */
void sim_overhead_ended(uint32_t kind, uint64_t start_ns);

#endif
