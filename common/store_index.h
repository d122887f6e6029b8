/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_INDEX_H
#define RKT_COMMON_STORE_INDEX_H

/*
 * store_index - payloads of INDEX and TRAILER frames (common/doc/store-format.md).
 *
 * An INDEX frame lists, in file order, every frame between the INDEX frame before it (or the
 * start of the file) and itself: that bounds what a writer must remember. The INDEX frames
 * form a chain from the trailer back to the first.
 *
 * Place:   store_writer -> [store_index] -> file -> [store_index] -> store_reader.
 * Threads: any; no state.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/codec_write.h"
#include "common/frame.h"
#include "common/status.h"

/* Frames per INDEX frame; also the most that a reader takes. */
#define RKT_STORE_INDEX_FRAMES_MAX 65536u

/* Sources are numbered densely; a frame of a higher one is refused. */
#define RKT_STORE_SOURCE_COUNT_MAX 65536u

#define RKT_STORE_TRAILER_RAW_BYTES 32u
#define RKT_STORE_TRAILER_BYTES (RKT_FRAME_HEAD_BYTES + RKT_STORE_TRAILER_RAW_BYTES)

struct rkt_store_entry {
    uint64_t offset;
    uint32_t source; /* RKT_FRAME_SOURCE_NONE: the run */
    uint32_t seq;
    uint32_t frame_bytes; /* with its head */
    uint16_t file;        /* the reader's: which of a run's files holds it */
    uint8_t kind;
    bool is_skipped : 1; /* the reader's: unreadable, or a copy of another */
    bool is_counted : 1; /* the reader's: what is wrong or unknown is in health already */
};

static_assert(sizeof(struct rkt_store_entry) == 24, "a reader keeps one for every frame");

struct rkt_store_index {
    uint64_t previous_offset; /* of the INDEX frame before; 0: this is the first */
    uint64_t first_offset;    /* of the first frame listed */
    struct rkt_store_entry *entries;
    size_t entry_count;
};

struct rkt_store_trailer {
    uint64_t index_offset; /* of the last INDEX frame */
    uint64_t frame_count;  /* listed in all INDEX frames */
    uint64_t file_bytes;   /* with the trailer */
    uint32_t index_count;
};

/* The raw payload of an INDEX frame into buf (reset first). */
enum rkt_status rkt_store_index_encode(const struct rkt_store_index *index,
                                       struct rkt_codec_buf *buf, struct rkt_error *err);

/*
 * Any bytes are safe input. `room` holds room_count entries at most, which *index_out points
 * to. Offsets are sums of the sizes before, so that entries never overlap.
 */
enum rkt_status rkt_store_index_decode(struct rkt_bytes raw, struct rkt_store_entry *room,
                                       size_t room_count, struct rkt_store_index *index_out,
                                       struct rkt_error *err);

/* The whole TRAILER frame. */
void rkt_store_trailer_encode(const struct rkt_store_trailer *trailer,
                              uint8_t out[RKT_STORE_TRAILER_BYTES]);
/* False: these are not the last bytes of a store of this many bytes. */
bool rkt_store_trailer_decode(const uint8_t bytes[RKT_STORE_TRAILER_BYTES], uint64_t file_bytes,
                              struct rkt_store_trailer *trailer_out);

#endif
