/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_KEY_TABLE_H
#define RKT_ANALYSIS_KEY_TABLE_H

/*
 * key_table - tables of what a run spends its time on: kernels, operators, copies, calls, streams,
 * idle time (metrics.md, "Key tables").
 *
 * Place:  rank_tables makes those of one rank, from its whole trace; rkt_tables_merge makes one of
 *         all ranks, in their order. A row is texts and integers, so that it can be sent.
 * Row:    a key (kind, name, bin) and one number per column of its table; of one rank also a
 *         segment (segment.h). Of two rows with one key a column takes the sum, the least or the
 *         most, as the form says.
 * Derived: columns that are computed from others when they are printed: means, rates, shares.
 * Memory: the arena's that the maker gave; names too.
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"

enum rkt_table_id {
    RKT_TABLE_KERNELS,
    RKT_TABLE_OPERATORS,
    RKT_TABLE_COPIES,
    RKT_TABLE_CALLS,
    RKT_TABLE_STREAMS,
    RKT_TABLE_IDLE,
    RKT_TABLE_COUNT
};

/* Columns by table; the first two are alike in all: how often, and how long in all. */
enum {
    RKT_COLUMN_COUNT = 0,
    RKT_COLUMN_TOTAL = 1,

    RKT_KERNEL_LEAST = 2,
    RKT_KERNEL_MOST,
    RKT_KERNEL_SHORT_COUNT, /* up to RKT_SHORT_KERNEL_NS */
    RKT_KERNEL_LAUNCH_COUNT,
    RKT_KERNEL_LAUNCH, /* host time of its launches */
    RKT_KERNEL_STEPS, /* steps in which it ran; likewise RKT_NA where no launch shape is recorded */
    RKT_KERNEL_SHAPES,        /* launch shapes */
    RKT_KERNEL_SHAPE_CHANGES, /* steps whose shapes are others than in the step before */

    RKT_OPERATOR_SELF_HOST = 2,
    RKT_OPERATOR_DEVICE,
    RKT_OPERATOR_SELF_DEVICE,
    RKT_OPERATOR_LAUNCH_COUNT,
    RKT_OPERATOR_STEPS, /* as of kernels; RKT_NA where no inputs' sizes are recorded */
    RKT_OPERATOR_SHAPES,
    RKT_OPERATOR_SHAPE_CHANGES,

    RKT_COPY_BYTES = 2,
    RKT_COPY_EXPOSED, /* what of it fills the windows alone */
    RKT_COPY_WAITS,   /* of which the call returned no earlier than the copy ended */
    RKT_COPY_SHARED,  /* on a stream that runs kernels, too */

    RKT_CALL_MOST = 2,
    RKT_CALL_IDLE, /* the device was idle, and this call was why: while it lasted */
    RKT_CALL_TAIL, /* and after it */

    RKT_STREAM_SHORT_COUNT = 2, /* kernels up to RKT_SHORT_KERNEL_NS */
    RKT_STREAM_SHORT,           /* their time */
    RKT_STREAM_SHORT_LAUNCH,    /* host time of their launches */
    RKT_STREAM_LAUNCH_COUNT,
    RKT_STREAM_LAUNCH,
    RKT_STREAM_QUEUED,      /* from launch to start, summed */
    RKT_STREAM_DEPTH_MOST,  /* launched and not begun, at the most */
    RKT_STREAM_FOUND_EMPTY, /* launches that found the stream with nothing to do */
    RKT_STREAM_WINDOW,      /* the windows, of the ranks that have the stream */

    RKT_STREAM_EMPTY_LAUNCH, /* host time of these: nothing made them wait */
    RKT_STREAM_BLOCKING,     /* launches of kernels that returned no earlier than these ended */

    RKT_IDLE_MOST = 2,

    RKT_COLUMNS_MAX = 13
};

#define RKT_SHORT_KERNEL_NS 3000

enum rkt_unit {
    RKT_UNIT_COUNT,
    RKT_UNIT_NS,
    RKT_UNIT_BYTES,
    RKT_UNIT_BYTES_PER_S,
    RKT_UNIT_RATIO,
};

enum rkt_combine {
    RKT_COMBINE_SUM,
    RKT_COMBINE_LEAST,
    RKT_COMBINE_MOST,
};

struct rkt_column {
    const char *name;    /* key in JSON, name for --sort */
    const char *heading; /* NULL: only in JSON, or when rows are ordered by it */
    enum rkt_unit unit;
    enum rkt_combine over_steps; /* of one rank */
    enum rkt_combine over_ranks;
};

enum rkt_derivation {
    RKT_DERIVE_MEAN,       /* a / b, in a's unit */
    RKT_DERIVE_DIFFERENCE, /* a - b */
    RKT_DERIVE_RATE,       /* a per second of b */
    RKT_DERIVE_RATIO,      /* a / b, without a unit */
    RKT_DERIVE_SHARE,      /* a / the sum of a over all rows */
};

struct rkt_derived {
    const char *name;
    const char *heading;
    enum rkt_unit unit;
    enum rkt_derivation derivation;
    uint8_t a; /* columns */
    uint8_t b;
};

struct rkt_table_form {
    const char *name; /* "kernels" */
    const char *bin;  /* key in JSON of a row's bin; NULL: has none */
    const struct rkt_column *columns;
    size_t column_count;
    const struct rkt_derived *derived;
    size_t derived_count;
    uint8_t order; /* the column by which rows stand, largest first */
};

struct rkt_row {
    const char *kind; /* "compute", "HtoD", "blocking", ...; a literal */
    const char *name;
    int64_t bin;
    unsigned segment;                /* 0 in the rows of all ranks */
    int64_t values[RKT_COLUMNS_MAX]; /* RKT_NA: not known */
    int64_t *by_rank; /* of all ranks: RKT_COLUMN_TOTAL by position, RKT_NA absent; else NULL */
};

struct rkt_table {
    struct rkt_row *rows;
    size_t row_count;
};

struct rkt_tables {
    struct rkt_table of[RKT_TABLE_COUNT];
};

const struct rkt_table_form *rkt_table_form(enum rkt_table_id id);

/* A column of a table by its name, stored or derived: an index for rkt_table_value; SIZE_MAX
 * none. */
size_t rkt_table_find_column(const struct rkt_table_form *form, const char *name);

/* A number of a row, stored (below column_count) or derived; NAN not known. */
double rkt_table_value(const struct rkt_table_form *form, const struct rkt_table *table,
                       const struct rkt_row *row, size_t column);

/* Largest first by that column, what is not known last; ties by kind, name and bin. */
void rkt_table_sort(const struct rkt_table_form *form, struct rkt_table *table, size_t column);

/* What of a rank is wanted. */
struct rkt_tables_of_rank {
    const struct rkt_tables *tables; /* NULL: nothing */
    uint32_t segments;               /* bit s: those of segment s */
};

/*
 * One set of tables of those of `count` ranks, which stay as they are. The same in the same order
 * give the same rows. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_tables_merge(const struct rkt_tables_of_rank *ranks, size_t count,
                                 struct rkt_arena *arena, struct rkt_tables *tables_out,
                                 struct rkt_error *err);

#endif
