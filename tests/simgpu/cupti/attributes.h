/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_ATTRIBUTES_H
#define SIMGPU_CUPTI_ATTRIBUTES_H

/*
 * attributes - cuptiActivitySetAttribute and cuptiActivityGetAttribute. The sizes of device buffers
 * are kept and change nothing.
 */

#include <stdbool.h>

/* Buffers per thread, from the next registration of callbacks on: always in 13.0 unless switched
 * off, never before 12.3, and in between when switched on. */
bool sim_attributes_are_buffers_per_thread(void);

/* The client gives buffers that are all zeros. */
bool sim_attributes_are_buffers_zeroed(void);

#endif
