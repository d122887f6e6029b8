/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "analysis/load.h"
#include "analysis/stages.h"

#define LIST_BYTES_MAX 256u

/* Files that are named; of more only the number is said. */
#define SHARDS_NAMED_MAX 4u

/* A list of ranks as text, "3, 5 to 7"; cut with "..." where it grows too long. */
struct rank_list {
    char text[LIST_BYTES_MAX];
    size_t used;
    uint32_t count; /* of ranks, listed or not */
};

static void list_span(struct rank_list *list, uint32_t first, uint32_t end)
{
    const char *comma = list->used > 0 ? ", " : "";
    size_t room = sizeof(list->text) - list->used;
    int written;

    list->count += end - first;
    if (room == 0)
        return;
    if (room < 40) /* less than any span and the mark may need */
        written = snprintf(list->text + list->used, room, "%s...", comma);
    else if (end - first == 1)
        written = snprintf(list->text + list->used, room, "%s%u", comma, first);
    else
        written = snprintf(list->text + list->used, room, "%s%u to %u", comma, first, end - 1);
    list->used = room < 40 ? sizeof(list->text) : list->used + (size_t)written;
}

/* Numbers below `end` that no rank has. */
static void list_missing(const struct rkt_result *result, uint32_t end, struct rank_list *list)
{
    uint32_t next = 0;

    for (size_t i = 0; i < result->rank_count && next < end; i++) {
        uint32_t rank = result->ranks[i].rank < end ? result->ranks[i].rank : end;

        if (rank > next)
            list_span(list, next, rank);
        next = rank + 1;
    }
    if (next < end)
        list_span(list, next, end);
}

static enum rkt_status note_unread(const struct rkt_store_shard *shard, struct rkt_result *result,
                                   struct rkt_arena *arena, struct rkt_error *err)
{
    return rkt_add_note(result, arena, 1, err, "file %s of %s is left out: %s", shard->info.file,
                        shard->info.host[0] != '\0' ? shard->info.host : "an unknown host",
                        shard->problem);
}

enum rkt_status rkt_load_shard_notes(const struct rkt_store_reader *reader,
                                     struct rkt_result *result, struct rkt_arena *arena,
                                     struct rkt_error *err)
{
    uint32_t unread_count = rkt_store_reader_health(reader)->unread_shard_count;
    enum rkt_status status = RKT_OK;
    uint32_t named_count = 0;

    if (rkt_store_reader_run(reader)->is_part)
        status = rkt_add_note(result, arena, 1, err,
                              "this is one of the run's files: only the ranks in it are here");
    for (size_t i = 0; i < rkt_store_reader_shard_count(reader) && status == RKT_OK &&
                       named_count < SHARDS_NAMED_MAX;
         i++) {
        const struct rkt_store_shard *shard = rkt_store_reader_shard(reader, i);

        if (shard->is_read)
            continue;
        status = note_unread(shard, result, arena, err);
        named_count++;
    }
    if (status == RKT_OK && unread_count > named_count)
        status = rkt_add_note(result, arena, 1, err,
                              "%u more files of the run are left out: 'ranktrace info' names them",
                              unread_count - named_count);
    return status;
}

static enum rkt_status note_missing(struct rkt_result *result, struct rkt_arena *arena,
                                    struct rkt_error *err)
{
    struct rank_list missing = {0};

    if (result->rank_count == 0)
        return rkt_add_note(result, arena, 1, err, "the timeline holds no training process");
    list_missing(result, result->expected_rank_count, &missing);
    if (missing.count == 0)
        return RKT_OK;
    return rkt_add_note(result, arena, 1, err,
                        "%u of %u ranks are missing (%s): every number is over those that are here",
                        missing.count, result->expected_rank_count, missing.text);
}

static enum rkt_status note_stamps(struct rkt_result *result, size_t position,
                                   struct rkt_arena *arena, struct rkt_error *err)
{
    const struct rkt_rank_trace *trace = result->ranks[position].trace;
    uint32_t rank = result->ranks[position].rank;
    enum rkt_status status = RKT_OK;

    if (trace->left_out_count > 0)
        status = rkt_add_note(result, arena, 1, err,
                              "rank %u: %llu records with impossible times were left out", rank,
                              (unsigned long long)trace->left_out_count);
    if (status == RKT_OK && trace->unmapped_count > 0)
        status = rkt_add_note(result, arena, 1, err,
                              "rank %u: %llu records are of a clock (%s is the rank's) that no "
                              "clock record maps, and were left out",
                              rank, (unsigned long long)trace->unmapped_count,
                              rkt_clock_name((enum rkt_clock_id)trace->clock_id));
    if (status == RKT_OK && trace->early_count > 0)
        status = rkt_add_note(result, arena, 1, err,
                              "rank %u: %zu pieces of GPU work start before their own launch; "
                              "device and host times do not fit there",
                              rank, trace->early_count);
    if (status == RKT_OK && trace->hidden_count > 0)
        status = rkt_add_note(result, arena, 1, err,
                              "rank %u: after %zu launches of CUDA graphs the device worked on for "
                              "%.3f ms without a record, as where nodes repeat (while): busy time "
                              "is a lower bound, and some idle time is none",
                              rank, trace->hidden_count, (double)trace->hidden_ns / 1e6);
    return status;
}

static enum rkt_status note_end(struct rkt_result *result, size_t position, struct rkt_arena *arena,
                                struct rkt_error *err)
{
    const struct rkt_rank_result *rank = &result->ranks[position];
    const struct rkt_end_info *end = &rank->trace->source.end;

    if (!rank->is_cut_short)
        return RKT_OK;
    if (!rank->trace->source.has_end)
        return rkt_add_note(result, arena, 1, err,
                            "rank %u: its records stop without an end; the last may be missing",
                            rank->rank);
    if (end->reason == RKT_END_SIGNALED)
        return rkt_add_note(result, arena, 1, err,
                            "rank %u: ended by signal %d; its last records may be missing",
                            rank->rank, end->signal_number);
    return rkt_add_note(
        result, arena, 1, err, "rank %u: %s; its last records may be missing", rank->rank,
        end->reason == RKT_END_LOST ? "contact was lost" : "it ended without closing capture");
}

static enum rkt_status note_loss(struct rkt_result *result, size_t position,
                                 enum rkt_loss_reason reason, struct rkt_arena *arena,
                                 struct rkt_error *err)
{
    uint32_t rank = result->ranks[position].rank;
    uint64_t count = result->ranks[position].trace->losses[reason];

    if (count == 0)
        return RKT_OK;
    if (reason == RKT_LOSS_NAMES_FULL)
        return rkt_add_note(result, arena, 1, err,
                            "rank %u: %llu records have no name, as the names filled their memory "
                            "(names with a number in each?)",
                            rank, (unsigned long long)count);
    return rkt_add_note(result, arena, 1, err, "rank %u: %llu records were lost (%s)", rank,
                        (unsigned long long)count, rkt_loss_reason_name(reason));
}

static enum rkt_status note_losses(struct rkt_result *result, size_t position,
                                   struct rkt_arena *arena, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < RKT_LOSS_REASONS_MAX && status == RKT_OK; i++)
        status = note_loss(result, position, (enum rkt_loss_reason)i, arena, err);
    return status;
}

/* What was recorded less closely than it might have been. */
static enum rkt_status note_capture(struct rkt_result *result, size_t position,
                                    struct rkt_arena *arena, struct rkt_error *err)
{
    const struct rkt_rank_trace *trace = result->ranks[position].trace;
    uint32_t rank = result->ranks[position].rank;
    enum rkt_status status = RKT_OK;

    if (trace->capture_off_ns > 0)
        status =
            rkt_add_note(result, arena, 1, err,
                         "rank %u: GPU work was not recorded for %.3f s, as another tool had "
                         "CUPTI, or CUPTI was in trouble; steps in that time are in no statistic",
                         rank, (double)trace->capture_off_ns / 1e9);
    if (status == RKT_OK && trace->is_nccl_by_nvtx)
        status =
            rkt_add_note(result, arena, 0, err,
                         "rank %u: NCCL was seen through its NVTX ranges only (it is older than "
                         "2.23, or another tool has its profiler): without sequence numbers, "
                         "sizes in bytes",
                         rank);
    if (status == RKT_OK && trace->whole_graph_count > 0)
        status = rkt_add_note(result, arena, 1, err,
                              "rank %u: %zu launches of CUDA graphs were recorded as one piece "
                              "each; what ran inside counts as compute, collectives too",
                              rank, trace->whole_graph_count);
    return status;
}

/* What recording cost, in one line: it is much the same on all ranks. */
static enum rkt_status note_overhead(struct rkt_result *result, struct rkt_arena *arena,
                                     struct rkt_error *err)
{
    int64_t least_ns = INT64_MAX;
    int64_t most_ns = 0;

    for (size_t i = 0; i < result->rank_count; i++) {
        int64_t overhead_ns = result->ranks[i].trace->overhead_ns;

        if (overhead_ns > 0 && overhead_ns < least_ns)
            least_ns = overhead_ns;
        most_ns = overhead_ns > most_ns ? overhead_ns : most_ns;
    }
    if (most_ns == 0)
        return RKT_OK;
    return rkt_add_note(result, arena, 0, err,
                        "tracing cost %.3f to %.3f ms of a rank's time, as CUPTI says",
                        (double)least_ns / 1e6, (double)most_ns / 1e6);
}

enum rkt_status rkt_load_notes(struct rkt_result *result, struct rkt_arena *arena,
                               struct rkt_error *err)
{
    enum rkt_status status = note_missing(result, arena, err);

    for (size_t i = 0; i < result->rank_count && status == RKT_OK; i++) {
        status = note_end(result, i, arena, err);
        if (status == RKT_OK)
            status = note_losses(result, i, arena, err);
        if (status == RKT_OK)
            status = note_stamps(result, i, arena, err);
        if (status == RKT_OK)
            status = note_capture(result, i, arena, err);
    }
    if (status == RKT_OK)
        status = note_overhead(result, arena, err);
    return status;
}
