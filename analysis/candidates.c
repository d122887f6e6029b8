/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/candidates.h"

#include <stdbool.h>
#include <stdlib.h>

static int compare_candidates(const void *a, const void *b)
{
    const struct rkt_candidate *x = a;
    const struct rkt_candidate *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

/*
 * An elastic restart starts every rank anew, some as another rank: what its attempts did are
 * different jobs, of which the last one is taken, for all ranks the same.
 */
static uint32_t choose_attempt(const struct rkt_store_reader *reader)
{
    uint32_t last = 0;

    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        const struct rkt_source_info *info = &rkt_store_reader_source(reader, i)->info;

        if (info->role == RKT_ROLE_RANK && info->restart_count > last)
            last = info->restart_count;
    }
    return last;
}

/* Of a process whose events lie in a file that is missing, the index file tells that it was. */
static bool is_candidate(const struct rkt_store_reader *reader,
                         const struct rkt_store_source *source)
{
    return source->info.role == RKT_ROLE_RANK &&
           (source->has_events || rkt_store_reader_health(reader)->unread_shard_count == 0);
}

static uint32_t first_free_rank(const struct rkt_store_reader *reader)
{
    uint32_t next_rank = 0;

    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        const struct rkt_source_info *info = &rkt_store_reader_source(reader, i)->info;

        if (info->role == RKT_ROLE_RANK && info->rank_known && info->rank >= next_rank &&
            info->rank < UINT32_MAX)
            next_rank = info->rank + 1;
    }
    return next_rank;
}

/* A process that never knew its rank gets the next number, as a store of one such process does. */
static void collect(const struct rkt_store_reader *reader, struct rkt_candidates *candidates)
{
    uint32_t next_rank = first_free_rank(reader);

    candidates->attempt = choose_attempt(reader);
    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, i);
        const struct rkt_source_info *info = &source->info;

        if (!is_candidate(reader, source))
            continue;
        if (info->restart_count != candidates->attempt) {
            candidates->other_attempt_count++;
            continue;
        }
        candidates->items[candidates->count++] =
            (struct rkt_candidate){info->rank_known ? info->rank : next_rank++, i};
    }
    qsort(candidates->items, candidates->count, sizeof(*candidates->items), compare_candidates);
}

static void group(const struct rkt_store_reader *reader, struct rkt_candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++) {
        const struct rkt_candidate *item = &candidates->items[i];

        if (i == 0 || item->rank != item[-1].rank)
            candidates->ranks[candidates->rank_count++] =
                (struct rkt_candidate_rank){.rank = item->rank, .first = i};
        candidates->ranks[candidates->rank_count - 1].end = i + 1;
        candidates->ranks[candidates->rank_count - 1].bytes +=
            rkt_store_reader_source_bytes(reader, item->position);
    }
}

enum rkt_status rkt_candidates_find(const struct rkt_store_reader *reader,
                                    struct rkt_candidates *candidates, struct rkt_error *err)
{
    size_t count = rkt_store_reader_source_count(reader);

    *candidates = (struct rkt_candidates){
        .items = calloc(count + 1, sizeof(*candidates->items)),
        .ranks = calloc(count + 1, sizeof(*candidates->ranks)),
    };
    if (!candidates->items || !candidates->ranks)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu sources", count);
    collect(reader, candidates);
    group(reader, candidates);
    return RKT_OK;
}

/* ---- a part of them ---- */

static bool has_rank(const struct rkt_candidates *candidates, uint32_t rank)
{
    for (size_t i = 0; i < candidates->rank_count; i++) {
        if (candidates->ranks[i].rank == rank)
            return true;
    }
    return false;
}

/* A rank of the span that is not there: with all of a long span to look through, the first
 * missing. */
static bool find_missing(const struct rkt_candidates *candidates, const struct rkt_rank_span *span,
                         uint32_t *rank_out)
{
    uint64_t rank = span->first;

    while (rank <= span->last && has_rank(candidates, (uint32_t)rank))
        rank++;
    *rank_out = (uint32_t)rank;
    return rank <= span->last;
}

static enum rkt_status refuse_missing(const struct rkt_candidates *candidates, uint32_t rank,
                                      struct rkt_error *err)
{
    const struct rkt_candidate_rank *ranks = candidates->ranks;
    size_t count = candidates->rank_count;

    if (count == 0)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "option '--ranks': the timeline holds no rank, so no rank %u", rank);
    return rkt_fail(err, RKT_ERR_INVALID,
                    "option '--ranks': there is no rank %u: the timeline holds %zu rank%s, from %u "
                    "to %u",
                    rank, count, count == 1 ? "" : "s", ranks[0].rank, ranks[count - 1].rank);
}

/* Items of a rank are neighbours, in order of ranks, and so they stay. */
static void keep_selected(struct rkt_candidates *candidates, const struct rkt_selection *selection)
{
    size_t rank_count = 0;
    size_t count = 0;

    for (size_t i = 0; i < candidates->rank_count; i++) {
        struct rkt_candidate_rank rank = candidates->ranks[i];
        size_t first = count;

        if (!rkt_selection_has_rank(selection, rank.rank))
            continue;
        for (size_t k = rank.first; k < rank.end; k++)
            candidates->items[count++] = candidates->items[k];
        rank.first = first;
        rank.end = count;
        candidates->ranks[rank_count++] = rank;
    }
    candidates->rank_count = rank_count;
    candidates->count = count;
}

enum rkt_status rkt_candidates_select(struct rkt_candidates *candidates,
                                      const struct rkt_selection *selection, struct rkt_error *err)
{
    for (size_t i = 0; i < selection->rank_span_count; i++) {
        uint32_t missing;

        if (find_missing(candidates, &selection->ranks[i], &missing))
            return refuse_missing(candidates, missing, err);
    }
    keep_selected(candidates, selection);
    return RKT_OK;
}

void rkt_candidates_release(struct rkt_candidates *candidates)
{
    free(candidates->items);
    free(candidates->ranks);
    *candidates = (struct rkt_candidates){0};
}
