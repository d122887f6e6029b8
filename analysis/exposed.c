/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/exposed.h"

#include <stdlib.h>

#include "analysis/clock_gap.h"
#include "analysis/layer.h"
#include "analysis/measure.h"
#include "common/array.h"

enum rkt_status rkt_exposed_find(const struct rkt_activity *activity,
                                 struct rkt_interval_set *exposed)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < activity->piece_count && status == RKT_OK; i++) {
        const struct rkt_piece *piece = &activity->pieces[i];

        if (piece->part == RKT_PART_COMM_UNSPLIT)
            status = rkt_interval_set_add(exposed, piece->start_ns, piece->end_ns);
    }
    return status;
}

/* ---- the comm kernels of a rank, before and after their release points ---- */

enum layer {
    LAYER_TRANSFER, /* in the order in which they count */
    LAYER_WAIT,
    LAYER_UNSPLIT,
    LAYER_COUNT
};

/* This rank's part in the collective; participants are sorted by rank. */
static const struct rkt_participant *find_participant(const struct rkt_collective *collective,
                                                      uint32_t rank, uint32_t work)
{
    size_t low = 0;
    size_t high = collective->participant_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (collective->participants[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < collective->participant_count && collective->participants[low].rank == rank;
         low++) {
        if (collective->participants[low].work == work)
            return &collective->participants[low];
    }
    return NULL;
}

/* From start to release point; RKT_NA where nothing tells. */
static int64_t wait_of(const struct rkt_result *result, size_t rank, size_t place)
{
    const struct rkt_rank_trace *trace = result->ranks[rank].trace;
    const struct rkt_work *work = &trace->works[place];
    const struct rkt_participant *participant;
    int64_t wait_ns;

    if (work->collective >= result->collective_count)
        return RKT_NA;
    participant = find_participant(&result->collectives[work->collective], (uint32_t)rank,
                                   rkt_rank_trace_whole_index(trace, place));
    if (!participant)
        return RKT_NA;
    wait_ns = rkt_clock_gap_wait_ns(&result->collectives[work->collective], participant);
    if (wait_ns == RKT_NA || wait_ns < 0)
        return wait_ns == RKT_NA ? RKT_NA : 0;
    return wait_ns < work->end_ns - work->start_ns ? wait_ns : work->end_ns - work->start_ns;
}

static enum rkt_status fill_sets(const struct rkt_result *result, size_t rank,
                                 struct rkt_interval_set sets[LAYER_COUNT])
{
    const struct rkt_rank_trace *trace = result->ranks[rank].trace;
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < trace->work_count && status == RKT_OK; i++) {
        const struct rkt_work *work = &trace->works[i];
        int64_t wait_ns;

        if (work->work_class != RKT_WORK_COMM)
            continue;
        wait_ns = wait_of(result, rank, i);
        if (wait_ns == RKT_NA) {
            status = rkt_interval_set_add(&sets[LAYER_UNSPLIT], work->start_ns, work->end_ns);
            continue;
        }
        status = rkt_interval_set_add(&sets[LAYER_WAIT], work->start_ns, work->start_ns + wait_ns);
        if (status == RKT_OK)
            status =
                rkt_interval_set_add(&sets[LAYER_TRANSFER], work->start_ns + wait_ns, work->end_ns);
    }
    for (size_t i = 0; i < LAYER_COUNT; i++)
        rkt_interval_set_normalise(&sets[i]);
    return status;
}

/* ---- the split ---- */

/* `pieces` of the three parts alone: an activity that knows nothing else. */
struct split {
    struct rkt_activity known;
    size_t piece_cap;
    struct rkt_partition sum; /* of the stretches of one window */
};

static enum rkt_status split_interval(struct split *split, struct rkt_layer layers[LAYER_COUNT],
                                      const struct rkt_interval *interval)
{
    struct rkt_activity *known = &split->known;

    for (int64_t time_ns = interval->start_ns, next_ns; time_ns < interval->end_ns;
         time_ns = next_ns) {
        uint8_t part = RKT_PART_COMM_UNSPLIT;
        uint32_t active;

        next_ns = interval->end_ns;
        active = rkt_layers_active(layers, LAYER_COUNT, time_ns, &next_ns);
        if (active & 1u << LAYER_TRANSFER)
            part = RKT_PART_COMM_TRANSFER;
        else if (active & 1u << LAYER_WAIT)
            part = RKT_PART_COMM_WAIT;
        if (!rkt_array_reserve((void **)&known->pieces, &split->piece_cap, known->piece_count + 1,
                               sizeof(*known->pieces)))
            return RKT_ERR_NOMEM;
        known->pieces[known->piece_count++] = (struct rkt_piece){time_ns, next_ns, part};
    }
    return RKT_OK;
}

static enum rkt_status split_all(struct split *split, const struct rkt_result *result, size_t rank)
{
    const struct rkt_interval_set *exposed = result->ranks[rank].exposed;
    struct rkt_interval_set sets[LAYER_COUNT] = {{0}};
    struct rkt_layer layers[LAYER_COUNT];
    enum rkt_status status = fill_sets(result, rank, sets);

    for (size_t i = 0; i < LAYER_COUNT; i++)
        layers[i] = (struct rkt_layer){&sets[i], 0};
    for (size_t i = 0; i < exposed->count && status == RKT_OK; i++)
        status = split_interval(split, layers, &exposed->items[i]);
    for (size_t i = 0; i < LAYER_COUNT; i++)
        rkt_interval_set_release(&sets[i]);
    return status;
}

static enum rkt_status add_stretch(void *ctx, int64_t start_ns, int64_t end_ns)
{
    struct split *split = ctx;
    struct rkt_partition parts;

    rkt_activity_parts_within(&split->known, start_ns, end_ns, &parts);
    rkt_partition_add(&split->sum, &parts);
    return RKT_OK;
}

/* The sum of the stretches since the last window is this one's. */
static void give_to_window(struct split *split, struct rkt_window *window)
{
    window->parts.comm_transfer_ns = split->sum.comm_transfer_ns;
    window->parts.comm_wait_ns = split->sum.comm_wait_ns;
    window->parts.comm_unsplit_ns = split->sum.comm_unsplit_ns;
    split->sum = (struct rkt_partition){0};
}

static void give_to_windows(struct split *split, struct rkt_rank_result *rank)
{
    (void)rkt_each_run_stretch(rank, add_stretch, split);
    give_to_window(split, &rank->run);
    (void)rkt_each_outside_stretch(rank, add_stretch, split);
    give_to_window(split, &rank->outside);
    for (size_t i = 0; i < rank->step_count; i++) {
        struct rkt_window *window = &rank->steps[i].window;

        if (rank->steps[i].is_unrecorded)
            continue;
        (void)add_stretch(split, window->start_ns, window->end_ns);
        give_to_window(split, window);
    }
}

enum rkt_status rkt_split_exposed(struct rkt_result *result, struct rkt_error *err)
{
    struct split split = {0};
    enum rkt_status status = RKT_OK;

    for (size_t r = 0; r < result->rank_count && status == RKT_OK; r++) {
        struct rkt_rank_result *rank = &result->ranks[r];

        if (!rank->exposed || !rank->trace->has_gpu)
            continue;
        split.known.piece_count = 0;
        status = split_all(&split, result, r);
        if (status == RKT_OK)
            give_to_windows(&split, rank);
        else
            rkt_fail(err, status, "no memory for the waits of rank %u", rank->rank);
    }
    free(split.known.pieces);
    return status;
}
