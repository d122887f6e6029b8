/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_SOURCE_STREAM_H
#define RKT_AGGREGATOR_SOURCE_STREAM_H

/*
 * source_stream - what rank 0 knows of each source without decoding it: that its frames are whole,
 * its own, in order, and whether it ended.
 *
 * A source's number says which sidecar it is of (run_message.h): a frame that claims another
 * rank's source is refused.
 *
 * Threads: one. Memory: 8 bytes per source.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/frame.h"
#include "common/status.h"

struct rkt_source_streams;

struct rkt_stream_counts {
    uint64_t frame_count;
    uint64_t bad_count;       /* refused: head, crc, another rank's source, a bad bundle */
    uint64_t duplicate_count; /* came twice, kept once */
    uint64_t gap_count;       /* never came, by gaps in seq */
};

struct rkt_source_streams *rkt_source_streams_create(int rank_count); /* NULL: memory is out */
void rkt_source_streams_destroy(struct rkt_source_streams *streams);

enum rkt_stream_verdict {
    RKT_STREAM_TAKE,
    RKT_STREAM_DUPLICATE,
    RKT_STREAM_BAD,
};

/* A frame from `rank`: head and payload are checked. TAKE: store it. BAD: *err says why. */
enum rkt_stream_verdict rkt_source_streams_check(struct rkt_source_streams *streams, int rank,
                                                 const uint8_t *frame, size_t frame_bytes,
                                                 struct rkt_error *err);

/*
 * Its frames are elsewhere, in a file of its leader; here only some come, so that gaps mean
 * nothing.
 */
void rkt_source_streams_expect_some(struct rkt_source_streams *streams, int rank);
/* From now on all come again, from any number on: of each source the next is taken. */
void rkt_source_streams_restart(struct rkt_source_streams *streams, int rank);

/* Something else of this rank that is not stored: counts as bad. */
void rkt_source_streams_refuse(struct rkt_source_streams *streams, int rank);

void rkt_source_streams_counts(const struct rkt_source_streams *streams, int rank,
                               struct rkt_stream_counts *counts_out);

/* How many source numbers of this rank were seen: index 0 .. count - 1. */
size_t rkt_source_streams_count(const struct rkt_source_streams *streams, int rank);
/* Frames came from it, but no END. */
bool rkt_source_streams_is_open(const struct rkt_source_streams *streams, int rank, size_t index);
/* Frames came from it. */
bool rkt_source_streams_is_known(const struct rkt_source_streams *streams, int rank, size_t index);

#endif
