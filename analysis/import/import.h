/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_IMPORT_H
#define RKT_ANALYSIS_IMPORT_IMPORT_H

/*
 * import - per-rank PyTorch (Kineto) traces into a store.
 *
 * Place:   trace files -> [import] -> store -> the same analysis as a captured run.
 * Files:   .json or .json.gz by content, not by name; the object form and the bare array.
 * Rank:    distributedInfo.rank, else the args of collectives, else the file's name, else
 *          the order given, with a note. Two files of one rank: RKT_ERR_INVALID names both.
 * Damage:  a file that is cut or broken gives what was readable, marked as damaged here and in
 *          the store (losses, and a source that was cut short). It is an error only where nothing
 *          was readable, or where it is no trace; in a folder, files that are no trace are
 *          skipped and named.
 * Clock:   stamps are the file's own; baseTimeNanoseconds is the offset of the source's
 *          alignment. A file whose time is not that of a calendar stays unaligned.
 * On error: nothing is left under the output's name.
 * Threads: one at a time. Memory: does not grow with the files (kineto_state.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define RKT_IMPORT_FILES_MAX 65536u

struct rkt_import_options {
    const char *const *paths; /* files or folders (every *.json, *.json.gz in them) */
    size_t path_count;
    const char *output; /* the store to make */
    bool overwrite;     /* the output may exist */
};

struct rkt_import_file {
    char path[1024];
    bool is_skipped; /* no trace; the rest is zero but for the note */
    bool is_damaged; /* something of the file could not be read; the note says where */
    uint32_t rank;
    const char *rank_source; /* "distributedInfo", "collective args", "file name", "order" */
    uint32_t world_size;     /* as the file claims; 0 unknown */
    uint64_t json_bytes;
    uint64_t event_count;
    uint64_t skipped_count;  /* slices that are no complete event (counted as losses) */
    uint64_t left_out_count; /* Python frames, flow arrows, counters: by design */
    uint64_t damaged_count;  /* events that could not be read (counted as losses) */
    char note[512];          /* one line, "" for none */
};

struct rkt_import_report {
    struct rkt_import_file *files; /* by rank, skipped ones last; freed by release */
    size_t file_count;
    uint64_t output_bytes;
    char warning[512]; /* about all files; one line, "" for none */
};

enum rkt_status rkt_import(const struct rkt_import_options *options,
                           struct rkt_import_report *report_out, struct rkt_error *err);
void rkt_import_report_release(struct rkt_import_report *report);

#endif
