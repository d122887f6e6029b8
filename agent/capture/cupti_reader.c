/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_reader.h"

#include <time.h>

#include "agent/capture/cupti_convert.h"
#include "common/clock.h"

#define FUTURE_NS 60000000000u    /* a stamp later than this from now is absurd */
#define ROOM_STEP_NS 500000       /* between two looks for room in the ring */
#define ROOM_WAIT_NS 1000000000u  /* at most so long for one buffer */
#define EVENTS_PER_RECORD 3u      /* itself, a new launch shape, a new thread's name */
#define SMALLEST_RECORD_BYTES 40u /* an API record: the unit in which unread bytes are counted */

/* One buffer on its way. */
struct reading {
    struct rkt_cupti_reader *reader;
    struct rkt_thread *thread; /* NULL: no ring is left, so records are counted alone */
    struct rkt_cupti_converter converter;
    uint64_t deadline_ns; /* 0: has passed */
    uint64_t room;        /* events that surely fit into the ring */
    uint64_t earliest_ns;
    uint64_t devices_seen; /* a bit per device */
    uint64_t work_count;
    uint32_t last_thread_id;
    uint64_t bad_stamp_count[RKT_EVENT_KIND_COUNT];
};

/* Who waited in vain once does so no more until there is room: nobody may be there to make it. */
static void note_waiting(const struct reading *reading)
{
    atomic_store_explicit(&reading->reader->has_waited_in_vain, reading->room < EVENTS_PER_RECORD,
                          memory_order_relaxed);
}

static void wait_for_room(struct reading *reading)
{
    const struct rkt_ring *ring = reading->thread->ring;
    struct timespec step = {.tv_nsec = ROOM_STEP_NS};

    reading->room = rkt_ring_room(ring);
    while (reading->room < EVENTS_PER_RECORD && reading->deadline_ns != 0) {
        if (rkt_now_raw_ns() >= reading->deadline_ns)
            reading->deadline_ns = 0;
        else
            nanosleep(&step, NULL);
        reading->room = rkt_ring_room(ring);
    }
    note_waiting(reading);
}

static bool is_gpu_work(const struct rkt_event *event)
{
    return event->kind == RKT_EVENT_KERNEL || event->kind == RKT_EVENT_MEMCPY ||
           event->kind == RKT_EVENT_MEMSET || event->kind == RKT_EVENT_GRAPH;
}

/* What the others want to know of an event on its way. */
static void note_event(struct reading *reading, const struct rkt_event *event)
{
    struct rkt_cupti_reader *reader = reading->reader;

    if (event->kind == RKT_EVENT_API) {
        if (event->thread_id != reading->last_thread_id && reader->has_system_thread_ids)
            rkt_threads_note_name(reader->capture->threads, event->thread_id);
        reading->last_thread_id = event->thread_id;
    } else if (is_gpu_work(event)) {
        /* in all four, device_id comes first */
        reading->devices_seen |= rkt_cupti_devices_bit(event->kernel.device_id);
        reading->work_count++;
    }
    if (event->start_ns < reading->earliest_ns)
        reading->earliest_ns = event->start_ns;
}

static void read_record(struct reading *reading, const CUpti_Activity *record, size_t record_bytes)
{
    struct rkt_event event;

    if (!reading->thread) {
        rkt_region_count_no_ring(reading->reader->capture->region);
        return;
    }
    if (reading->room < EVENTS_PER_RECORD)
        wait_for_room(reading);
    switch (rkt_cupti_convert(&reading->converter, record, record_bytes, &event)) {
    case RKT_CUPTI_IGNORED:
        return;
    case RKT_CUPTI_BAD_STAMP:
        reading->bad_stamp_count[event.kind]++;
        return;
    case RKT_CUPTI_CONVERTED:
        break;
    }
    note_event(reading, &event);
    (void)rkt_ring_push(reading->thread->ring, &event);
    reading->room -= reading->room < EVENTS_PER_RECORD ? reading->room : EVENTS_PER_RECORD;
}

/* A library that does not go forward would be walked for ever. */
static bool is_next(const uint8_t *record, const uint8_t *last, const uint8_t *end)
{
    return record && (!last || record > last) && record + sizeof(CUpti_Activity) <= end &&
           (uintptr_t)record % _Alignof(CUpti_Activity) == 0;
}

/* The walk is one record behind: where a record ends is known from where the next begins. */
static void read_records(struct reading *reading, uint8_t *buffer, size_t valid_bytes)
{
    const struct rkt_cupti_library *library = reading->reader->library;
    const uint8_t *end = buffer + valid_bytes;
    const uint8_t *last = NULL;
    CUpti_Activity *record = NULL;

    while (library->next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
        const uint8_t *next = (const uint8_t *)record;

        if (next < buffer || !is_next(next, last, end)) {
            rkt_cupti_reader_count_unread(reading->reader, (size_t)(end - (last ? last : buffer)));
            return;
        }
        if (last)
            read_record(reading, (const CUpti_Activity *)last, (size_t)(next - last));
        last = next;
    }
    if (last)
        read_record(reading, (const CUpti_Activity *)last, (size_t)(end - last));
}

/* Until when to wait for room: for one buffer, or for all that is left at exit. 0: not at all. */
static uint64_t room_deadline_ns(const struct rkt_cupti_reader *reader)
{
    uint64_t stop_ns = atomic_load_explicit(&reader->stop_deadline_ns, memory_order_relaxed);

    if (stop_ns != 0)
        return stop_ns;
    return atomic_load_explicit(&reader->has_waited_in_vain, memory_order_relaxed)
               ? 0
               : rkt_now_raw_ns() + ROOM_WAIT_NS;
}

static void lower(_Atomic uint64_t *earliest_ns, uint64_t start_ns)
{
    uint64_t known_ns = atomic_load_explicit(earliest_ns, memory_order_relaxed);

    while (start_ns < known_ns &&
           !atomic_compare_exchange_weak_explicit(earliest_ns, &known_ns, start_ns,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

/* What was counted on the way is told once per buffer. */
static void tell(const struct reading *reading)
{
    struct rkt_cupti_reader *reader = reading->reader;
    const uint64_t *bad = reading->bad_stamp_count;

    lower(&reader->earliest_ns, reading->earliest_ns);
    rkt_cupti_devices_note(&reader->devices, reading->devices_seen);
    atomic_fetch_add_explicit(&reader->good_work_count, reading->work_count, memory_order_relaxed);
    atomic_fetch_add_explicit(&reader->bad_work_count,
                              bad[RKT_EVENT_KERNEL] + bad[RKT_EVENT_MEMCPY] +
                                  bad[RKT_EVENT_MEMSET] + bad[RKT_EVENT_GRAPH],
                              memory_order_relaxed);
    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++) {
        if (bad[kind] > 0)
            rkt_threads_push_loss(reader->capture->threads, RKT_LOSS_BAD_STAMP,
                                  (enum rkt_event_kind)kind, bad[kind], 0);
    }
}

void rkt_cupti_reader_read(struct rkt_cupti_reader *reader, uint8_t *buffer, size_t valid_bytes)
{
    struct rkt_thread *thread = rkt_threads_get(reader->capture->threads);
    struct reading reading = {
        .reader = reader,
        .thread = thread,
        .converter = {.intern = reader->capture->intern,
                      .api_names = reader->api_names,
                      .ring = thread ? thread->ring : NULL,
                      .latest_end_ns = rkt_now_real_ns() + FUTURE_NS},
        .deadline_ns = room_deadline_ns(reader),
        .earliest_ns = UINT64_MAX,
    };

    read_records(&reading, buffer, valid_bytes);
    tell(&reading);
}

void rkt_cupti_reader_count_unread(struct rkt_cupti_reader *reader, size_t bytes)
{
    rkt_threads_push_loss(reader->capture->threads, RKT_LOSS_CUPTI_DROPPED, RKT_EVENT_NONE,
                          (bytes + SMALLEST_RECORD_BYTES - 1) / SMALLEST_RECORD_BYTES, bytes);
}
