/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_FILE_H
#define RKT_COMMON_STORE_FILE_H

/*
 * store_file - the bytes of a store: open, read at an offset, find frames without an index.
 *
 * Read with pread, not mapped: a file that shrinks, or a disk that fails, while it is read
 * must be an error here, where a mapping would be a SIGBUS.
 *
 * Place:   file -> [store_file] -> store_files.
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/frame.h"
#include "common/status.h"
#include "common/store_index.h"

struct rkt_store_file {
    int fd;              /* -1: closed for now */
    uint16_t number;     /* in its store_files */
    uint64_t file_bytes; /* when it was first opened; it may grow meanwhile */
    uint64_t used_at;    /* of store_files */
    dev_t device;
    ino_t inode;
    char *path;
};

/* A regular file. */
enum rkt_status rkt_store_file_open(const char *path, struct rkt_store_file *file_out,
                                    struct rkt_error *err);
/* After suspend. RKT_ERR_IO: it cannot be, or what has its name now is another file. */
enum rkt_status rkt_store_file_resume(struct rkt_store_file *file, struct rkt_error *err);
void rkt_store_file_suspend(struct rkt_store_file *file); /* gives the descriptor back */
void rkt_store_file_close(struct rkt_store_file *file);   /* also a zeroed one with fd -1 */

/* All `len_bytes` bytes, or RKT_ERR_IO. */
enum rkt_status rkt_store_file_read(const struct rkt_store_file *file, uint64_t offset,
                                    uint8_t *buf, size_t len_bytes, struct rkt_error *err);

/* What a file that is no store looks like, as RKT_ERR_FORMAT. */
enum rkt_status rkt_store_file_refuse(const struct rkt_store_file *file, struct rkt_error *err);

struct rkt_store_entries {
    struct rkt_store_entry *items; /* by file, then by offset */
    size_t count;
    size_t cap;
};

struct rkt_store_scan {
    uint64_t good_bytes;     /* in frames of any kind */
    uint64_t damaged_frames; /* with a good head, whose payload proved to be none */
    bool has_own_frames;     /* INDEX or TRAILER, which are not among the entries */
};

/*
 * Every frame of the file whose head is good and that is there in whole, behind the entries that
 * are there. Past damage the scan
 * goes on at the next good head.
 */
enum rkt_status rkt_store_file_scan(const struct rkt_store_file *file,
                                    struct rkt_store_entries *entries,
                                    struct rkt_store_scan *scan_out, struct rkt_error *err);

#endif
