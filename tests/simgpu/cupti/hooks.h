/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_HOOKS_H
#define SIMGPU_CUPTI_HOOKS_H

/* hooks - turns what the driver reports into activity records. */

#include "tests/simgpu/hooks.h"

extern const struct simgpu_hooks sim_hooks;

#endif
