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
 * has happened. Where ranks meet, each knows alone when it could begin, and goes on when the
 * others are known: a step is run piece by piece.
 *
 * Time:    job time, ns, exact: this is the truth that clocks then show wrongly.
 * Chance:  lengths depend on seed, rank, step and kernel alone, so that a second run of one rank
 *          gives the same again.
 * Memory:  8 bytes per pending launch, 72 per kernel of a step and some 100 per meeting.
 * Threads: one per rank.
 */

#include <stddef.h>
#include <stdint.h>

#include "analysis/simulate/sim_event.h"
#include "analysis/simulate/sim_idle.h"
#include "common/status.h"

#define RKT_SIM_UNKNOWN_NS INT64_MIN

/* Gets an event with stamps in job time and the clock in which it is to be stored. */
typedef enum rkt_status (*rkt_sim_event_fn)(void *ctx, const struct rkt_event *event,
                                            struct rkt_error *err);

/* What a step of a rank was: the numbers of metrics.md, from the model and not from records. */
struct rkt_sim_step {
    int64_t window_start_ns;
    int64_t window_end_ns;
    int64_t compute_ns;  /* kernels that are no collectives */
    int64_t comm_ns;     /* collectives */
    int64_t overlap_ns;  /* both */
    int64_t transfer_ns; /* collectives for which all are there, and no compute */
    int64_t buckets_ns;  /* AllReduces of gradients */
    int64_t hidden_ns;   /* of these under compute */
    int64_t tail_ns;     /* and after the end of backward's kernels */
    int64_t copy_ns;     /* copies, which run beside neither */
    int64_t idle_ns[RKT_SIM_IDLE_CAUSE_COUNT]; /* nothing of all that, by why */
};

struct rkt_sim_rank;

/* `fn` NULL: nothing is given out, only computed. The layout is on loan until destroy. */
enum rkt_status rkt_sim_rank_create(const struct rkt_sim_layout *layout, uint32_t rank,
                                    rkt_sim_event_fn fn, void *ctx, struct rkt_sim_rank **rank_out,
                                    struct rkt_error *err);
void rkt_sim_rank_destroy(struct rkt_sim_rank *sim); /* NULL is fine */

/* `ends_ns`: when each meeting of the step ended, on all ranks alike; on loan until the step is
 * done, and RKT_SIM_UNKNOWN_NS where that is not known yet. */
void rkt_sim_rank_begin_step(struct rkt_sim_rank *sim, uint32_t step, const int64_t *ends_ns);

/* Runs to the end of the step, or to the first meeting whose end is not known. */
enum rkt_status rkt_sim_rank_advance(struct rkt_sim_rank *sim, bool *is_done_out,
                                     struct rkt_error *err);

/* The next meeting that was launched: when its kernel could begin, were its stream free. NULL: no
 * further one yet. */
const struct rkt_sim_part *rkt_sim_rank_take_post(struct rkt_sim_rank *sim, int64_t *ready_ns_out);

/* Of the step that is done. */
const struct rkt_sim_step *rkt_sim_rank_truth(const struct rkt_sim_rank *sim);
/* Likewise, with works in order of time; until the next begins. */
const struct rkt_sim_log *rkt_sim_rank_log(const struct rkt_sim_rank *sim);

#endif
