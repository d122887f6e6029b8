/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_ALARM_H
#define RKT_CAPTURE_CUPTI_ALARM_H

/*
 * cupti_alarm - decides that CUPTI's times have become useless, and what then.
 *
 * A CUPTI that has used up its memory on the device, as with CUDA graphs after some ten million
 * kernels, goes on to make records, with times that are zero or garbage, and keeps what it took of
 * the job's GPU. So it is switched off, left alone for a while, and tried again, a few times in a
 * row with ever longer waits.
 *
 * Threads: one. Time: ticks of the caller, so that tests need no clock.
 */

#include <stdbool.h>
#include <stdint.h>

#define RKT_CUPTI_ALARM_RECORD_COUNT 512u /* so many are judged together at least */
#define RKT_CUPTI_ALARM_BAD_PERCENT 20u   /* forced flushes and single defects stay far below */
#define RKT_CUPTI_ALARM_WAIT_TICKS 10u    /* the first time; each next time 4 times as long */
#define RKT_CUPTI_ALARM_TRY_COUNT 3u
#define RKT_CUPTI_ALARM_GOOD_TICKS 600u /* without alarm for so long, and the tries begin anew */

enum rkt_cupti_alarm_verdict {
    RKT_CUPTI_ALARM_NOTHING,
    RKT_CUPTI_ALARM_STOP,   /* switch off; at the last time for good */
    RKT_CUPTI_ALARM_RESUME, /* switch on again */
};

/* Zeroed to begin with. */
struct rkt_cupti_alarm {
    uint64_t good_count; /* where the records that are judged together begin */
    uint64_t bad_count;
    uint32_t good_ticks;
    uint32_t wait_ticks; /* until it is tried again */
    uint32_t try_count;
    bool is_off;
};

/* Once per tick. good_count and bad_count: records of GPU work with and without usable times. */
enum rkt_cupti_alarm_verdict rkt_cupti_alarm_tick(struct rkt_cupti_alarm *alarm,
                                                  uint64_t good_count, uint64_t bad_count);

#endif
