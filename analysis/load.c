/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/load.h"

#include <stdlib.h>

#include "analysis/candidates.h"
#include "analysis/run_start.h"
#include "analysis/share.h"
#include "analysis/stages.h"
#include "analysis/trace_keeper.h"
#include "common/clock_redo.h"

struct loading {
    struct rkt_store_reader *reader;
    const struct rkt_analysis_options *options;
    struct rkt_work_rules rules;
    struct rkt_loaded_ranks *loaded;
    struct rkt_result *result;
    struct rkt_arena *arena;
    struct rkt_candidates candidates;
    size_t *owners; /* by rank of the candidates; NULL: no team */
};

void rkt_loaded_ranks_release(struct rkt_loaded_ranks *loaded)
{
    for (size_t i = 0; i < loaded->count; i++)
        rkt_loaded_rank_release(&loaded->items[i]);
    free(loaded->items);
    *loaded = (struct rkt_loaded_ranks){0};
}

static void add_damage(struct rkt_read_damage *to, const struct rkt_read_damage *damage)
{
    to->damaged_frames += damage->damaged_frames;
    to->skipped_bytes += damage->skipped_bytes;
    to->unknown_frames += damage->unknown_frames;
    to->unknown_keys += damage->unknown_keys;
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

/* Loads all candidates of a rank, keeps the main process. Which of several that is shows only when
 * they are read whole. */
static enum rkt_status load_rank(struct loading *loading, const struct rkt_candidate_rank *of,
                                 struct rkt_work_rules rules, struct rkt_loaded_rank *loaded,
                                 struct rkt_error *err)
{
    if (of->end - of->first > 1)
        rules.selection = NULL;
    for (size_t i = of->first; i < of->end; i++) {
        size_t position = loading->candidates.items[i].position;
        struct rkt_rank_trace *trace;
        enum rkt_status status =
            rkt_rank_trace_load(loading->reader, position, &rules, &trace, err);

        if (status != RKT_OK)
            return status;
        for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++)
            loaded->event_count += trace->source.event_counts[kind];
        add_damage(&loaded->damage, &trace->damage);
        if (loaded->trace && !is_better(trace, loaded->trace)) {
            rkt_rank_trace_destroy(trace);
            continue;
        }
        rkt_rank_trace_destroy(loaded->trace);
        loaded->trace = trace;
        loaded->source = position;
    }
    return RKT_OK;
}

static bool is_member(const struct loading *loading)
{
    return loading->owners && rkt_team_place(loading->options->team) > 0;
}

/* What the selected part needs, and all where that turns out not to be enough. */
static enum rkt_status load_and_work(struct loading *loading, size_t index, struct rkt_arena *arena,
                                     struct rkt_error *err)
{
    const struct rkt_candidate_rank *of = &loading->candidates.ranks[index];
    struct rkt_rank_result *rank = &loading->result->ranks[index];
    struct rkt_loaded_rank *loaded = &loading->loaded->items[index];
    struct rkt_work_rules rules = loading->rules;
    enum rkt_status status = RKT_AGAIN;

    while (status == RKT_AGAIN) {
        struct rkt_read_damage damage = loaded->damage; /* each is told once */

        rkt_loaded_rank_release(loaded);
        loaded->damage = damage;
        *rank = (struct rkt_rank_result){.rank = of->rank};
        status = load_rank(loading, of, rules, loaded, err);
        if (status == RKT_OK)
            status = rkt_rank_work(loading->options, loaded, arena, rank, err);
        rules.selection = NULL;
    }
    return status;
}

/* All that concerns one rank; where it is for the lead, it goes there and is let go of. */
static enum rkt_status work_on_rank(struct loading *loading, size_t index, struct rkt_arena *arena,
                                    struct rkt_error *err)
{
    struct rkt_rank_result *rank = &loading->result->ranks[index];
    struct rkt_loaded_rank *loaded = &loading->loaded->items[index];
    enum rkt_status status = load_and_work(loading, index, arena, err);

    if (status == RKT_OK && !loading->owners)
        return rkt_trace_keeper_add(loading->result->keeper, loaded->source, loaded->trace, err);
    if (status == RKT_OK)
        status = rkt_rank_trace_thin(loaded->trace, err);
    if (status == RKT_OK && is_member(loading))
        status =
            rkt_share_give(loading->options->team, &loading->candidates, index, loaded, rank, err);
    return status;
}

static enum rkt_status work_alone(struct loading *loading, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < loading->candidates.rank_count && status == RKT_OK; i++)
        status = work_on_rank(loading, i, loading->arena, err);
    return status;
}

/* RKT_END: its share is done, or nobody needs it any more. */
static enum rkt_status work_as_member(struct loading *loading, struct rkt_error *err)
{
    size_t place = rkt_team_place(loading->options->team);
    enum rkt_status status = RKT_OK;
    struct rkt_arena arena; /* of the rank that is worked on */

    rkt_arena_init(&arena, loading->arena->limit_bytes);
    for (size_t i = 0; i < loading->candidates.rank_count && status == RKT_OK; i++) {
        if (loading->owners[i] != place)
            continue;
        status = work_on_rank(loading, i, &arena, err);
        rkt_loaded_rank_release(&loading->loaded->items[i]);
        rkt_arena_reset(&arena);
    }
    rkt_arena_release(&arena);
    return status == RKT_OK ? RKT_END : status;
}

static enum rkt_status take_from_members(struct loading *loading, bool waits, struct rkt_error *err)
{
    const struct rkt_shared_ranks into = {.loaded = loading->loaded->items,
                                          .ranks = loading->result->ranks,
                                          .owners = loading->owners,
                                          .arena = loading->arena};

    return rkt_share_take(loading->options->team, &loading->candidates, waits, &into, err);
}

/* What the reader of this process says of sources, for a rank that another one read. */
static enum rkt_status set_sources(struct loading *loading, struct rkt_error *err)
{
    for (size_t i = 0; i < loading->candidates.rank_count; i++) {
        struct rkt_loaded_rank *loaded = &loading->loaded->items[i];
        const struct rkt_store_source *source =
            loaded->trace ? rkt_store_reader_source(loading->reader, loaded->source) : NULL;

        if (!source)
            return rkt_fail(err, RKT_ERR_INTERNAL, "process %zu left rank %u out",
                            loading->owners[i], loading->candidates.ranks[i].rank);
        if (loading->owners[i] != 0)
            loaded->trace->source = *source;
    }
    return RKT_OK;
}

static enum rkt_status work_as_lead(struct loading *loading, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < loading->candidates.rank_count && status == RKT_OK; i++) {
        if (loading->owners[i] == 0)
            status = work_on_rank(loading, i, loading->arena, err);
        if (status == RKT_OK && loading->owners[i] == 0)
            status = take_from_members(loading, false, err);
        if (status == RKT_END) /* all have given their end */
            status = RKT_OK;
    }
    if (status == RKT_OK)
        status = take_from_members(loading, true, err);
    return status == RKT_END ? set_sources(loading, err) : status;
}

static enum rkt_status work(struct loading *loading, struct rkt_error *err)
{
    struct rkt_team *team = loading->options ? loading->options->team : NULL;
    size_t count = loading->candidates.rank_count;
    enum rkt_status status;

    loading->loaded->items = calloc(count + 1, sizeof(*loading->loaded->items));
    loading->loaded->count = count;
    loading->result->ranks = RKT_ARENA_ARRAY(loading->arena, struct rkt_rank_result, count + 1);
    if (!loading->loaded->items || !loading->result->ranks)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu ranks", count);
    for (size_t i = 0; i < count; i++)
        loading->result->ranks[i].rank = loading->candidates.ranks[i].rank;
    loading->result->rank_count = count;
    if (!team)
        return work_alone(loading, err);
    loading->owners = calloc(count + 1, sizeof(*loading->owners));
    if (!loading->owners)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu ranks", count);
    status = rkt_share_deal(&loading->candidates, rkt_team_size(team), loading->owners, err);
    if (status != RKT_OK)
        return status;
    return is_member(loading) ? work_as_member(loading, err) : work_as_lead(loading, err);
}

/* ---- notes and counts ---- */

static enum rkt_status note_unknown_ranks(struct loading *loading, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < loading->candidates.count && status == RKT_OK; i++) {
        const struct rkt_candidate *item = &loading->candidates.items[i];
        const struct rkt_source_info *info =
            &rkt_store_reader_source(loading->reader, item->position)->info;

        if (!info->rank_known && info->file[0] != '\0')
            status = rkt_add_note(loading->result, loading->arena, 1, err,
                                  "the rank of %s is not in the timeline; it is shown as rank %u",
                                  info->file, item->rank);
        else if (!info->rank_known)
            status =
                rkt_add_note(loading->result, loading->arena, 1, err,
                             "process %llu on %s did not know its rank; it is shown as rank "
                             "%u",
                             (unsigned long long)info->pid,
                             info->host[0] != '\0' ? info->host : "an unknown host", item->rank);
    }
    return status;
}

static enum rkt_status note_further_processes(struct loading *loading, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < loading->candidates.rank_count && status == RKT_OK; i++) {
        const struct rkt_candidate_rank *of = &loading->candidates.ranks[i];
        const struct rkt_store_source *taken =
            rkt_store_reader_source(loading->reader, loading->loaded->items[i].source);

        if (of->end - of->first > 1)
            status =
                rkt_add_note(loading->result, loading->arena, 1, err,
                             "%zu processes carried rank %u; process %llu is taken, the "
                             "others are in no number",
                             of->end - of->first, of->rank, (unsigned long long)taken->info.pid);
    }
    return status;
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
    if (loading->candidates.other_attempt_count == 0)
        return RKT_OK;
    return rkt_add_note(
        loading->result, loading->arena, 1, err,
        "the job was restarted: the numbers are of its last attempt, restart %u; %zu "
        "processes of earlier attempts are in no number",
        loading->candidates.attempt, loading->candidates.other_attempt_count);
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

/* Damage that other processes met with in the sources that they read. */
static enum rkt_status set_health(struct loading *loading, struct rkt_error *err)
{
    struct rkt_store_health *health = RKT_ARENA_ARRAY(loading->arena, struct rkt_store_health, 1);
    struct rkt_read_damage sum = {0};

    if (!health)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the health of a store");
    for (size_t i = 0; loading->owners && i < loading->candidates.rank_count; i++) {
        if (loading->owners[i] != 0)
            add_damage(&sum, &loading->loaded->items[i].damage);
    }
    *health = *rkt_store_reader_health(loading->reader); /* final once all is read */
    health->frame_count -= sum.damaged_frames;
    health->damaged_frames += sum.damaged_frames;
    health->skipped_bytes += sum.skipped_bytes;
    health->unknown_frames += sum.unknown_frames;
    health->unknown_keys += sum.unknown_keys;
    loading->result->health = health;
    return RKT_OK;
}

static void count_all(struct loading *loading)
{
    struct rkt_result *result = loading->result;
    size_t count = rkt_store_reader_source_count(loading->reader);

    for (size_t i = 0; i < count; i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(loading->reader, i);
        bool is_rank = source->info.role == RKT_ROLE_RANK;

        for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT && !is_rank; kind++)
            result->event_count += source->event_counts[kind];
        if (is_rank && source->info.world_size > result->expected_rank_count)
            result->expected_rank_count = source->info.world_size;
    }
    if (result->run->rank_count > 0)
        result->expected_rank_count = result->run->rank_count;
    if (result->selection && result->selection->rank_span_count > 0)
        result->expected_rank_count = 0; /* those that were asked for are all here */
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct rkt_rank_trace *trace = result->ranks[i].trace;

        result->event_count += loading->loaded->items[i].event_count;
        for (unsigned reason = 0; reason < RKT_LOSS_REASONS_MAX; reason++)
            result->loss_count += rkt_loss_is_of_records(reason) ? trace->losses[reason] : 0;
    }
}

/* Ranks that are not selected are not read, but for the run's start. */
static enum rkt_status find_candidates(struct loading *loading, struct rkt_error *err)
{
    struct rkt_selection *selection = loading->options ? loading->options->selection : NULL;
    struct rkt_candidates *candidates = &loading->candidates;
    enum rkt_status status = rkt_candidates_find(loading->reader, candidates, err);

    loading->result->selection = selection;
    loading->result->rank_count_in_all = candidates->rank_count;
    if (status != RKT_OK || !selection)
        return status;
    if (selection->has_time)
        status = rkt_find_run_start(loading->reader, candidates, &selection->job_start_ns, err);
    return status == RKT_OK ? rkt_candidates_select(candidates, selection, err) : status;
}

/* In the order in which a reader of the notes expects them: the store, the job, its ranks. */
static enum rkt_status load(struct loading *loading, struct rkt_error *err)
{
    enum rkt_status status =
        rkt_load_shard_notes(loading->reader, loading->result, loading->arena, err);

    if (status == RKT_OK)
        status = find_candidates(loading, err);
    if (status == RKT_OK)
        status = note_unknown_ranks(loading, err);
    if (status == RKT_OK)
        status = note_attempts(loading, err);
    if (status == RKT_OK)
        status = work(loading, err);
    if (status == RKT_OK)
        status = rkt_load_check_part(loading->result, err);
    if (status == RKT_OK)
        status = note_further_processes(loading, err);
    if (status == RKT_OK)
        status = load_others(loading, err);
    if (status == RKT_OK)
        status = set_health(loading, err);
    if (status != RKT_OK)
        return status;
    count_all(loading);
    status = rkt_load_part_notes(loading->options, loading->result, loading->arena, err);
    return status == RKT_OK ? rkt_load_notes(loading->result, loading->arena, err) : status;
}

enum rkt_status rkt_load_ranks(struct rkt_store_reader *reader,
                               const struct rkt_analysis_options *options,
                               struct rkt_loaded_ranks *loaded, struct rkt_result *result,
                               struct rkt_arena *arena, struct rkt_error *err)
{
    struct loading loading = {
        .reader = reader,
        .options = options,
        .rules = {.comm_kernel_regex = options ? options->comm_kernel : NULL,
                  .only_matches = options && options->only_matches,
                  .selection = options ? options->selection : NULL,
                  .step_range = options ? options->step_range : NULL},
        .loaded = loaded,
        .result = result,
        .arena = arena,
    };
    enum rkt_status status;

    result->run = rkt_store_reader_run(reader);
    status = rkt_clock_redo_missing(reader, err);
    if (status == RKT_OK)
        status = load(&loading, err);
    rkt_candidates_release(&loading.candidates);
    free(loading.owners);
    return status;
}
