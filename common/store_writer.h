/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_WRITER_H
#define RKT_COMMON_STORE_WRITER_H

/*
 * store_writer - appends frames to a timeline.rkt, and at the end an index and a trailer.
 *
 * Place:   receive or import -> [store_writer] -> file.
 * Threads: one at a time.
 * Memory:  about 2 MiB for the index to come, however large the store; 4 bytes per source.
 * On error: disk full or a failed write: RKT_ERR_IO once, the file holds all frames
 *          written before, and later appends fail without touching it.
 * Format:  common/doc/store-format.md.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/descriptor.h"
#include "common/status.h"

struct rkt_store_writer;

enum rkt_store_mode {
    RKT_STORE_LIVE,   /* the final name from the start: readable while it grows; holds a flock */
    RKT_STORE_ATOMIC, /* another name until close succeeds; nothing is left on failure */
};

/*
 * LIVE refuses a file with content, and one that another writer has open (RKT_ERR_INVALID), also
 * where both make it at the same moment; ATOMIC replaces a regular file.
 */
enum rkt_status rkt_store_writer_create(const char *path, enum rkt_store_mode mode,
                                        const struct rkt_run_info *run,
                                        struct rkt_store_writer **writer_out,
                                        struct rkt_error *err);

/*
 * A whole frame: head and payload; the head is checked, the payload's crc too. The store's own
 * kinds (RUN, SHARD, INDEX, TRAILER) are refused; other kinds, known or not, are taken.
 */
enum rkt_status rkt_store_writer_append(struct rkt_store_writer *writer, const uint8_t *frame,
                                        size_t frame_bytes, struct rkt_error *err);

/* Pack and append a payload made here (END, ALIGN); its seq is the source's next. */
enum rkt_status rkt_store_writer_append_payload(struct rkt_store_writer *writer, uint8_t kind,
                                                uint32_t source, const uint8_t *raw,
                                                size_t raw_bytes, struct rkt_error *err);

/* Likewise the alignment of `source`, whatever source *align is of. */
enum rkt_status rkt_store_writer_append_align(struct rkt_store_writer *writer, uint32_t source,
                                              const struct rkt_align_info *align,
                                              struct rkt_error *err);

/*
 * Name a further file of the run, beside this one: before or while it is written, so that a reader
 * misses it where it is gone. RKT_ERR_INVALID: the name is not plain.
 */
enum rkt_status rkt_store_writer_append_shard(struct rkt_store_writer *writer,
                                              const struct rkt_shard_info *shard,
                                              struct rkt_error *err);

/*
 * What was appended survives a power loss when this returns, under its name: waits for the disk.
 * Close does so too, then. A failure counts as one of append: who knows what the disk still has.
 */
enum rkt_status rkt_store_writer_sync(struct rkt_store_writer *writer, struct rkt_error *err);

/* Index, trailer, close; then the final name (ATOMIC). Destroy is still to be called. */
enum rkt_status rkt_store_writer_close(struct rkt_store_writer *writer, struct rkt_error *err);

/* Without close: LIVE leaves a file without a trailer, ATOMIC leaves nothing. NULL is fine. */
void rkt_store_writer_destroy(struct rkt_store_writer *writer);

uint64_t rkt_store_writer_bytes(const struct rkt_store_writer *writer);

#endif
