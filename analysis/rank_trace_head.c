/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/rank_trace_parts.h"

/* What a rank flushes first: a batch of each kind of record, of some threads. */
#define HEAD_BATCHES 8u

/* The kinds whose records are in the arrays that first_ns is of. */
static const uint8_t KINDS[] = {RKT_EVENT_KERNEL, RKT_EVENT_MEMCPY, RKT_EVENT_MEMSET,
                                RKT_EVENT_GRAPH,  RKT_EVENT_API,    RKT_EVENT_RANGE,
                                RKT_EVENT_BUCKET, RKT_EVENT_COUNTER};

static void find_first(struct rkt_rank_trace *trace, const struct rkt_raw_trace *raw)
{
    trace->first_ns = RKT_TIME_UNKNOWN;
    for (size_t k = 0; k < sizeof(KINDS); k++) {
        const struct rkt_raw_events *list = &raw->by_kind[KINDS[k]];

        for (size_t i = 0; i < list->count; i++) {
            int64_t start_ns;
            int64_t end_ns;

            if (rkt_rank_trace_times(trace, rkt_raw_event(list, i), &start_ns, &end_ns, NULL) &&
                (trace->first_ns == RKT_TIME_UNKNOWN || start_ns < trace->first_ns))
                trace->first_ns = start_ns;
        }
    }
}

enum rkt_status rkt_rank_trace_load_head(struct rkt_store_reader *reader, size_t position,
                                         struct rkt_rank_trace **trace_out, struct rkt_error *err)
{
    static const struct rkt_raw_filter FIRST = {.batch_count = HEAD_BATCHES};
    struct rkt_raw_trace raw = {0};
    struct rkt_rank_trace *trace = calloc(1, sizeof(*trace));
    enum rkt_status status;

    if (!trace)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a rank's trace");
    status = rkt_raw_trace_load(reader, position, &FIRST, &raw, trace, err);
    if (status == RKT_OK)
        status = rkt_rank_trace_find_middle(trace, &raw, err);
    if (status == RKT_OK)
        find_first(trace, &raw);
    rkt_raw_trace_release(&raw);
    if (status != RKT_OK) {
        rkt_rank_trace_destroy(trace);
        return status;
    }
    *trace_out = trace;
    return RKT_OK;
}
