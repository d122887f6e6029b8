/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_RECOVER_H
#define RKT_LAUNCH_RECOVER_H

/*
 * recover - what is whole in a broken timeline, and in spools beside it, as one clean timeline.
 *
 * A timeline with shards becomes one file. Frames are copied as they are. One that is in several files goes in once; the END that rank 0
 * wrote for a rank it had lost gives way to the rank's own, where a spool has that.
 *
 * Memory:  16 bytes per frame of the spools, and one frame. Threads: one.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/store_reader.h"

struct rkt_recover_counts {
    uint64_t frame_count;
    uint64_t spool_frame_count; /* of these, those that only spools had */
    uint64_t damaged_count;     /* of all files, left behind */
    uint64_t skipped_bytes;
    uint32_t unread_shard_count;
};

/*
 * The files of a run's folder, or `path` itself; sorted, the timeline first. What the timeline names is
 * not among them; where it is lost, its shards are.
 */
struct rkt_recover_files {
    char **paths;
    size_t count;
    size_t cap;
};

/* RKT_ERR_IO: there is nothing of the kind. RKT_ERR_INVALID: shards of several runs. */
enum rkt_status rkt_recover_find(const char *path, struct rkt_recover_files *files,
                                 struct rkt_error *err);
void rkt_recover_files_release(struct rkt_recover_files *files);

/* `output` appears whole or not at all. RKT_ERR_INVALID: it is one of the files, or of their shards. */
enum rkt_status rkt_recover(const struct rkt_recover_files *files, const char *output,
                            struct rkt_recover_counts *counts_out, struct rkt_error *err);

#endif
