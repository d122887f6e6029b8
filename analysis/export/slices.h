/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_EXPORT_SLICES_H
#define RKT_ANALYSIS_EXPORT_SLICES_H

/*
 * slices - everything of a rank that a timeline shows, by track, in job time.
 *
 * Place:   result -> [slices] -> chrome and other timeline formats.
 * Threads: any; the result is read only. Memory: freed by release.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/result.h"
#include "common/status.h"

/* In the order in which tracks stand below each other. */
enum rkt_track_group {
    RKT_TRACK_STEPS,
    RKT_TRACK_STREAM,      /* id: stream, device */
    RKT_TRACK_COLLECTIVES, /* host view: hand-over to done */
    RKT_TRACK_BUCKETS,
    RKT_TRACK_GPU_ANNOTATIONS,
    RKT_TRACK_MAIN_THREAD, /* id: thread */
    RKT_TRACK_THREAD,      /* id: thread */
};

/* What a slice is; its index is into the array of that name. */
enum rkt_slice_kind {
    RKT_SLICE_STEP,
    RKT_SLICE_WORK,
    RKT_SLICE_CALL,
    RKT_SLICE_RANGE, /* of type RKT_RANGE_MARK: an instant, no slice */
    RKT_SLICE_BUCKET,
    RKT_SLICE_COLLECTIVE,
    RKT_SLICE_WINDOW_EDGE, /* an instant; open_spans[index / 2] begins, or ends where index is odd */
};

struct rkt_slice {
    int64_t start_ns; /* job time */
    int64_t end_ns;
    uint32_t device;
    uint32_t id;
    uint32_t index;
    uint8_t group; /* enum rkt_track_group */
    uint8_t kind;  /* enum rkt_slice_kind */
};

struct rkt_slices {
    struct rkt_slice *items; /* by track, start, longest first, file order */
    size_t count;
    size_t cap;
};

/* Of the rank at `position` in result->ranks. */
enum rkt_status rkt_slices_init(const struct rkt_result *result, size_t position,
                                struct rkt_slices *slices_out, struct rkt_error *err);
void rkt_slices_release(struct rkt_slices *slices);

/* Rank time to job time; the same without a clock map. */
int64_t rkt_slices_job_ns(const struct rkt_rank_trace *trace, int64_t rank_ns);

/* The part of the rank at `position` in a collective; NULL if it takes none. */
const struct rkt_participant *rkt_participant_find(const struct rkt_collective *collective,
                                                   size_t position);

/* Do two slices stand on the same track? */
bool rkt_slice_same_track(const struct rkt_slice *a, const struct rkt_slice *b);

#endif
