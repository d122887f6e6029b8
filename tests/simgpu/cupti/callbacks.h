/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_CALLBACKS_H
#define SIMGPU_CUPTI_CALLBACKS_H

/*
 * callbacks - the one subscriber of the process, and what it is told: the calls of the driver and
 * of the runtime, when they begin and when they end. symbolName and functionParams are NULL.
 *
 * Threads: all calls from any thread. A callback may still run while its subscriber leaves.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/simgpu/hooks.h"

/* Any call is told. */
bool sim_callbacks_are_on(void);

bool sim_callbacks_has(const struct simgpu_call *call);
void sim_callbacks_enter(struct simgpu_call *call);
void sim_callbacks_exit(struct simgpu_call *call, uint32_t result);

/* The subscriber is gone. */
void sim_callbacks_reset(void);

#endif
