/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_TEXT_SOURCE_H
#define RKT_ANALYSIS_IMPORT_TEXT_SOURCE_H

/*
 * text_source - the bytes of a file, plain, gzip or zstd by content, as one stream.
 *
 * Place:   file -> [text_source] -> json_reader.
 * Packed:  any number of gzip members or zstd frames one after the other, zero padding behind
 *          the last. A cut or broken file gives every byte before the fault, then ends;
 *          damage() says where and what, it is never passed over in silence.
 * Threads: one at a time. Memory: a fixed input buffer; nothing grows with the file.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct rkt_text_source;

struct rkt_text_damage {
    bool is_damaged;
    uint64_t file_offset; /* in the file as it is, compressed or not */
    char what[96];        /* "ends inside the compressed data" */
};

/* RKT_ERR_IO names the path. */
enum rkt_status rkt_text_source_open(const char *path, struct rkt_text_source **source_out,
                                     struct rkt_error *err);
/* The same over bytes that the caller keeps. NULL when memory is out. */
struct rkt_text_source *rkt_text_source_from_memory(const void *bytes, size_t len_bytes);
void rkt_text_source_close(struct rkt_text_source *source); /* NULL is fine */

/* Up to `cap` bytes. RKT_OK: *len_out > 0. RKT_END: no more. RKT_ERR_IO: reading failed. */
enum rkt_status rkt_text_source_read(struct rkt_text_source *source, char *buf, size_t cap,
                                     size_t *len_out, struct rkt_error *err);

/* Reads on to the end: how many bytes that was, and their CRC-32. */
enum rkt_status rkt_text_source_sum(struct rkt_text_source *source, uint64_t *bytes_out,
                                    uint32_t *checksum_out, struct rkt_error *err);

const struct rkt_text_damage *rkt_text_source_damage(const struct rkt_text_source *source);
bool rkt_text_source_is_packed(const struct rkt_text_source *source);
uint64_t rkt_text_source_file_bytes(const struct rkt_text_source *source); /* taken so far */

/* From now on every byte that is taken of the file is added to *done_bytes, which outlives it. */
void rkt_text_source_count_into(struct rkt_text_source *source, _Atomic uint64_t *done_bytes);

#endif
