/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_WATCH_H
#define RKT_CAPTURE_CUPTI_WATCH_H

/*
 * cupti_watch - notices that another tool has taken CUPTI's callbacks.
 *
 * CUPTI keeps one pair of callbacks per process and does not say when they are replaced, as
 * torch.profiler does. The sign is that the job goes on (its collectives, its steps) while no
 * buffer moves. A job that hangs does not go on, so it is not mistaken for that; one that makes
 * few records may be, so whether a gap was one is decided when records come again. We let the
 * other tool have its time, mark the gap, and then take our place again.
 *
 * Threads: one. Time: from the caller, so that tests need no clock.
 */

#include <stdbool.h>
#include <stdint.h>

#define RKT_CUPTI_GAP_TICKS 5u    /* so many silent ticks of a busy job make a gap */
#define RKT_CUPTI_REARM_TICKS 60u /* so many, and the other tool has surely finished */

enum rkt_cupti_verdict {
    RKT_CUPTI_WATCH_NOTHING,
    RKT_CUPTI_WATCH_GAP_BEGINS, /* perhaps, and from gap_start_ns on */
    RKT_CUPTI_WATCH_GAP_ENDS,   /* buffers move again */
    RKT_CUPTI_WATCH_REARM,      /* still none: register and enable again */
};

/* Zeroed to begin with. */
struct rkt_cupti_watch {
    uint64_t record_count;
    uint64_t activity_count;
    uint64_t last_record_ns;
    uint64_t gap_start_ns;
    uint32_t silent_ticks; /* ticks in which the job went on and no record came */
    bool has_gap;
};

/*
 * Once per flush. record_count: grows with every buffer that CUPTI asks for or gives back;
 * activity_count: grows with what else is seen of the job: NCCL, NVTX, marks.
 */
enum rkt_cupti_verdict rkt_cupti_watch_tick(struct rkt_cupti_watch *watch, uint64_t now_ns,
                                            uint64_t record_count, uint64_t activity_count);

/* Instead of a tick, while no records are wanted: that time is neither silent nor in a gap. */
void rkt_cupti_watch_rest(struct rkt_cupti_watch *watch, uint64_t now_ns);

#endif
