/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_IMPORT_PATHS_H
#define RKT_ANALYSIS_IMPORT_IMPORT_PATHS_H

/*
 * import_paths - the files that names of files, folders, patterns and lists stand for.
 *
 * Of a folder: every file in it that begins as a trace may (JSON, gzip, zstd, SQLite), whatever
 * its name, in the order of their names with numbers as numbers; where there is none, those of the
 * folders right below it. A file that is named twice is taken once.
 *
 * Threads: one at a time. Memory: freed by release.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct rkt_import_path {
    char *path;
    bool from_folder; /* not named by the user: skipped if it is no trace */
    bool is_regular;  /* else a pipe: it can be read once, and is not peeked at */
    bool is_sqlite;
    bool is_own; /* an export of ranktrace's own */
    uint64_t bytes;
};

struct rkt_import_paths {
    struct rkt_import_path *items;
    size_t count;
    size_t cap;
};

enum rkt_status rkt_import_paths_init(const char *const *names, size_t count,
                                      struct rkt_import_paths *paths_out, struct rkt_error *err);
void rkt_import_paths_release(struct rkt_import_paths *paths);

#endif
