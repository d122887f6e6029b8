/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_READER_H
#define RKT_COMMON_STORE_READER_H

/*
 * store_reader - reads a timeline.rkt, whole, cut or damaged, with its shards if it names any.
 *
 * With a good trailer the index is used; without it the file is scanned, and after
 * damage the scan goes on at the next frame head that checks. What was skipped is
 * counted: damage of heads at open, of a payload when it is first read (a walk reads all of
 * a source). A store that is still being written reads as one that was cut; what is appended
 * after open is not seen.
 *
 * Threads: one at a time.
 * Memory:  24 bytes per frame, what is said of the sources and shards, and one frame and its
 *          events.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/batch_span.h"
#include "common/descriptor.h"
#include "common/event.h"
#include "common/frame.h"
#include "common/status.h"
#include "common/store_health.h"
#include "common/strtab.h"

struct rkt_store_reader;

/* What the store says of one source. */
struct rkt_store_source {
    struct rkt_source_info info;
    bool has_events; /* a frame of events, good or not: else only what is said of it is here */
    bool has_end;
    struct rkt_end_info end;
    bool has_align;
    struct rkt_align_info align;
    uint64_t event_counts[RKT_EVENT_KIND_COUNT]; /* 0 until loaded */
};

/*
 * `path` may be a folder that holds timeline.rkt. RKT_ERR_IO: cannot be read;
 * RKT_ERR_FORMAT: no store at all (names what it looks like, e.g. a JSON trace).
 */
enum rkt_status rkt_store_reader_open(const char *path, struct rkt_store_reader **reader_out,
                                      struct rkt_error *err);
void rkt_store_reader_close(struct rkt_store_reader *reader); /* NULL is fine */

/* Gives the descriptors back until the next call that reads: for those who open many stores. */
void rkt_store_reader_rest(struct rkt_store_reader *reader);

const struct rkt_run_info *rkt_store_reader_run(const struct rkt_store_reader *reader);
const struct rkt_store_health *rkt_store_reader_health(const struct rkt_store_reader *reader);
/* The files that the store names, by position 0 .. count-1, in its order. */
size_t rkt_store_reader_shard_count(const struct rkt_store_reader *reader);
const struct rkt_store_shard *rkt_store_reader_shard(const struct rkt_store_reader *reader,
                                                     size_t position);
/* The files that are read: 0 is what was opened, then come shards; NULL: no more. */
const char *rkt_store_reader_path(const struct rkt_store_reader *reader, size_t file);
size_t rkt_store_reader_source_count(const struct rkt_store_reader *reader);
/* By position 0 .. count-1, in order of source number. */
const struct rkt_store_source *rkt_store_reader_source(const struct rkt_store_reader *reader,
                                                       size_t position);

/* What is said of a source's clock from now on, in memory; the knots are copied. */
enum rkt_status rkt_store_reader_set_align(struct rkt_store_reader *reader, size_t position,
                                           const struct rkt_align_info *align,
                                           struct rkt_error *err);
/* What all frames of the source take in the store. */
uint64_t rkt_store_reader_source_bytes(const struct rkt_store_reader *reader, size_t position);

/* Gets a batch, all of one kind; the events are on loan until it returns. Not RKT_OK ends the
 * walk. */
typedef enum rkt_status (*rkt_events_fn)(void *ctx, const struct rkt_event *events, size_t count,
                                         struct rkt_error *err);

/*
 * Every batch of one source, in the order in which it sent them; names are defined in *tab (the
 * caller's, may be NULL) as they come, at the latest when the walk has ended. A damaged batch is
 * counted in health and skipped.
 */
enum rkt_status rkt_store_reader_walk(struct rkt_store_reader *reader, uint32_t source,
                                      struct rkt_strtab *tab, rkt_events_fn fn, void *ctx,
                                      struct rkt_error *err);

/*
 * What the source says of its batches, by seq: the reader's, until this is asked of another source.
 * None: it says nothing. A batch that none of them is of has to be read to be known.
 */
enum rkt_status rkt_store_reader_spans(struct rkt_store_reader *reader, uint32_t source,
                                       const struct rkt_batch_span **spans_out, size_t *count_out,
                                       struct rkt_error *err);

/* Whether a batch is wanted; `span` is an item of those that spans gave. */
typedef bool (*rkt_wanted_fn)(void *ctx, const struct rkt_batch_span *span);

struct rkt_store_part {
    rkt_wanted_fn wanted;
    rkt_events_fn fn;
    void *ctx; /* of both */
};

/* As walk, but of the batches whose span is known only those that are wanted are read: the others
 * are taken at their span's word, and what is damaged in them is not found. */
enum rkt_status rkt_store_reader_walk_part(struct rkt_store_reader *reader, uint32_t source,
                                           struct rkt_strtab *tab,
                                           const struct rkt_store_part *part,
                                           struct rkt_error *err);

/* Of all frames that were read so far, as often as they were. */
uint64_t rkt_store_reader_read_bytes(const struct rkt_store_reader *reader);

/* Gets a whole frame, on loan until it returns. Not RKT_OK ends the walk. */
typedef enum rkt_status (*rkt_frame_fn)(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                        struct rkt_error *err);

/* Every good frame but the store's own (RUN, SHARD, INDEX, TRAILER), source by source: for a
 * copy. */
enum rkt_status rkt_store_reader_each_frame(struct rkt_store_reader *reader, rkt_frame_fn fn,
                                            void *ctx, struct rkt_error *err);

#endif
