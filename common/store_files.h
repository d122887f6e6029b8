/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_STORE_FILES_H
#define RKT_COMMON_STORE_FILES_H

/*
 * store_files - the files of one store: the one that was asked for, and the shards that it names.
 *
 * Files have numbers, the one that was asked for is 0. However many there are, few are open at a
 * time: the one whose last use is longest ago gives its descriptor back, and is opened again when
 * it is needed.
 *
 * Place:   store_file -> [store_files] -> store_fetch.
 * Threads: one at a time.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/store_file.h"

/* Descriptors in use at once; fewer where the process has no more. */
#define RKT_STORE_OPEN_FILES_MAX 64u

struct rkt_store_files {
    struct rkt_store_file *items;
    size_t count;
    size_t cap;
    size_t open_count;
    uint64_t use_count;
};

/* Opens file 0. A folder stands for the timeline.rkt in it. Release also after a failure. */
enum rkt_status rkt_store_files_open(struct rkt_store_files *files, const char *path,
                                     struct rkt_error *err);
void rkt_store_files_release(struct rkt_store_files *files);

/*
 * A further file, in the folder of file 0 (where that is a link, then also in that of its target).
 * RKT_ERR_INVALID: the name is not plain, or the file is there already.
 */
enum rkt_status rkt_store_files_add(struct rkt_store_files *files, const char *name,
                                    struct rkt_error *err);
/* Forgets the file that was added last. */
void rkt_store_files_drop(struct rkt_store_files *files);

/* Gives all descriptors back. */
void rkt_store_files_rest(struct rkt_store_files *files);

/* The file, open; on loan until the next call. */
enum rkt_status rkt_store_files_get(struct rkt_store_files *files, uint16_t number,
                                    const struct rkt_store_file **file_out, struct rkt_error *err);

#endif
