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

#include "common/bytes.h"
#include "common/frame.h"
#include "common/status.h"

struct rkt_packer;

/* Higher levels gain 1 to 3 % of bytes on real traces, for more of the CPU. */
#define RKT_PACK_LEVEL_USUAL 1

struct rkt_packer *rkt_packer_create(int zstd_level); /* NULL when memory is out */
void rkt_packer_destroy(struct rkt_packer *packer);

/*
 * Head and payload, ready to send. `head` gives kind, source and seq; the other fields are
 * filled in. A payload that does not shrink is stored plain.
 */
enum rkt_status rkt_pack_frame(struct rkt_packer *packer, struct rkt_frame_head *head,
                               struct rkt_bytes raw, struct rkt_bytes *frame_out,
                               struct rkt_error *err);

/* The raw payload of a checked frame; a plain one is `payload` itself. */
enum rkt_status rkt_unpack_payload(struct rkt_packer *packer, const struct rkt_frame_head *head,
                                   const uint8_t *payload, struct rkt_bytes *raw_out,
                                   struct rkt_error *err);

#endif
