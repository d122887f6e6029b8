/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analysis/arrival.h"
#include "analysis/match_bucket.h"
#include "analysis/match_lane.h"
#include "analysis/stages.h"
#include "common/array.h"

/* All comm kernels of all ranks; a rank's stand together by start until they are sorted. */
struct units {
    struct rkt_unit_list list;
    struct rkt_strtab *names;
};

static size_t count_comm_works(const struct rkt_rank_trace *trace)
{
    size_t count = 0;

    for (size_t i = 0; i < trace->work_count; i++)
        count += trace->works[i].work_class == RKT_WORK_COMM;
    return count;
}

/* Arrivals are in the participants by now. */
static void release_units(struct units *units, const struct rkt_result *result)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        free(result->ranks[r].trace->arrivals);
        result->ranks[r].trace->arrivals = NULL;
    }
    rkt_strtab_destroy(units->names);
    free(units->list.items);
}

static enum rkt_status collect_units(struct rkt_result *result, struct units *units,
                                     struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    size_t cap = 1;

    for (size_t r = 0; r < result->rank_count; r++)
        cap += count_comm_works(result->ranks[r].trace);
    units->list.items = calloc(cap, sizeof(*units->list.items));
    units->names = rkt_strtab_create();
    if (units->list.items == NULL || units->names == NULL)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to match %zu collectives", cap);
    for (size_t r = 0; r < result->rank_count && status == RKT_OK; r++) {
        struct rkt_rank_trace *trace = result->ranks[r].trace;

        if (trace->arrivals == NULL)
            status = rkt_find_arrivals(trace, err);
        for (size_t i = 0; i < trace->work_count && status == RKT_OK; i++) {
            trace->works[i].collective = RKT_INDEX_NONE;
            if (trace->works[i].work_class == RKT_WORK_COMM)
                rkt_match_unit_init(trace, (uint32_t)r, (uint32_t)i, units->names,
                                    &units->list.items[units->list.count++]);
        }
    }
    return status;
}

/* Bytes of one operation as busbw in metrics.md counts them: the whole array. */
static uint64_t op_bytes(const struct rkt_op *op, uint32_t comm_size)
{
    const struct rkt_event_nccl *nccl = &op->nccl;
    uint64_t factor = 1;
    uint64_t bytes;

    if (nccl->count == UINT64_MAX)
        return 0;
    if (nccl->func == RKT_NCCL_FUNC_ALLGATHER || nccl->func == RKT_NCCL_FUNC_REDUCESCATTER ||
        (nccl->func == RKT_NCCL_FUNC_ALLTOALL && op->type != RKT_NCCL_KERNEL_INFO))
        factor = comm_size;
    if (__builtin_mul_overflow(nccl->count, rkt_datatype_bytes(nccl->datatype), &bytes) ||
        __builtin_mul_overflow(bytes, factor, &bytes))
        return 0;
    return bytes;
}

/* Of all its operations but receives, or sends: what the rank gives, or takes. */
static uint64_t bytes_without(const struct rkt_rank_trace *trace, const struct rkt_match_unit *unit,
                              enum rkt_nccl_func left_out)
{
    const struct rkt_work *work = &trace->works[unit->work];
    uint64_t sum = 0;

    for (uint32_t i = 0; work->op != RKT_INDEX_NONE && i < work->op_count; i++) {
        const struct rkt_op *op = &trace->ops[work->op + i];

        if (op->nccl.func != left_out &&
            __builtin_add_overflow(sum, op_bytes(op, unit->comm_size), &sum))
            return 0;
    }
    return sum;
}

static enum rkt_match_confidence confidence_of(const struct rkt_match_unit *units, size_t count)
{
    enum rkt_match_confidence confidence = RKT_MATCH_EXACT;

    for (size_t i = 0; i < count; i++) {
        if (!units[i].has_op || units[i].is_ambiguous || units[i].kind == RKT_MATCH_KIND_NAME)
            return RKT_MATCH_WEAK;
        if (units[i].kind != RKT_MATCH_KIND_SEQ)
            confidence = RKT_MATCH_ORDERED;
    }
    return confidence;
}

static void fill_participant(const struct rkt_result *result, const struct rkt_match_unit *unit,
                             struct rkt_participant *to)
{
    const struct rkt_work *work = &result->ranks[unit->rank].trace->works[unit->work];
    const struct rkt_comm_arrival *arrival = &result->ranks[unit->rank].trace->arrivals[unit->work];

    *to = (struct rkt_participant){
        .rank = unit->rank,
        .work = rkt_rank_trace_whole_index(result->ranks[unit->rank].trace, unit->work),
        .bucket = RKT_INDEX_NONE,
        .start_ns = work->start_ns,
        .end_ns = work->end_ns,
        .job_start_ns = unit->start_ns,
        .job_end_ns = unit->end_ns,
        .ready_ns = arrival->ready_ns,
        .late_ns = arrival->late_ns,
        .is_queued = arrival->is_queued,
        .likely_ns = arrival->likely_ns};
}

/* What is known of the operation is taken from the first rank that recorded it. */
static const struct rkt_match_unit *best_informed(const struct rkt_match_unit *units, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (units[i].has_op)
            return &units[i];
    }
    return &units[0];
}

static const char *name_collective(const struct rkt_rank_trace *trace,
                                   const struct rkt_match_unit *unit, struct rkt_arena *arena)
{
    const char *name = rkt_strtab_get(trace->names, trace->works[unit->work].name_id, NULL);

    if (unit->func != RKT_NCCL_FUNC_UNKNOWN)
        return rkt_nccl_func_name(unit->func);
    return rkt_arena_strndup(arena, name, strcspn(name, "("));
}

/* Uneven: what the rank gives or takes that has most to move, which is what all wait for. */
static uint64_t bytes_of_all_to_all(const struct rkt_result *result,
                                    const struct rkt_match_unit *members, size_t count)
{
    uint64_t most = 0;

    for (size_t i = 0; i < count; i++) {
        const struct rkt_rank_trace *trace = result->ranks[members[i].rank].trace;
        uint64_t given = bytes_without(trace, &members[i], RKT_NCCL_FUNC_RECV);
        uint64_t taken = bytes_without(trace, &members[i], RKT_NCCL_FUNC_SEND);

        most = given > most ? given : most;
        most = taken > most ? taken : most;
    }
    return most;
}

/* Who only receives has no bytes: the sender knows them. */
static uint64_t bytes_of_collective(const struct rkt_result *result,
                                    const struct rkt_match_unit *known,
                                    const struct rkt_match_unit *members, size_t count)
{
    uint64_t bytes = bytes_without(result->ranks[known->rank].trace, known, RKT_NCCL_FUNC_RECV);

    if (known->func == RKT_NCCL_FUNC_ALLTOALL)
        return bytes_of_all_to_all(result, members, count);
    for (size_t i = 0; bytes == 0 && i < count; i++)
        bytes =
            bytes_without(result->ranks[members[i].rank].trace, &members[i], RKT_NCCL_FUNC_RECV);
    return bytes;
}

static enum rkt_status add_collective(const struct rkt_result *result,
                                      const struct rkt_match_unit *members, size_t count,
                                      struct rkt_arena *arena, struct rkt_collective_list *list)
{
    const struct rkt_match_unit *known = best_informed(members, count);
    const struct rkt_rank_trace *trace = result->ranks[known->rank].trace;
    const struct rkt_comm *comm =
        known->kind == RKT_MATCH_KIND_NAME ? NULL : rkt_match_find_comm(trace, known->comm_id);
    const struct rkt_work *first = &result->ranks[members->rank].trace->works[members->work];
    struct rkt_participant *participants = RKT_ARENA_ARRAY(arena, struct rkt_participant, count);
    const char *func_name = name_collective(trace, known, arena);

    if (participants == NULL || func_name == NULL ||
        !rkt_array_reserve((void **)&list->items, &list->cap, list->count + 1,
                           sizeof(*list->items)))
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        fill_participant(result, &members[i], &participants[i]);
    list->items[list->count++] = (struct rkt_collective){
        .comm_id = known->kind == RKT_MATCH_KIND_NAME ? 0 : known->comm_id,
        .seq = known->seq != UINT64_MAX ? known->seq : (uint64_t)known->number,
        .bytes = bytes_of_collective(result, known, members, count),
        .func_name = func_name,
        .comm_name = comm == NULL ? "" : rkt_strtab_get(trace->names, comm->name_id, NULL),
        .func = known->func,
        .confidence = (uint8_t)confidence_of(members, count),
        .is_bucket = first->is_bucket != 0,
        .bucket_index = RKT_INDEX_NONE,
        .step = first->step,
        .participants = participants,
        .participant_count = count,
        .expected_count = known->comm_size,
    };
    return RKT_OK;
}

/* Leaves out of [first, last) what has no number or does not fit the first; returns the new end.
 * Records that a sequence number joins belong together whatever else they say. */
static size_t keep_fitting(struct units *units, size_t first, size_t last)
{
    struct rkt_match_unit *items = units->list.items;
    size_t kept = first;

    if (items[first].number == RKT_NUMBER_NONE)
        return first;
    for (size_t i = first; i < last; i++) {
        if (items[i].kind <= RKT_MATCH_KIND_P2P || rkt_match_units_fit(&items[first], &items[i]))
            items[kept++] = items[i];
    }
    return kept;
}

static enum rkt_status group_units(struct units *units, struct rkt_result *result,
                                   struct rkt_arena *arena, struct rkt_collective_list *list)
{
    struct rkt_match_unit *items = units->list.items;
    enum rkt_status status = RKT_OK;

    for (size_t at = 0; at < units->list.count && status == RKT_OK;) {
        size_t next = at + 1;
        size_t kept;

        while (next < units->list.count && rkt_match_compare_keys(&items[at], &items[next]) == 0)
            next++;
        kept = keep_fitting(units, at, next);
        if (kept - at > 1 || (kept - at == 1 && items[at].comm_size == 1))
            status = add_collective(result, &items[at], kept - at, arena, list);
        else
            kept = at;
        result->unmatched_count += next - kept;
        at = next;
    }
    return status;
}

static int compare_collectives(const void *a, const void *b)
{
    const struct rkt_collective *x = a;
    const struct rkt_collective *y = b;

    if (x->job_first_start_ns != y->job_first_start_ns)
        return x->job_first_start_ns < y->job_first_start_ns ? -1 : 1;
    if (x->comm_id != y->comm_id)
        return x->comm_id < y->comm_id ? -1 : 1;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    if (x->participants[0].rank != y->participants[0].rank)
        return x->participants[0].rank < y->participants[0].rank ? -1 : 1;
    return (x->participants[0].work > y->participants[0].work) -
           (x->participants[0].work < y->participants[0].work);
}

static int64_t first_start_ns(const struct rkt_collective *collective)
{
    int64_t first_ns = collective->participants[0].job_start_ns;

    for (size_t i = 1; i < collective->participant_count; i++) {
        if (collective->participants[i].job_start_ns < first_ns)
            first_ns = collective->participants[i].job_start_ns;
    }
    return first_ns;
}

struct bucket_counter {
    uint32_t step;
    uint32_t next_index;
};

/* Points works and buckets at their collective and counts the buckets of each step. */
static enum rkt_status link_works(struct rkt_result *result)
{
    struct bucket_counter *counters = calloc(result->rank_count + 1, sizeof(*counters));

    if (counters == NULL)
        return RKT_ERR_NOMEM;
    for (size_t c = 0; c < result->collective_count; c++) {
        struct rkt_collective *collective = &result->collectives[c];
        struct bucket_counter *counter = &counters[collective->participants[0].rank];

        for (size_t i = 0; i < collective->participant_count; i++) {
            const struct rkt_participant *participant = &collective->participants[i];

            struct rkt_rank_trace *trace = result->ranks[participant->rank].trace;

            if (participant->work != RKT_INDEX_NONE)
                rkt_rank_trace_work(trace, participant->work)->collective = (uint32_t)c;
            else
                trace->buckets[participant->bucket].collective = (uint32_t)c;
        }
        if (!collective->is_bucket || collective->bucket_index != RKT_INDEX_NONE ||
            collective->step == RKT_INDEX_NONE)
            continue;
        if (counter->step != collective->step)
            *counter = (struct bucket_counter){.step = collective->step};
        collective->bucket_index = counter->next_index++;
    }
    free(counters);
    return RKT_OK;
}

static enum rkt_status publish(struct rkt_result *result, struct rkt_arena *arena,
                               const struct rkt_collective_list *list)
{
    result->collectives = RKT_ARENA_ARRAY(arena, struct rkt_collective, list->count + 1);
    if (result->collectives == NULL)
        return RKT_ERR_NOMEM;
    result->collective_count = list->count;
    for (size_t i = 0; i < list->count; i++) {
        result->collectives[i] = list->items[i];
        result->collectives[i].job_first_start_ns = first_start_ns(&list->items[i]);
    }
    qsort(result->collectives, list->count, sizeof(*result->collectives), compare_collectives);
    return link_works(result);
}

enum rkt_status rkt_match_collectives(struct rkt_result *result, struct rkt_arena *arena,
                                      struct rkt_error *err)
{
    struct units units = {0};
    struct rkt_collective_list list = {0};
    enum rkt_status status;

    result->unmatched_count = 0;
    status = collect_units(result, &units, err);
    if (status == RKT_OK)
        status = rkt_match_number_units(result, &units.list, err);
    if (status == RKT_OK)
        status = rkt_match_buckets(result, arena, &list, err);
    if (status == RKT_OK) {
        status = group_units(&units, result, arena, &list);
        if (status == RKT_OK)
            status = publish(result, arena, &list);
        if (status != RKT_OK)
            rkt_fail(err, status, "no memory for %zu collectives", list.count);
    }
    free(list.items);
    release_units(&units, result);
    return status;
}
