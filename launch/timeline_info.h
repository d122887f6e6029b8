/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_TIMELINE_INFO_H
#define RKT_LAUNCH_TIMELINE_INFO_H

/*
 * timeline_info - what is in a timeline, counted: events, bytes, losses, spans of time.
 *
 * Place:   store -> [timeline_info] -> ranktrace info. Reads every frame; nothing is analysed.
 * Memory:  some hundred bytes per source, and one frame and its events at a time.
 * Threads: one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/event.h"
#include "common/status.h"
#include "common/store_reader.h"

struct rkt_source_totals {
    uint64_t events[RKT_EVENT_KIND_COUNT];
    uint64_t event_count;
    uint64_t losses[RKT_LOSS_REASONS_MAX]; /* by enum rkt_loss_reason */
    uint64_t loss_count;                   /* of records */
    uint64_t frame_count;
    uint64_t packed_bytes; /* as in the file, heads too */
    uint64_t raw_bytes;    /* before zstd */
    uint64_t window_count; /* times that capture was opened */
    /* REALTIME, where the kernel said what steers it (clock_state) */
    struct rkt_event_clock_state clock_state; /* the last */
    uint64_t unsteered_count;                 /* times that nobody did */
    uint64_t claimed_error_ns;                /* the largest that it claimed while steered */
    int64_t span_ns;        /* first start to last end, in the clock where that is longest */
    int64_t clock_bound_ns; /* the widest over what it recorded (source_bound.h); -1: none known */
    bool is_align_stored;   /* else it is made of the clock records, if there are any */
};

struct rkt_timeline_info {
    struct rkt_source_totals *sources; /* by position in the reader */
    size_t source_count;
    struct rkt_source_totals all; /* sums; its span_ns is the longest */
};

/* The reader's health is complete afterwards: every payload was looked at; and its alignments. */
enum rkt_status rkt_timeline_info_collect(struct rkt_store_reader *reader,
                                          struct rkt_timeline_info *info_out,
                                          struct rkt_error *err);
void rkt_timeline_info_release(struct rkt_timeline_info *info);

#endif
