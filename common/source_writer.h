/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_SOURCE_WRITER_H
#define RKT_COMMON_SOURCE_WRITER_H

/*
 * source_writer - one source's events, names and descriptors to frames, in order.
 *
 * Place:   drain or import -> [source_writer] -> send queue or store. Holds one batch per (kind,
 *          clock); gives out a frame when a batch is full or at flush. New names always go out
 *          before the events that use them, and at the end, or when they are many, the spans of the
 *          batches (batch_span.h) behind these.
 * Threads: one at a time.
 * Memory:  at most one batch per kind and clock that occurs, plus the names.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/descriptor.h"
#include "common/event.h"
#include "common/status.h"
#include "common/strtab.h"

/*
 * Takes a whole frame; the bytes are on loan until it returns. RKT_AGAIN: it has no room, and took
 * nothing; the same will be offered again.
 */
typedef enum rkt_status (*rkt_frame_sink_fn)(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                             struct rkt_error *err);

struct rkt_source_writer;

/* Sends the SOURCE frame (seq 0) at once. */
enum rkt_status rkt_source_writer_create(const struct rkt_source_info *info, rkt_frame_sink_fn sink,
                                         void *sink_ctx, struct rkt_source_writer **writer_out,
                                         struct rkt_error *err);
void rkt_source_writer_destroy(struct rkt_source_writer *writer);

/* The source's names; intern freely between calls. */
struct rkt_strtab *rkt_source_writer_strtab(struct rkt_source_writer *writer);

/* RKT_AGAIN: the batch that it would go to is full and was refused; the event was not taken. */
enum rkt_status rkt_source_writer_add(struct rkt_source_writer *writer,
                                      const struct rkt_event *event, struct rkt_error *err);
/* Offers all that waits to the sink. What is refused stays, for the next flush. */
enum rkt_status rkt_source_writer_flush(struct rkt_source_writer *writer, struct rkt_error *err);

/* Sends the descriptor again, for what was learned later (rank, program, role). */
enum rkt_status rkt_source_writer_update(struct rkt_source_writer *writer,
                                         const struct rkt_source_info *info, struct rkt_error *err);

/* Flush, then the END frame; event_count and sent_bytes of *end are filled in here. */
enum rkt_status rkt_source_writer_end(struct rkt_source_writer *writer, struct rkt_end_info *end,
                                      struct rkt_error *err);

uint64_t rkt_source_writer_event_count(const struct rkt_source_writer *writer);

#endif
