/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_RELAY_H
#define RKT_AGGREGATOR_RELAY_H

/*
 * relay - a leader's part of a run: it takes the frames of its group, and passes them on to rank 0
 * or writes them into a file of its own.
 *
 * Active on the leaders of groups other than rank 0's own, in the thread of their sidecars.
 *
 * Place:   members' transport -> [relay -> bundler] -> rank 0
 *          members' transport -> [relay: receiver -> shard, copies -> bundler] -> rank 0
 * Hot:     passing on, no frame is looked into, or kept once it is sent: a member keeps each until
 *          its ACK.
 * Credits: an ACK means that the frame is written, by rank 0 or into the shard. So a leader that
 *          dies takes nothing with it.
 * Shard:   made at once, and offered to rank 0; until that has named it in the timeline no frame is
 *          taken. Where rank 0 does not see it (there is no shared file system), or it cannot be
 *          made, the leader passes on, with a line. What tells of sources (SOURCE, END) goes to
 *          rank 0 in copies, so that rank 0 knows them all.
 * Full:    a shard that cannot be written any more is as the file of rank 0: nothing more is
 *          acknowledged, and the members keep what they have.
 * Life:    from WELCOME until the leader leaves, whether its own job runs or not. Members hear that
 *          it lives by the answers to their heartbeats.
 * Threads: one. Memory: that of the bundler, that of a receiver where there is a shard, and 4 bytes
 *          per rank of the run. Waiting: where there is a shard, for its disk.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/descriptor.h"
#include "common/status.h"
#include "common/transport.h"

struct rkt_relay;

struct rkt_relay_config {
    struct rkt_transport *transport;      /* on loan until destroy */
    const char *shard_path;               /* NULL: pass on. Copied */
    const struct rkt_run_info *shard_run; /* for the shard */
    bool needs_sync;                      /* an ACK of the shard survives a power loss */
};

enum rkt_status rkt_relay_create(const struct rkt_relay_config *config,
                                 struct rkt_relay **relay_out, struct rkt_error *err);
/* A shard that was never taken is removed, one that was not closed stays as it is. NULL is fine. */
void rkt_relay_destroy(struct rkt_relay *relay);

/* One round of everything; true: something was there. */
bool rkt_relay_step(struct rkt_relay *relay, uint64_t now_ns);

#endif
