/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_FETCH_H
#define RKT_COMMON_STORE_FETCH_H

/*
 * store_fetch - frames of a store by their entries, and the entries by its index.
 *
 * Place:   store_files -> [store_fetch] -> store_frames.
 * Threads: one at a time.
 * Memory:  a frame and its raw payload are the object's own, valid until its next call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/frame.h"
#include "common/pack.h"
#include "common/status.h"
#include "common/store_files.h"
#include "common/store_index.h"

struct rkt_store_fetch {
    struct rkt_store_files files;
    struct rkt_packer *packer;
    uint8_t *frame; /* the one fetched last */
    size_t frame_cap;
    uint64_t read_bytes; /* of all that were fetched */
};

/* Opens the file at `path` too. Release it also after a failure. */
enum rkt_status rkt_store_fetch_init(struct rkt_store_fetch *fetch, const char *path,
                                     struct rkt_error *err);
void rkt_store_fetch_release(struct rkt_store_fetch *fetch);

/* The whole frame to fetch->frame, its head and crc checked against each other and the entry. */
enum rkt_status rkt_store_fetch_frame(struct rkt_store_fetch *fetch,
                                      const struct rkt_store_entry *entry,
                                      struct rkt_frame_head *head_out, struct rkt_error *err);

/* The same, and its payload unpacked. */
enum rkt_status rkt_store_fetch_raw(struct rkt_store_fetch *fetch,
                                    const struct rkt_store_entry *entry, struct rkt_bytes *raw_out,
                                    struct rkt_error *err);

/*
 * All entries of a file by its trailer and INDEX frames, behind those that are there. False, and
 * none: there is no index, or it does not fit the file, so scan. *has_trailer_out is right in both
 * cases.
 */
bool rkt_store_fetch_index(struct rkt_store_fetch *fetch, uint16_t number,
                           struct rkt_store_entries *entries, bool *has_trailer_out);

#endif
