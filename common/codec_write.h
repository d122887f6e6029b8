/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CODEC_WRITE_H
#define RKT_COMMON_CODEC_WRITE_H

/*
 * codec_write - msgpack into a growing buffer; for the encoders of common/ only. The one
 * owner of msgpack.h.
 *
 * Threads: one at a time.
 * On error: out of memory sets has_failed and later writes do nothing, so that an encoder
 *          checks once, at the end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rkt_codec_buf {
    uint8_t *bytes;
    size_t len_bytes;
    size_t cap_bytes;
    bool has_failed;
};

void rkt_codec_buf_init(struct rkt_codec_buf *buf);
void rkt_codec_buf_reset(struct rkt_codec_buf *buf);   /* keeps the memory */
void rkt_codec_buf_release(struct rkt_codec_buf *buf); /* back to the zeroed state */

void rkt_write_map(struct rkt_codec_buf *buf, size_t pair_count);
void rkt_write_array(struct rkt_codec_buf *buf, size_t count);
void rkt_write_uint(struct rkt_codec_buf *buf, uint64_t value);
void rkt_write_int(struct rkt_codec_buf *buf, int64_t value);
void rkt_write_bool(struct rkt_codec_buf *buf, bool value);
void rkt_write_bin(struct rkt_codec_buf *buf, const void *bytes, size_t len_bytes);

/* A bin whose bytes the caller fills in before the next write; NULL after a failure. */
uint8_t *rkt_write_bin_room(struct rkt_codec_buf *buf, size_t len_bytes);

/* Ready msgpack from another buffer; its failure counts here too. */
void rkt_write_buf(struct rkt_codec_buf *buf, const struct rkt_codec_buf *other);

#endif
