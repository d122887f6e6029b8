/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_trace_parts.h"

#include <stdlib.h>

#include "analysis/steady.h"

/* Work may outlast everything else in the trace by its length, or by this much in a short one. */
#define ABSURD_AFTER_NS 1000000000ll

#define MIDDLE_SAMPLES 4096u

/* A stream does one thing after the other: so many that begin and end inside a long one show that
 * its end is wrong. */
#define INSIDE_COUNT 8u
#define INSIDE_TRIED 4096u

/* Starts of some events of a kind, spread over all of them; returns how many. */
static size_t sample_starts(const struct rkt_rank_trace *trace, const struct rkt_raw_events *list,
                            int64_t *samples, size_t cap)
{
    size_t stride = list->count / cap + 1;
    size_t count = 0;

    for (size_t i = 0; i < list->count && count < cap; i += stride) {
        const struct rkt_event *event = rkt_raw_event(list, i);

        if (event->start_ns != 0 &&
            rkt_clock_map_to_rank(trace->clock, (enum rkt_clock_id)event->clock_id,
                                  (struct rkt_local_time){event->start_ns}, &samples[count], NULL))
            count++;
    }
    return count;
}

enum rkt_status rkt_rank_trace_find_middle(struct rkt_rank_trace *trace,
                                           const struct rkt_raw_trace *raw, struct rkt_error *err)
{
    static const uint8_t KINDS[] = {RKT_EVENT_KERNEL, RKT_EVENT_MEMCPY, RKT_EVENT_API,
                                    RKT_EVENT_NCCL,   RKT_EVENT_RANGE,  RKT_EVENT_BUCKET};
    const size_t kind_count = sizeof(KINDS) / sizeof(KINDS[0]);
    int64_t *samples = calloc(kind_count * MIDDLE_SAMPLES, sizeof(*samples));
    size_t count = 0;

    if (!samples)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the middle of a rank's stamps");
    for (size_t i = 0; i < kind_count; i++)
        count += sample_starts(trace, &raw->by_kind[KINDS[i]], samples + count, MIDDLE_SAMPLES);
    trace->middle_ns = count > 0 ? rkt_select_i64(samples, count, count / 2) : RKT_TIME_UNKNOWN;
    free(samples);
    return RKT_OK;
}

/* Is work on the same stream seen to come and go inside this one? */
static bool is_overrun(const struct rkt_rank_trace *trace, size_t index)
{
    const struct rkt_work *work = &trace->works[index];
    size_t end =
        trace->work_count - index > INSIDE_TRIED ? index + INSIDE_TRIED : trace->work_count;
    unsigned inside = 0;

    if (work->end_ns - work->start_ns < ABSURD_AFTER_NS || work->from_graph)
        return false;
    for (size_t i = index + 1; i < end && trace->works[i].start_ns < work->end_ns; i++)
        inside += trace->works[i].stream_id == work->stream_id &&
                  trace->works[i].device_id == work->device_id &&
                  trace->works[i].end_ns < work->end_ns && !trace->works[i].from_graph;
    return inside >= INSIDE_COUNT;
}

/*
 * Work that ends far outside everything else (a right start, an end seconds away) is
 * left out: it would turn the whole window into its own. The last collective of a
 * hung job is long too, but there the host's calls are seen to wait as long. The same for
 * work that the rest of its stream did not wait for.
 */
void rkt_rank_trace_leave_out_endless(struct rkt_rank_trace *trace)
{
    int64_t first_ns = INT64_MAX;
    int64_t last_ns = INT64_MIN;
    int64_t longest_ns = 0;
    int64_t allowed_ns;
    size_t kept = 0;

    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        first_ns = work->start_ns < first_ns ? work->start_ns : first_ns;
        last_ns = work->start_ns > last_ns ? work->start_ns : last_ns;
        longest_ns =
            work->end_ns - work->start_ns > longest_ns ? work->end_ns - work->start_ns : longest_ns;
    }
    for (size_t i = 0; i < trace->call_count; i++) {
        first_ns = trace->calls[i].start_ns < first_ns ? trace->calls[i].start_ns : first_ns;
        last_ns = trace->calls[i].end_ns > last_ns ? trace->calls[i].end_ns : last_ns;
    }
    if (longest_ns < ABSURD_AFTER_NS) /* then none ends so long after the last start */
        return;
    allowed_ns = last_ns - first_ns > ABSURD_AFTER_NS ? last_ns - first_ns : ABSURD_AFTER_NS;
    for (size_t i = 0; i < trace->work_count; i++) {
        if (trace->works[i].end_ns - last_ns > allowed_ns || is_overrun(trace, i))
            continue;
        if (kept < i)
            trace->works[kept] = trace->works[i];
        kept++;
    }
    trace->left_out_count += trace->work_count - kept;
    trace->work_count = kept;
}
