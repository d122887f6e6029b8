/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/rank_trace_parts.h"
#include "analysis/time_sort.h"

/* Of one that is said again the first counts. */
static void add_device(struct rkt_rank_trace *trace, const struct rkt_event_device *device)
{
    for (size_t i = 0; i < trace->gpu.device_count; i++) {
        if (trace->gpu.devices[i].device_id == device->device_id)
            return;
    }
    if (trace->gpu.device_count < RKT_DEVICES_MAX)
        trace->gpu.devices[trace->gpu.device_count++] = *device;
}

enum rkt_status rkt_rank_trace_build_gpu(struct rkt_rank_trace *trace,
                                         const struct rkt_raw_trace *raw, struct rkt_error *err)
{
    const struct rkt_raw_events *devices = &raw->by_kind[RKT_EVENT_DEVICE];
    const struct rkt_raw_events *list = &raw->by_kind[RKT_EVENT_COUNTER];

    for (size_t i = 0; i < devices->count; i++)
        add_device(trace, &rkt_raw_event(devices, i)->device);
    trace->gpu.counters = calloc(list->count + 1, sizeof(*trace->gpu.counters));
    if (!trace->gpu.counters)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu samples", list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct rkt_event *event = rkt_raw_event(list, i);
        struct rkt_counter_sample *sample = &trace->gpu.counters[trace->gpu.counter_count];

        if (event->type >= RKT_COUNTER_COUNT ||
            !rkt_rank_trace_times(trace, event, &sample->start_ns, &sample->end_ns, NULL))
            continue;
        sample->value = event->counter.value;
        sample->device_id = event->counter.device_id;
        sample->name_id = event->name_id;
        sample->counter = event->type;
        if (sample->end_ns - sample->start_ns > trace->gpu.longest_ns)
            trace->gpu.longest_ns = sample->end_ns - sample->start_ns;
        trace->gpu.counter_count++;
    }
    if (rkt_time_sort(trace->gpu.counters, trace->gpu.counter_count, sizeof(*trace->gpu.counters),
                      RKT_BY_START) != RKT_OK)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to sort %zu samples", list->count);
    return RKT_OK;
}
