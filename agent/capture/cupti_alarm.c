/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_alarm.h"

static void begin_anew(struct rkt_cupti_alarm *alarm, uint64_t good_count, uint64_t bad_count)
{
    alarm->good_count = good_count;
    alarm->bad_count = bad_count;
}

static enum rkt_cupti_alarm_verdict wait_and_try(struct rkt_cupti_alarm *alarm, uint64_t good_count,
                                                 uint64_t bad_count)
{
    if (alarm->wait_ticks == 0 || --alarm->wait_ticks > 0) /* 0: for good */
        return RKT_CUPTI_ALARM_NOTHING;
    alarm->is_off = false;
    alarm->good_ticks = 0;
    begin_anew(alarm, good_count, bad_count); /* late ones of before do not count */
    return RKT_CUPTI_ALARM_RESUME;
}

static enum rkt_cupti_alarm_verdict stop(struct rkt_cupti_alarm *alarm)
{
    alarm->is_off = true;
    alarm->wait_ticks = 0;
    if (alarm->try_count < RKT_CUPTI_ALARM_TRY_COUNT)
        alarm->wait_ticks = RKT_CUPTI_ALARM_WAIT_TICKS << (2 * alarm->try_count++);
    return RKT_CUPTI_ALARM_STOP;
}

enum rkt_cupti_alarm_verdict rkt_cupti_alarm_tick(struct rkt_cupti_alarm *alarm,
                                                  uint64_t good_count, uint64_t bad_count)
{
    uint64_t bad = bad_count - alarm->bad_count;
    uint64_t all = bad + good_count - alarm->good_count;

    if (alarm->is_off)
        return wait_and_try(alarm, good_count, bad_count);
    if (++alarm->good_ticks == RKT_CUPTI_ALARM_GOOD_TICKS)
        alarm->try_count = 0;
    if (all < RKT_CUPTI_ALARM_RECORD_COUNT)
        return RKT_CUPTI_ALARM_NOTHING;
    begin_anew(alarm, good_count, bad_count);
    return bad * 100 >= all * RKT_CUPTI_ALARM_BAD_PERCENT ? stop(alarm) : RKT_CUPTI_ALARM_NOTHING;
}
