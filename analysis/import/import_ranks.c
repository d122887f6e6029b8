/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks and clocks, once all files are read; and what does not fit together. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/import/import_state.h"
#include "common/frame.h"

static int by_rank(const void *a, const void *b)
{
    const struct rkt_import_group *p = *(struct rkt_import_group *const *)a;
    const struct rkt_import_group *q = *(struct rkt_import_group *const *)b;

    return (p->info.rank > q->info.rank) - (p->info.rank < q->info.rank);
}

/* Taken groups whose rank is known, by rank; NULL when memory is out. */
static struct rkt_import_group **list_known(const struct rkt_import_state *import,
                                            size_t *count_out)
{
    struct rkt_import_group **known =
        calloc(import->group_count + 1, sizeof(struct rkt_import_group *));
    size_t count = 0;

    for (size_t i = 0; known && i < import->group_count; i++) {
        if (import->groups[i].is_taken && import->groups[i].info.rank_known)
            known[count++] = &import->groups[i];
    }
    if (known)
        qsort(known, count, sizeof(struct rkt_import_group *), by_rank);
    *count_out = count;
    return known;
}

static enum rkt_status check_ranks(struct rkt_import_group *const *known, size_t count,
                                   struct rkt_error *err)
{
    for (size_t i = 1; i < count; i++) {
        const struct rkt_import_item *one = known[i - 1]->items[0];
        const struct rkt_import_item *other = known[i]->items[0];

        if (known[i]->info.rank == known[i - 1]->info.rank)
            return rkt_fail(err, RKT_ERR_INVALID,
                            "two traces of rank %u: %s (by %s) and %s (by %s): give one per rank, "
                            "or say which rank each is by --rank FILE=N",
                            known[i]->info.rank, one->path->path, one->file->rank_source,
                            other->path->path, other->file->rank_source);
    }
    return RKT_OK;
}

static enum rkt_status append(struct rkt_import_state *import, uint8_t kind, uint32_t source,
                              const uint8_t *raw, size_t raw_bytes, struct rkt_error *err)
{
    if (!import->store.writer)
        return RKT_OK;
    return rkt_store_writer_append_payload(import->store.writer, kind, source, raw, raw_bytes, err);
}

static enum rkt_status append_source(struct rkt_import_state *import,
                                     const struct rkt_source_info *info, struct rkt_error *err)
{
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    size_t bytes = 0;
    enum rkt_status status = rkt_source_info_encode(info, raw, sizeof(raw), &bytes, err);

    return status == RKT_OK ? append(import, RKT_FRAME_SOURCE, info->source, raw, bytes, err)
                            : status;
}

/* Files that say no rank get the lowest ones that are free, in the order given. */
static enum rkt_status give_ranks(struct rkt_import_state *import,
                                  struct rkt_import_group *const *known, size_t known_count,
                                  struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    uint32_t next = 0;
    size_t at = 0;

    for (size_t i = 0; i < import->group_count && status == RKT_OK; i++) {
        struct rkt_import_group *group = &import->groups[i];

        if (!group->is_taken || group->info.rank_known)
            continue;
        for (; at < known_count && known[at]->info.rank == next; at++)
            next++;
        group->info.rank = next++;
        group->info.rank_known = true;
        group->items[0]->file->rank = group->info.rank;
        rkt_import_add_note(group->items[0]->file,
                            "the file says no rank: taken from the order of the files");
        status = append_source(import, &group->info, err);
    }
    return status;
}

static enum rkt_status append_align(struct rkt_import_state *import,
                                    const struct rkt_import_group *group, struct rkt_error *err)
{
    struct rkt_align_knot knot = {.local_ns = 0, .offset_ns = group->offset_ns};
    struct rkt_align_info align = {.source = group->info.source, .knots = &knot, .knot_count = 1};
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    size_t bytes = 0;
    enum rkt_status status;

    align.state = group->is_aligned ? RKT_ALIGN_WALL_CLOCK : RKT_ALIGN_UNALIGNED;
    status = rkt_align_info_encode(&align, raw, sizeof(raw), &bytes, err);
    return status == RKT_OK ? append(import, RKT_FRAME_ALIGN, align.source, raw, bytes, err)
                            : status;
}

enum rkt_status rkt_import_settle_ranks(struct rkt_import_state *import, struct rkt_error *err)
{
    size_t known_count;
    struct rkt_import_group **known = list_known(import, &known_count);
    enum rkt_status status = RKT_OK;

    if (!known)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of ranks");
    status = check_ranks(known, known_count, err);
    if (status == RKT_OK)
        status = give_ranks(import, known, known_count, err);
    free(known);
    for (size_t i = 0; i < import->group_count && status == RKT_OK; i++) {
        if (import->groups[i].is_taken)
            status = append_align(import, &import->groups[i], err);
    }
    return status;
}

/* ---- what does not fit together ---- */

static void warn(struct rkt_import_state *import, const char *line)
{
    char *text = import->report->warning;
    size_t used = strlen(text);

    (void)snprintf(text + used, sizeof(import->report->warning) - used, "%s%s",
                   used > 0 ? "\n" : "", line);
}

static void warn_of_clocks(struct rkt_import_state *import)
{
    size_t taken = 0;
    size_t unaligned = 0;
    char line[256];

    for (size_t i = 0; i < import->group_count; i++) {
        const struct rkt_import_group *group = &import->groups[i];

        taken += group->is_taken;
        unaligned += group->is_taken && !group->is_aligned &&
                     group->items[0]->file->fates[RKT_FATE_STORED] > 0;
    }
    if (unaligned == 0 || taken < 2)
        return;
    (void)snprintf(line, sizeof(line),
                   "%zu of %zu files give no calendar time: their ranks cannot be put on one "
                   "clock with the others",
                   unaligned, taken);
    warn(import, line);
}

/* "1, 4 to 6" of the ranks below `end` that no group has; 0 when none is missing. */
static uint32_t list_missing(struct rkt_import_group *const *known, size_t count, uint32_t end,
                             char *text, size_t text_bytes)
{
    uint32_t missing = 0;
    uint32_t next = 0;
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i <= count && next < end; i++) {
        uint32_t rank = i < count && known[i]->info.rank < end ? known[i]->info.rank : end;
        const char *comma = used > 0 ? ", " : "";

        if (rank > next + 1 && used + 40 < text_bytes)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%u to %u", comma, next,
                                     rank - 1);
        else if (rank > next && used + 40 < text_bytes)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%u", comma, next);
        missing += rank > next ? rank - next : 0;
        next = rank + 1;
    }
    return missing;
}

static uint32_t largest_world(struct rkt_import_group *const *known, size_t count)
{
    uint32_t world = 0;

    for (size_t i = 0; i < count; i++)
        world = known[i]->info.world_size > world ? known[i]->info.world_size : world;
    return world;
}

static void warn_of_gaps(struct rkt_import_state *import, struct rkt_import_group *const *known,
                         size_t count)
{
    uint32_t world = largest_world(known, count);
    uint32_t missing;
    char ranks[256];
    char line[512];

    if (world == 0 && count > 1)
        world = known[count - 1]->info.rank + 1;
    missing = list_missing(known, count, world, ranks, sizeof(ranks));
    if (missing == 0)
        return;
    (void)snprintf(line, sizeof(line),
                   "%u of %u ranks are not among the files: %s. The report is over those that are",
                   missing, world, ranks);
    warn(import, line);
}

/* Files of another job than the most: another number of ranks, or another time altogether. */
static void warn_of_strangers(struct rkt_import_state *import,
                              struct rkt_import_group *const *known, size_t count)
{
    uint32_t world = largest_world(known, count);
    char line[512];

    for (size_t i = 0; i < count; i++) {
        const struct rkt_import_file *file = known[i]->items[0]->file;
        size_t in_touch = 0;
        size_t others = 0;

        if (file->world_size != 0 && file->world_size != world) {
            (void)snprintf(line, sizeof(line),
                           "%.300s says %u ranks, others say %u: is it of another job?", file->path,
                           file->world_size, world);
            warn(import, line);
        } else if (world != 0 && known[i]->info.rank >= world) {
            (void)snprintf(line, sizeof(line), "%.300s is rank %u of %u: is it of another job?",
                           file->path, known[i]->info.rank, world);
            warn(import, line);
        }
        for (size_t k = 0; k < count && in_touch == 0 && k < 64; k++) {
            const struct rkt_import_file *other = known[k]->items[0]->file;

            if (k == i || !other->is_aligned || other->first_ns == 0)
                continue;
            others++;
            in_touch += file->first_ns <= other->last_ns && other->first_ns <= file->last_ns;
        }
        if (!file->is_aligned || file->first_ns == 0 || others == 0 || in_touch > 0)
            continue;
        (void)snprintf(line, sizeof(line),
                       "%.300s has no moment in common with the other files: is it of another run, "
                       "or is its clock off?",
                       file->path);
        warn(import, line);
    }
}

/* The expression says no rank of any file: it was meant to. */
static void warn_of_regex(struct rkt_import_state *import)
{
    const char *odd = NULL;
    size_t odd_bytes = 0;
    char line[512];

    for (size_t i = 0; i < import->item_count; i++) {
        const char *path = import->items[i].path->path;
        size_t bytes = 0;
        const char *part = rkt_rank_names_match(&import->names, path, &bytes);
        uint32_t rank;

        if (part && rkt_rank_names_find(&import->names, path, &rank))
            return;
        if (part && !odd) {
            odd = part;
            odd_bytes = bytes < 100 ? bytes : 100;
        }
    }
    if (odd)
        (void)snprintf(line, sizeof(line),
                       "--rank-regex '%.200s' gave no rank: what it matches, '%.*s', is no number",
                       import->options->rank_regex, (int)odd_bytes, odd);
    else
        (void)snprintf(line, sizeof(line),
                       "--rank-regex '%.200s' gave no rank: it matches no file's path",
                       import->options->rank_regex);
    warn(import, line);
}

void rkt_import_warn(struct rkt_import_state *import)
{
    size_t count;
    struct rkt_import_group **known = list_known(import, &count);

    if (import->names.has_regex)
        warn_of_regex(import);
    warn_of_clocks(import);
    if (!known)
        return;
    warn_of_gaps(import, known, count);
    warn_of_strangers(import, known, count);
    free(known);
}
