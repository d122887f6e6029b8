/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_FRAME_H
#define RKT_COMMON_FRAME_H

/*
 * frame - the unit of the wire and of the store: a 32-byte head and a payload.
 *
 * Byte table, limits and an example: common/doc/wire-format.md.
 *
 *  0      4     5     6       8        12     16      20       24       28      32
 *  +------+-----+-----+-------+--------+------+-------+--------+--------+-------+
 *  |magic |major|kind | flags | source | seq  |raw    |packed  |payload |head   | payload ...
 *  |RKTF  |     |     |       |        |      |bytes  |bytes   |crc32   |crc32  |
 *  +------+-----+-----+-------+--------+------+-------+--------+--------+-------+
 *
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define RKT_FRAME_MAGIC 0x46544b52u /* "RKTF" */
#define RKT_FRAME_MAJOR 1u
#define RKT_FRAME_HEAD_BYTES 32u
#define RKT_FRAME_RAW_BYTES_MAX (64u << 20)
#define RKT_FRAME_PACKED_BYTES_MAX (32u << 20)

/* Stored in files: never renumber. Unknown kinds are skipped and counted. */
enum rkt_frame_kind {
    RKT_FRAME_RUN = 1,      /* about the whole run; the first frame of a store */
    RKT_FRAME_SOURCE = 2,   /* who a source number is */
    RKT_FRAME_STRINGS = 3,  /* new names of a source */
    RKT_FRAME_EVENTS = 4,   /* a batch: events of one kind and one clock; of version 1.0 */
    RKT_FRAME_END = 5,      /* a source is complete: how its process ended, what was counted */
    RKT_FRAME_ALIGN = 6,    /* result of an alignment; the last one counts */
    RKT_FRAME_BATCH = 7,    /* a batch, in fewer bytes; since 1.1 */
    RKT_FRAME_SHARD = 8,    /* store only: a further file of this run; since 1.2 */
    RKT_FRAME_SPANS = 9,    /* when batches are; since 1.5 */
    RKT_FRAME_INDEX = 16,   /* store only */
    RKT_FRAME_TRAILER = 17, /* store only, the last bytes */
};

enum rkt_frame_flag {
    RKT_FRAME_ZSTD = 1, /* payload is one zstd frame of raw_bytes */
};

/* The `source` of a frame that is about no source: RUN, SHARD, INDEX and TRAILER. */
#define RKT_FRAME_SOURCE_NONE UINT32_MAX

struct rkt_frame_head {
    uint8_t kind; /* enum rkt_frame_kind; others pass decode */
    uint16_t flags;
    uint32_t source;
    uint32_t seq; /* per source, from 0, +1 each; compared by difference */
    uint32_t raw_bytes;
    uint32_t packed_bytes;
    uint32_t payload_crc; /* CRC-32 (zlib's) of the packed payload */
};

/* What only the writer of a store makes: never sent, never copied from one store to another. */
static inline bool rkt_frame_is_of_store(uint8_t kind)
{
    return kind == RKT_FRAME_RUN || kind == RKT_FRAME_SHARD || kind == RKT_FRAME_INDEX ||
           kind == RKT_FRAME_TRAILER;
}

static inline bool rkt_frame_is_of_events(uint8_t kind)
{
    return kind == RKT_FRAME_EVENTS || kind == RKT_FRAME_BATCH;
}

void rkt_frame_head_encode(const struct rkt_frame_head *head, uint8_t out[RKT_FRAME_HEAD_BYTES]);

/*
 * RKT_AGAIN: fewer than 32 bytes. RKT_ERR_FORMAT: no magic, or sizes past the limits.
 * RKT_ERR_CHECKSUM: the head's own crc. RKT_ERR_VERSION: another major.
 */
enum rkt_status rkt_frame_head_decode(const uint8_t *buf, size_t len_bytes,
                                      struct rkt_frame_head *head_out, struct rkt_error *err);

/* What a head's payload_crc must be for this payload. */
uint32_t rkt_frame_payload_crc(const uint8_t *payload, size_t len_bytes);

/* RKT_ERR_CHECKSUM unless `payload` (packed_bytes long) has the head's crc. */
enum rkt_status rkt_frame_payload_check(const struct rkt_frame_head *head, const uint8_t *payload,
                                        struct rkt_error *err);

#endif
