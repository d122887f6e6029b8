/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_RECOVER_FILES_H
#define RKT_LAUNCH_RECOVER_FILES_H

/*
 * recover_files - the files that `ranktrace recover` is to put together, by their names.
 *
 * Memory:  the paths. Threads: one.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

/* In the order in which they say which run is to be recovered. */
enum rkt_recover_kind {
    RKT_RECOVER_TIMELINE, /* and what is called like none of these */
    RKT_RECOVER_SHARD,
    RKT_RECOVER_SPOOL,
};

struct rkt_recover_file {
    enum rkt_recover_kind kind;
    size_t order;  /* of the argument that it comes from */
    bool is_named; /* by the user, or as the timeline of a folder that is */
    char *path;
    struct rkt_error why_left_out; /* RKT_OK: it is not */
};

struct rkt_recover_files {
    struct rkt_recover_file *items;
    size_t count;
    size_t cap;
    size_t argument_count;
};

/*
 * Add the timeline, shards and spools of a folder, or `path` itself. Files of a folder without a
 * byte are none. RKT_ERR_IO: there is nothing of the kind.
 */
enum rkt_status rkt_recover_files_add(struct rkt_recover_files *files, const char *path,
                                      struct rkt_error *err);

/* Timelines first, then shards, then spools; of each kind those that are named first, others by
 * name. */
void rkt_recover_files_sort(struct rkt_recover_files *files);

void rkt_recover_files_release(struct rkt_recover_files *files);

#endif
