/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_BATCH_SPAN_H
#define RKT_COMMON_BATCH_SPAN_H

/*
 * batch_span - payload of SPANS frames (common/doc/wire-format.md): what batches of a source hold
 * and when, so that a reader of a part of a run passes over the others unread.
 *
 * Place:   source_writer -> [batch_span] -> store -> [batch_span] -> store_reader.
 * Threads: any; no state.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/codec_write.h"
#include "common/event.h"
#include "common/status.h"

/* Batches of one frame: so many are told at once. */
#define RKT_SPANS_MAX 1024u

struct rkt_batch_span {
    uint64_t first_ns;    /* earliest start, local time of the clock; 0 with a stamp that is none */
    uint64_t last_ns;     /* latest end; then UINT64_MAX */
    uint32_t seq;         /* of the batch's frame */
    uint32_t frame_bytes; /* its size, with its head */
    uint32_t event_count;
    uint8_t kind;     /* enum rkt_event_kind, or one that this version does not know */
    uint8_t clock_id; /* enum rkt_clock_id; RKT_CLOCK_UNKNOWN likewise */
};

struct rkt_batch_spans {
    struct rkt_batch_span *items; /* free() */
    size_t count;
    size_t cap;
};

/* All but seq and frame_bytes, of a batch: 1 event or more of one kind and clock. */
struct rkt_batch_span rkt_batch_span_of(const struct rkt_event *events, size_t count);

/* The raw payload into buf (reset first); `count` is RKT_SPANS_MAX at most. RKT_ERR_NOMEM only. */
enum rkt_status rkt_batch_spans_encode(const struct rkt_batch_span *spans, size_t count,
                                       struct rkt_codec_buf *buf, struct rkt_error *err);

/* Any bytes are safe input. What they tell comes behind what is there; nothing after a failure. */
enum rkt_status rkt_batch_spans_decode(struct rkt_bytes raw, struct rkt_batch_spans *spans,
                                       struct rkt_error *err);

#endif
