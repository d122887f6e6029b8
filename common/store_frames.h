/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_FRAMES_H
#define RKT_COMMON_STORE_FRAMES_H

/*
 * store_frames - which frames a store has, over all of its files, and what is wrong with them.
 *
 *     file 0 ─▶ entries ─▶ RUN, SHARD ─▶ files 1, 2, ... ─▶ entries of all ─▶ by source
 *
 * A shard that cannot be read, or is none of this run, is left out and says why; the rest counts.
 *
 * Place:   store_fetch, store_scan -> [store_frames] -> store_reader.
 * Threads: one at a time. Memory: 24 bytes per frame, 1 KiB per shard, one frame.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "common/descriptor.h"
#include "common/status.h"
#include "common/store_fetch.h"
#include "common/store_health.h"
#include "common/store_sources.h"

/* Further ones are counted as not read. */
#define RKT_STORE_SHARD_COUNT_MAX 16384u

struct rkt_store_frames {
    struct rkt_store_fetch fetch;
    struct rkt_store_health health;
    struct rkt_run_info run;
    bool has_run;
    struct rkt_store_shard *shards;
    size_t shard_count;
    size_t shard_cap;

    struct rkt_store_entries entries; /* those of sources, as ranges say */
    struct rkt_store_range *ranges;   /* of entries, one per source */
    size_t source_count;
};

/* Release also after a failure. */
enum rkt_status rkt_store_frames_open(struct rkt_store_frames *frames, const char *path,
                                      struct rkt_error *err);
void rkt_store_frames_release(struct rkt_store_frames *frames);

/* The frame proved to be damaged: counted once. It may still be used in part. */
void rkt_store_frames_count_damage(struct rkt_store_frames *frames, struct rkt_store_entry *entry);

/*
 * What loading a frame gave, as `status`, made what its user has to do. RKT_AGAIN: the frame is
 * skipped from now on, which is counted; go on with the next.
 */
enum rkt_status rkt_store_frames_judge(struct rkt_store_frames *frames,
                                       struct rkt_store_entry *entry, enum rkt_status status);

/* The raw payload of a frame. RKT_AGAIN: as judge. */
enum rkt_status rkt_store_frames_load(struct rkt_store_frames *frames,
                                      struct rkt_store_entry *entry, struct rkt_bytes *raw_out,
                                      struct rkt_error *err);

#endif
