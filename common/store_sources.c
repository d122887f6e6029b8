/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_sources.h"

#include <stdlib.h>
#include <string.h>

/* Frames that claim one number of one source and are compared with each other. */
#define ALIKE_MAX 8u

struct grouping {
    struct rkt_store_files *files;
    struct rkt_store_entry *items; /* the new order */
    size_t *starts;                /* by source: where its next entry goes */
    uint32_t source_end;           /* of starts */
    struct rkt_store_groups groups;
};

static bool is_of_source(const struct rkt_store_entry *entry)
{
    return !rkt_frame_is_of_store(entry->kind) && entry->source < RKT_STORE_SOURCE_COUNT_MAX;
}

/* A shard names no shards. */
static bool is_known(const struct rkt_store_entry *entry)
{
    if (rkt_frame_is_of_store(entry->kind))
        return entry->kind == RKT_FRAME_RUN || (entry->kind == RKT_FRAME_SHARD && entry->file == 0);
    return ((entry->kind >= RKT_FRAME_SOURCE && entry->kind <= RKT_FRAME_BATCH) ||
            entry->kind == RKT_FRAME_SPANS) &&
           is_of_source(entry);
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

        g->groups.unknown_frames += !is_known(entry);
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
    size_t placed = 0;

    for (size_t i = 0; i < entries->count; i++) {
        const struct rkt_store_entry *entry = &entries->items[i];

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

static bool is_in_one_file(const struct rkt_store_entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (entries[i].file != entries[0].file)
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
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool read_head(struct rkt_store_files *files, const struct rkt_store_entry *entry,
                      uint8_t head[RKT_FRAME_HEAD_BYTES])
{
    const struct rkt_store_file *file;

    return rkt_store_files_get(files, entry->file, &file, NULL) == RKT_OK &&
           rkt_store_file_read(file, entry->offset, head, RKT_FRAME_HEAD_BYTES, NULL) == RKT_OK;
}

/* A head holds the payload's crc and sizes, so equal heads are the same frame. */
static bool is_same_frame(struct rkt_store_files *files, const struct rkt_store_entry *a,
                          const struct rkt_store_entry *b)
{
    uint8_t heads[2][RKT_FRAME_HEAD_BYTES];

    return a->kind == b->kind && a->frame_bytes == b->frame_bytes &&
           read_head(files, a, heads[0]) && read_head(files, b, heads[1]) &&
           memcmp(heads[0], heads[1], sizeof(heads[0])) == 0;
}

/*
 * The same number on two different frames is possible: one that rank 0 made for a source that it
 * took for lost. Copies are looked for among the few before that have the number, too.
 */
static bool is_copy(struct rkt_store_files *files, struct rkt_store_entry *const *sorted, size_t i)
{
    for (size_t back = 1; back <= i && back <= ALIKE_MAX; back++) {
        if (sorted[i - back]->seq != sorted[i]->seq)
            return false;
        if (is_same_frame(files, sorted[i - back], sorted[i]))
            return true;
    }
    return false;
}

/* Marks copies, and counts numbers from 0 to the last that no frame has. */
static void count_by_seq(struct grouping *g, struct rkt_store_entry *const *sorted, size_t count)
{
    uint64_t distinct = 1;

    for (size_t i = 1; i < count; i++) {
        if (sorted[i]->seq != sorted[i - 1]->seq)
            distinct++;
        sorted[i]->is_skipped = is_copy(g->files, sorted, i);
        g->groups.copy_count += sorted[i]->is_skipped;
    }
    g->groups.seq_gap_count += (uint64_t)sorted[count - 1]->seq + 1 - distinct;
}

static bool put_in_order(struct rkt_store_entry *entries, struct rkt_store_entry *const *sorted,
                         size_t count)
{
    struct rkt_store_entry *copy = malloc(count * sizeof(*copy));

    if (!copy)
        return false;
    for (size_t i = 0; i < count; i++)
        copy[i] = *sorted[i];
    memcpy(entries, copy, count * sizeof(*copy));
    free(copy);
    return true;
}

static enum rkt_status check_seq(struct grouping *g, struct rkt_store_range range,
                                 struct rkt_error *err)
{
    struct rkt_store_entry *entries = &g->items[range.first];
    bool is_ordered = is_in_one_file(entries, range.count);
    struct rkt_store_entry **sorted;

    if (is_ordered && is_in_sequence(entries, range.count))
        return RKT_OK;
    sorted = malloc(range.count * sizeof(struct rkt_store_entry *));
    if (sorted) {
        for (size_t i = 0; i < range.count; i++)
            sorted[i] = &entries[i];
        qsort(sorted, range.count, sizeof(struct rkt_store_entry *), compare_seq);
        count_by_seq(g, sorted, range.count);
        is_ordered = is_ordered || put_in_order(entries, sorted, range.count);
        free(sorted);
    }
    if (!sorted || !is_ordered)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of %zu frames", range.count);
    return RKT_OK;
}

/* ---- all ---- */

static enum rkt_status group(struct grouping *g, struct rkt_store_entries *entries,
                             struct rkt_error *err)
{
    count_entries(g, entries);
    g->items = malloc((entries->count + 1) * sizeof(*g->items));
    g->groups.ranges = malloc((g->groups.range_count + 1) * sizeof(*g->groups.ranges));
    if (!g->items || !g->groups.ranges)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of %zu frames", entries->count);
    make_ranges(g);
    place_entries(g, entries);
    for (size_t i = 0; i < g->groups.range_count; i++) {
        enum rkt_status status = check_seq(g, g->groups.ranges[i], err);

        if (status != RKT_OK)
            return status;
    }
    return RKT_OK;
}

enum rkt_status rkt_store_group(struct rkt_store_files *files, struct rkt_store_entries *entries,
                                struct rkt_store_groups *groups_out, struct rkt_error *err)
{
    struct grouping g = {.files = files};
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
        return status;
    }
    free(entries->items);
    entries->items = g.items;
    entries->cap = entries->count;
    *groups_out = g.groups;
    return RKT_OK;
}
