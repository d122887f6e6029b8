/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/marks.h"

#include <stdlib.h>
#include <string.h>

#include "agent/capture/capture.h"
#include "agent/capture/cupti_source.h"
#include "agent/capture/open_events.h"
#include "agent/capture/steps.h"
#include "agent/capture/window.h"
#include "agent/include/ranktrace.h"
#include "common/clock.h"

struct rkt_marks {
    struct rkt_open_events *buckets;
};

struct rkt_marks *rkt_marks_create(void)
{
    struct rkt_marks *marks = calloc(1, sizeof(*marks));

    if (marks)
        marks->buckets = rkt_open_events_create();
    if (marks && marks->buckets)
        return marks;
    free(marks);
    return NULL;
}

void rkt_marks_destroy(struct rkt_marks *marks)
{
    if (!marks)
        return;
    rkt_open_events_destroy(marks->buckets);
    free(marks);
}

/* NULL when marks are not recorded. */
static struct rkt_capture *recording(void)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_MARKS);

    if (capture)
        rkt_window_look(capture);
    return capture;
}

static struct rkt_event range_event(uint8_t type, uint64_t start_ns, uint64_t end_ns)
{
    return (struct rkt_event){
        .kind = RKT_EVENT_RANGE,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = type,
        .start_ns = start_ns,
        .end_ns = end_ns,
    };
}

/* ---- steps ---- */

void ranktrace_step(uint64_t step)
{
    struct rkt_capture *capture = recording();

    if (capture)
        rkt_steps_begin(capture, step);
}

void ranktrace_step_end(void)
{
    struct rkt_capture *capture = recording();

    if (capture)
        rkt_steps_end(capture);
}

/* ---- ranges and phases ---- */

/* Of either header: their enums agree on these. */
static bool is_phase(unsigned type)
{
    static_assert((int)RANKTRACE_FORWARD == (int)RKT_RANGE_FORWARD &&
                      (int)RANKTRACE_COMM_WAIT == (int)RKT_RANGE_COMM_WAIT,
                  "phases are range types");
    return type >= RKT_RANGE_FORWARD && type <= RKT_RANGE_COMM_WAIT;
}

/* With a GPU the gaps between kernels show what the host did not do, and phases cost less. */
static void begin_to_watch(const struct rkt_capture *capture, struct rkt_thread *thread,
                           struct rkt_open_range *range)
{
    range->asleep.is_known = false;
    if (is_phase(range->type) && !rkt_cupti_source_is_on(capture->cupti))
        rkt_asleep_begin(&thread->asleep, range->start_ns, &range->asleep);
}

static void open_range(struct rkt_capture *capture, uint8_t type, const char *name)
{
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_thread *thread = rkt_threads_get(capture->threads);
    struct rkt_open_range *range;

    if (!thread)
        return; /* the end will be counted as lost */
    if (thread->open_count == RKT_OPEN_RANGES_MAX) {
        thread->too_deep_count++;
        return;
    }
    range = &thread->open[thread->open_count++];
    range->start_ns = now_ns;
    range->type = type;
    range->name_id = name ? rkt_intern_name(capture->intern, name, strlen(name)) : 0;
    range->is_step = rkt_steps_range_pushed(capture, thread->thread_id, range->name_id, now_ns);
    begin_to_watch(capture, thread, range);
}

/* Push the innermost open range, as ended at end_ns. */
static void push_innermost(struct rkt_capture *capture, struct rkt_thread *thread, uint64_t end_ns)
{
    const struct rkt_open_range *range = &thread->open[--thread->open_count];
    struct rkt_event event = range_event(range->type, range->start_ns, end_ns);

    event.name_id = range->name_id;
    event.thread_id = thread->thread_id;
    if (rkt_window_is_tracing(capture->window)) {
        event.range.value = rkt_asleep_end(&thread->asleep, &range->asleep, end_ns);
        (void)rkt_ring_push(thread->ring, &event);
    }
    if (range->is_step)
        rkt_steps_range_popped(capture, end_ns);
}

/* End the innermost open range of this type, and those inside it that were left open. */
static void close_range(struct rkt_capture *capture, uint8_t type)
{
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_thread *thread = rkt_threads_get(capture->threads);
    uint32_t depth;

    if (!thread) {
        rkt_region_count_no_ring(capture->region);
        return;
    }
    if (thread->too_deep_count > 0) {
        thread->too_deep_count--;
        rkt_threads_push_loss(capture->threads, RKT_LOSS_TOO_MANY_OPEN, RKT_EVENT_RANGE, 1, 0);
        return;
    }
    depth = thread->open_count;
    while (depth > 0 && thread->open[depth - 1].type != type)
        depth--;
    while (depth > 0 && thread->open_count >= depth)
        push_innermost(capture, thread, now_ns);
}

void ranktrace_phase_begin(enum ranktrace_phase phase)
{
    struct rkt_capture *capture = recording();

    if (capture && is_phase(phase))
        open_range(capture, (uint8_t)phase, NULL);
}

void ranktrace_phase_end(enum ranktrace_phase phase)
{
    struct rkt_capture *capture = recording();

    if (capture && is_phase(phase))
        close_range(capture, (uint8_t)phase);
}

void ranktrace_range_push(const char *name)
{
    struct rkt_capture *capture = recording();

    if (capture)
        open_range(capture, RKT_RANGE_USER, name);
}

void ranktrace_range_pop(void)
{
    struct rkt_capture *capture = recording();

    if (capture)
        close_range(capture, RKT_RANGE_USER);
}

void ranktrace_mark(const char *name)
{
    struct rkt_capture *capture = recording();
    struct rkt_event event;
    uint64_t now_ns;

    if (!capture)
        return;
    now_ns = rkt_now_raw_ns();
    event = range_event(RKT_RANGE_MARK, now_ns, now_ns);
    event.name_id = name ? rkt_intern_name(capture->intern, name, strlen(name)) : 0;
    (void)rkt_window_stamp(capture, &event);
    rkt_steps_marked(capture, event.thread_id, event.name_id, now_ns);
}

void ranktrace_sync_call(uint64_t start_ns, const char *call, const char *site)
{
    struct rkt_capture *capture = recording();
    struct rkt_event event;
    uint64_t now_ns;

    if (!capture)
        return;
    now_ns = rkt_now_raw_ns();
    event = range_event(RKT_RANGE_SYNC_CALL, start_ns < now_ns ? start_ns : now_ns, now_ns);
    event.name_id = call ? rkt_intern_name(capture->intern, call, strlen(call)) : 0;
    event.range.domain_id = site ? rkt_intern_name(capture->intern, site, strlen(site)) : 0;
    (void)rkt_threads_stamp(capture->threads, &event);
}

int ranktrace_is_active(void)
{
    return recording() ? 1 : 0;
}

/* ---- buckets ---- */

uint64_t ranktrace_bucket_begin(uint32_t index, uint64_t bytes, uint32_t param_count)
{
    struct rkt_capture *capture = recording();
    const struct rkt_thread *thread;
    struct rkt_event event;
    uint64_t handle;

    if (!capture)
        return 0;
    event = (struct rkt_event){
        .kind = RKT_EVENT_BUCKET,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .start_ns = rkt_now_raw_ns(),
        .bucket = {.bytes = bytes,
                   .step = rkt_steps_now(capture->steps),
                   .index = index,
                   .param_count = param_count},
    };
    thread = rkt_threads_get(capture->threads);
    event.thread_id = thread ? thread->thread_id : 0;
    handle = rkt_open_events_begin(capture->marks->buckets, &event);
    if (handle == 0)
        rkt_threads_push_loss(capture->threads, RKT_LOSS_TOO_MANY_OPEN, RKT_EVENT_BUCKET, 1, 0);
    return handle;
}

void ranktrace_bucket_end(uint64_t handle)
{
    struct rkt_capture *capture = recording();
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_event event;

    if (!capture || !rkt_open_events_end(capture->marks->buckets, handle, &event))
        return;
    event.end_ns = now_ns;
    if (rkt_window_is_tracing(capture->window))
        (void)rkt_threads_push(capture->threads, &event);
}

/* ---- exit ---- */

void rkt_marks_close(struct rkt_marks *marks, struct rkt_threads *threads)
{
    struct rkt_event event;

    while (rkt_open_events_take(marks->buckets, &event))
        (void)rkt_threads_push(threads, &event);
}
