/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TRAIN_GATE_H
#define SIMGPU_TRAIN_GATE_H

/*
 * gate - lets a test say how far the steps may go, so that what it does meets the job at a known
 * step, however fast or slow the machine is.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/simgpu/train/options.h"

/*
 * Returns when `step` may begin, as the number in the file of --gate is above it; false: the file
 * says "end" behind the number, and this step is none of those. Where it has to wait it says so
 * once. A file that is not there says 0.
 */
bool train_gate_pass(const struct train_options *options, uint32_t step);

#endif
