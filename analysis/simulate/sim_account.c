/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_account.h"

#include <stdlib.h>

struct computes {
    const struct rkt_sim_span *items;
    size_t count;
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The part of [start, end) in which compute runs. */
static int64_t overlap_ns(const struct computes *computes, struct rkt_sim_span span)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < computes->count; i++) {
        const struct rkt_sim_span *compute = &computes->items[i];
        int64_t from_ns = later(span.start_ns, compute->start_ns);
        int64_t to_ns = compute->end_ns < span.end_ns ? compute->end_ns : span.end_ns;

        if (to_ns > from_ns)
            sum_ns += to_ns - from_ns;
    }
    return sum_ns;
}

static void add_bucket(const struct computes *computes, struct rkt_sim_span span,
                       struct rkt_sim_step *truth)
{
    int64_t backward_end_ns =
        computes->count > 0 ? computes->items[computes->count - 1].end_ns : span.end_ns;

    truth->buckets_ns += span.end_ns - span.start_ns;
    truth->hidden_ns += overlap_ns(computes, span);
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

void rkt_sim_account(const struct rkt_sim_span *computes, size_t compute_count,
                     struct rkt_sim_meeting *meetings, size_t meeting_count,
                     struct rkt_sim_step *truth)
{
    const struct computes compute = {computes, compute_count};
    int64_t end_ns = INT64_MIN;

    qsort(meetings, meeting_count, sizeof(*meetings), compare_starts);
    for (size_t i = 0; i < meeting_count; i++) {
        struct rkt_sim_span span = next_of_union(meetings[i].span, &end_ns);

        truth->comm_ns += span.end_ns - span.start_ns;
        truth->overlap_ns += overlap_ns(&compute, span);
        if (meetings[i].is_bucket)
            add_bucket(&compute, meetings[i].span, truth);
    }
    end_ns = INT64_MIN;
    qsort(meetings, meeting_count, sizeof(*meetings), compare_releases);
    for (size_t i = 0; i < meeting_count; i++) {
        struct rkt_sim_span span = {meetings[i].release_ns, meetings[i].span.end_ns};

        span = next_of_union(span, &end_ns);
        truth->transfer_ns += span.end_ns - span.start_ns - overlap_ns(&compute, span);
    }
}
