/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_READER_H
#define RKT_COMMON_STORE_READER_H

/*
 * store_reader - reads a timeline.rkt, whole, cut or damaged.
 *
 * With a good trailer the index is used; without it the file is scanned, and after
 * damage the scan goes on at the next frame head that checks. What was skipped is
 * counted: damage of heads at open, of a payload when it is first read (a walk reads all of
 * a source). A store that is still being written reads as one that was cut.
 *
 * Threads: one at a time.
 * Memory:  32 bytes per frame, what is said of the sources, and one frame and its events.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/descriptor.h"
#include "common/event.h"
#include "common/frame.h"
#include "common/status.h"
#include "common/strtab.h"

struct rkt_store_reader;

struct rkt_store_health {
    bool has_trailer;        /* false: the writer did not finish */
    uint64_t frame_count;    /* good ones */
    uint64_t damaged_frames; /* crc, format or decode errors */
    uint64_t skipped_bytes;
    uint64_t unknown_frames; /* of kinds that this version does not know */
    uint64_t unknown_keys;   /* columns of batches that it does not know */
    uint64_t file_bytes;
    uint64_t seq_gap_count; /* frames that never arrived, by gaps in seq */
};

/* What the store says of one source. */
struct rkt_store_source {
    struct rkt_source_info info;
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

const struct rkt_run_info *rkt_store_reader_run(const struct rkt_store_reader *reader);
const struct rkt_store_health *rkt_store_reader_health(const struct rkt_store_reader *reader);
size_t rkt_store_reader_source_count(const struct rkt_store_reader *reader);
/* By position 0 .. count-1, in order of source number. */
const struct rkt_store_source *rkt_store_reader_source(const struct rkt_store_reader *reader,
                                                       size_t position);

/* Gets a batch; the events are on loan until it returns. Not RKT_OK ends the walk. */
typedef enum rkt_status (*rkt_events_fn)(void *ctx, const struct rkt_event *events, size_t count,
                                         struct rkt_error *err);

/*
 * Every batch of one source, in file order; names are defined in *tab (the caller's,
 * may be NULL) as they come, at the latest when the walk has ended. A damaged batch is counted in
 * health and skipped.
 */
enum rkt_status rkt_store_reader_walk(struct rkt_store_reader *reader, uint32_t source,
                                      struct rkt_strtab *tab, rkt_events_fn fn, void *ctx,
                                      struct rkt_error *err);

/* Gets a whole frame, on loan until it returns. Not RKT_OK ends the walk. */
typedef enum rkt_status (*rkt_frame_fn)(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                        struct rkt_error *err);

/* Every good frame but the store's own (RUN, INDEX, TRAILER), source by source: for a copy. */
enum rkt_status rkt_store_reader_each_frame(struct rkt_store_reader *reader, rkt_frame_fn fn,
                                            void *ctx, struct rkt_error *err);

#endif
