/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_work.h"

#include "analysis/arrival.h"
#include "analysis/lane.h"
#include "analysis/measure.h"
#include "analysis/stages.h"
#include "common/align_at.h"
#include "common/checked.h"

void rkt_loaded_rank_release(struct rkt_loaded_rank *loaded)
{
    rkt_rank_trace_destroy(loaded->trace);
    rkt_interval_set_release(&loaded->exposed);
    rkt_name_times_destroy(loaded->names);
    *loaded = (struct rkt_loaded_rank){0};
}

static bool is_cut_short(const struct rkt_store_source *source)
{
    return !source->has_end || source->end.cut_short || source->end.reason == RKT_END_SIGNALED ||
           source->end.reason == RKT_END_LOST;
}

enum rkt_status rkt_rank_prepare(const struct rkt_analysis_options *options,
                                 struct rkt_rank_trace *trace, struct rkt_arena *arena,
                                 struct rkt_rank_result *rank, struct rkt_error *err)
{
    enum rkt_status status = rkt_find_steps(trace, options, arena, rank, err);

    if (status == RKT_OK && options && options->selection) {
        if (!rkt_part_is_read(options->selection, trace, rank))
            return RKT_AGAIN;
        rkt_select_part(options->selection, trace, rank);
    }
    return status == RKT_OK ? rkt_find_phases(trace, rank, err) : status;
}

/* What mapping its stamps to the clock of the alignment adds, and what the alignment itself
 * jumps. */
static int64_t own_bound_ns(const struct rkt_rank_result *rank)
{
    const struct rkt_align_info *align = &rank->trace->source.align;
    int64_t start_ns, end_ns, unused_ns, own_ns;

    if (rank->bound_ns < 0)
        return rank->bound_ns;
    (void)rkt_clock_map_to_raw(rank->trace->clock, rank->run.start_ns, &start_ns, &unused_ns);
    (void)rkt_clock_map_to_raw(rank->trace->clock, rank->run.end_ns, &end_ns, &unused_ns);
    own_ns = rank->bound_ns - rkt_align_worst(align, start_ns, end_ns).bound_ns;
    return rkt_add_i64(own_ns, rkt_align_jumps_ns(align, start_ns, end_ns), &own_ns) &&
                   own_ns < rank->bound_ns && own_ns >= 0
               ? own_ns
               : rank->bound_ns;
}

enum rkt_status rkt_rank_work(const struct rkt_analysis_options *options,
                              struct rkt_loaded_rank *loaded, struct rkt_arena *arena,
                              struct rkt_rank_result *rank, struct rkt_error *err)
{
    struct rkt_rank_trace *trace = loaded->trace;
    enum rkt_status status;

    rank->trace = trace;
    rank->align_state = rkt_clock_map_state(trace->clock);
    rank->align_flags = rkt_clock_map_flags(trace->clock);
    if (options && options->only_matches)
        return RKT_OK;
    status = rkt_rank_prepare(options, trace, arena, rank, err);
    if (status == RKT_OK)
        status = rkt_measure_rank(rank, &loaded->exposed, arena, err);
    if (status == RKT_OK)
        status = rkt_name_times_create(rank, &loaded->names, err);
    if (status == RKT_OK)
        status = rkt_find_arrivals(trace, err);
    if (status == RKT_OK)
        status = rkt_lane_find(trace, rank, err);
    rkt_measure_end(rank);
    if (status != RKT_OK)
        return status;
    rank->exposed = &loaded->exposed;
    rank->names = loaded->names;
    rank->is_cut_short = is_cut_short(&trace->source);
    rank->bound_ns = rkt_clock_map_worst_bound(trace->clock, rank->run.start_ns, rank->run.end_ns,
                                               &rank->likely_ns);
    rank->own_bound_ns = own_bound_ns(rank);
    return RKT_OK;
}
