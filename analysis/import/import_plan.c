/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files belong to which rank, as far as their beginnings tell: Kineto writes distributedInfo
 * before the events. What only shows later is settled when all files are read.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/import/import_state.h"
#include "analysis/import/kineto_peek.h"
#include "common/array.h"
#include "common/checked.h"
#include "common/clock.h"
#include "common/strtab.h"

static const struct rkt_import_peek NOTHING;

/* A file that cannot be peeked at is read like any other, and fails then. */
static void peek_json(const char *path, struct rkt_import_peek *peek)
{
    struct rkt_text_source *source = NULL;
    struct rkt_trace_facts facts;

    if (rkt_text_source_open(path, &source, NULL) != RKT_OK)
        return;
    if (rkt_kineto_peek(source, &facts, NULL) == RKT_OK) {
        peek->has_rank = facts.has_rank;
        peek->rank = facts.rank;
        peek->rank_source = facts.rank_source;
        peek->has_first = facts.first_ns != UINT64_MAX;
        peek->first_ns = peek->has_first ? (int64_t)facts.first_ns : 0;
        peek->first_mark = facts.first_mark;
        peek->has_base = facts.has_base;
        peek->base_ns = facts.base_ns;
    }
    rkt_text_source_close(source);
}

static void peek_at(const struct rkt_import_state *import, struct rkt_import_item *item)
{
    struct rkt_import_peek *peek = &item->peek;

    *peek = NOTHING;
    if (import->item_count > 1 && item->path->is_regular && !item->is_sqlite && !item->is_own)
        peek_json(item->path->path, peek);
    if (item->part_count > 1)
        return; /* a name of all its processes is the rank of none */
    if (rkt_rank_names_given(&import->names, item->path->path, &peek->rank)) {
        peek->has_rank = true;
        peek->rank_source = "--rank";
    } else if (!peek->has_rank &&
               rkt_rank_names_find(&import->names, item->path->path, &peek->rank)) {
        peek->has_rank = true;
        peek->rank_source = "file name";
    }
}

/* Of files of one rank: a base that stands behind the events is needed before they are read. */
static enum rkt_status find_base(struct rkt_import_item *item, struct rkt_error *err)
{
    struct rkt_text_source *source = NULL;
    enum rkt_status status;

    if (item->peek.has_base || !item->path->is_regular)
        return RKT_OK;
    status = rkt_text_source_open(item->path->path, &source, err);
    if (status == RKT_OK)
        status = rkt_kineto_find_base(source, &item->peek.base_ns, &item->peek.has_base, err);
    rkt_text_source_close(source);
    return status;
}

/* ---- groups ---- */

/* Ranks as a set: the id of a rank in it leads to its group. */
struct plan {
    struct rkt_import_state *import;
    struct rkt_strtab *ranks;
    uint32_t *groups; /* indexes in import->groups, by id of ranks */
    size_t group_cap;
};

static struct rkt_import_group *add_group(struct rkt_import_state *import)
{
    struct rkt_import_group group = {.info = {.source = (uint32_t)import->group_count,
                                              .producer = RKT_PRODUCER_KINETO,
                                              .role = RKT_ROLE_RANK,
                                              .gpu_clock = RKT_CLOCK_TRACE}};

    if (!rkt_array_reserve((void **)&import->groups, &import->group_cap, import->group_count + 1,
                           sizeof(*import->groups)))
        return NULL;
    import->groups[import->group_count] = group;
    return &import->groups[import->group_count++];
}

/* The group of a rank, new or known; NULL when memory is out. */
static struct rkt_import_group *group_of_rank(struct plan *plan, uint32_t rank)
{
    uint32_t known = rkt_strtab_count(plan->ranks);
    uint32_t id = rkt_strtab_intern(plan->ranks, (const char *)&rank, sizeof(rank));
    struct rkt_import_group *group;

    if (id != 0 && id < known && plan->groups)
        return &plan->import->groups[plan->groups[id]];
    group = add_group(plan->import);
    if (id == 0 || !group ||
        !rkt_array_reserve((void **)&plan->groups, &plan->group_cap, (size_t)id + 1,
                           sizeof(*plan->groups)))
        return NULL;
    plan->groups[id] = group->info.source;
    return group;
}

static enum rkt_status place(struct plan *plan, struct rkt_import_item *item, struct rkt_error *err)
{
    struct rkt_import_group *group = item->peek.has_rank && !item->is_sqlite
                                         ? group_of_rank(plan, item->peek.rank)
                                         : add_group(plan->import);

    if (!group || !rkt_array_reserve((void **)&group->items, &group->cap, group->count + 1,
                                     sizeof(struct rkt_import_item *)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the files of a rank");
    group->items[group->count++] = item;
    return RKT_OK;
}

/* ---- the files of a group ---- */

static int64_t begin_of(const struct rkt_import_item *item)
{
    int64_t begin_ns;

    return rkt_add_i64(item->peek.base_ns, item->peek.first_ns, &begin_ns) ? begin_ns : INT64_MAX;
}

static int by_time(const void *a, const void *b)
{
    const struct rkt_import_item *x = *(struct rkt_import_item *const *)a;
    const struct rkt_import_item *y = *(struct rkt_import_item *const *)b;
    int64_t x_ns = begin_of(x);
    int64_t y_ns = begin_of(y);

    if (x_ns != y_ns)
        return x_ns < y_ns ? -1 : 1;
    return (x > y) - (x < y); /* as they were given */
}

/*
 * Do both begin with the same event? By what it is, where it ran and its job time; a cut file may
 * have lost its base, then by the stamp alone.
 */
static bool begin_alike(const struct rkt_import_item *a, const struct rkt_import_item *b)
{
    if (!a->peek.has_first || !b->peek.has_first || a->peek.first_mark != b->peek.first_mark)
        return false;
    if (a->peek.has_base && b->peek.has_base)
        return begin_of(a) == begin_of(b);
    return a->peek.first_ns == b->peek.first_ns;
}

static enum rkt_status find_extent(struct rkt_import_item *item, struct rkt_error *err)
{
    struct rkt_import_extent *extent = &item->extent;
    struct rkt_text_source *source = NULL;
    enum rkt_status status;

    if (extent->is_known)
        return RKT_OK;
    status = rkt_text_source_open(item->path->path, &source, err);
    if (status == RKT_OK)
        status = rkt_text_source_sum(source, &extent->bytes, &extent->checksum, err);
    if (status == RKT_OK)
        extent->is_damaged = rkt_text_source_damage(source)->is_damaged;
    extent->is_known = status == RKT_OK;
    rkt_text_source_close(source);
    return status;
}

/* Best first. Without a base a file has no place among files that have one, however long. */
static int by_worth(const void *a, const void *b)
{
    const struct rkt_import_item *x = *(struct rkt_import_item *const *)a;
    const struct rkt_import_item *y = *(struct rkt_import_item *const *)b;

    if (x->peek.has_base != y->peek.has_base)
        return x->peek.has_base ? -1 : 1;
    if (x->extent.bytes != y->extent.bytes)
        return x->extent.bytes > y->extent.bytes ? -1 : 1;
    if (x->extent.is_damaged != y->extent.is_damaged)
        return x->extent.is_damaged ? 1 : -1;
    return (x > y) - (x < y); /* as they were given */
}

static void skip(struct rkt_import_item *item, const struct rkt_import_item *kept)
{
    const struct rkt_import_extent *have = &item->extent;
    const struct rkt_import_extent *best = &kept->extent;
    const char *reason = " and is no longer than that";

    if (have->bytes == best->bytes && have->checksum == best->checksum)
        reason = ": a copy of that trace";
    else if (have->bytes < best->bytes)
        reason = " and is shorter";
    else if (have->bytes > best->bytes)
        reason = " and, unlike that, has no base time";
    item->file->is_skipped = true;
    rkt_import_add_note(item->file, "begins with the same event as %.300s%s", kept->path->path,
                        reason);
}

/* Of files that begin with the same event the one that holds most stays. */
static void drop_copies(struct rkt_import_group *group)
{
    size_t kept = 0;

    qsort(group->items, group->count, sizeof(struct rkt_import_item *), by_worth);
    for (size_t i = 0; i < group->count; i++) {
        size_t k = 0;

        while (k < kept && !begin_alike(group->items[k], group->items[i]))
            k++;
        if (k < kept)
            skip(group->items[i], group->items[k]);
        else
            group->items[kept++] = group->items[i];
    }
    group->count = kept;
}

static enum rkt_status find_extents(struct rkt_import_group *group, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 1; i < group->count; i++) {
        for (size_t k = 0; k < i && status == RKT_OK; k++) {
            if (!begin_alike(group->items[i], group->items[k]))
                continue;
            status = find_extent(group->items[i], err);
            if (status == RKT_OK)
                status = find_extent(group->items[k], err);
        }
    }
    return status;
}

static enum rkt_status order_windows(struct rkt_import_group *group, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < group->count && status == RKT_OK; i++)
        status = find_base(group->items[i], err);
    if (status == RKT_OK)
        status = find_extents(group, err);
    if (status == RKT_OK)
        drop_copies(group);
    qsort(group->items, group->count, sizeof(struct rkt_import_item *), by_time);
    return status;
}

enum rkt_status rkt_import_plan(struct rkt_import_state *import, struct rkt_error *err)
{
    struct plan plan = {.import = import, .ranks = rkt_strtab_create()};
    enum rkt_status status = RKT_OK;

    if (!plan.ranks)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of ranks");
    for (size_t i = 0; i < import->item_count && status == RKT_OK; i++) {
        peek_at(import, &import->items[i]);
        status = place(&plan, &import->items[i], err);
    }
    rkt_strtab_destroy(plan.ranks);
    free(plan.groups);
    for (size_t i = 0; i < import->group_count && status == RKT_OK; i++) {
        if (import->groups[i].count > 1)
            status = order_windows(&import->groups[i], err);
    }
    return status;
}

void rkt_import_plan_release(struct rkt_import_state *import)
{
    for (size_t i = 0; i < import->group_count; i++)
        free(import->groups[i].items);
    free(import->groups);
}
