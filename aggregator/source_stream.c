/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/source_stream.h"

#include <stdlib.h>

#include "common/array.h"
#include "common/run_message.h"

struct stream {
    uint32_t next_seq;
    bool is_known;
    bool has_end;
    bool is_restarted; /* any seq may be next */
};

struct rank_streams {
    struct stream *items;
    size_t count;
    size_t cap;
    bool has_gaps; /* by intent: most frames go elsewhere */
    struct rkt_stream_counts counts;
};

struct rkt_source_streams {
    int rank_count;
    struct rank_streams *ranks;
};

struct rkt_source_streams *rkt_source_streams_create(int rank_count)
{
    struct rkt_source_streams *streams = calloc(1, sizeof(*streams));

    if (!streams)
        return NULL;
    streams->rank_count = rank_count;
    streams->ranks = calloc((size_t)rank_count, sizeof(*streams->ranks));
    if (!streams->ranks) {
        free(streams);
        return NULL;
    }
    return streams;
}

void rkt_source_streams_destroy(struct rkt_source_streams *streams)
{
    if (!streams)
        return;
    for (int rank = 0; rank < streams->rank_count; rank++)
        free(streams->ranks[rank].items);
    free(streams->ranks);
    free(streams);
}

static struct stream *find_stream(struct rank_streams *of_rank, size_t index)
{
    if (!rkt_array_reserve((void **)&of_rank->items, &of_rank->cap, index + 1,
                           sizeof(*of_rank->items)))
        return NULL;
    while (of_rank->count <= index)
        of_rank->items[of_rank->count++] = (struct stream){0};
    return &of_rank->items[index];
}

static enum rkt_status check_frame(int rank_count, int rank, const uint8_t *frame,
                                   size_t frame_bytes, struct rkt_frame_head *head_out,
                                   struct rkt_error *err)
{
    struct rkt_frame_head head;
    enum rkt_status status = rkt_frame_head_decode(frame, frame_bytes, &head, err);

    if (status == RKT_AGAIN)
        return rkt_fail(err, RKT_ERR_FORMAT, "a frame of %zu bytes", frame_bytes);
    if (status != RKT_OK)
        return status;
    if (frame_bytes != RKT_FRAME_HEAD_BYTES + (size_t)head.packed_bytes)
        return rkt_fail(err, RKT_ERR_FORMAT, "a frame of %zu bytes says that it has %zu",
                        frame_bytes, RKT_FRAME_HEAD_BYTES + (size_t)head.packed_bytes);
    if (head.source % (uint32_t)rank_count != (uint32_t)rank || head.source >= RKT_SOURCE_COUNT_MAX)
        return rkt_fail(err, RKT_ERR_FORMAT, "source %u is not of rank %d", head.source, rank);
    status = rkt_frame_payload_check(&head, frame + RKT_FRAME_HEAD_BYTES, err);
    if (status == RKT_OK)
        *head_out = head;
    return status;
}

enum rkt_stream_verdict rkt_source_streams_check(struct rkt_source_streams *streams, int rank,
                                                 const uint8_t *frame, size_t frame_bytes,
                                                 struct rkt_error *err)
{
    struct rank_streams *of_rank = &streams->ranks[rank];
    struct rkt_frame_head head = {0};
    struct stream *stream;
    int32_t ahead;

    if (check_frame(streams->rank_count, rank, frame, frame_bytes, &head, err) != RKT_OK) {
        of_rank->counts.bad_count++;
        return RKT_STREAM_BAD;
    }
    stream = find_stream(of_rank, head.source / (uint32_t)streams->rank_count);
    if (!stream) {
        (void)rkt_fail(err, RKT_ERR_NOMEM, "no memory for source %u", head.source);
        of_rank->counts.bad_count++;
        return RKT_STREAM_BAD;
    }
    ahead = stream->is_restarted ? 0 : (int32_t)(head.seq - stream->next_seq);
    if (ahead < 0) {
        of_rank->counts.duplicate_count++;
        return RKT_STREAM_DUPLICATE;
    }
    if (!of_rank->has_gaps)
        of_rank->counts.gap_count += (uint32_t)ahead;
    of_rank->counts.frame_count++;
    stream->next_seq = head.seq + 1;
    stream->is_known = true;
    stream->is_restarted = false;
    stream->has_end = stream->has_end || head.kind == RKT_FRAME_END;
    return RKT_STREAM_TAKE;
}

void rkt_source_streams_expect_some(struct rkt_source_streams *streams, int rank)
{
    streams->ranks[rank].has_gaps = true;
}

void rkt_source_streams_restart(struct rkt_source_streams *streams, int rank)
{
    struct rank_streams *of_rank = &streams->ranks[rank];

    for (size_t i = 0; i < of_rank->count; i++)
        of_rank->items[i].is_restarted = true;
}

void rkt_source_streams_refuse(struct rkt_source_streams *streams, int rank)
{
    streams->ranks[rank].counts.bad_count++;
}

void rkt_source_streams_counts(const struct rkt_source_streams *streams, int rank,
                               struct rkt_stream_counts *counts_out)
{
    *counts_out = streams->ranks[rank].counts;
}

size_t rkt_source_streams_count(const struct rkt_source_streams *streams, int rank)
{
    return streams->ranks[rank].count;
}

bool rkt_source_streams_is_open(const struct rkt_source_streams *streams, int rank, size_t index)
{
    const struct stream *stream = &streams->ranks[rank].items[index];

    return stream->is_known && !stream->has_end;
}

bool rkt_source_streams_is_known(const struct rkt_source_streams *streams, int rank, size_t index)
{
    return streams->ranks[rank].items[index].is_known;
}
