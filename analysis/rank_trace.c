/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_trace.h"

#include <stdlib.h>

#include "analysis/rank_trace_parts.h"

enum rkt_status rkt_rank_trace_load(struct rkt_store_reader *reader, size_t position,
                                    const struct rkt_work_rules *rules,
                                    struct rkt_rank_trace **trace_out, struct rkt_error *err)
{
    struct rkt_raw_trace raw = {0};
    struct rkt_rank_trace *trace = calloc(1, sizeof(*trace));
    enum rkt_status status;

    if (!trace)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a rank's trace");
    status = rkt_raw_trace_load_part(reader, position, rules, &raw, trace, err);
    if (status == RKT_OK)
        status = rkt_rank_trace_build(trace, &raw, rules, err);
    if (status == RKT_OK)
        status = rkt_rank_trace_find_windows(trace, &raw.by_kind[RKT_EVENT_WINDOW], err);
    if (status == RKT_OK)
        status = rkt_rank_trace_cut_gaps(trace, &raw.by_kind[RKT_EVENT_LOSS], err);
    if (status == RKT_OK)
        status = rkt_rank_trace_join(trace, &raw.by_kind[RKT_EVENT_SYNC], err);
    if (status == RKT_OK)
        status = rkt_rank_trace_link_ops(trace, &raw.by_kind[RKT_EVENT_NCCL], err);
    if (status == RKT_OK)
        status = rkt_rank_trace_find_all_to_alls(trace, err);
    if (status == RKT_OK)
        rkt_rank_trace_count(trace);
    rkt_raw_trace_release(&raw);
    if (status != RKT_OK) {
        rkt_rank_trace_destroy(trace);
        return status;
    }
    *trace_out = trace;
    return RKT_OK;
}

int64_t rkt_rank_trace_job_ns(const struct rkt_rank_trace *trace, int64_t rank_ns)
{
    return trace->clock ? rkt_clock_map_to_job(trace->clock, rank_ns, NULL).ns : rank_ns;
}

void rkt_rank_trace_destroy(struct rkt_rank_trace *trace)
{
    if (!trace)
        return;
    rkt_clock_map_destroy(trace->clock);
    rkt_strtab_destroy(trace->names);
    free(trace->works);
    free(trace->calls);
    free(trace->ranges);
    free(trace->ops);
    free(trace->buckets);
    free(trace->comms);
    free(trace->named);
    free(trace->shapes);
    free(trace->whole_index);
    free(trace->arrivals);
    free(trace->lane);
    free(trace->open_spans);
    free(trace->gpu.counters);
    free(trace);
}
