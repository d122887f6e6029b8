/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     main thread   input | forward | backward        |waits|optimizer
 *     buckets                          |---b0---|
 *                                            |-----b1-----|
 *     lane            own                P   P        waits J   own
 */
#include "analysis/host_view.h"
#include "analysis/lane_parts.h"
#include "analysis/layer.h"

/* Input counts also while a bucket is on its way, which it does not in a host view's parts. */
static enum rkt_status find_input(const struct rkt_rank_trace *trace,
                                  struct rkt_interval_set *input)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < trace->range_count && status == RKT_OK; i++) {
        const struct rkt_range *range = &trace->ranges[i];

        if (range->type == RKT_RANGE_INPUT)
            status = rkt_interval_set_add(input, range->start_ns, range->end_ns);
    }
    rkt_interval_set_normalise(input);
    return status;
}

static enum rkt_status find_pieces(const struct rkt_rank_trace *trace, int64_t start_ns,
                                   int64_t end_ns, struct rkt_lane_draft *draft)
{
    struct rkt_host_view *view = NULL;
    struct rkt_interval_set input = {0};
    enum rkt_status status = rkt_host_view_create(trace, &view, NULL);

    if (status == RKT_OK)
        status = find_input(trace, &input);
    if (status == RKT_OK) {
        struct rkt_layer layers[2] = {{&view->compute, 0}, {&input, 0}};

        for (int64_t time_ns = start_ns, next_ns; time_ns < end_ns && status == RKT_OK;
             time_ns = next_ns) {
            uint32_t active;

            next_ns = end_ns;
            active = rkt_layers_active(layers, 2, time_ns, &next_ns);
            status = rkt_lane_add_piece(draft, time_ns, next_ns,
                                        active & 1u   ? RKT_CAUSE_COMPUTE
                                        : active & 2u ? RKT_CAUSE_INPUT
                                                      : RKT_CAUSE_HOST);
        }
    }
    rkt_host_view_destroy(view);
    rkt_interval_set_release(&input);
    return status;
}

/* Steps and buckets are both in order of time: *step only goes on. RKT_INDEX_NONE outside. */
static uint32_t step_at(const struct rkt_rank_result *rank, uint32_t *step, int64_t time_ns)
{
    while (*step < rank->step_count && rank->steps[*step].window.end_ns <= time_ns)
        ++*step;
    if (*step == rank->step_count || time_ns < rank->steps[*step].window.start_ns)
        return RKT_INDEX_NONE;
    return *step;
}

static enum rkt_status post_buckets(const struct rkt_rank_trace *trace,
                                    const struct rkt_rank_result *rank,
                                    struct rkt_lane_draft *draft)
{
    enum rkt_status status = RKT_OK;
    uint32_t at = 0;

    for (uint32_t i = 0; i < trace->bucket_count && status == RKT_OK; i++) {
        int64_t start_ns = trace->buckets[i].start_ns;
        uint32_t step = step_at(rank, &at, start_ns);

        if (step != RKT_INDEX_NONE)
            status = rkt_lane_add_mark(
                draft, (struct rkt_lane_mark){
                           .at_ns = start_ns, .step = step, .work = i, .kind = RKT_REPLAY_POST});
    }
    return status;
}

/* Of the buckets that were handed over when the wait ended, the one that ends last; of those that
 * ended before it began none. *past only goes on: buckets before it are handed over. */
static uint32_t waited_for(const struct rkt_rank_trace *trace, const struct rkt_range *wait,
                           uint32_t *past)
{
    uint32_t last = RKT_INDEX_NONE;

    while (*past < trace->bucket_count && trace->buckets[*past].start_ns < wait->end_ns)
        ++*past;
    for (uint32_t i = *past; i > 0; i--) {
        const struct rkt_bucket *bucket = &trace->buckets[i - 1];

        if (bucket->end_ns <= wait->start_ns) /* and so have those before it, near enough */
            break;
        if (last == RKT_INDEX_NONE || bucket->end_ns > trace->buckets[last].end_ns)
            last = i - 1;
    }
    return last;
}

static enum rkt_status join_buckets(const struct rkt_rank_trace *trace,
                                    const struct rkt_rank_result *rank,
                                    struct rkt_lane_draft *draft)
{
    enum rkt_status status = RKT_OK;
    int64_t done_ns = INT64_MIN;
    uint32_t past = 0;
    uint32_t at = 0;

    for (size_t i = 0; i < trace->range_count && status == RKT_OK; i++) {
        const struct rkt_range *wait = &trace->ranges[i];
        uint32_t step, bucket;
        int64_t start_ns, end_ns;

        if (wait->type != RKT_RANGE_COMM_WAIT || wait->end_ns <= done_ns)
            continue;
        step = step_at(rank, &at, wait->start_ns);
        bucket = waited_for(trace, wait, &past);
        if (step == RKT_INDEX_NONE || bucket == RKT_INDEX_NONE)
            continue;
        start_ns = wait->start_ns > done_ns ? wait->start_ns : done_ns;
        if (trace->buckets[bucket].start_ns > start_ns)
            start_ns = trace->buckets[bucket].start_ns;
        end_ns = trace->buckets[bucket].end_ns < wait->end_ns ? trace->buckets[bucket].end_ns
                                                              : wait->end_ns;
        done_ns = end_ns;
        status = rkt_lane_add_wait(draft, start_ns, end_ns);
        if (status == RKT_OK)
            status = rkt_lane_add_mark(
                draft, (struct rkt_lane_mark){
                           .at_ns = end_ns, .step = step, .work = bucket, .kind = RKT_REPLAY_JOIN});
    }
    return status;
}

enum rkt_status rkt_lane_draft_host(const struct rkt_rank_trace *trace,
                                    const struct rkt_rank_result *rank,
                                    struct rkt_lane_draft *draft, int64_t *ends_ns)
{
    enum rkt_status status = find_pieces(trace, rank->steps[0].window.start_ns,
                                         rank->steps[rank->step_count - 1].window.end_ns, draft);

    for (size_t s = 0; s < rank->step_count; s++)
        ends_ns[s] = rank->steps[s].window.end_ns;
    if (status == RKT_OK)
        status = post_buckets(trace, rank, draft);
    return status == RKT_OK ? join_buckets(trace, rank, draft) : status;
}
