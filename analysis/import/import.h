/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_IMPORT_H
#define RKT_ANALYSIS_IMPORT_IMPORT_H

/*
 * import - per-rank PyTorch (Kineto) traces into a store.
 *
 * Place:   trace files -> [import] -> store -> the same analysis as a captured run.
 * Files:   .json or .json.gz by content, not by name; the object form and the bare array.
 * Rank:    distributedInfo.rank, else process-group metadata, else the file name, else
 *          the order given, with a note. Two files of one rank: RKT_ERR_INVALID names both.
 * On error: nothing is left under the output's name.
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct rkt_import_options {
    const char *const *paths; /* files or folders (every *.json, *.json.gz in them) */
    size_t path_count;
    const char *output; /* the store to make */
    bool overwrite;     /* the output may exist */
};

struct rkt_import_file {
    char path[1024];
    uint32_t rank;
    const char *rank_source; /* "distributedInfo", "file name", ... */
    uint64_t json_bytes;
    uint64_t event_count;
    uint64_t skipped_count; /* slices that are no complete event (counted as losses) */
    uint64_t damaged_count;
};

struct rkt_import_report {
    struct rkt_import_file *files; /* by rank; freed by release */
    size_t file_count;
    char warning[512]; /* one line, "" for none */
};

enum rkt_status rkt_import(const struct rkt_import_options *options,
                           struct rkt_import_report *report_out, struct rkt_error *err);
void rkt_import_report_release(struct rkt_import_report *report);

#endif
