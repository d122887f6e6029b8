/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_RECEIVER_H
#define RKT_AGGREGATOR_RECEIVER_H

/*
 * receiver - frames of all ranks into one file, and credits back.
 *
 * Place:   transport -> [receiver] -> store_writer.
 * Hot:     no event is decoded here: a frame is checked and appended as it came.
 * From:    a rank itself, or in bundles from the leader of its group. What else says that it is of
 *          a rank is refused, and so is a bundle that is damaged, or that another should come
 *          before.
 * Credits: an ACK means that write returned, or with needs_sync that it survives a power loss; the
 *          frames of one step share a sync. A frame that is bad or came twice is acknowledged too:
 *          its sender has nothing better to send. The frames of a bundle that is refused are not.
 * Shards:  the same is a leader's own file in a sharded run, with its group for all ranks. Copies
 *          of some frames go to rank 0 then, and who sent one gets no ACK before it is there.
 * Full:    a failed write is said once; the frames before it stay readable. It and all that follow
 *          are not acknowledged, so that their senders keep them; nor is what comes once the file
 *          is closed, or from a rank that was given up.
 * Threads: one. Memory: one bundle of the largest size (touched as used).
 */

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/source_stream.h"
#include "common/descriptor.h"
#include "common/status.h"
#include "common/transport.h"

struct rkt_receiver;

/*
 * Told of each frame that was written; true: a copy of it is on its way to rank 0. Its sender's
 * ACKs wait for rkt_receiver_copied.
 */
typedef bool (*rkt_copy_fn)(void *ctx, int rank, const uint8_t *frame, size_t frame_bytes);

struct rkt_receiver_config {
    struct rkt_transport *transport; /* on loan */
    const char *store_path;
    const struct rkt_run_info *run;
    bool needs_sync;    /* each step waits for the disk */
    const int *leaders; /* by rank: who leads its group; on loan. NULL: rank 0 leads all */
    rkt_copy_fn copy;   /* NULL: none are made */
    void *copy_ctx;
};

/* Makes the file. */
enum rkt_status rkt_receiver_create(const struct rkt_receiver_config *config,
                                    struct rkt_receiver **receiver_out, struct rkt_error *err);
/* A file that was not closed stays as it is, without a trailer. */
void rkt_receiver_destroy(struct rkt_receiver *receiver);

/* Told of each rank that frames came from in a step. */
typedef void (*rkt_heard_fn)(void *ctx, int rank);

/* Take what has come, some hundred frames at most; true when there was any. */
bool rkt_receiver_step(struct rkt_receiver *receiver, rkt_heard_fn heard, void *heard_ctx);

/* A copy that copy_fn announced for this rank is written. */
void rkt_receiver_copied(struct rkt_receiver *receiver, int rank);

/*
 * The group of this leader is in a further file of the run, which is named here. What comes of its
 * members in bundles are copies; what comes of one itself is what its leader, which is lost, did
 * not acknowledge, and all that follows.
 */
enum rkt_status rkt_receiver_add_shard(struct rkt_receiver *receiver,
                                       const struct rkt_shard_info *shard, struct rkt_error *err);

/* From now on nothing of this rank is stored: it was given up. */
void rkt_receiver_ignore(struct rkt_receiver *receiver, int rank);

/* A frame made here: SOURCE, END, ALIGN. */
enum rkt_status rkt_receiver_append(struct rkt_receiver *receiver, enum rkt_frame_kind kind,
                                    uint32_t source, const uint8_t *raw, size_t raw_bytes,
                                    struct rkt_error *err);

/* RKT_ERR_IO: the file is not whole, because of this or of an earlier failure. */
enum rkt_status rkt_receiver_close(struct rkt_receiver *receiver, struct rkt_error *err);

/* A write failed, and that was said. */
bool rkt_receiver_has_failed(const struct rkt_receiver *receiver);

const struct rkt_source_streams *rkt_receiver_streams(const struct rkt_receiver *receiver);
/* How many frames came in bundles. */
uint64_t rkt_receiver_bundled_frames(const struct rkt_receiver *receiver);
uint64_t rkt_receiver_bytes(const struct rkt_receiver *receiver);

#endif
