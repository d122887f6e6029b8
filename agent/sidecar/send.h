/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_SEND_H
#define RKT_AGENT_SIDECAR_SEND_H

/*
 * send - frames that wait for rank 0, and the credits to send them.
 *
 * Place:   source_writer -> [send_queue] -> transport.
 * Credits: RKT_SEND_CREDITS frames may be on their way unacknowledged; an acknowledgement
 *          says that rank 0 has written them.
 * Full:    past the soft limit (is_full) the drain drops events of the frequent kinds and
 *          counts them by kind; names, descriptors and rare events still come. Past twice the
 *          limit whole frames are dropped and counted: rank 0 has stood still for long.
 * Threads: one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/transport.h"

#define RKT_SEND_CREDITS 8u

struct rkt_send_queue;

struct rkt_send_counts {
    uint64_t pushed_frames;
    uint64_t acked_frames;
    uint64_t sent_bytes;
    uint64_t dropped_frames;
    uint64_t dropped_bytes;
};

/* The transport is on loan until destroy. */
enum rkt_status rkt_send_queue_create(struct rkt_transport *transport, uint64_t limit_bytes,
                                      struct rkt_send_queue **queue_out, struct rkt_error *err);
void rkt_send_queue_destroy(struct rkt_send_queue *queue);

/* A rkt_frame_sink_fn; ctx is the queue. A frame that must be dropped is RKT_OK and counted. */
enum rkt_status rkt_send_queue_push(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                    struct rkt_error *err);

/* Take acknowledgements and send what credits allow; true when either happened. */
bool rkt_send_queue_step(struct rkt_send_queue *queue, struct rkt_error *err);

bool rkt_send_queue_is_full(const struct rkt_send_queue *queue);
/* Everything is acknowledged. */
bool rkt_send_queue_is_empty(const struct rkt_send_queue *queue);
void rkt_send_queue_counts(const struct rkt_send_queue *queue, struct rkt_send_counts *counts_out);

/* Rank 0 is gone: drop what waits, and whatever is pushed from now on. */
void rkt_send_queue_abandon(struct rkt_send_queue *queue);

#endif
