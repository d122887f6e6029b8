/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_IMPORT_PATHS_H
#define RKT_ANALYSIS_IMPORT_IMPORT_PATHS_H

/*
 * import_paths - the files that a list of files and folders names.
 *
 * Of a folder: every *.json and *.json.gz in it (not below it), in the order of their names with
 * numbers as numbers.
 *
 * Threads: one at a time. Memory: freed by release.
 */

#include <stdbool.h>
#include <stddef.h>

#include "analysis/import/import.h"
#include "common/status.h"

struct rkt_import_path {
    char *path;
    bool from_folder; /* not named by the user: skipped if it is no trace */
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
