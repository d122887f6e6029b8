/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_watch.h"

static enum rkt_cupti_verdict note_records(struct rkt_cupti_watch *watch, uint64_t now_ns)
{
    bool had_gap = watch->has_gap;

    watch->last_record_ns = now_ns;
    watch->silent_ticks = 0;
    watch->has_gap = false;
    return had_gap ? RKT_CUPTI_WATCH_GAP_ENDS : RKT_CUPTI_WATCH_NOTHING;
}

enum rkt_cupti_verdict rkt_cupti_watch_tick(struct rkt_cupti_watch *watch, uint64_t now_ns,
                                            uint64_t record_count, uint64_t activity_count)
{
    bool went_on = activity_count != watch->activity_count;
    bool has_records = record_count != watch->record_count;

    watch->activity_count = activity_count;
    watch->record_count = record_count;
    if (has_records)
        return note_records(watch, now_ns);
    /* Before the first record there is nothing that could have been taken. */
    if (!went_on || record_count == 0)
        return RKT_CUPTI_WATCH_NOTHING;
    watch->silent_ticks++;
    if (watch->silent_ticks % RKT_CUPTI_REARM_TICKS == 0)
        return RKT_CUPTI_WATCH_REARM;
    if (watch->silent_ticks != RKT_CUPTI_GAP_TICKS)
        return RKT_CUPTI_WATCH_NOTHING;
    watch->has_gap = true;
    watch->gap_start_ns = watch->last_record_ns;
    return RKT_CUPTI_WATCH_GAP_BEGINS;
}

void rkt_cupti_watch_rest(struct rkt_cupti_watch *watch, uint64_t now_ns)
{
    watch->last_record_ns = now_ns;
    if (watch->has_gap)
        watch->gap_start_ns = now_ns; /* it goes on from here; another tool may still be there */
    else
        watch->silent_ticks = 0;
}
