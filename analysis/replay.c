/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/replay.h"

#include <stdlib.h>

#include "analysis/replay_parts.h"

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_other(const struct rkt_replay_inputs *inputs, size_t rank)
{
    return inputs->other_ns && inputs->is_other[rank];
}

/*
 * By how much less work the lane's bound by its host is nearer. Idle time is the host's work and
 * not the lane's, but not to the last: where both have less of it, that is the same.
 */
static int64_t bound_shift_ns(const struct rkt_replay_inputs *inputs, size_t at)
{
    int64_t lane_ns = inputs->own_ns[at] - inputs->other_ns[at];
    int64_t host_ns = 0;

    if (inputs->hosts[at].own_ns != RKT_REPLAY_UNKNOWN)
        host_ns = inputs->hosts[at].own_ns - inputs->other_host_ns[at];
    if (lane_ns > 0 && host_ns > 0)
        return later(lane_ns, host_ns);
    if (lane_ns < 0 && host_ns < 0)
        return -later(-lane_ns, -host_ns);
    return lane_ns + host_ns;
}

/* When the lane has done its own work of the item; its host lets it do so no earlier. */
static int64_t own_end_ns(const struct rkt_replay *replay, const struct rkt_replay_inputs *inputs,
                          size_t at, uint32_t rank)
{
    int64_t end_ns = replay->lane_ns[rank] + rkt_replay_own_of(inputs, at, rank);
    int64_t bound_ns;

    if (!inputs->hosts || inputs->hosts[at].bound_ns == RKT_REPLAY_UNKNOWN ||
        replay->host_ns[rank] == RKT_REPLAY_UNKNOWN)
        return end_ns;
    bound_ns = replay->host_ns[rank] + inputs->hosts[at].bound_ns;
    if (is_other(inputs, rank))
        bound_ns -= bound_shift_ns(inputs, at);
    return later(end_ns, bound_ns);
}

/* After the lane has. */
static void run_host(struct rkt_replay *replay, const struct rkt_replay_inputs *inputs, size_t at,
                     uint32_t rank)
{
    const struct rkt_replay_host *host = &inputs->hosts[at];
    bool is_one = is_other(inputs, rank);
    bool waits = host->wait_back > 0 && (!is_one || inputs->others_wait);
    int64_t *now_ns = &replay->host_ns[rank];

    if (host->lead_ns == RKT_REPLAY_UNKNOWN)
        return;
    if (*now_ns == RKT_REPLAY_UNKNOWN || host->own_ns == RKT_REPLAY_UNKNOWN ||
        (waits && host->wait_back > at - replay->graph.first_item[rank])) {
        *now_ns = replay->after_ns[at] - host->lead_ns; /* as far ahead as in the run */
        return;
    }
    *now_ns += is_one ? inputs->other_host_ns[at] : host->own_ns;
    if (waits)
        *now_ns = later(*now_ns, replay->after_ns[at - host->wait_back] + host->wait_ns);
}

static void run_item(struct rkt_replay *replay, const struct rkt_replay_inputs *inputs, size_t at,
                     int64_t *ends_out)
{
    const struct rkt_replay_item *item = &replay->graph.items[at];
    uint32_t rank = replay->order.rank_of_item[at];
    int64_t now_ns = own_end_ns(replay, inputs, at, rank);
    int64_t *step_end_ns;

    replay->own_end_ns[at] = now_ns;

    switch ((enum rkt_replay_kind)item->kind) {
    case RKT_REPLAY_WORK:
        break;
    case RKT_REPLAY_POST:
        replay->post_ns[item->part] = now_ns;
        break;
    case RKT_REPLAY_JOIN:
        now_ns = later(now_ns, replay->end_ns[item->part]);
        break;
    case RKT_REPLAY_STEP_END:
        step_end_ns = &ends_out[replay->order.step_of_item[at] * replay->graph.rank_count + rank];
        *step_end_ns = later(*step_end_ns, now_ns);
        break;
    }
    replay->lane_ns[rank] = now_ns;
    replay->after_ns[at] = now_ns;
    if (inputs->hosts)
        run_host(replay, inputs, at, rank);
}

static void run_event(struct rkt_replay *replay, const struct rkt_replay_inputs *inputs,
                      size_t event, int64_t *ends_out)
{
    const struct rkt_replay_graph *graph = &replay->graph;
    int64_t transfer_ns = inputs->transfer_ns ? inputs->transfer_ns[event] : 0;
    int64_t given_ns = INT64_MIN;

    for (size_t p = graph->first_part[event]; p < graph->first_part[event + 1]; p++) {
        replay->end_ns[p] = rkt_replay_ready_of(replay, p);
        if (graph->parts[p].gives)
            given_ns = later(given_ns, replay->end_ns[p]);
    }
    for (size_t p = graph->first_part[event]; p < graph->first_part[event + 1]; p++) {
        const struct rkt_replay_part *part = &graph->parts[p];
        size_t step = replay->order.step_of_item[replay->order.post_of_part[p]];
        int64_t *step_end_ns = &ends_out[step * graph->rank_count + part->rank];

        if (part->takes)
            replay->end_ns[p] = later(replay->end_ns[p], given_ns);
        replay->end_ns[p] += transfer_ns;
        *step_end_ns = later(*step_end_ns, replay->end_ns[p]);
    }
}

void rkt_replay_run(struct rkt_replay *replay, const struct rkt_replay_inputs *inputs,
                    int64_t *ends_out)
{
    size_t rank_count = replay->graph.rank_count;
    size_t end_count = replay->graph.step_count * rank_count;

    for (size_t r = 0; r < rank_count; r++) {
        replay->lane_ns[r] = rkt_replay_start_of(inputs, r);
        replay->host_ns[r] = RKT_REPLAY_UNKNOWN;
    }
    for (size_t i = 0; i < end_count; i++)
        ends_out[i] = replay->lane_ns[i % rank_count];
    for (size_t i = 0; i < replay->order.count; i++) {
        struct rkt_replay_op op = replay->order.ops[i];

        if (op.is_event)
            run_event(replay, inputs, op.index, ends_out);
        else
            run_item(replay, inputs, op.index, ends_out);
    }
    for (size_t i = rank_count; i < end_count; i++)
        ends_out[i] = later(ends_out[i], ends_out[i - rank_count]);
}

void rkt_replay_destroy(struct rkt_replay *replay)
{
    if (!replay)
        return;
    rkt_replay_order_release(&replay->order);
    free(replay->lane_ns);
    free(replay->host_ns);
    free(replay->own_end_ns);
    free(replay->after_ns);
    free(replay->post_ns);
    free(replay->end_ns);
    free(replay);
}

enum rkt_status rkt_replay_create(const struct rkt_replay_graph *graph,
                                  struct rkt_replay **replay_out, struct rkt_error *err)
{
    struct rkt_replay *replay = calloc(1, sizeof(*replay));
    size_t item_count = graph->first_item[graph->rank_count];
    size_t part_count = graph->first_part[graph->event_count];
    enum rkt_status status;

    if (!replay)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a replay");
    replay->graph = *graph;
    replay->lane_ns = calloc(graph->rank_count + 1, sizeof(*replay->lane_ns));
    replay->host_ns = calloc(graph->rank_count + 1, sizeof(*replay->host_ns));
    replay->own_end_ns = calloc(item_count + 1, sizeof(*replay->own_end_ns));
    replay->after_ns = calloc(item_count + 1, sizeof(*replay->after_ns));
    replay->post_ns = calloc(part_count + 1, sizeof(*replay->post_ns));
    replay->end_ns = calloc(part_count + 1, sizeof(*replay->end_ns));
    if (replay->lane_ns && replay->host_ns && replay->own_end_ns && replay->after_ns &&
        replay->post_ns && replay->end_ns)
        status = rkt_replay_order_init(&replay->order, graph, err);
    else
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to replay %zu items", item_count);
    if (status != RKT_OK) {
        rkt_replay_destroy(replay);
        return status;
    }
    *replay_out = replay;
    return RKT_OK;
}
