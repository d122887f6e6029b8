/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_RECOVER_H
#define RKT_LAUNCH_RECOVER_H

/*
 * recover - what is whole in a broken timeline, and in spools beside it, as one clean timeline.
 *
 * A timeline with shards becomes one file. Frames are copied as they are. One that is in several
 * files goes in once; the END that rank 0 wrote for a rank it had lost gives way to the rank's own,
 * where a spool has that.
 *
 * One file holds one run: where two have an id, it is the same. A spool without one (its sidecar
 * never heard of rank 0, or is older than these ids) is taken.
 *
 * Memory:  16 bytes per frame of the spools, and one frame. Threads: one.
 */

#include <stdint.h>

#include "common/status.h"
#include "launch/recover_files.h"

struct rkt_recover_counts {
    uint64_t frame_count;
    uint64_t spool_frame_count; /* of these, those that only spools had */
    uint64_t damaged_count;     /* of all files, left behind */
    uint64_t skipped_bytes;
    uint32_t unread_shard_count;
};

/*
 * `output` appears whole or not at all. The files are sorted, and those that are not taken say why:
 * they cannot be read, or were found in a folder and are of another run than its timeline.
 * RKT_ERR_INVALID: `output` is one of the files, or of their shards, or files are of several runs.
 * Another error: none can be read.
 */
enum rkt_status rkt_recover(struct rkt_recover_files *files, const char *output,
                            struct rkt_recover_counts *counts_out, struct rkt_error *err);

#endif
