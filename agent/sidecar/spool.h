/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_SPOOL_H
#define RKT_AGENT_SIDECAR_SPOOL_H

/*
 * spool - frames on this node's disk that rank 0 has not written yet.
 *
 *     file:  | acknowledged (a hole) | sent, waits for its ACK | not sent yet |
 *                                    ^ kept                    ^ next         ^ end
 *
 * First in, first out. The file is made with the first frame and removed with the spool, unless
 * something in it was never acknowledged: then it stays, and `ranktrace recover` finds it. It is
 * frames and nothing else, so any reader of timelines reads it. A head, a frame that says of which
 * run they are, stays before them for as long as the file is there.
 *
 * Memory:  8 bytes per frame that is in it. Disk: what is not acknowledged, up to the limit, and up
 *          to RKT_SPOOL_PUNCH_BYTES more.
 * On error: a disk that is full or fails ends the spool for good (is_broken); what is in it is
 *          still read.
 * Waiting: reads and writes of a local file. Threads: one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/store_beside.h" /* how the files are called */

#define RKT_SPOOL_PUNCH_BYTES (UINT64_C(4) << 20)

struct rkt_spool;

/* Nothing is made yet. `path` is copied. */
enum rkt_status rkt_spool_create(const char *path, uint64_t limit_bytes,
                                 struct rkt_spool **spool_out, struct rkt_error *err);
/* NULL is fine. */
void rkt_spool_destroy(struct rkt_spool *spool);

/* What a file that is made from now on begins with; copied. It takes no part in what follows. */
enum rkt_status rkt_spool_set_head(struct rkt_spool *spool, const uint8_t *head, size_t head_bytes,
                                   struct rkt_error *err);

/* RKT_AGAIN: it is full, or broken. RKT_ERR_IO: it broke just now, and *err says how. */
enum rkt_status rkt_spool_push(struct rkt_spool *spool, const uint8_t *frame, size_t frame_bytes,
                               struct rkt_error *err);

/* The first frame that was not sent, on loan until the next call; RKT_AGAIN: there is none. */
enum rkt_status rkt_spool_first(struct rkt_spool *spool, const uint8_t **frame_out,
                                size_t *frame_bytes_out, struct rkt_error *err);
/* It was sent: the next one is first. */
void rkt_spool_sent(struct rkt_spool *spool);
/* What was sent and is not acknowledged counts as not sent. */
void rkt_spool_rewind(struct rkt_spool *spool);
/* The oldest frame that was sent is acknowledged. */
void rkt_spool_acked(struct rkt_spool *spool);

bool rkt_spool_has_unsent(const struct rkt_spool *spool);
/* Frames that are not acknowledged, in bytes. */
uint64_t rkt_spool_bytes(const struct rkt_spool *spool);
bool rkt_spool_is_full(const struct rkt_spool *spool);
bool rkt_spool_is_broken(const struct rkt_spool *spool);
const char *rkt_spool_path(const struct rkt_spool *spool);

#endif
