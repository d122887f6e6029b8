/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TRAIN_MARKS_H
#define SIMGPU_TRAIN_MARKS_H

/*
 * marks - ranktrace's marks, when this process has been injected with ranktrace, else nothing. The
 * program is not linked with it: the functions are looked up in the library that is there.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/include/ranktrace.h"

/* After cuInit. True: marks go to ranktrace. */
bool train_marks_init(void);

void train_mark_step(uint64_t step);
void train_mark_step_end(void);
void train_mark_phase_begin(enum ranktrace_phase phase);
void train_mark_phase_end(enum ranktrace_phase phase);
uint64_t train_mark_bucket_begin(uint32_t index, uint64_t bytes);
void train_mark_bucket_end(uint64_t handle);

#endif
