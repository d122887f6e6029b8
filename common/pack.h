/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_PACK_H
#define RKT_COMMON_PACK_H

/*
 * pack - raw payload to a whole frame and back (zstd).
 *
 * Place:   codec -> [pack] -> send queue or store; store -> [pack] -> codec.
 * Threads: a packer belongs to one thread at a time.
 * Memory:  the buffers that a packer returns are its own, valid until its next call.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/frame.h"
#include "common/status.h"

struct rkt_packer;

struct rkt_packer *rkt_packer_create(int zstd_level); /* NULL when memory is out */
void rkt_packer_destroy(struct rkt_packer *packer);

/*
 * Head and payload, ready to send. `head` gives kind, source and seq; the other fields are
 * filled in. A payload that does not shrink is stored plain.
 */
enum rkt_status rkt_pack_frame(struct rkt_packer *packer, struct rkt_frame_head *head,
                               const uint8_t *raw, size_t raw_bytes, const uint8_t **frame_out,
                               size_t *frame_bytes_out, struct rkt_error *err);

/* The raw payload of a checked frame; never more than the head's raw_bytes. */
enum rkt_status rkt_unpack_payload(struct rkt_packer *packer, const struct rkt_frame_head *head,
                                   const uint8_t *payload, const uint8_t **raw_out,
                                   struct rkt_error *err);

#endif
