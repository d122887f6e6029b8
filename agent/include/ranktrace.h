/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RANKTRACE_H
#define RANKTRACE_H

/*
 * ranktrace.h - marks that a training program may set for ranktrace. Link with
 * -lranktrace (pkg-config ranktrace).
 *
 * In a process that ranktrace does not watch every call returns at once and does
 * nothing. No call blocks, prints, exits, raises a signal or sets errno.
 *
 * Threads: any; ranges nest per thread. Not from signal handlers.
 * Time:    stamps are CLOCK_MONOTONIC_RAW, taken inside the call.
 * Names:   copied; at most 65,535 bytes. Use few different ones: each is kept once.
 * Cost:    about 0.1 us a mark, no system call. In a process without a GPU a phase asks the kernel
 *          how much it computed: about 0.3 us at either end, some us more where it slept 1 ms or
 *          more.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RANKTRACE_API __attribute__((visibility("default")))

enum ranktrace_phase {
    RANKTRACE_FORWARD = 2,
    RANKTRACE_BACKWARD = 3,
    RANKTRACE_OPTIMIZER = 4,
    RANKTRACE_INPUT = 5,
    RANKTRACE_COMM_WAIT = 6, /* this thread waits for a collective */
};

/* 1 while marks are recorded, else 0. */
RANKTRACE_API int ranktrace_is_active(void);

/*
 * Training step `step` begins here, and the one before ends. One thread per process. Does nothing
 * in a run with --step-range, where ranges of that name are the steps.
 */
RANKTRACE_API void ranktrace_step(uint64_t step);

/* The last step ends here; call it when training is over or leaves the loop. */
RANKTRACE_API void ranktrace_step_end(void);

/* A phase of the step on this thread; phases nest like ranges. */
RANKTRACE_API void ranktrace_phase_begin(enum ranktrace_phase phase);
RANKTRACE_API void ranktrace_phase_end(enum ranktrace_phase phase);

/* A named range on this thread, up to 64 deep (deeper ones are counted, not kept). */
RANKTRACE_API void ranktrace_range_push(const char *name);
RANKTRACE_API void ranktrace_range_pop(void);

/* An instant. */
RANKTRACE_API void ranktrace_mark(const char *name);

/*
 * A call that waits for the GPU has returned. It began at start_ns, read from
 * CLOCK_MONOTONIC_RAW; `call` is its name ("Tensor.item"), `site` where the program makes it
 * ("train.py:123"). The report then names the lines of a program that wait most.
 */
RANKTRACE_API void ranktrace_sync_call(uint64_t start_ns, const char *call, const char *site);

/*
 * A gradient bucket is handed to the process group. `index` counts from 0 within the step.
 * Returns a handle for end, 0 when not recorded. end may come from any thread, once;
 * end(0) does nothing.
 */
RANKTRACE_API uint64_t ranktrace_bucket_begin(uint32_t index, uint64_t bytes, uint32_t param_count);
RANKTRACE_API void ranktrace_bucket_end(uint64_t handle);

#ifdef __cplusplus
}
#endif

#endif
