/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TRAIN_SIDE_H
#define SIMGPU_TRAIN_SIDE_H

/*
 * side - threads beside the training that launch kernels of no length, each in a stream of its own,
 * at a steady rate: a host-bound job with a known number of records.
 */

#include <stdint.h>

#include "tests/simgpu/train/gpu.h"
#include "tests/simgpu/train/options.h"

/* NULL: none are wanted. */
struct train_side *train_side_start(const struct train_options *options,
                                    const struct train_gpu *gpu);

/* Waits until all have launched their share. Returns how many kernels that were. */
uint64_t train_side_join(struct train_side *side);

#endif
