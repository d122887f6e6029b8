/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_IMPORT_STATE_H
#define RKT_ANALYSIS_IMPORT_IMPORT_STATE_H

/*
 * import_state - what the parts of an import share; for import*.c alone.
 *
 * Threads: a group and its files belong to one thread while they are read; the store is shared
 *          under its lock.
 */

#include <pthread.h>

#include "analysis/import/import.h"
#include "analysis/import/import_paths.h"
#include "analysis/import/rank_of_file.h"
#include "common/descriptor.h"
#include "common/store_writer.h"

/* What the beginning of a file says. */
struct rkt_import_peek {
    bool has_rank;
    uint32_t rank;
    const char *rank_source;
    bool has_first;
    int64_t first_ns;    /* of its first event with a time, without the base */
    uint32_t first_mark; /* what that event is and where it ran, as one number */
    bool has_base;
    int64_t base_ns;
};

/* How much a file holds; only of one that begins as another does. */
struct rkt_import_extent {
    bool is_known;
    bool is_damaged;
    uint64_t bytes; /* of its text, unpacked */
    uint32_t checksum;
};

struct rkt_import_group;

struct rkt_import_item {
    const struct rkt_import_path *path;
    bool is_sqlite;
    bool is_own;
    uint32_t part; /* of the processes, or ranks, in one file */
    uint32_t part_count;
    struct rkt_import_file *file; /* in the report */
    struct rkt_import_peek peek;
    struct rkt_import_extent extent;
};

/* The files of one rank, in order of time: one source. */
struct rkt_import_group {
    struct rkt_import_item **items;
    size_t count;
    size_t cap;
    struct rkt_source_info info; /* source: its number */
    bool is_taken;               /* some file of it was a trace */
    bool is_aligned;
    int64_t offset_ns; /* trace time to calendar time */
};

/* The store, or nothing where files are only checked. */
struct rkt_import_store {
    pthread_mutex_t lock;            /* held while a frame is written; no other with it */
    struct rkt_store_writer *writer; /* NULL: frames are dropped */
};

struct rkt_import_state {
    const struct rkt_import_options *options;
    struct rkt_import_report *report;
    struct rkt_rank_names names;
    struct rkt_import_store store;
    struct rkt_import_item *items; /* one per path, or per process or rank in it */
    size_t item_count;
    struct rkt_import_group *groups; /* by source number */
    size_t group_count;
    size_t group_cap;
};

/* import.c */
void rkt_import_add_note(struct rkt_import_file *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* import_plan.c: which files belong to which rank, as far as their beginnings tell */
enum rkt_status rkt_import_plan(struct rkt_import_state *import, struct rkt_error *err);
void rkt_import_plan_release(struct rkt_import_state *import);

/* import_group.c: reads one rank's files into the store. Threads: one per group. */
enum rkt_status rkt_import_read_group(struct rkt_import_state *import,
                                      struct rkt_import_group *group, struct rkt_error *err);

/* import_ranks.c: what only shows when all files are read */
enum rkt_status rkt_import_settle_ranks(struct rkt_import_state *import, struct rkt_error *err);
void rkt_import_warn(struct rkt_import_state *import);

#endif
