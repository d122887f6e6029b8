/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_TRANSPORT_LOOP_H
#define RKT_COMMON_TRANSPORT_LOOP_H

/*
 * transport_loop - a whole run inside one test: N ranks, wires that misbehave on request.
 *
 * Place:   tests only, in place of transport_mpi.
 * Time:    the test's: a message is on its wire until the hub has been ticked often enough.
 * Order:   per sender, receiver and tag as sent, also with delays (as MPI promises); a
 *          duplicate comes right after its original.
 * Threads: one for all ranks of a hub.
 */

#include <stdint.h>

#include "common/transport.h"

struct rkt_loop_hub;

/* Of 10,000 messages of a tag, so many are hit. The same seed gives the same faults. */
struct rkt_loop_faults {
    uint32_t drop_per_10k;
    uint32_t duplicate_per_10k;
    uint32_t corrupt_per_10k; /* one bit, anywhere in the message */
    uint32_t delay_ticks_max; /* each message waits 0 to so many ticks */
};

enum rkt_status rkt_loop_hub_create(int rank_count, uint64_t seed, struct rkt_loop_hub **hub_out,
                                    struct rkt_error *err);
/* NULL is fine. Its transports are gone too. */
void rkt_loop_hub_destroy(struct rkt_loop_hub *hub);

/* On loan until the hub's destroy; destroying it does nothing. */
struct rkt_transport *rkt_loop_hub_transport(struct rkt_loop_hub *hub, int rank);

void rkt_loop_hub_set_faults(struct rkt_loop_hub *hub, enum rkt_tag tag,
                             const struct rkt_loop_faults *faults);

/* From now on nothing reaches or leaves this rank: it died. */
void rkt_loop_hub_silence(struct rkt_loop_hub *hub, int rank);

void rkt_loop_hub_tick(struct rkt_loop_hub *hub);

#endif
