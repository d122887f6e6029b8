/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_CLOCK_PROBE_H
#define RKT_AGENT_SIDECAR_CLOCK_PROBE_H

/*
 * clock_probe - a sidecar's side of the ping-pong with rank 0, or with a clock parent.
 *
 * A responder that sleeps between polls would add half a sleep to one direction, which no
 * averaging removes. So a burst starts with a rendezvous (REQUEST, READY), after which both
 * sides spin, RKT_BURST_SPIN_NS at most; stamps are taken right beside the transport's calls.
 *
 * Schedule: three bursts at the start, then one each ten seconds where rank 0 asked for it, three
 * at the end (clock_schedule.h). With a parent, all that is done with it; and with rank 0 likewise,
 * but one in two minutes. A parent that leaves three bursts in a row unanswered is given up: rank 0
 * takes its place. While no burst has had an exchange, the answer to the first PING is awaited
 * longer, without spinning.
 *
 * Threads: one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/sidecar/clock_schedule.h"
#include "common/event.h"
#include "common/status.h"
#include "common/transport.h"

#define RKT_BURST_SPIN_NS 2000000u

struct rkt_clock_probe;

/* Now, in ns of MONOTONIC_RAW; a test gives its own. */
typedef uint64_t (*rkt_clock_fn)(void *ctx);
/* Gets the exchanges of a burst. */
typedef enum rkt_status (*rkt_exchange_fn)(void *ctx, const struct rkt_event *exchange,
                                           struct rkt_error *err);

struct rkt_clock_probe_config {
    struct rkt_transport *transport; /* on loan */
    uint64_t seed;                   /* of the schedules' jitter */
    rkt_clock_fn clock;
    void *clock_ctx;
    rkt_exchange_fn on_exchange;
    void *exchange_ctx;
};

enum rkt_status rkt_clock_probe_create(const struct rkt_clock_probe_config *config,
                                       struct rkt_clock_probe **probe_out, struct rkt_error *err);
void rkt_clock_probe_destroy(struct rkt_clock_probe *probe);

/* A rank other than 0, to be told before the first burst is scheduled. */
void rkt_clock_probe_set_parent(struct rkt_clock_probe *probe, int parent);

/* So many bursts from now on, with each; `repeats`: and then one each ten seconds. */
void rkt_clock_probe_schedule(struct rkt_clock_probe *probe, uint32_t burst_count, uint64_t gap_ns,
                              bool repeats);

/* True while an answer is awaited or a burst was done: poll soon again. */
bool rkt_clock_probe_step(struct rkt_clock_probe *probe, struct rkt_error *err);

/* None of the scheduled bursts (repeats apart) is left. */
bool rkt_clock_probe_is_idle(const struct rkt_clock_probe *probe);

#endif
