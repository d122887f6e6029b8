/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/load.h"

#include <stdlib.h>

#include "analysis/stages.h"
#include "analysis/trace_keeper.h"
#include "common/clock_redo.h"

/* A source that may be the main process of a rank. */
struct candidate {
    uint32_t rank;
    size_t position; /* in the reader */
};

struct loading {
    struct rkt_store_reader *reader;
    const struct rkt_analysis_options *options;
    struct rkt_work_rules rules;
    struct rkt_loaded_ranks *loaded;
    struct rkt_result *result;
    struct rkt_arena *arena;
    struct candidate *candidates; /* by rank, then in order of source */
    size_t candidate_count;
    uint32_t attempt; /* restart count whose processes are taken */
    size_t other_attempt_count;
};

void rkt_loaded_ranks_release(struct rkt_loaded_ranks *loaded)
{
    for (size_t i = 0; i < loaded->count; i++)
        rkt_loaded_rank_release(&loaded->items[i]);
    free(loaded->items);
    *loaded = (struct rkt_loaded_ranks){0};
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;

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
static bool is_candidate(const struct loading *loading, const struct rkt_store_source *source)
{
    return source->info.role == RKT_ROLE_RANK &&
           (source->has_events ||
            rkt_store_reader_health(loading->reader)->unread_shard_count == 0);
}

/* A process that never knew its rank gets the next number, as a store of one such process does. */
static enum rkt_status collect_candidates(struct loading *loading, struct rkt_error *err)
{
    size_t count = rkt_store_reader_source_count(loading->reader);
    enum rkt_status status = RKT_OK;
    uint32_t next_rank = 0;

    loading->attempt = choose_attempt(loading->reader);
    loading->candidates = calloc(count + 1, sizeof(*loading->candidates));
    if (!loading->candidates)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu sources", count);
    for (size_t i = 0; i < count; i++) {
        const struct rkt_source_info *info = &rkt_store_reader_source(loading->reader, i)->info;

        if (info->role == RKT_ROLE_RANK && info->rank_known && info->rank >= next_rank &&
            info->rank < UINT32_MAX)
            next_rank = info->rank + 1;
    }
    for (size_t i = 0; i < count && status == RKT_OK; i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(loading->reader, i);
        const struct rkt_source_info *info = &source->info;
        struct candidate *to = &loading->candidates[loading->candidate_count];

        if (!is_candidate(loading, source))
            continue;
        if (info->restart_count != loading->attempt) {
            loading->other_attempt_count++;
            continue;
        }
        *to = (struct candidate){info->rank_known ? info->rank : next_rank++, i};
        loading->candidate_count++;
        if (!info->rank_known && info->file[0] != '\0')
            status = rkt_add_note(loading->result, loading->arena, 1, err,
                                  "the rank of %s is not in the timeline; it is shown as rank %u",
                                  info->file, to->rank);
        else if (!info->rank_known)
            status = rkt_add_note(loading->result, loading->arena, 1, err,
                                  "process %llu on %s did not know its rank; it is shown as rank "
                                  "%u",
                                  (unsigned long long)info->pid,
                                  info->host[0] != '\0' ? info->host : "an unknown host", to->rank);
    }
    qsort(loading->candidates, loading->candidate_count, sizeof(*loading->candidates),
          compare_candidates);
    return status;
}

static bool has_step_marks(const struct rkt_rank_trace *trace)
{
    for (size_t i = 0; i < trace->range_count; i++) {
        if (trace->ranges[i].type == RKT_RANGE_STEP)
            return true;
    }
    return false;
}

/*
 * Of processes with one RANK the main one is the first that made a communicator, else the one with
 * step marks, else with most GPU work.
 */
static bool is_better(const struct rkt_rank_trace *trace, const struct rkt_rank_trace *best)
{
    bool trace_has_comm = trace->comm_count > 0;
    bool best_has_comm = best->comm_count > 0;

    if (trace_has_comm != best_has_comm)
        return trace_has_comm;
    if (trace_has_comm)
        return false; /* the first that made one stays */
    if (has_step_marks(trace) != has_step_marks(best))
        return has_step_marks(trace);
    return trace->work_count > best->work_count;
}

/* Loads all candidates of one rank, keeps the main process. */
static enum rkt_status load_rank(struct loading *loading, size_t first, size_t end,
                                 size_t *source_out, struct rkt_error *err)
{
    struct rkt_rank_trace *best = NULL;

    for (size_t i = first; i < end; i++) {
        struct rkt_rank_trace *trace;
        enum rkt_status status = rkt_rank_trace_load(
            loading->reader, loading->candidates[i].position, &loading->rules, &trace, err);

        if (status != RKT_OK) {
            rkt_rank_trace_destroy(best);
            return status;
        }
        if (best && !is_better(trace, best)) {
            rkt_rank_trace_destroy(trace);
            continue;
        }
        rkt_rank_trace_destroy(best);
        best = trace;
        *source_out = loading->candidates[i].position;
    }
    loading->loaded->items[loading->loaded->count++].trace = best;
    if (end - first == 1)
        return RKT_OK;
    return rkt_add_note(loading->result, loading->arena, 1, err,
                        "%zu processes carried rank %u; process %llu is taken, the others are in "
                        "no number",
                        end - first, loading->candidates[first].rank,
                        (unsigned long long)best->source.info.pid);
}

static enum rkt_status load_all(struct loading *loading, struct rkt_error *err)
{
    size_t count = loading->candidate_count;
    struct rkt_result *result = loading->result;

    loading->loaded->items = calloc(count + 1, sizeof(*loading->loaded->items));
    result->ranks = RKT_ARENA_ARRAY(loading->arena, struct rkt_rank_result, count + 1);
    if (!loading->loaded->items || !result->ranks)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu ranks", count);
    for (size_t i = 0, next; i < count; i = next) {
        struct rkt_rank_result *rank = &result->ranks[result->rank_count];
        struct rkt_loaded_rank *loaded = &loading->loaded->items[result->rank_count];
        enum rkt_status status;
        size_t source = 0;

        for (next = i;
             next < count && loading->candidates[next].rank == loading->candidates[i].rank;)
            next++;
        status = load_rank(loading, i, next, &source, err);
        rank->rank = loading->candidates[i].rank;
        result->rank_count++;
        if (status == RKT_OK)
            status = rkt_rank_work(loading->options, loaded, loading->arena, rank, err);
        if (status == RKT_OK)
            status = rkt_trace_keeper_add(result->keeper, source, loaded->trace, err);
        if (status != RKT_OK)
            return status;
    }
    return RKT_OK;
}

struct tally {
    uint64_t loss_count;
};

static enum rkt_status tally_losses(void *ctx, const struct rkt_event *events, size_t count,
                                    struct rkt_error *err)
{
    struct tally *tally = ctx;

    (void)err;
    for (size_t i = 0; i < count; i++)
        tally->loss_count += events[i].kind == RKT_EVENT_LOSS ? events[i].loss.count : 0;
    return RKT_OK;
}

static enum rkt_status note_attempts(struct loading *loading, struct rkt_error *err)
{
    if (loading->other_attempt_count == 0)
        return RKT_OK;
    return rkt_add_note(
        loading->result, loading->arena, 1, err,
        "the job was restarted: the numbers are of its last attempt, restart %u; %zu "
        "processes of earlier attempts are in no number",
        loading->attempt, loading->other_attempt_count);
}

/* Sidecars tell what was lost on the way; helpers are counted, and no more. */
static enum rkt_status load_others(struct loading *loading, struct rkt_error *err)
{
    size_t count = rkt_store_reader_source_count(loading->reader);
    struct tally tally = {0};
    size_t helper_count = 0;

    for (size_t i = 0; i < count; i++) {
        const struct rkt_source_info *info = &rkt_store_reader_source(loading->reader, i)->info;
        enum rkt_status status = RKT_OK;

        helper_count += info->role == RKT_ROLE_HELPER;
        if (info->role == RKT_ROLE_SIDECAR)
            status = rkt_store_reader_walk(loading->reader, info->source, NULL, tally_losses,
                                           &tally, err);
        if (status != RKT_OK)
            return status;
    }
    loading->result->loss_count += tally.loss_count;
    if (helper_count == 0)
        return RKT_OK;
    return rkt_add_note(loading->result, loading->arena, 0, err,
                        "%zu helper processes (compilers, loaders) are in the store and in no "
                        "number",
                        helper_count);
}

static void count_all(struct loading *loading)
{
    struct rkt_result *result = loading->result;
    size_t count = rkt_store_reader_source_count(loading->reader);

    for (size_t i = 0; i < count; i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(loading->reader, i);

        for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++)
            result->event_count += source->event_counts[kind];
        if (source->info.role == RKT_ROLE_RANK &&
            source->info.world_size > result->expected_rank_count)
            result->expected_rank_count = source->info.world_size;
    }
    if (result->run->rank_count > 0)
        result->expected_rank_count = result->run->rank_count;
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct rkt_rank_trace *trace = result->ranks[i].trace;

        for (unsigned reason = 0; reason < RKT_LOSS_REASONS_MAX; reason++)
            result->loss_count += rkt_loss_is_of_records(reason) ? trace->losses[reason] : 0;
    }
}

enum rkt_status rkt_load_ranks(struct rkt_store_reader *reader,
                               const struct rkt_analysis_options *options,
                               struct rkt_loaded_ranks *loaded, struct rkt_result *result,
                               struct rkt_arena *arena, struct rkt_error *err)
{
    struct loading loading = {
        .reader = reader,
        .options = options,
        .rules = {options ? options->comm_kernel : NULL},
        .loaded = loaded,
        .result = result,
        .arena = arena,
    };
    enum rkt_status status;

    result->run = rkt_store_reader_run(reader);
    status = rkt_clock_redo_missing(reader, err);
    if (status == RKT_OK)
        status = rkt_load_shard_notes(reader, result, arena, err);
    if (status == RKT_OK)
        status = collect_candidates(&loading, err);
    if (status == RKT_OK)
        status = note_attempts(&loading, err);
    if (status == RKT_OK)
        status = load_all(&loading, err);
    if (status == RKT_OK)
        status = load_others(&loading, err);
    free(loading.candidates);
    if (status != RKT_OK)
        return status;
    result->health = rkt_store_reader_health(reader); /* final once all is read */
    count_all(&loading);
    return rkt_load_notes(result, arena, err);
}
