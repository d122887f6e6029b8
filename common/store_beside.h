/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_BESIDE_H
#define RKT_COMMON_STORE_BESIDE_H

/*
 * store_beside - what lies beside the timeline of a run, and is not read with it.
 *
 * Place:   a folder's names -> [store_beside] -> store_files, store_frames.
 * Threads: one at a time. Waiting: reads one folder, and the start of spools in it.
 */

#include <stdint.h>

/* The timeline in the folder of a run; by other names a timeline stands alone. */
#define RKT_STORE_NAME "timeline.rkt"

/* How files of spools are called: PREFIX RANK-PID-a.rkt and -b.rkt. */
#define RKT_SPOOL_PREFIX "ranktrace-spool-"

enum rkt_run_file {
    RKT_RUN_FILE_OTHER,
    RKT_RUN_FILE_SHARD, /* as rkt_shard_file_name makes them, of whatever run */
    RKT_RUN_FILE_SPOOL,
};

/* What a file in a run's folder is, by its name. */
enum rkt_run_file rkt_run_file_of(const char *name);

struct rkt_store_beside {
    uint32_t spool_count; /* with more in them than whose they are */
    uint32_t shard_count; /* of whatever run */
    uint64_t spool_bytes; /* sizes of the files, with their holes */
};

/* All 0 where `path` is called something else than RKT_STORE_NAME, or its folder cannot be read. */
struct rkt_store_beside rkt_store_beside_look(const char *path);

#endif
