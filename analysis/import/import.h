/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_IMPORT_H
#define RKT_ANALYSIS_IMPORT_IMPORT_H

/*
 * import - traces of other tools, one or more files per rank, into a store.
 *
 * Place:   trace files -> [import] -> store -> the same analysis as a captured run.
 * Files:   by content, not by name: JSON (an object or the bare array), plain or packed by gzip or
 *          zstd; exports of Nsight Systems in SQLite, each process of which is a rank.
 * Rank:    the caller's word, else distributedInfo, else the args of collectives, else the file's
 *          name, else the order given, with a note.
 * Windows: files of one rank that follow each other in time become one source with gaps between
 *          them. Of files that begin with the same event (its job time, name and thread) the one
 *          that holds most is taken, the others are skipped: copies, or cut. Two that overlap are
 *          two traces of one rank: RKT_ERR_INVALID names both.
 * Damage:  a file that is cut or broken gives what was readable, marked as damaged here and in
 *          the store (losses, and a source that was cut short). It is an error only where nothing
 *          was readable, or where it is no trace; in a folder, files that are no trace are
 *          skipped and named.
 * Clock:   stamps are the file's own; baseTimeNanoseconds is the offset of the source's
 *          alignment. A file whose time is not that of a calendar stays unaligned.
 * On error: nothing is left under the output's name.
 * Threads: one caller; it starts and joins threads of its own, at most one per rank.
 * Memory:  per thread; does not grow with the files (kineto_state.h).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/import/trace_facts.h"
#include "common/status.h"

#define RKT_IMPORT_FILES_MAX 65536u

/* How far it is: read by any thread while the import runs. */
struct rkt_import_progress {
    _Atomic uint64_t done_bytes;  /* of the files as they are, packed or not */
    _Atomic uint64_t total_bytes; /* 0: not known yet */
};

struct rkt_import_options {
    const char *const *paths; /* files, folders, patterns ("dir/rank*"), "@FILE" with one a line */
    size_t path_count;
    const char *output;     /* the store to make; NULL: only read and report */
    bool overwrite;         /* the output may exist */
    bool keeps_python;      /* frames of Python stacks too */
    const char *rank_regex; /* its first group is the rank in a path; NULL: the usual names */
    const char *const *file_ranks; /* "FILE=N": each must be of a file, and the only one of it */
    size_t file_rank_count;
    uint32_t thread_count;                /* 0: as many as the machine has cores */
    struct rkt_import_progress *progress; /* NULL: nobody looks */
};

struct rkt_import_file {
    char path[1024];
    bool is_skipped; /* no trace, or a copy or part; the rest is zero but for the note */
    bool is_damaged; /* something of the file could not be read; the note says where */
    uint32_t rank;
    const char *rank_source; /* "distributedInfo", "collective args", "file name", "order" ... */
    uint32_t world_size;     /* as the file claims; 0 unknown */
    char host[128];
    uint64_t json_bytes;            /* or the file's, which is no JSON */
    uint64_t read_count;            /* events in the file */
    uint64_t fates[RKT_FATE_COUNT]; /* what became of them; their sum is read_count */
    bool is_aligned;                /* its times are those of a calendar */
    int64_t first_ns;               /* of its events, with the base; 0: it has none */
    int64_t last_ns;
    struct rkt_json_damage places[RKT_JSON_PLACES_MAX]; /* in the JSON text */
    size_t place_count;                                 /* of all */
    char note[512];                                     /* one line, "" for none */
};

struct rkt_import_report {
    struct rkt_import_file *files; /* by rank and time, skipped ones last; freed by release */
    size_t file_count;
    uint64_t output_bytes;
    char warning[1024]; /* about all files; lines, "" for none */
};

enum rkt_status rkt_import(const struct rkt_import_options *options,
                           struct rkt_import_report *report_out, struct rkt_error *err);
void rkt_import_report_release(struct rkt_import_report *report);

#endif
