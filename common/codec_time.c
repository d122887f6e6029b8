/* SPDX-License-Identifier: Apache-2.0 */
#include "common/codec_time.h"

#include <stdbool.h>

#include "common/codec_column.h"

/* Of the last row in each slot: where the next one is measured from. */
struct lanes {
    uint64_t from_ns[RKT_LANE_SLOTS];
    bool has_lanes; /* the kind's rows follow each other by lane; else by row, start to start */
};

static bool kind_has_lanes(uint8_t kind)
{
    switch (kind) {
    case RKT_EVENT_KERNEL:
    case RKT_EVENT_MEMCPY:
    case RKT_EVENT_MEMSET:
    case RKT_EVENT_GRAPH:
    case RKT_EVENT_API:
        return true;
    default:
        return false;
    }
}

/* Lanes that share a slot cost some bytes and nothing else. */
static uint32_t slot_of(const struct lanes *lanes, const struct rkt_event *event)
{
    if (!lanes->has_lanes)
        return 0;
    switch (event->kind) {
    case RKT_EVENT_KERNEL:
        return (event->kernel.device_id * 61u + event->kernel.stream_id) % RKT_LANE_SLOTS;
    case RKT_EVENT_MEMCPY:
        return (event->memcpy.device_id * 61u + event->memcpy.stream_id) % RKT_LANE_SLOTS;
    case RKT_EVENT_MEMSET:
        return (event->memset.device_id * 61u + event->memset.stream_id) % RKT_LANE_SLOTS;
    case RKT_EVENT_GRAPH:
        return (event->graph.device_id * 61u + event->graph.stream_id) % RKT_LANE_SLOTS;
    default:
        return event->thread_id % RKT_LANE_SLOTS;
    }
}

static void lanes_init(struct lanes *lanes, uint8_t kind, uint64_t base_ns)
{
    lanes->has_lanes = kind_has_lanes(kind);
    for (size_t i = 0; i < RKT_LANE_SLOTS; i++)
        lanes->from_ns[i] = base_ns;
}

static void follow(struct lanes *lanes, uint32_t slot, const struct rkt_event *event)
{
    lanes->from_ns[slot] = lanes->has_lanes ? event->end_ns : event->start_ns;
}

/* ---- the unit ---- */

static uint64_t magnitude(uint64_t difference)
{
    return difference >> 63 ? 0 - difference : difference;
}

/* The largest number that divides both; 0 is divided by everything. */
static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* A number to divide by, again and again: to multiply is several times as fast. */
struct divisor {
    uint64_t unit;
    uint64_t inverse; /* 2^64 / unit, rounded up; 0: the unit is 0 or 1 */
};

static struct divisor divisor_of(uint64_t unit)
{
    struct divisor divisor = {unit, 0};

    if (unit > 1)
        divisor.inverse = UINT64_MAX / unit + 1;
    return divisor;
}

/* Exact for a multiple of the unit: what rounding adds is then less than 1. Of another number the
 * result times the unit is not that number. */
static inline uint64_t divide(uint64_t number, struct divisor by)
{
    if (by.inverse == 0)
        return number * by.unit;
    return (uint64_t)((unsigned __int128)number * by.inverse >> 64);
}

static inline bool is_multiple(uint64_t number, struct divisor of)
{
    return divide(number, of) * of.unit == number;
}

static struct divisor find_unit(const uint64_t *starts, const uint64_t *durations, size_t count)
{
    struct divisor unit = divisor_of(0);

    for (size_t i = 0; i < count && unit.unit != 1; i++) {
        uint64_t start = magnitude(starts[i]);
        uint64_t duration = magnitude(durations[i]);

        if (!is_multiple(start, unit) || !is_multiple(duration, unit))
            unit = divisor_of(common_divisor(common_divisor(start, unit.unit), duration));
    }
    return unit.unit ? unit : divisor_of(1);
}

static inline uint64_t divide_difference(uint64_t difference, struct divisor by)
{
    return difference >> 63 ? 0 - divide(0 - difference, by) : divide(difference, by);
}

/* ---- both ways ---- */

uint64_t rkt_times_encode(const struct rkt_event *events, size_t count, uint64_t *starts_out,
                          uint64_t *durations_out)
{
    struct lanes lanes;
    struct divisor unit;

    lanes_init(&lanes, events[0].kind, events[0].start_ns);
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = slot_of(&lanes, &events[i]);

        starts_out[i] = events[i].start_ns - lanes.from_ns[slot];
        durations_out[i] = events[i].end_ns - events[i].start_ns;
        follow(&lanes, slot, &events[i]);
    }
    unit = find_unit(starts_out, durations_out, count);
    for (size_t i = 0; i < count && unit.unit != 1; i++) {
        starts_out[i] = divide_difference(starts_out[i], unit);
        durations_out[i] = divide_difference(durations_out[i], unit);
    }
    for (size_t i = 0; i < count; i++) {
        starts_out[i] = rkt_zigzag(starts_out[i]);
        durations_out[i] = rkt_zigzag(durations_out[i]);
    }
    return unit.unit;
}

void rkt_times_decode(struct rkt_event *events, size_t count, uint64_t base_start_ns,
                      uint64_t unit_ns, const uint64_t *starts, const uint64_t *durations)
{
    uint64_t unit = unit_ns ? unit_ns : 1;
    struct lanes lanes;

    lanes_init(&lanes, unit_ns ? events[0].kind : RKT_EVENT_NONE, base_start_ns);
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = slot_of(&lanes, &events[i]);

        events[i].start_ns = lanes.from_ns[slot] + unit * rkt_unzigzag(starts[i]);
        events[i].end_ns = events[i].start_ns + unit * rkt_unzigzag(durations[i]);
        follow(&lanes, slot, &events[i]);
    }
}
