/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_MEASURE_H
#define RKT_ANALYSIS_MEASURE_H

/*
 * measure - what a rank did in its run and in each of its steps.
 *
 * Place:   step, phase -> [measure] -> exposed, straggler, summary.
 * Threads: any, each with ranks of its own. Memory: about as much as the rank's trace, while it
 *          lasts.
 */

#include "analysis/interval.h"
#include "analysis/result.h"
#include "common/arena.h"
#include "common/status.h"

/*
 * Fills rank->run, ->outside, the steps' windows and overlaps, and ->tables, which are the arena's;
 * rank->trace is whole. rank->activity is there from then on, for what follows. `exposed` is the
 * caller's (exposed.h); it stays empty where there is no GPU work.
 */
enum rkt_status rkt_measure_rank(struct rkt_rank_result *rank, struct rkt_interval_set *exposed,
                                 struct rkt_arena *arena, struct rkt_error *err);

/* Lets go of rank->activity; also after a failure. */
void rkt_measure_end(struct rkt_rank_result *rank);

/* Back to a step of which the window is known, but not what was in all of it. */
void rkt_leave_unmeasured(struct rkt_step_result *step);

/* Gets a stretch of rank time. Not RKT_OK ends the walk. */
typedef enum rkt_status (*rkt_stretch_fn)(void *ctx, int64_t start_ns, int64_t end_ns);

/* The stretches whose sum rank->run is: all of it, or those in which capture was open. */
enum rkt_status rkt_each_run_stretch(const struct rkt_rank_result *rank, rkt_stretch_fn fn,
                                     void *ctx);
/* Likewise of rank->outside: before the first step and after the last. */
enum rkt_status rkt_each_outside_stretch(const struct rkt_rank_result *rank, rkt_stretch_fn fn,
                                         void *ctx);

#endif
