/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/finish.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/arena.h"
#include "common/checked.h"
#include "common/clock_fit.h"
#include "common/descriptor.h"
#include "common/log.h"
#include "common/run_message.h"

#define ARENA_BYTES_MAX ((size_t)1 << 30)
/* A knot is three integers of up to 9 bytes. */
#define KNOT_BYTES_MAX 30u

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

/* Exchanges with the same clock must allow an offset of 0; otherwise the ids lied. */
static bool is_reference(const struct rkt_finish *finish, int rank)
{
    size_t count = 0;
    const struct rkt_event *exchanges = rkt_clock_answer_exchanges(finish->clocks, rank, &count);

    if (!shares_clock(finish, rank, 0))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (exchanges[i].clock_exchange.t2_ns < exchanges[i].start_ns ||
            exchanges[i].clock_exchange.t3_ns > exchanges[i].end_ns) {
            rkt_log(RKT_LOG_WARN, "aggregator", "a clock that should be rank 0's differs",
                    "from=%d", rank);
            return false;
        }
    }
    return true;
}

/* Of the ranks with this rank's clock, the one that measured most; the first of them. */
static int best_measured(const struct rkt_finish *finish, int rank)
{
    size_t count = 0, best_count = 0;
    int best = rank;

    if (shares_clock(finish, rank, 0))
        return rank; /* a liar: trust none of that clock's others */
    for (int other = 0; other < finish->rank_count; other++) {
        if (!shares_clock(finish, rank, other))
            continue;
        (void)rkt_clock_answer_exchanges(finish->clocks, other, &count);
        if (count > best_count) {
            best_count = count;
            best = other;
        }
    }
    return best;
}

static enum rkt_status fit(const struct rkt_finish *finish, int rank, struct rkt_arena *arena,
                           struct rkt_align_info *align, struct rkt_error *err)
{
    size_t count = 0, rejected = 0;
    const struct rkt_event *exchanges;
    enum rkt_status status;

    *align = (struct rkt_align_info){.state = RKT_ALIGN_REFERENCE};
    if (is_reference(finish, rank))
        return RKT_OK;
    exchanges = rkt_clock_answer_exchanges(finish->clocks, best_measured(finish, rank), &count);
    status = rkt_clock_fit(exchanges, count, arena, align, &rejected, err);
    if (status == RKT_OK && rejected > 0)
        rkt_log(RKT_LOG_WARN, "aggregator", "bursts over a step of a clock were left out",
                "from=%d bursts=%zu", rank, rejected);
    return status;
}

static enum rkt_status align_rank(const struct rkt_finish *finish, int rank,
                                  struct rkt_arena *arena, struct rkt_error *err)
{
    const struct rkt_source_streams *streams = rkt_receiver_streams(finish->receiver);
    struct rkt_align_info align;
    size_t cap, raw_bytes;
    uint8_t *raw;
    enum rkt_status status = fit(finish, rank, arena, &align, err);

    if (status != RKT_OK)
        return status;
    if (!rkt_mul_size(align.knot_count, KNOT_BYTES_MAX, &cap) ||
        !rkt_add_size(cap, RKT_DESCRIPTOR_BYTES_MAX, &cap) ||
        !(raw = rkt_arena_calloc(arena, cap, 1)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", align.knot_count);
    for (size_t i = 0; i < rkt_source_streams_count(streams, rank); i++) {
        if (!rkt_source_streams_is_known(streams, rank, i))
            continue;
        align.source = number_of(finish, rank, i);
        status = rkt_align_info_encode(&align, raw, cap, &raw_bytes, err);
        if (status == RKT_OK)
            status = rkt_receiver_append(finish->receiver, RKT_FRAME_ALIGN, align.source, raw,
                                         raw_bytes, err);
        if (status != RKT_OK)
            return status;
    }
    return RKT_OK;
}

enum rkt_status rkt_finish_write(const struct rkt_finish *finish, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    struct rkt_arena arena;

    rkt_arena_init(&arena, ARENA_BYTES_MAX);
    for (int rank = 0; rank < finish->rank_count && status == RKT_OK; rank++) {
        status = end_open_sources(finish, rank, err);
        if (status == RKT_OK)
            status = describe_lost_rank(finish, rank, err);
        if (status == RKT_OK)
            status = align_rank(finish, rank, &arena, err);
        rkt_arena_reset(&arena);
    }
    rkt_arena_release(&arena);
    return status;
}
