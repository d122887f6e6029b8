/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_ROUND_H
#define RKT_CAPTURE_CUPTI_ROUND_H

/*
 * cupti_round - what is done about CUPTI once a second: flush, look after it, say what is lost.
 *
 * Threads: the flush thread; stop's when that one has ended.
 * Lost:    CUPTI's dropped records, and the time in which it was off by an alarm or in the hands of
 *          another tool, go out as LOSS events.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "agent/capture/cupti_alarm.h"
#include "agent/capture/cupti_buffers.h"
#include "agent/capture/cupti_library.h"
#include "agent/capture/cupti_reader.h"
#include "agent/capture/cupti_switch.h"
#include "agent/capture/cupti_watch.h"

struct rkt_cupti_round {
    /* set before the first round, then read only */
    struct rkt_capture *capture;
    const struct rkt_cupti_library *library;
    struct rkt_cupti_buffers *buffers;
    struct rkt_cupti_reader *reader; /* its earliest_ns: since a gap was noticed */
    struct rkt_cupti_switch *kinds;
    uint64_t (*now_real_ns)(void); /* rkt_now_real_ns, but in a test */

    struct rkt_cupti_watch watch;
    struct rkt_cupti_alarm alarm;
    uint64_t off_since_ns; /* of an alarm: what went out as lost ends here */
    uint32_t count;
    uint32_t retire_count; /* the round in which buffers that the other tool got are replaced */
};

/*
 * buffer_event_count: buffers asked for or given back so far. activity_count: grows with what NCCL,
 * NVTX and marks tell of the job.
 */
void rkt_cupti_round_make(struct rkt_cupti_round *round, uint64_t buffer_event_count,
                          uint64_t activity_count);

/* The last one, at exit: take what CUPTI still holds, done or not. */
void rkt_cupti_round_end(struct rkt_cupti_round *round);

#endif
