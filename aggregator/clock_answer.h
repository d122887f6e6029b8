/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_CLOCK_ANSWER_H
#define RKT_AGGREGATOR_CLOCK_ANSWER_H

/*
 * clock_answer - the other side of clock_probe's ping-pong: rank 0, which is the reference, or the
 * sidecar of a clock parent.
 *
 * Bursts are served one child at a time, in order of their requests: two at once would delay each
 * other. While one is served this spins, RKT_ANSWER_SPIN_NS at most, and no longer than
 * clock_burst.h has patience once the child is silent. Of every burst the exchanges that decide are
 * kept, for the alignment at the end (the sidecars store all); rank 0 gets them of bursts with
 * parents too. It also keeps what sidecars claim of true time.
 *
 * Threads: one. Memory: two events per burst and rank, one per claim.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"
#include "common/status.h"
#include "common/transport.h"

#define RKT_ANSWER_SPIN_NS 2000000u

struct rkt_clock_answer;

/* Now, in ns of the reference clock; a test gives its own. */
typedef uint64_t (*rkt_reference_fn)(void *ctx);

enum rkt_status rkt_clock_answer_create(struct rkt_transport *transport, rkt_reference_fn clock,
                                        void *clock_ctx, struct rkt_clock_answer **answer_out,
                                        struct rkt_error *err);
void rkt_clock_answer_destroy(struct rkt_clock_answer *answer);

/* Serve what has come; true when a burst was served: poll soon again. */
bool rkt_clock_answer_step(struct rkt_clock_answer *answer, struct rkt_error *err);

/* What decides the bursts of this rank, and its claims; on loan until the next step. */
const struct rkt_event *rkt_clock_answer_exchanges(const struct rkt_clock_answer *answer, int rank,
                                                   size_t *count_out);

#endif
