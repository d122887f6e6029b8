/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_STEPS_H
#define RKT_CAPTURE_STEPS_H

/*
 * steps - which training step the process is in.
 *
 * Place:   marks and NVTX ranges tell where a step begins; the region carries its number to the
 *          sidecar, and a STEP range goes out when it ends.
 * Sources: ranktrace_step(), or, where the config names a step range, the ranges whose names begin
 *          so. Then ranktrace_step() does nothing: who named a range said what a step is, and the
 *          torch hook's guess must not be mixed with it.
 * Threads: any. A step range counts only on the thread that first pushed one, outermost only; when
 *          that thread has ended, on the first one that pushes one after it.
 * Memory:  all of it is taken in create.
 */

#include <stdbool.h>
#include <stdint.h>

struct rkt_capture;
struct rkt_steps;

struct rkt_steps *rkt_steps_create(void); /* NULL when memory is out */
void rkt_steps_destroy(struct rkt_steps *steps);

/* ranktrace_step() and ranktrace_step_end(). */
void rkt_steps_begin(struct rkt_capture *capture, uint64_t step);
void rkt_steps_end(struct rkt_capture *capture);

/* The number of the last step that began; 0 before the first. */
uint64_t rkt_steps_now(const struct rkt_steps *steps);

/* Grows with every step. */
uint64_t rkt_steps_activity(const struct rkt_steps *steps);

/*
 * A range of this name (0: none) was pushed at now_ns. True when a step began with it, and ends
 * with it: rkt_steps_range_popped().
 */
bool rkt_steps_range_pushed(struct rkt_capture *capture, uint32_t thread_id, uint32_t name_id,
                            uint64_t now_ns);
void rkt_steps_range_popped(struct rkt_capture *capture, uint64_t now_ns);

/* A mark of this name: a step that ends where the next one begins. */
void rkt_steps_marked(struct rkt_capture *capture, uint32_t thread_id, uint32_t name_id,
                      uint64_t now_ns);

/* The process ends: a step that is open goes out as begun but not ended. */
void rkt_steps_close(struct rkt_capture *capture);

#endif
