/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_SOURCES_H
#define RKT_COMMON_STORE_SOURCES_H

/*
 * store_sources - the frames of a store by source, and what is missing or there twice.
 *
 * Place:   store_file or store_index -> [store_sources] -> store_frames.
 * Threads: any; no state.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/store_files.h"

/*
 * Entries first .. first + count - 1 are one source's: by offset where they are all in one file,
 * else by seq, as a source goes on in another file when the first one's writer is lost.
 */
struct rkt_store_range {
    uint32_t source;
    size_t first;
    size_t count;
};

struct rkt_store_groups {
    struct rkt_store_range *ranges; /* the caller's, free(); by source */
    size_t range_count;
    uint64_t copy_count;     /* marked skipped */
    uint64_t unknown_frames; /* kept where their source is possible */
    uint64_t seq_gap_count;
};

/*
 * Sorts `entries` (by file and offset) by source, then as said of ranges, and takes out RUN and
 * SHARD frames and those of impossible sources. Of frames that are alike in source, seq and head
 * (sent twice, or copied to another file) the later ones are marked skipped.
 */
enum rkt_status rkt_store_group(struct rkt_store_files *files, struct rkt_store_entries *entries,
                                struct rkt_store_groups *groups_out, struct rkt_error *err);

#endif
