/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUDA_REPORT_H
#define SIMGPU_CUDA_REPORT_H

/*
 * report - tells the stand-in CUPTI, where there is one, what happens. Without one each of
 * these costs one atomic load.
 *
 * Times in are CLOCK_MONOTONIC; the hooks get CLOCK_REALTIME.
 */

#include <cuda.h>
#include <stdint.h>

#include "tests/simgpu/hooks.h"

/* Brackets of one call of the driver interface. */
void sim_report_enter(struct simgpu_call *call, uint32_t cbid);
CUresult sim_report_exit(struct simgpu_call *call, CUresult result);

/* A context is there; the kernels of a module are not any more. */
void sim_report_context(void);
void sim_report_unloaded(const char *kernel_name);

/* Fills in the correlation id of `call`; returns the slot for sim_report_complete, or NULL. */
void *sim_report_reserve(const struct simgpu_call *call, struct simgpu_activity *activity);
void sim_report_complete(void *slot, uint64_t start_ns, uint64_t end_ns); /* NULL is fine */

/* These with their times in CLOCK_MONOTONIC, and the correlation id still to be filled in. */
void sim_report_sync(const struct simgpu_call *call, struct simgpu_sync *sync);
void sim_report_memory(const struct simgpu_call *call, struct simgpu_memory *memory);

/* Since `start_ns` (CLOCK_MONOTONIC) up to now; `kind` is a CUpti_ActivityOverheadKind. */
void sim_report_overhead(const struct simgpu_call *call, uint32_t kind, uint64_t start_ns);

#endif
