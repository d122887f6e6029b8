/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_RELAY_H
#define RKT_AGGREGATOR_RELAY_H

/*
 * relay - a leader's part of a run: it takes the frames of its group and passes them on to rank 0.
 *
 * Active on the leaders of groups other than rank 0's own, in the thread of their sidecars.
 *
 * Place:   members' transport -> [relay -> bundler] -> rank 0.
 * Hot:     no frame is looked into, or kept once it is sent: a member keeps each until its ACK.
 * Credits: an ACK means what it means from rank 0: rank 0 has written the frame. So a leader that
 *          dies takes nothing with it.
 * Life:    from WELCOME until the leader leaves, whether its own job runs or not. Members hear that it
 *          lives by the answers to their heartbeats.
 * Threads: one. Memory: that of the bundler, and 4 bytes per rank of the run.
 */

#include <stdbool.h>

#include "common/status.h"
#include "common/transport.h"

struct rkt_relay;

/* The transport is on loan until destroy. */
enum rkt_status rkt_relay_create(struct rkt_transport *transport, struct rkt_relay **relay_out,
                                 struct rkt_error *err);
void rkt_relay_destroy(struct rkt_relay *relay); /* NULL is fine */

/* One round of everything; true: something was there. */
bool rkt_relay_step(struct rkt_relay *relay);

#endif
