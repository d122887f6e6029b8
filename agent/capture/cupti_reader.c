/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_reader.h"

#include <time.h>

#include "agent/capture/cupti_convert.h"
#include "common/clock.h"

#define FUTURE_NS 60000000000u  /* a stamp later than this from now is absurd */
#define ROOM_STEP_NS 500000     /* between two looks for room in the ring */
#define ROOM_WAIT_NS 100000000u /* at most so long for one buffer */

/* One buffer on its way. */
struct reading {
    struct rkt_cupti_reader *reader;
    struct rkt_thread *thread; /* NULL: no ring is left, so records are counted alone */
    struct rkt_cupti_converter converter;
    uint64_t deadline_ns;
    uint64_t bad_stamp_count[RKT_EVENT_KIND_COUNT];
};

static void wait_for_room(const struct rkt_ring *ring, uint64_t deadline_ns)
{
    struct timespec step = {.tv_nsec = ROOM_STEP_NS};

    while (!rkt_ring_has_room(ring) && rkt_now_raw_ns() < deadline_ns)
        nanosleep(&step, NULL);
}

/* What the others want to know of an event on its way. */
static void note_event(struct rkt_cupti_reader *reader, const struct rkt_event *event)
{
    if (event->kind == RKT_EVENT_API && reader->has_system_thread_ids)
        rkt_threads_note_name(reader->capture->threads, event->thread_id);
    else if (event->kind == RKT_EVENT_KERNEL)
        rkt_cupti_devices_note(&reader->devices, event->kernel.device_id);
    if (event->start_ns < atomic_load_explicit(&reader->earliest_ns, memory_order_relaxed))
        atomic_store_explicit(&reader->earliest_ns, event->start_ns, memory_order_relaxed);
}

static void read_record(struct reading *reading, const CUpti_Activity *record, size_t record_bytes)
{
    struct rkt_event event;

    if (!reading->thread) {
        rkt_region_count_no_ring(reading->reader->capture->region);
        return;
    }
    wait_for_room(reading->thread->ring, reading->deadline_ns); /* for a new launch shape */
    switch (rkt_cupti_convert(&reading->converter, record, record_bytes, &event)) {
    case RKT_CUPTI_IGNORED:
        return;
    case RKT_CUPTI_BAD_STAMP:
        reading->bad_stamp_count[event.kind]++;
        return;
    case RKT_CUPTI_CONVERTED:
        break;
    }
    note_event(reading->reader, &event);
    wait_for_room(reading->thread->ring, reading->deadline_ns);
    (void)rkt_ring_push(reading->thread->ring, &event);
}

/* The walk is one record behind: where a record ends is known from where the next begins. */
static void read_records(struct reading *reading, uint8_t *buffer, size_t valid_bytes)
{
    const struct rkt_cupti_library *library = reading->reader->library;
    const CUpti_Activity *last = NULL;
    CUpti_Activity *record = NULL;

    while (library->next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
        if (last)
            read_record(reading, last, (size_t)((uint8_t *)record - (const uint8_t *)last));
        last = record;
    }
    if (last)
        read_record(reading, last, (size_t)(buffer + valid_bytes - (const uint8_t *)last));
}

/* Until when to wait for room: for one buffer, or for all that is left at exit. */
static uint64_t room_deadline_ns(const struct rkt_cupti_reader *reader)
{
    uint64_t stop_ns = atomic_load_explicit(&reader->stop_deadline_ns, memory_order_relaxed);

    return stop_ns != 0 ? stop_ns : rkt_now_raw_ns() + ROOM_WAIT_NS;
}

void rkt_cupti_reader_read(struct rkt_cupti_reader *reader, uint8_t *buffer, size_t valid_bytes)
{
    struct rkt_threads *threads = reader->capture->threads;
    struct rkt_thread *thread = rkt_threads_get(threads);
    struct reading reading = {
        .reader = reader,
        .thread = thread,
        .converter = {.intern = reader->capture->intern,
                      .api_names = reader->api_names,
                      .ring = thread ? thread->ring : NULL,
                      .latest_end_ns = rkt_now_real_ns() + FUTURE_NS},
        .deadline_ns = room_deadline_ns(reader),
    };

    read_records(&reading, buffer, valid_bytes);
    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++) {
        if (reading.bad_stamp_count[kind] > 0)
            rkt_threads_push_loss(threads, RKT_LOSS_BAD_STAMP, (enum rkt_event_kind)kind,
                                  reading.bad_stamp_count[kind], 0);
    }
}
