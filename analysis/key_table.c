/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/key_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/result.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NS_PER_S 1e9

/* ---- forms ---- */

static const struct rkt_column KERNEL_COLUMNS[] = {
    [RKT_COLUMN_COUNT] = {"count", "count", RKT_UNIT_COUNT, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_COLUMN_TOTAL] = {"total_ns", "total", RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_KERNEL_LEAST] = {"min_ns", NULL, RKT_UNIT_NS, RKT_COMBINE_LEAST, RKT_COMBINE_LEAST},
    [RKT_KERNEL_MOST] = {"max_ns", NULL, RKT_UNIT_NS, RKT_COMBINE_MOST, RKT_COMBINE_MOST},
    [RKT_KERNEL_SHORT_COUNT] = {"short_count", "short", RKT_UNIT_COUNT, RKT_COMBINE_SUM,
                                RKT_COMBINE_SUM},
    [RKT_KERNEL_LAUNCH_COUNT] = {"launch_count", NULL, RKT_UNIT_COUNT, RKT_COMBINE_SUM,
                                 RKT_COMBINE_SUM},
    [RKT_KERNEL_LAUNCH] = {"launch_ns", "launch", RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_KERNEL_STEPS] = {"step_count", NULL, RKT_UNIT_COUNT, RKT_COMBINE_SUM, RKT_COMBINE_MOST},
    [RKT_KERNEL_SHAPES] = {"shape_count", NULL, RKT_UNIT_COUNT, RKT_COMBINE_MOST, RKT_COMBINE_MOST},
    [RKT_KERNEL_SHAPE_CHANGES] = {"shape_changes", NULL, RKT_UNIT_COUNT, RKT_COMBINE_SUM,
                                  RKT_COMBINE_MOST},
};
static const struct rkt_derived KERNEL_DERIVED[] = {
    {"share", "share", RKT_UNIT_RATIO, RKT_DERIVE_SHARE, RKT_COLUMN_TOTAL, 0},
    {"mean_ns", "mean", RKT_UNIT_NS, RKT_DERIVE_MEAN, RKT_COLUMN_TOTAL, RKT_COLUMN_COUNT},
};

static const struct rkt_column OPERATOR_COLUMNS[] = {
    [RKT_COLUMN_COUNT] = {"count", "count", RKT_UNIT_COUNT, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_COLUMN_TOTAL] = {"total_ns", "host", RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_OPERATOR_SELF_HOST] = {"self_host_ns", "self host", RKT_UNIT_NS, RKT_COMBINE_SUM,
                                RKT_COMBINE_SUM},
    [RKT_OPERATOR_DEVICE] = {"device_ns", NULL, RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_OPERATOR_SELF_DEVICE] = {"self_device_ns", "self dev", RKT_UNIT_NS, RKT_COMBINE_SUM,
                                  RKT_COMBINE_SUM},
    [RKT_OPERATOR_LAUNCH_COUNT] = {"launch_count", NULL, RKT_UNIT_COUNT, RKT_COMBINE_SUM,
                                   RKT_COMBINE_SUM},
    [RKT_OPERATOR_STEPS] = {"step_count", NULL, RKT_UNIT_COUNT, RKT_COMBINE_SUM, RKT_COMBINE_MOST},
    [RKT_OPERATOR_SHAPES] = {"shape_count", NULL, RKT_UNIT_COUNT, RKT_COMBINE_MOST,
                             RKT_COMBINE_MOST},
    [RKT_OPERATOR_SHAPE_CHANGES] = {"shape_changes", NULL, RKT_UNIT_COUNT, RKT_COMBINE_SUM,
                                    RKT_COMBINE_MOST},
};
static const struct rkt_derived OPERATOR_DERIVED[] = {
    {"share", "share", RKT_UNIT_RATIO, RKT_DERIVE_SHARE, RKT_OPERATOR_SELF_DEVICE, 0},
    {"host_minus_device_ns", "host-dev", RKT_UNIT_NS, RKT_DERIVE_DIFFERENCE, RKT_OPERATOR_SELF_HOST,
     RKT_OPERATOR_SELF_DEVICE},
};

static const struct rkt_column COPY_COLUMNS[] = {
    [RKT_COLUMN_COUNT] = {"count", "count", RKT_UNIT_COUNT, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_COLUMN_TOTAL] = {"total_ns", "total", RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_COPY_BYTES] = {"bytes", "bytes", RKT_UNIT_BYTES, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_COPY_EXPOSED] = {"exposed_ns", "exposed", RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_COPY_WAITS] = {"wait_count", "waits", RKT_UNIT_COUNT, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_COPY_SHARED] = {"shared_count", NULL, RKT_UNIT_COUNT, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
};
static const struct rkt_derived COPY_DERIVED[] = {
    {"mean_ns", NULL, RKT_UNIT_NS, RKT_DERIVE_MEAN, RKT_COLUMN_TOTAL, RKT_COLUMN_COUNT},
    {"bytes_per_s", "GB/s", RKT_UNIT_BYTES_PER_S, RKT_DERIVE_RATE, RKT_COPY_BYTES,
     RKT_COLUMN_TOTAL},
};

static const struct rkt_column CALL_COLUMNS[] = {
    [RKT_COLUMN_COUNT] = {"count", "count", RKT_UNIT_COUNT, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_COLUMN_TOTAL] = {"total_ns", "host", RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_CALL_MOST] = {"max_ns", "max", RKT_UNIT_NS, RKT_COMBINE_MOST, RKT_COMBINE_MOST},
    [RKT_CALL_IDLE] = {"idle_ns", "idle", RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_CALL_TAIL] = {"tail_ns", "tail", RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
};
static const struct rkt_derived CALL_DERIVED[] = {
    {"mean_ns", "mean", RKT_UNIT_NS, RKT_DERIVE_MEAN, RKT_COLUMN_TOTAL, RKT_COLUMN_COUNT},
};

static const struct rkt_column STREAM_COLUMNS[] = {
    [RKT_COLUMN_COUNT] = {"count", "works", RKT_UNIT_COUNT, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_COLUMN_TOTAL] = {"total_ns", "total", RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_STREAM_SHORT_COUNT] = {"short_count", "short", RKT_UNIT_COUNT, RKT_COMBINE_SUM,
                                RKT_COMBINE_SUM},
    [RKT_STREAM_SHORT] = {"short_ns", NULL, RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_STREAM_SHORT_LAUNCH] = {"short_launch_ns", NULL, RKT_UNIT_NS, RKT_COMBINE_SUM,
                                 RKT_COMBINE_SUM},
    [RKT_STREAM_LAUNCH_COUNT] = {"launch_count", NULL, RKT_UNIT_COUNT, RKT_COMBINE_SUM,
                                 RKT_COMBINE_SUM},
    [RKT_STREAM_LAUNCH] = {"launch_ns", "launch", RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_STREAM_QUEUED] = {"queued_ns", NULL, RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_STREAM_DEPTH_MOST] = {"depth_max", "max", RKT_UNIT_COUNT, RKT_COMBINE_MOST,
                               RKT_COMBINE_MOST},
    [RKT_STREAM_FOUND_EMPTY] = {"found_empty_count", "empty", RKT_UNIT_COUNT, RKT_COMBINE_SUM,
                                RKT_COMBINE_SUM},
    [RKT_STREAM_EMPTY_LAUNCH] = {"found_empty_launch_ns", NULL, RKT_UNIT_NS, RKT_COMBINE_SUM,
                                 RKT_COMBINE_SUM},
    [RKT_STREAM_BLOCKING] = {"blocking_count", NULL, RKT_UNIT_COUNT, RKT_COMBINE_SUM,
                             RKT_COMBINE_SUM},
    [RKT_STREAM_WINDOW] = {"window_ns", NULL, RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
};
static const struct rkt_derived STREAM_DERIVED[] = {
    {"depth_mean", "depth", RKT_UNIT_RATIO, RKT_DERIVE_RATIO, RKT_STREAM_QUEUED, RKT_STREAM_WINDOW},
};

static const struct rkt_column IDLE_COLUMNS[] = {
    [RKT_COLUMN_COUNT] = {"count", "count", RKT_UNIT_COUNT, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_COLUMN_TOTAL] = {"total_ns", "total", RKT_UNIT_NS, RKT_COMBINE_SUM, RKT_COMBINE_SUM},
    [RKT_IDLE_MOST] = {"max_ns", "max", RKT_UNIT_NS, RKT_COMBINE_MOST, RKT_COMBINE_MOST},
};
static const struct rkt_derived IDLE_DERIVED[] = {
    {"share", "share", RKT_UNIT_RATIO, RKT_DERIVE_SHARE, RKT_COLUMN_TOTAL, 0},
    {"mean_ns", "mean", RKT_UNIT_NS, RKT_DERIVE_MEAN, RKT_COLUMN_TOTAL, RKT_COLUMN_COUNT},
};

static const struct rkt_table_form FORMS[RKT_TABLE_COUNT] = {
    [RKT_TABLE_KERNELS] = {"kernels", NULL, KERNEL_COLUMNS, COUNT(KERNEL_COLUMNS), KERNEL_DERIVED,
                           COUNT(KERNEL_DERIVED), RKT_COLUMN_TOTAL},
    [RKT_TABLE_OPERATORS] = {"operators", NULL, OPERATOR_COLUMNS, COUNT(OPERATOR_COLUMNS),
                             OPERATOR_DERIVED, COUNT(OPERATOR_DERIVED), RKT_OPERATOR_SELF_DEVICE},
    [RKT_TABLE_COPIES] = {"copies", "from_bytes", COPY_COLUMNS, COUNT(COPY_COLUMNS), COPY_DERIVED,
                          COUNT(COPY_DERIVED), RKT_COLUMN_TOTAL},
    [RKT_TABLE_CALLS] = {"calls", NULL, CALL_COLUMNS, COUNT(CALL_COLUMNS), CALL_DERIVED,
                         COUNT(CALL_DERIVED), RKT_COLUMN_TOTAL},
    [RKT_TABLE_STREAMS] = {"streams", NULL, STREAM_COLUMNS, COUNT(STREAM_COLUMNS), STREAM_DERIVED,
                           COUNT(STREAM_DERIVED), RKT_COLUMN_TOTAL},
    [RKT_TABLE_IDLE] = {"idle", NULL, IDLE_COLUMNS, COUNT(IDLE_COLUMNS), IDLE_DERIVED,
                        COUNT(IDLE_DERIVED), RKT_COLUMN_TOTAL},
};

_Static_assert(COUNT(STREAM_COLUMNS) <= RKT_COLUMNS_MAX, "a row has room for every column");
_Static_assert(COUNT(KERNEL_COLUMNS) <= RKT_COLUMNS_MAX, "a row has room for every column");

const struct rkt_table_form *rkt_table_form(enum rkt_table_id id)
{
    return &FORMS[id];
}

size_t rkt_table_find_column(const struct rkt_table_form *form, const char *name)
{
    for (size_t i = 0; i < form->column_count; i++) {
        if (strcmp(form->columns[i].name, name) == 0)
            return i;
    }
    for (size_t i = 0; i < form->derived_count; i++) {
        if (strcmp(form->derived[i].name, name) == 0)
            return form->column_count + i;
    }
    return SIZE_MAX;
}

/* ---- numbers of a row ---- */

static double sum_of_column(const struct rkt_table *table, uint8_t column)
{
    double sum = 0;

    for (size_t i = 0; i < table->row_count; i++) {
        if (table->rows[i].values[column] != RKT_NA)
            sum += (double)table->rows[i].values[column];
    }
    return sum;
}

static double quotient(double a, double b)
{
    return b > 0 ? a / b : (double)NAN;
}

double rkt_table_value(const struct rkt_table_form *form, const struct rkt_table *table,
                       const struct rkt_row *row, size_t column)
{
    const struct rkt_derived *derived;
    double a, b;

    if (column < form->column_count)
        return row->values[column] == RKT_NA ? (double)NAN : (double)row->values[column];
    derived = &form->derived[column - form->column_count];
    if (row->values[derived->a] == RKT_NA || row->values[derived->b] == RKT_NA)
        return (double)NAN;
    a = (double)row->values[derived->a];
    b = (double)row->values[derived->b];
    switch (derived->derivation) {
    case RKT_DERIVE_MEAN:
    case RKT_DERIVE_RATIO:
        return quotient(a, b);
    case RKT_DERIVE_DIFFERENCE:
        return a - b;
    case RKT_DERIVE_RATE:
        return quotient(a * NS_PER_S, b);
    case RKT_DERIVE_SHARE:
        return quotient(a, sum_of_column(table, derived->a));
    }
    return (double)NAN;
}

/* ---- order ---- */

static int compare_keys(const struct rkt_row *x, const struct rkt_row *y)
{
    int order = strcmp(x->kind, y->kind);

    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->bin > y->bin) - (x->bin < y->bin);
}

/* A row and the number by which it is ordered. */
struct ordered {
    double value;
    struct rkt_row row;
};

static int compare_ordered(const void *a, const void *b)
{
    const struct ordered *x = a;
    const struct ordered *y = b;

    if (isnan(x->value) != isnan(y->value))
        return isnan(x->value) ? 1 : -1;
    if (x->value > y->value || x->value < y->value)
        return x->value > y->value ? -1 : 1;
    return compare_keys(&x->row, &y->row);
}

void rkt_table_sort(const struct rkt_table_form *form, struct rkt_table *table, size_t column)
{
    struct ordered *rows = calloc(table->row_count + 1, sizeof(*rows));

    if (!rows)
        return; /* every number is there, in another order */
    for (size_t i = 0; i < table->row_count; i++)
        rows[i] =
            (struct ordered){rkt_table_value(form, table, &table->rows[i], column), table->rows[i]};
    qsort(rows, table->row_count, sizeof(*rows), compare_ordered);
    for (size_t i = 0; i < table->row_count; i++)
        table->rows[i] = rows[i].row;
    free(rows);
}

/* ---- one of all ranks ---- */

/* The rows of all ranks, those with one key beside each other, in order of ranks. */
struct sourced {
    const struct rkt_row *row;
    size_t rank;
};

static int compare_sourced(const void *a, const void *b)
{
    const struct sourced *x = a;
    const struct sourced *y = b;
    int order = compare_keys(x->row, y->row);

    if (order == 0)
        order = (x->rank > y->rank) - (x->rank < y->rank);
    return order != 0 ? order
                      : (x->row->segment > y->row->segment) - (x->row->segment < y->row->segment);
}

static size_t collect_rows(const struct rkt_tables_of_rank *ranks, size_t count, size_t id,
                           struct sourced *all)
{
    size_t row_count = 0;

    for (size_t r = 0; r < count; r++) {
        const struct rkt_table *table = ranks[r].tables ? &ranks[r].tables->of[id] : NULL;

        for (size_t i = 0; table && i < table->row_count; i++) {
            if ((ranks[r].segments >> table->rows[i].segment & 1) == 0)
                continue;
            if (all)
                all[row_count] = (struct sourced){&table->rows[i], r};
            row_count++;
        }
    }
    return row_count;
}

static int64_t combine(enum rkt_combine how, int64_t a, int64_t b)
{
    int64_t sum;

    if (a == RKT_NA || b == RKT_NA)
        return a == RKT_NA ? b : a;
    switch (how) {
    case RKT_COMBINE_SUM:
        return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
    case RKT_COMBINE_LEAST:
        return a < b ? a : b;
    case RKT_COMBINE_MOST:
        break;
    }
    return a > b ? a : b;
}

/* The rows of one rank with one key: how many, and their numbers together. */
static size_t join_rank(const struct rkt_table_form *form, const struct sourced *all, size_t count,
                        struct rkt_row *of_rank)
{
    size_t i = 1;

    *of_rank = *all[0].row;
    for (; i < count && all[i].rank == all[0].rank; i++) {
        for (size_t c = 0; c < form->column_count; c++)
            of_rank->values[c] =
                combine(form->columns[c].over_steps, of_rank->values[c], all[i].row->values[c]);
    }
    return i;
}

/* Fills one row from those with its key. */
static bool join_rows(const struct rkt_table_form *form, const struct sourced *all, size_t count,
                      size_t rank_count, struct rkt_arena *arena, struct rkt_row *row)
{
    struct rkt_row of_rank;

    *row = (struct rkt_row){.kind = all[0].row->kind,
                            .name = all[0].row->name,
                            .bin = all[0].row->bin,
                            .by_rank = RKT_ARENA_ARRAY(arena, int64_t, rank_count)};
    if (!row->by_rank)
        return false;
    for (size_t r = 0; r < rank_count; r++)
        row->by_rank[r] = RKT_NA;
    for (size_t c = 0; c < form->column_count; c++)
        row->values[c] = RKT_NA;
    for (size_t i = 0, next; i < count; i = next) {
        next = i + join_rank(form, &all[i], count - i, &of_rank);
        row->by_rank[all[i].rank] = of_rank.values[RKT_COLUMN_TOTAL];
        for (size_t c = 0; c < form->column_count; c++)
            row->values[c] =
                combine(form->columns[c].over_ranks, row->values[c], of_rank.values[c]);
    }
    return true;
}

static bool join_tables(const struct rkt_table_form *form, const struct sourced *all, size_t count,
                        size_t rank_count, struct rkt_arena *arena, struct rkt_table *table)
{
    size_t keys = count > 0;

    for (size_t i = 1; i < count; i++)
        keys += compare_keys(all[i - 1].row, all[i].row) != 0;
    table->rows = RKT_ARENA_ARRAY(arena, struct rkt_row, keys + 1);
    if (!table->rows)
        return false;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && compare_keys(all[i].row, all[next].row) == 0;)
            next++;
        if (!join_rows(form, &all[i], next - i, rank_count, arena,
                       &table->rows[table->row_count++]))
            return false;
    }
    rkt_table_sort(form, table, form->order);
    return true;
}

enum rkt_status rkt_tables_merge(const struct rkt_tables_of_rank *ranks, size_t count,
                                 struct rkt_arena *arena, struct rkt_tables *tables_out,
                                 struct rkt_error *err)
{
    struct rkt_tables tables = {0};

    for (size_t id = 0; id < RKT_TABLE_COUNT; id++) {
        size_t row_count = collect_rows(ranks, count, id, NULL);
        struct sourced *all = calloc(row_count + 1, sizeof(*all));
        bool is_done = false;

        if (all) {
            (void)collect_rows(ranks, count, id, all);
            qsort(all, row_count, sizeof(*all), compare_sourced);
            is_done = join_tables(&FORMS[id], all, row_count, count, arena, &tables.of[id]);
        }
        free(all);
        if (!is_done)
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the %s of %zu ranks", FORMS[id].name,
                            count);
    }
    *tables_out = tables;
    return RKT_OK;
}
