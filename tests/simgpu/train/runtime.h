/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TRAIN_RUNTIME_H
#define SIMGPU_TRAIN_RUNTIME_H

/*
 * runtime - with --runtime the launches of kernels look to CUPTI as if they came from the CUDA
 * runtime: a call of it around the driver's. Only the stand-in driver can do that.
 */

#include "tests/simgpu/hooks.h"

/* False: the driver is no stand-in; why is on stderr. */
bool train_runtime_init(void);

/* Around one launch; nothing without init. */
void train_runtime_begin(struct simgpu_call *call);
void train_runtime_end(struct simgpu_call *call);

#endif
