/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of CUDA graphs that ran on when their last recorded kernel had ended. Of a node that the
 * device repeats (while) the first turn alone is recorded, so what follows looks like idle time, in
 * which the host waits, or has launched the next work already:
 *
 *     graph      |==a==|==b==|e . . turns that are not recorded . . |
 *     host     launch |s0        cudaStreamSynchronize              r|          hidden: r - max(e, s0)
 *     or the next work                                              |x===|       hidden: x - max(e, l1)
 */
#include "analysis/rank_trace_parts.h"
#include "analysis/time_find.h"

#define HIDDEN_NS_MIN 1000000 /* so long nothing else holds work up after a graph, as a rule */
#define CALLS_LOOKED_AT 64    /* that began last before the gap's end */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How long a call waited for the device in [e, x). */
static int64_t waited_ns(const struct rkt_rank_trace *trace, int64_t e, int64_t x)
{
    int64_t most_ns = 0;
    size_t i;

    if (trace->call_count == 0)
        return 0;
    i = rkt_time_find(&trace->calls->start_ns, trace->call_count, sizeof(*trace->calls), x);
    for (size_t looked = 0; i > 0 && looked < CALLS_LOOKED_AT; looked++) {
        const struct rkt_call *call = &trace->calls[--i];

        if (call->call_class == RKT_CALL_BLOCKING)
            most_ns = later(most_ns, earlier(call->end_ns, x) - later(call->start_ns, e));
    }
    return most_ns;
}

/* `next` NULL: nothing runs after the graph. */
static void check_gap(struct rkt_rank_trace *trace, int64_t e, const struct rkt_work *next,
                      int64_t kernels_ns)
{
    int64_t x = next ? next->start_ns : INT64_MAX;
    int64_t hidden_ns = waited_ns(trace, e, x);

    if (next && next->launch_start_ns != RKT_TIME_UNKNOWN)
        hidden_ns = later(hidden_ns, x - later(e, next->launch_end_ns));
    if (hidden_ns < HIDDEN_NS_MIN || hidden_ns < kernels_ns)
        return;
    trace->hidden_count++;
    if (__builtin_add_overflow(trace->hidden_ns, hidden_ns, &trace->hidden_ns))
        trace->hidden_ns = INT64_MAX;
}

void rkt_rank_trace_find_hidden(struct rkt_rank_trace *trace)
{
    const struct rkt_work *last = NULL; /* that ends last so far */
    int64_t kernels_ns = 0;             /* of the graph that it is of, without a gap between */

    trace->hidden_count = 0;
    trace->hidden_ns = 0;
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (last && work->start_ns - HIDDEN_NS_MIN >= last->end_ns) {
            if (last->from_graph && !last->is_whole_graph)
                check_gap(trace, last->end_ns, work, kernels_ns);
            kernels_ns = 0;
        }
        if (work->from_graph &&
            __builtin_add_overflow(kernels_ns, work->end_ns - work->start_ns, &kernels_ns))
            kernels_ns = INT64_MAX;
        if (!last || work->end_ns > last->end_ns)
            last = work;
    }
    if (last && last->from_graph && !last->is_whole_graph)
        check_gap(trace, last->end_ns, NULL, kernels_ns);
}
