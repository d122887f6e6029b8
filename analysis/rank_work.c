/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_work.h"

#include "analysis/arrival.h"
#include "analysis/lane.h"
#include "analysis/measure.h"
#include "analysis/stages.h"

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
    return RKT_OK;
}
