/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/finish.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/clock_tree.h"
#include "common/descriptor.h"
#include "common/log.h"
#include "common/run_message.h"

static uint32_t number_of(const struct rkt_finish *finish, int rank, size_t index)
{
    return rkt_source_number((uint32_t)finish->rank_count, (uint32_t)rank, (uint32_t)index);
}

static bool is_lost(const struct rkt_finish *finish, int rank)
{
    return rkt_run_state_of(finish->state, rank) == RKT_PEER_LOST;
}

static enum rkt_status append_end(const struct rkt_finish *finish, int rank, size_t index,
                                  struct rkt_error *err)
{
    struct rkt_end_info end = {
        .reason = is_lost(finish, rank) ? RKT_END_LOST : RKT_END_UNKNOWN,
        .cut_short = true,
    };
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    size_t raw_bytes = 0;
    enum rkt_status status = rkt_end_info_encode(&end, raw, sizeof(raw), &raw_bytes, err);

    if (status != RKT_OK)
        return status;
    return rkt_receiver_append(finish->receiver, RKT_FRAME_END, number_of(finish, rank, index), raw,
                               raw_bytes, err);
}

static enum rkt_status end_open_sources(const struct rkt_finish *finish, int rank,
                                        struct rkt_error *err)
{
    const struct rkt_source_streams *streams = rkt_receiver_streams(finish->receiver);

    for (size_t i = 0; i < rkt_source_streams_count(streams, rank); i++) {
        enum rkt_status status = RKT_OK;

        if (rkt_source_streams_is_open(streams, rank, i))
            status = append_end(finish, rank, i, err);
        if (status != RKT_OK)
            return status;
    }
    return RKT_OK;
}

/* The rank of a lost sidecar's job, -1 where nobody can say: one sidecar may serve many ranks. */
static int32_t lost_job_rank(const struct rkt_finish *finish, int rank)
{
    const struct rkt_peer_info *peer = &finish->peers[rank];

    if (peer->is_known)
        return peer->is_per_node ? -1 : peer->job_rank;
    return finish->peers[0].is_per_node ? -1 : rank;
}

/* Its own source is index 0, its first process index 1. */
static enum rkt_status describe_lost_rank(const struct rkt_finish *finish, int rank,
                                          struct rkt_error *err)
{
    int32_t job_rank = lost_job_rank(finish, rank);
    struct rkt_source_info info = {.source = number_of(finish, rank, 1),
                                   .producer = RKT_PRODUCER_CAPTURE,
                                   .role = RKT_ROLE_RANK,
                                   .rank_known = true,
                                   .rank = (uint32_t)job_rank,
                                   .node = (uint32_t)rank};
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    size_t raw_bytes = 0;
    enum rkt_status status;

    if (!is_lost(finish, rank) || job_rank < 0 ||
        rkt_source_streams_count(rkt_receiver_streams(finish->receiver), rank) > 1)
        return RKT_OK;
    (void)snprintf(info.host, sizeof(info.host), "%s", finish->peers[rank].node.host);
    status = rkt_source_info_encode(&info, raw, sizeof(raw), &raw_bytes, err);
    if (status == RKT_OK)
        status = rkt_receiver_append(finish->receiver, RKT_FRAME_SOURCE, info.source, raw,
                                     raw_bytes, err);
    if (status == RKT_OK)
        status = append_end(finish, rank, 1, err);
    return status;
}

static bool shares_clock(const struct rkt_finish *finish, int a, int b)
{
    return a == b || rkt_node_id_shares_clock(&finish->peers[a].node, &finish->peers[b].node);
}

/* The first rank with this one's clock. */
static uint32_t clock_group_of(const struct rkt_finish *finish, int rank)
{
    int first = 0;

    while (!shares_clock(finish, first, rank))
        first++;
    return (uint32_t)first;
}

static enum rkt_status create_tree(const struct rkt_finish *finish,
                                   struct rkt_clock_tree **tree_out, struct rkt_error *err)
{
    static const struct rkt_clock_params PARAMS = RKT_CLOCK_PARAMS_USUAL;
    struct rkt_clock_node *nodes = calloc((size_t)finish->rank_count, sizeof(*nodes));
    enum rkt_status status;

    if (!nodes)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %d ranks",
                        finish->rank_count);
    for (int rank = 0; rank < finish->rank_count; rank++) {
        nodes[rank].source = number_of(finish, rank, 0);
        nodes[rank].clock_group = clock_group_of(finish, rank);
        nodes[rank].exchanges =
            rkt_clock_answer_exchanges(finish->clocks, rank, &nodes[rank].exchange_count);
    }
    status = rkt_clock_tree_create(nodes, (size_t)finish->rank_count, 0, &PARAMS, tree_out, err);
    free(nodes);
    return status;
}

static enum rkt_status append_align(const struct rkt_finish *finish, int rank,
                                    struct rkt_align_info *align, struct rkt_error *err)
{
    const struct rkt_source_streams *streams = rkt_receiver_streams(finish->receiver);
    size_t cap = rkt_align_bytes_max(align->knot_count), raw_bytes;
    uint8_t *raw = malloc(cap);
    enum rkt_status status = RKT_OK;

    if (!raw)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", align->knot_count);
    for (size_t i = 0; i < rkt_source_streams_count(streams, rank) && status == RKT_OK; i++) {
        if (!rkt_source_streams_is_known(streams, rank, i))
            continue;
        align->source = number_of(finish, rank, i);
        status = rkt_align_info_encode(align, raw, cap, &raw_bytes, err);
        if (status == RKT_OK)
            status = rkt_receiver_append(finish->receiver, RKT_FRAME_ALIGN, align->source, raw,
                                         raw_bytes, err);
    }
    free(raw);
    return status;
}

static enum rkt_status align_rank(const struct rkt_finish *finish, struct rkt_clock_tree *tree,
                                  int rank, struct rkt_error *err)
{
    const struct rkt_align_info *align;
    struct rkt_align_info own;
    enum rkt_status status = rkt_clock_tree_align(tree, (size_t)rank, &align, err);

    if (status != RKT_OK)
        return status;
    if (rkt_clock_tree_is_liar(tree, (size_t)rank))
        rkt_log(RKT_LOG_WARN, "aggregator", "a clock is not the one that its host names",
                "from=%d host=\"%s\"", rank, finish->peers[rank].node.host);
    if (align->flags & (RKT_CLOCK_STEPPED | RKT_CLOCK_CONTRADICTORY))
        rkt_log(RKT_LOG_WARN, "aggregator",
                align->flags & RKT_CLOCK_STEPPED ? "a clock stepped"
                                                 : "a clock's exchanges contradict each other",
                "from=%d host=\"%s\"", rank, finish->peers[rank].node.host);
    if (align->flags & RKT_CLOCK_CLAIM_WRONG)
        rkt_log(
            RKT_LOG_WARN, "aggregator",
            "a clock's --ptp-bound, or that of rank 0's, contradicts what was measured: left out",
            "from=%d host=\"%s\"", rank, finish->peers[rank].node.host);
    own = *align;
    return append_align(finish, rank, &own, err);
}

enum rkt_status rkt_finish_write(const struct rkt_finish *finish, struct rkt_error *err)
{
    struct rkt_clock_tree *tree = NULL;
    enum rkt_status status = create_tree(finish, &tree, err);

    for (int rank = 0; rank < finish->rank_count && status == RKT_OK; rank++) {
        status = end_open_sources(finish, rank, err);
        if (status == RKT_OK)
            status = describe_lost_rank(finish, rank, err);
        if (status == RKT_OK)
            status = align_rank(finish, tree, rank, err);
    }
    rkt_clock_tree_destroy(tree);
    return status;
}
