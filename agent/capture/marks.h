/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_MARKS_H
#define RKT_CAPTURE_MARKS_H

/*
 * marks - the calls of ranktrace.h: steps, phases, ranges and buckets.
 *
 * Ranges and phases are kept per thread (thread.h). A bucket may end on another thread than it
 * began on, so these are here; the step belongs to the process (steps.h).
 *
 * Threads: any. Memory: all of it is taken in create. Full: a range that is nested too
 * deep, or a bucket beyond the limit of open ones, is not kept and counted as a loss.
 */

#include "agent/capture/thread.h"

struct rkt_marks;

struct rkt_marks *rkt_marks_create(void); /* NULL when memory is out */
void rkt_marks_destroy(struct rkt_marks *marks);

/* The process ends: what is still open goes out as begun but not ended. */
void rkt_marks_close(struct rkt_marks *marks, struct rkt_threads *threads);

#endif
