/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_BUNDLE_H
#define RKT_COMMON_BUNDLE_H

/*
 * bundle - frames of many ranks in one message, from the leader of a group to rank 0.
 *
 *  0      4     6     8        16      20
 *  +------+-----+-----+--------+-------+------+-------+-------+------+-------+-------+---
 *  |magic |major| 0   | first  |frame  | from | bytes | frame | from | bytes | frame | ...
 *  |RKTB  |     |     | frame  |count  | rank |       |       | rank |       |       |
 *  +------+-----+-----+--------+-------+------+-------+-------+------+-------+-------+---
 *
 * `first` counts the frames of all bundles that this leader sent before. An acknowledgement says
 * how many of its frames are written in all, in order: coming twice, both change nothing. Numbers
 * are little-endian.
 *
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/frame.h"
#include "common/status.h"

#define RKT_BUNDLE_MAGIC 0x42544b52u /* "RKTB" */
#define RKT_BUNDLE_MAJOR 1u
#define RKT_BUNDLE_HEAD_BYTES 20u
#define RKT_BUNDLE_ENTRY_BYTES 8u

#define RKT_BUNDLE_FRAME_BYTES_MAX ((size_t)RKT_FRAME_HEAD_BYTES + RKT_FRAME_PACKED_BYTES_MAX)
/* A bundle that is so long gets no further frame. */
#define RKT_BUNDLE_FULL_BYTES ((size_t)1 << 20)
#define RKT_BUNDLE_BYTES_MAX \
    (RKT_BUNDLE_FULL_BYTES + RKT_BUNDLE_ENTRY_BYTES + RKT_BUNDLE_FRAME_BYTES_MAX)

struct rkt_bundle_head {
    uint64_t first;
    uint32_t frame_count;
};

void rkt_bundle_head_encode(const struct rkt_bundle_head *head, uint8_t buf[RKT_BUNDLE_HEAD_BYTES]);
/* What stands before a frame. */
void rkt_bundle_entry_encode(uint32_t from, uint32_t frame_bytes,
                             uint8_t buf[RKT_BUNDLE_ENTRY_BYTES]);

/* A bundle that is whole. The bytes are on loan. */
struct rkt_bundle {
    struct rkt_bundle_head head;
    const uint8_t *next;
    const uint8_t *end;
};

struct rkt_bundle_entry {
    uint32_t from; /* as the leader says */
    const uint8_t *frame;
    size_t frame_bytes;
};

/*
 * Checks that the bytes are a head and frame_count entries, and nothing else; the frames are not
 * looked at. RKT_ERR_VERSION: another major, said with both numbers.
 */
enum rkt_status rkt_bundle_decode(const uint8_t *buf, size_t len_bytes,
                                  struct rkt_bundle *bundle_out, struct rkt_error *err);
/* The next frame; false: there was none left. */
bool rkt_bundle_next(struct rkt_bundle *bundle, struct rkt_bundle_entry *entry_out);

#define RKT_BUNDLE_ACK_BYTES 8u
void rkt_bundle_ack_encode(uint64_t frame_count, uint8_t buf[RKT_BUNDLE_ACK_BYTES]);
enum rkt_status rkt_bundle_ack_decode(const uint8_t *buf, size_t len_bytes,
                                      uint64_t *frame_count_out, struct rkt_error *err);

#endif
