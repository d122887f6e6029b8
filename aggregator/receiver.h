/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_RECEIVER_H
#define RKT_AGGREGATOR_RECEIVER_H

/*
 * receiver - frames of all ranks into one file, and credits back.
 *
 * Place:   transport -> [receiver] -> store_writer.
 * Hot:     no event is decoded here: a frame is checked and appended as it came.
 * From:    a rank itself, or in bundles from the leader of its group. What else says that it is of
 *          a rank is refused, and so is a bundle that is damaged, or that another should come before.
 * Credits: an ACK means that write returned, or with needs_sync that it survives a power loss; the
 *          frames of one step share a sync. A frame that is bad or came twice is acknowledged too:
 *          its sender has nothing better to send. The frames of a bundle that is refused are not.
 * Full:    a failed write is said once; the frames before it stay readable. It and all that follow
 *          are not acknowledged, so that their senders keep them; nor is what comes once the file is
 *          closed, or from a rank that was given up.
 * Threads: one. Memory: one bundle of the largest size (touched as used).
 */

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/source_stream.h"
#include "common/descriptor.h"
#include "common/status.h"
#include "common/transport.h"

struct rkt_receiver;

struct rkt_receiver_config {
    struct rkt_transport *transport; /* on loan */
    const char *store_path;
    const struct rkt_run_info *run;
    bool needs_sync;    /* each step waits for the disk */
    const int *leaders; /* by rank: who leads its group; on loan. NULL: rank 0 leads all */
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
