/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_SEND_H
#define RKT_AGENT_SIDECAR_SEND_H

/*
 * send - frames that wait for rank 0, and the credits to send them.
 *
 * Place:   source_writer -> [send_queue, spool] -> transport.
 * Target:  rank 0, or the leader of a group, which passes them on.
 * Credits: RKT_SEND_CREDITS frames may be on their way unacknowledged; an acknowledgement
 *          says that rank 0 has written them. Until then each is held here.
 * Order:   memory first; what does not fit goes to the spool, and so does all that follows until
 *          rank 0 has written everything that is in it. So memory is always older than the spool.
 * Full:    near the spool's limit (without a spool: past that of memory) is_full says so: the drain
 *          then drops events of the frequent kinds and counts them by kind; names, descriptors and
 *          rare events still come. Past the limit (without a spool: twice that of memory) frames
 *          are refused: who made them keeps them, and counts what it can take no more.
 * Kept:    what rank 0 did not write before the sidecar has to go stays on disk, in two files of
 *          frames: BASE-a.rkt from memory, then BASE-b.rkt, the spool. Both begin with a RUN frame,
 *          once the run's id is known. `ranktrace recover` puts them into the timeline of that run.
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
    uint64_t dropped_frames; /* by abandon, of those that are nowhere else */
    uint64_t spooled_frames; /* that did not fit into memory */
};

struct rkt_send_config {
    uint64_t memory_bytes;
    const char *spool_base; /* copied; NULL: no spool, and nothing is kept */
    uint64_t spool_bytes;
};

/* The transport is on loan until destroy. */
enum rkt_status rkt_send_queue_create(struct rkt_transport *transport,
                                      const struct rkt_send_config *config,
                                      struct rkt_send_queue **queue_out, struct rkt_error *err);
/* Files of which rank 0 has written everything are removed. */
void rkt_send_queue_destroy(struct rkt_send_queue *queue);

/* Files on disk that are made from now on say that they are of this run. RKT_ERR_NOMEM: they do
 * not. */
enum rkt_status rkt_send_queue_set_run(struct rkt_send_queue *queue, uint64_t run_id,
                                       struct rkt_error *err);

/*
 * A rkt_frame_sink_fn; ctx is the queue. RKT_AGAIN: there is no room now. RKT_ERR_IO: the spool
 * broke just now; the frame was not taken, and may find room in memory later.
 */
enum rkt_status rkt_send_queue_push(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                    struct rkt_error *err);

/*
 * Another rank gets the frames from now on: first, in order, all that are not acknowledged. What
 * the earlier one still acknowledges is not heard any more. At first the target is rank 0.
 */
void rkt_send_queue_aim(struct rkt_send_queue *queue, int target);

/* Take acknowledgements and send what credits allow; true when either happened. */
bool rkt_send_queue_step(struct rkt_send_queue *queue, struct rkt_error *err);

bool rkt_send_queue_is_full(const struct rkt_send_queue *queue);
/* Everything is acknowledged. */
bool rkt_send_queue_is_empty(const struct rkt_send_queue *queue);
void rkt_send_queue_counts(const struct rkt_send_queue *queue, struct rkt_send_counts *counts_out);

/* Rank 0 writes no more: send nothing, and keep what comes. */
void rkt_send_queue_pause(struct rkt_send_queue *queue);

/*
 * Little time is left: from now on everything which rank 0 has not written is on disk, also what is
 * pushed later. May be called again, to hear how it stands. RKT_END: there is nothing. RKT_OK:
 * *path_out (on loan) names a file of it. RKT_ERR_INVALID: there is no spool.
 */
enum rkt_status rkt_send_queue_keep(struct rkt_send_queue *queue, const char **path_out,
                                    struct rkt_error *err);

/* Rank 0 is gone: drop what waits in memory, and take nothing from now on. */
void rkt_send_queue_abandon(struct rkt_send_queue *queue);

#endif
