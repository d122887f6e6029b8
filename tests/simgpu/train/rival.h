/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TRAIN_RIVAL_H
#define SIMGPU_TRAIN_RIVAL_H

/*
 * rival - another CUPTI client in the same process for some of the steps, as torch.profiler is
 * (tests/simgpu/thief). It is loaded only when --thief asks for it.
 */

#include <stdint.h>

#include "tests/simgpu/train/options.h"

/* Before each step; starts and stops it at the steps that were asked for. */
void train_rival_step(const struct train_options *options, uint32_t step);

/* After the last step. Returns how many records it got away with. */
uint64_t train_rival_end(const struct train_options *options);

#endif
