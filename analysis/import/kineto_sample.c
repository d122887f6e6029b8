/* SPDX-License-Identifier: Apache-2.0 */
/* What has a value at a moment: counters, operations of the framework's allocator, instants. */
#include <string.h>

#include "analysis/import/json_scan.h"
#include "analysis/import/kineto_parts.h"
#include "common/units.h"

#define COUNTER_NAME_BYTES 512u
#define DEVICE_TYPE_CPU 0u /* as PyTorch numbers them */

/* A number of any form as whole units, half up; false: no number, or below zero. */
static bool read_value(const struct rkt_json_field *field, uint64_t *value_out)
{
    int64_t thousandths;

    if (rkt_kineto_plain_digits(field, value_out) || rkt_kineto_to_u64(field, value_out))
        return true;
    if (!rkt_parse_us_to_ns(field->value, field->value_bytes, &thousandths) || thousandths < 0)
        return false;
    *value_out = ((uint64_t)thousandths + 500) / 1000;
    return true;
}

static struct rkt_event counter_at(const struct rkt_event *at, uint32_t name_id, uint64_t value)
{
    struct rkt_event event = {.kind = RKT_EVENT_COUNTER,
                              .clock_id = RKT_CLOCK_TRACE,
                              .type = RKT_COUNTER_NAMED,
                              .name_id = name_id,
                              .start_ns = at->start_ns,
                              .end_ns = at->end_ns,
                              .counter = {.value = value, .device_id = UINT32_MAX}};

    return event;
}

/* "GPU Power", or "memory used" for the series used of the counter memory. */
static uint32_t series_name(struct rkt_kineto *kineto, const struct rkt_json_field *name,
                            const struct rkt_json_field *series, bool is_only)
{
    char text[COUNTER_NAME_BYTES];
    size_t used = name ? name->value_bytes : 0;

    if (is_only || used + series->key_bytes + 1 > sizeof(text))
        return rkt_kineto_intern(kineto, name);
    if (used > 0) {
        memcpy(text, name->value, used);
        text[used++] = ' ';
    }
    memcpy(text + used, series->key, series->key_bytes);
    return rkt_strtab_intern(kineto->names, text, used + series->key_bytes);
}

/* One event per arg that is a number; *count_out of them. */
static enum rkt_status add_series(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                  const struct rkt_event *at, size_t *count_out,
                                  struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    size_t arg_count = 0;

    for (size_t i = 0; i < fields->all_count; i++)
        arg_count += fields->all[i].in_args;
    for (size_t i = 0; i < fields->all_count && status == RKT_OK; i++) {
        const struct rkt_json_field *field = &fields->all[i];
        struct rkt_event event;
        uint64_t value;

        if (!field->in_args || !read_value(field, &value))
            continue;
        event = counter_at(at, series_name(kineto, fields->of[RKT_KEY_NAME], field, arg_count == 1),
                           value);
        event.counter.device_id = rkt_kineto_u32(fields, RKT_KEY_DEVICE, UINT32_MAX);
        status = rkt_kineto_add(kineto, &event, err);
        ++*count_out;
    }
    return status;
}

enum rkt_status rkt_kineto_slice_counters(struct rkt_kineto *kineto,
                                          const struct rkt_kineto_fields *fields,
                                          const struct rkt_event *slice, struct rkt_error *err)
{
    size_t count = 0;

    return add_series(kineto, fields, slice, &count, err);
}

enum rkt_status rkt_kineto_counter(struct rkt_kineto *kineto,
                                   const struct rkt_kineto_fields *fields, struct rkt_error *err)
{
    struct rkt_event at = {.kind = RKT_EVENT_COUNTER};
    enum rkt_status status;
    int64_t start_ns;
    size_t count = 0;

    if (!rkt_kineto_start(kineto, fields, &start_ns)) {
        rkt_kineto_reject(kineto, RKT_FATE_NO_TIME, RKT_EVENT_COUNTER);
        return RKT_OK;
    }
    at.start_ns = at.end_ns = (uint64_t)start_ns;
    status = add_series(kineto, fields, &at, &count, err);
    if (count == 0) {
        rkt_kineto_reject(kineto, RKT_FATE_NO_VALUE, RKT_EVENT_COUNTER);
        return status;
    }
    rkt_kineto_note_event(kineto, &at);
    kineto->facts.fates[RKT_FATE_STORED]++;
    return status;
}

/* What the allocator holds after an operation, as two counters. */
static enum rkt_status add_totals(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                  const struct rkt_event *memory, struct rkt_error *err)
{
    static const struct {
        enum rkt_kineto_key key;
        const char *name;
    } TOTALS[] = {
        {RKT_KEY_TOTAL_ALLOCATED, "allocated memory"},
        {RKT_KEY_TOTAL_RESERVED, "reserved memory"},
    };
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < sizeof(TOTALS) / sizeof(TOTALS[0]) && status == RKT_OK; i++) {
        uint32_t *name_id = &kineto->total_ids[i];
        struct rkt_event event;
        uint64_t value;

        if (!rkt_kineto_u64(fields, TOTALS[i].key, &value))
            continue;
        if (*name_id == 0)
            *name_id = rkt_strtab_intern(kineto->names, TOTALS[i].name, strlen(TOTALS[i].name));
        event = counter_at(memory, *name_id, value);
        event.counter.device_id = memory->memory.device_id;
        status = rkt_kineto_add(kineto, &event, err);
    }
    return status;
}

/* "[memory]": the framework's allocator gave a block out (bytes above zero) or took one back. */
static enum rkt_status add_memory(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                  struct rkt_event *event, struct rkt_error *err)
{
    bool is_host =
        rkt_kineto_u32(fields, RKT_KEY_MEMORY_DEVICE_TYPE, DEVICE_TYPE_CPU) == DEVICE_TYPE_CPU;
    enum rkt_status status;
    int64_t bytes = 0;
    int64_t address;

    event->kind = RKT_EVENT_MEMORY;
    if (!rkt_kineto_i64(fields, RKT_KEY_ALLOCATED_BYTES, &bytes)) {
        rkt_kineto_reject(kineto, RKT_FATE_NO_VALUE, RKT_EVENT_MEMORY);
        return RKT_OK;
    }
    if (!rkt_kineto_u64(fields, RKT_KEY_ADDRESS, &event->memory.address) &&
        rkt_kineto_i64(fields, RKT_KEY_ADDRESS, &address))
        event->memory.address = (uint64_t)address;
    event->type = bytes < 0 ? RKT_MEMORY_FREE : RKT_MEMORY_ALLOC;
    event->memory.bytes = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
    event->memory.device_id =
        is_host ? UINT32_MAX : rkt_kineto_u32(fields, RKT_KEY_MEMORY_DEVICE, 0);
    event->memory.stream_id = UINT32_MAX;
    event->memory.memory_kind = is_host ? RKT_MEMORY_PAGEABLE : RKT_MEMORY_DEVICE;
    kineto->facts.fates[RKT_FATE_STORED]++;
    kineto->facts.is_trace = true;
    rkt_kineto_note_event(kineto, event);
    status = rkt_kineto_add(kineto, event, err);
    return status == RKT_OK && !is_host ? add_totals(kineto, fields, event, err) : status;
}

enum rkt_status rkt_kineto_instant(struct rkt_kineto *kineto,
                                   const struct rkt_kineto_fields *fields, bool is_async,
                                   struct rkt_error *err)
{
    struct rkt_event event = {.kind = RKT_EVENT_RANGE,
                              .clock_id = RKT_CLOCK_TRACE,
                              .type = RKT_RANGE_MARK,
                              .name_id = rkt_kineto_intern(kineto, fields->of[RKT_KEY_NAME])};
    bool is_memory = rkt_kineto_equals(fields->of[RKT_KEY_NAME], "[memory]");
    int64_t start_ns;

    if (!rkt_kineto_start(kineto, fields, &start_ns)) {
        rkt_kineto_reject(kineto, RKT_FATE_NO_TIME, is_memory ? RKT_EVENT_MEMORY : RKT_EVENT_RANGE);
        return RKT_OK;
    }
    event.start_ns = event.end_ns = (uint64_t)start_ns;
    event.thread_id =
        is_async ? rkt_kineto_async_track(kineto, fields) : rkt_kineto_thread(kineto, fields);
    if (is_memory)
        return add_memory(kineto, fields, &event, err);
    event.range.domain_id = rkt_kineto_intern(kineto, fields->of[RKT_KEY_CAT]);
    kineto->facts.fates[RKT_FATE_STORED]++;
    rkt_kineto_note_event(kineto, &event);
    return rkt_kineto_add(kineto, &event, err);
}
