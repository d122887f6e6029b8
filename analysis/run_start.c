/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/run_start.h"

/* The clocks' rates differ by far less than one in a hundred: each round leaves that much. */
#define ROUNDS 6

static bool is_aligned(const struct rkt_rank_trace *trace)
{
    return !trace->clock || rkt_clock_map_state(trace->clock) != RKT_ALIGN_UNALIGNED;
}

enum rkt_status rkt_find_run_start(struct rkt_store_reader *reader,
                                   const struct rkt_candidates *candidates,
                                   int64_t *job_start_ns_out, struct rkt_error *err)
{
    int64_t first_ns = RKT_TIME_UNKNOWN;

    for (size_t i = 0; i < candidates->count; i++) {
        struct rkt_rank_trace *head;
        enum rkt_status status =
            rkt_rank_trace_load_head(reader, candidates->items[i].position, &head, err);

        if (status != RKT_OK)
            return status;
        if (is_aligned(head) && head->first_ns != RKT_TIME_UNKNOWN) {
            int64_t job_ns = rkt_rank_trace_job_ns(head, head->first_ns);

            if (first_ns == RKT_TIME_UNKNOWN || job_ns < first_ns)
                first_ns = job_ns;
        }
        rkt_rank_trace_destroy(head);
    }
    *job_start_ns_out = first_ns;
    return RKT_OK;
}

int64_t rkt_time_since_start(const struct rkt_rank_trace *trace, int64_t job_start_ns,
                             int64_t after_ns)
{
    int64_t rank_ns = trace->first_ns;

    if (after_ns == INT64_MAX)
        return INT64_MAX;
    if (rank_ns == RKT_TIME_UNKNOWN)
        return 0;
    if (!is_aligned(trace) || job_start_ns == RKT_TIME_UNKNOWN)
        return rank_ns + after_ns;
    for (int i = 0; i < ROUNDS; i++)
        rank_ns += job_start_ns + after_ns - rkt_rank_trace_job_ns(trace, rank_ns);
    return rank_ns;
}
