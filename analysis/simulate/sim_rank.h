/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_RANK_H
#define RKT_ANALYSIS_SIMULATE_SIM_RANK_H

/*
 * sim_rank - one rank of a scenario, step by step: what its host does, what its GPU does then.
 *
 *     main thread   |input|copy|forward ...          (blocked)        |optimizer|
 *     autograd                             |backward ... launch AllReduce|
 *     stream 7          |copy|f f f f|b b b b b b b b|            |o o o|
 *     stream 20                            |AllReduce|  |AllReduce|
 *
 * A kernel starts when its stream is free, its launch is long enough ago, and what it waits for
 * has happened. The ranks meet in their AllReduces, so a step has two halves: up to where each
 * could begin, which a rank knows alone, and from where all of them have ended.
 *
 * Time:    job time, ns, exact: this is the truth that clocks then show wrongly.
 * Chance:  lengths depend on seed, rank, step and kernel alone, so that a second run of one rank
 *          gives the same again.
 * Memory:  8 bytes per pending launch and 16 per kernel of a step.
 * Threads: one per rank.
 */

#include <stddef.h>
#include <stdint.h>

#include "analysis/simulate/scenario.h"
#include "common/event.h"
#include "common/status.h"

#define RKT_SIM_MAIN_THREAD 100u
#define RKT_SIM_AUTOGRAD_THREAD 101u
#define RKT_SIM_STREAM 7u
#define RKT_SIM_COMM_STREAM 20u

/* Names that events refer to; ids from 1 in this order. */
enum rkt_sim_name {
    RKT_SIM_NAME_NONE,
    RKT_SIM_NAME_FORWARD_KERNEL,
    RKT_SIM_NAME_BACKWARD_KERNEL,
    RKT_SIM_NAME_OPTIMIZER_KERNEL,
    RKT_SIM_NAME_EXTRA_KERNEL,
    RKT_SIM_NAME_COMM_KERNEL,
    RKT_SIM_NAME_LAUNCH,
    RKT_SIM_NAME_COMM_LAUNCH,
    RKT_SIM_NAME_COPY,
    RKT_SIM_NAME_SYNC,
    RKT_SIM_NAME_AUTOGRAD,
    RKT_SIM_NAME_MAIN,
    RKT_SIM_NAME_COUNT
};
const char *rkt_sim_name(enum rkt_sim_name name);

/* Gets an event with stamps in job time and the clock in which it is to be stored. */
typedef enum rkt_status (*rkt_sim_event_fn)(void *ctx, const struct rkt_event *event,
                                            struct rkt_error *err);

/* What a step of a rank was: the numbers of metrics.md, from the model and not from records. */
struct rkt_sim_step {
    int64_t window_start_ns;
    int64_t window_end_ns;
    int64_t compute_ns; /* kernels that are no collectives */
    int64_t comm_ns;    /* collectives */
    int64_t overlap_ns; /* both */
    int64_t copy_ns;    /* copies, which run beside neither */
};

struct rkt_sim_rank;

/* `fn` NULL: nothing is given out, only computed. */
enum rkt_status rkt_sim_rank_create(const struct rkt_scenario *scenario, uint32_t rank,
                                    rkt_sim_event_fn fn, void *ctx, struct rkt_sim_rank **rank_out,
                                    struct rkt_error *err);
void rkt_sim_rank_destroy(struct rkt_sim_rank *sim); /* NULL is fine */

/* When each of the step's collectives could begin on this rank, were its stream free. */
enum rkt_status rkt_sim_rank_begin_step(struct rkt_sim_rank *sim, uint32_t step,
                                        int64_t *ready_ns_out, struct rkt_error *err);

/* When the rank's comm stream is free: the earliest start of its next collective. */
int64_t rkt_sim_rank_comm_free_ns(const struct rkt_sim_rank *sim);

/* `ends_ns`: when each collective ended, on all ranks alike. *truth_out may be NULL. */
enum rkt_status rkt_sim_rank_end_step(struct rkt_sim_rank *sim, const int64_t *ends_ns,
                                      struct rkt_sim_step *truth_out, struct rkt_error *err);

#endif
