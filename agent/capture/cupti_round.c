/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_round.h"

#include <string.h>

#include "common/clock.h"

#define TRIM_ROUNDS 10            /* a buffer that nobody had for so many is given up */
#define RETIRE_ROUNDS 60          /* after taking CUPTI back; a multiple of the above */
#define GAP_MIN_NS 2000000000u    /* twice the time between two rounds: shorter is no gap */
#define OFF_PIECE_NS 10000000000u /* what is off goes out in pieces: the job may be killed */

static void count_dropped(const struct rkt_cupti_round *round)
{
    size_t dropped = 0;

    if (round->library->dropped_records(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped > 0)
        rkt_threads_push_loss(round->capture->threads, RKT_LOSS_CUPTI_DROPPED, RKT_EVENT_NONE,
                              dropped, 0);
}

static void push_off(const struct rkt_cupti_round *round, uint64_t start_ns, uint64_t end_ns,
                     const char *why)
{
    struct rkt_event event = {
        .kind = RKT_EVENT_LOSS,
        .clock_id = RKT_CLOCK_REALTIME,
        .type = RKT_LOSS_CAPTURE_OFF,
        .name_id = rkt_intern_name(round->capture->intern, why, strlen(why)),
        .start_ns = start_ns,
        .end_ns = end_ns,
        .loss.lost_kind = RKT_EVENT_KERNEL,
    };

    (void)rkt_threads_push(round->capture->threads, &event);
}

/* ---- another tool ---- */

/*
 * The gap is over. It was none if records of that time have come after all: CUPTI may hold a
 * buffer for long when a job makes few records and its GPU is never idle.
 */
static void push_gap(const struct rkt_cupti_round *round, uint64_t now_ns)
{
    uint64_t start_ns = round->watch.gap_start_ns;
    uint64_t end_ns = atomic_load_explicit(&round->reader->earliest_ns, memory_order_relaxed);

    if (end_ns > now_ns)
        end_ns = now_ns;
    if (end_ns > start_ns + GAP_MIN_NS)
        push_off(round, start_ns, end_ns, "another tool had CUPTI");
}

static void watch_callbacks(struct rkt_cupti_round *round, uint64_t now_ns,
                            uint64_t buffer_event_count, uint64_t activity_count)
{
    if (!rkt_cupti_switch_wants_records(round->kinds)) {
        if (round->watch.has_gap)
            push_gap(round, now_ns);
        rkt_cupti_watch_rest(&round->watch, now_ns);
        return;
    }
    switch (rkt_cupti_watch_tick(&round->watch, now_ns, buffer_event_count, activity_count)) {
    case RKT_CUPTI_WATCH_NOTHING:
        return;
    case RKT_CUPTI_WATCH_GAP_BEGINS:
        atomic_store_explicit(&round->reader->earliest_ns, UINT64_MAX, memory_order_relaxed);
        rkt_cupti_switch_set(round->kinds, RKT_CUPTI_OTHER_TOOL, true);
        rkt_cupti_buffers_mark(round->buffers);
        return;
    case RKT_CUPTI_WATCH_GAP_ENDS:
        push_gap(round, now_ns);
        rkt_cupti_switch_set(round->kinds, RKT_CUPTI_OTHER_TOOL, false);
        return;
    case RKT_CUPTI_WATCH_REARM:
        rkt_cupti_switch_rearm(round->kinds);
        round->retire_count = round->count / TRIM_ROUNDS * TRIM_ROUNDS + RETIRE_ROUNDS;
        return;
    }
}

/* ---- unusable times ---- */

static void push_alarm_piece(struct rkt_cupti_round *round, uint64_t now_ns)
{
    push_off(round, round->off_since_ns, now_ns, "CUPTI gave unusable times");
    round->off_since_ns = now_ns;
}

static void heed_alarm(struct rkt_cupti_round *round, uint64_t now_ns)
{
    struct rkt_cupti_reader *reader = round->reader;

    switch (rkt_cupti_alarm_tick(
        &round->alarm, atomic_load_explicit(&reader->good_work_count, memory_order_relaxed),
        atomic_load_explicit(&reader->bad_work_count, memory_order_relaxed))) {
    case RKT_CUPTI_ALARM_NOTHING:
        if (round->alarm.is_off && now_ns - round->off_since_ns >= OFF_PIECE_NS)
            push_alarm_piece(round, now_ns);
        return;
    case RKT_CUPTI_ALARM_STOP:
        rkt_cupti_switch_set(round->kinds, RKT_CUPTI_OFF_ALARM, true);
        round->off_since_ns = round->now_real_ns(); /* up to here records came */
        push_alarm_piece(round,
                         round->off_since_ns); /* of no length: says at once that it is off */
        return;
    case RKT_CUPTI_ALARM_RESUME:
        push_alarm_piece(round, now_ns);
        rkt_cupti_switch_set(round->kinds, RKT_CUPTI_OFF_ALARM, false);
        return;
    }
}

/* ---- rounds ---- */

static void take_news(struct rkt_cupti_round *round, uint32_t flush_flag)
{
    (void)round->library->flush_all(flush_flag);
    count_dropped(round);
    rkt_cupti_devices_send(&round->reader->devices, round->capture->threads,
                           round->capture->intern);
}

void rkt_cupti_round_make(struct rkt_cupti_round *round, uint64_t buffer_event_count,
                          uint64_t activity_count)
{
    uint64_t now_ns;

    /* Flushing costs the job's threads a little, so only when CUPTI has something of ours. */
    if (rkt_cupti_buffers_taken_count(round->buffers) > 0)
        take_news(round, 0);
    if (++round->count % TRIM_ROUNDS == 0)
        rkt_cupti_buffers_trim(round->buffers);
    if (round->count == round->retire_count) /* just trimmed: the next trim is far */
        rkt_cupti_buffers_retire(round->buffers);
    now_ns = round->now_real_ns();
    heed_alarm(round, now_ns);
    watch_callbacks(round, now_ns, buffer_event_count, activity_count);
}

void rkt_cupti_round_end(struct rkt_cupti_round *round)
{
    uint64_t now_ns = round->now_real_ns();

    rkt_cupti_switch_set(round->kinds, RKT_CUPTI_OFF_END, true);
    take_news(round, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (round->watch.has_gap)
        push_gap(round, now_ns);
    if (round->alarm.is_off)
        push_alarm_piece(round, now_ns);
}
