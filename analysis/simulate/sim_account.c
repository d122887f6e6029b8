/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_account.h"

#include <stdlib.h>

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The part of [start, end) in which compute runs. */
static int64_t overlap_ns(const struct rkt_sim_log *log, struct rkt_sim_span span)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < log->work_count; i++) {
        const struct rkt_sim_span *run = &log->works[i].run;
        int64_t from_ns = later(span.start_ns, run->start_ns);
        int64_t to_ns = run->end_ns < span.end_ns ? run->end_ns : span.end_ns;

        if (to_ns > from_ns && rkt_sim_is_compute(log->works[i].name))
            sum_ns += to_ns - from_ns;
    }
    return sum_ns;
}

/* Of compute; that of none: where the span ends. */
static int64_t last_end_ns(const struct rkt_sim_log *log, struct rkt_sim_span span)
{
    for (size_t i = log->work_count; i > 0; i--) {
        if (rkt_sim_is_compute(log->works[i - 1].name))
            return log->works[i - 1].run.end_ns;
    }
    return span.end_ns;
}

static void add_bucket(const struct rkt_sim_log *log, struct rkt_sim_span span,
                       struct rkt_sim_step *truth)
{
    int64_t backward_end_ns = last_end_ns(log, span);

    truth->buckets_ns += span.end_ns - span.start_ns;
    truth->hidden_ns += overlap_ns(log, span);
    truth->tail_ns += later(span.end_ns, backward_end_ns) - later(span.start_ns, backward_end_ns);
}

static int compare_starts(const void *a, const void *b)
{
    const struct rkt_sim_meeting *x = a;
    const struct rkt_sim_meeting *y = b;

    return (x->span.start_ns > y->span.start_ns) - (x->span.start_ns < y->span.start_ns);
}

static int compare_releases(const void *a, const void *b)
{
    const struct rkt_sim_meeting *x = a;
    const struct rkt_sim_meeting *y = b;

    return (x->release_ns > y->release_ns) - (x->release_ns < y->release_ns);
}

/* Of the union of spans that come in order of their starts: `from_ns` is the end of the last. */
static struct rkt_sim_span next_of_union(struct rkt_sim_span span, int64_t *from_ns)
{
    span.start_ns = later(span.start_ns, *from_ns);
    span.end_ns = later(span.end_ns, span.start_ns);
    *from_ns = later(*from_ns, span.end_ns);
    return span;
}

void rkt_sim_account(const struct rkt_sim_log *log, struct rkt_sim_meeting *meetings,
                     size_t meeting_count, struct rkt_sim_step *truth)
{
    int64_t end_ns = INT64_MIN;

    qsort(meetings, meeting_count, sizeof(*meetings), compare_starts);
    for (size_t i = 0; i < meeting_count; i++) {
        struct rkt_sim_span span = next_of_union(meetings[i].span, &end_ns);

        truth->comm_ns += span.end_ns - span.start_ns;
        truth->overlap_ns += overlap_ns(log, span);
        if (meetings[i].is_bucket)
            add_bucket(log, meetings[i].span, truth);
    }
    end_ns = INT64_MIN;
    qsort(meetings, meeting_count, sizeof(*meetings), compare_releases);
    for (size_t i = 0; i < meeting_count; i++) {
        struct rkt_sim_span span = {meetings[i].release_ns, meetings[i].span.end_ns};

        span = next_of_union(span, &end_ns);
        truth->transfer_ns += span.end_ns - span.start_ns - overlap_ns(log, span);
    }
}
