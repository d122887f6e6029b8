/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_sources.h"

#include <stdlib.h>
#include <string.h>

struct grouping {
    const struct rkt_store_file *file;
    struct rkt_store_entry *items; /* the new order */
    size_t *starts;                /* by source: where its next entry goes */
    uint32_t source_end;           /* of starts */
    struct rkt_store_groups groups;
};

static bool is_of_source(const struct rkt_store_entry *entry)
{
    return entry->kind != RKT_FRAME_RUN && entry->source < RKT_STORE_SOURCE_COUNT_MAX;
}

static bool is_known(const struct rkt_store_entry *entry)
{
    return entry->kind >= RKT_FRAME_RUN && entry->kind <= RKT_FRAME_BATCH;
}

static uint32_t find_source_end(const struct rkt_store_entries *entries)
{
    uint32_t end = 0;

    for (size_t i = 0; i < entries->count; i++) {
        if (is_of_source(&entries->items[i]) && entries->items[i].source >= end)
            end = entries->items[i].source + 1;
    }
    return end;
}

/* Entries per source to starts[], and the other counts. */
static void count_entries(struct grouping *g, const struct rkt_store_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        const struct rkt_store_entry *entry = &entries->items[i];

        if (entry->kind == RKT_FRAME_RUN)
            g->groups.run_count++;
        else if (!is_known(entry) || !is_of_source(entry))
            g->groups.unknown_frames++;
        if (is_of_source(entry) && g->starts[entry->source]++ == 0)
            g->groups.range_count++;
    }
}

/* starts[] from counts to positions; the ranges. */
static void make_ranges(struct grouping *g)
{
    struct rkt_store_range *range = g->groups.ranges;
    size_t first = 0;

    for (uint32_t source = 0; source < g->source_end; source++) {
        size_t count = g->starts[source];

        if (count)
            *range++ = (struct rkt_store_range){source, first, count};
        g->starts[source] = first;
        first += count;
    }
}

static void place_entries(struct grouping *g, struct rkt_store_entries *entries)
{
    size_t run_count = 0;
    size_t placed = 0;

    for (size_t i = 0; i < entries->count; i++) {
        const struct rkt_store_entry *entry = &entries->items[i];

        if (entry->kind == RKT_FRAME_RUN)
            g->groups.runs[run_count++] = *entry;
        if (!is_of_source(entry))
            continue;
        g->items[g->starts[entry->source]++] = *entry;
        placed++;
    }
    entries->count = placed;
}

/* ---- seq ---- */

static bool is_in_sequence(const struct rkt_store_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (entries[i].seq != i)
            return false;
    }
    return true;
}

static int compare_seq(const void *a, const void *b)
{
    const struct rkt_store_entry *x = *(const struct rkt_store_entry *const *)a;
    const struct rkt_store_entry *y = *(const struct rkt_store_entry *const *)b;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* A head holds the payload's crc and sizes, so equal heads are the same frame. */
static bool is_same_frame(const struct rkt_store_file *file, const struct rkt_store_entry *a,
                          const struct rkt_store_entry *b)
{
    uint8_t heads[2][RKT_FRAME_HEAD_BYTES];

    return rkt_store_file_read(file, a->offset, heads[0], sizeof(heads[0]), NULL) == RKT_OK &&
           rkt_store_file_read(file, b->offset, heads[1], sizeof(heads[1]), NULL) == RKT_OK &&
           memcmp(heads[0], heads[1], sizeof(heads[0])) == 0;
}

/*
 * Numbers from 0 to the last that no frame has. The same number on two different frames is
 * possible: one that rank 0 made for a source that it took for lost.
 */
static enum rkt_status check_seq(struct grouping *g, const struct rkt_store_range *range,
                                 struct rkt_error *err)
{
    struct rkt_store_entry *entries = &g->items[range->first];
    struct rkt_store_entry **sorted;
    uint64_t distinct = 1;

    if (is_in_sequence(entries, range->count))
        return RKT_OK;
    sorted = malloc(range->count * sizeof(struct rkt_store_entry *));
    if (!sorted)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of %zu frames", range->count);
    for (size_t i = 0; i < range->count; i++)
        sorted[i] = &entries[i];
    qsort(sorted, range->count, sizeof(struct rkt_store_entry *), compare_seq);
    for (size_t i = 1; i < range->count; i++) {
        if (sorted[i]->seq != sorted[i - 1]->seq)
            distinct++;
        else
            sorted[i]->is_skipped = is_same_frame(g->file, sorted[i - 1], sorted[i]);
    }
    g->groups.seq_gap_count += (uint64_t)sorted[range->count - 1]->seq + 1 - distinct;
    free(sorted);
    return RKT_OK;
}

/* ---- all ---- */

static enum rkt_status group(struct grouping *g, struct rkt_store_entries *entries,
                             struct rkt_error *err)
{
    count_entries(g, entries);
    g->items = malloc((entries->count + 1) * sizeof(*g->items));
    g->groups.ranges = malloc((g->groups.range_count + 1) * sizeof(*g->groups.ranges));
    g->groups.runs = malloc((g->groups.run_count + 1) * sizeof(*g->groups.runs));
    if (!g->items || !g->groups.ranges || !g->groups.runs)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of %zu frames", entries->count);
    make_ranges(g);
    place_entries(g, entries);
    for (size_t i = 0; i < g->groups.range_count; i++) {
        enum rkt_status status = check_seq(g, &g->groups.ranges[i], err);

        if (status != RKT_OK)
            return status;
    }
    return RKT_OK;
}

enum rkt_status rkt_store_group(const struct rkt_store_file *file,
                                struct rkt_store_entries *entries,
                                struct rkt_store_groups *groups_out, struct rkt_error *err)
{
    struct grouping g = {.file = file};
    enum rkt_status status;

    g.source_end = find_source_end(entries);
    g.starts = calloc((size_t)g.source_end + 1, sizeof(*g.starts));
    if (!g.starts)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of sources");
    status = group(&g, entries, err);
    free(g.starts);
    if (status != RKT_OK) {
        free(g.items);
        free(g.groups.ranges);
        free(g.groups.runs);
        return status;
    }
    free(entries->items);
    entries->items = g.items;
    entries->cap = entries->count;
    *groups_out = g.groups;
    return RKT_OK;
}
