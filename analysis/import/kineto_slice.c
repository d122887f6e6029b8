/* SPDX-License-Identifier: Apache-2.0 */
/* Slices (ph X), and what a begin (ph B) says, of a Kineto or Chrome trace. */
#include <string.h>

#include "analysis/import/json_scan.h"
#include "analysis/import/kineto_parts.h"
#include "common/array.h"
#include "common/checked.h"
#include "common/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NS_PER_US 1000
#define DECIMALS_BYTES ((size_t)4) /* .123 */
#define PADDED_DIGITS 3
#define TIMES_SAMPLED 65536u /* so many show how a file writes its times */
#define TIMES_TO_JUDGE 64u   /* a tenth of padded fractions begins with 0 */

bool rkt_kineto_slice_needs_args(enum rkt_kineto_class class, const struct rkt_json_field *name)
{
    switch (class) {
    case RKT_KINETO_KERNEL:
    case RKT_KINETO_MEMCPY:
    case RKT_KINETO_MEMSET:
    case RKT_KINETO_RUNTIME:
    case RKT_KINETO_DRIVER:
    case RKT_KINETO_SYNC:
    case RKT_KINETO_COUNTERS:
        return true;
    case RKT_KINETO_CPU_OP: /* the only operator whose args say what a collective is */
        return rkt_kineto_equals(name, "record_param_comms");
    case RKT_KINETO_ANNOTATION:
    case RKT_KINETO_GPU_ANNOTATION:
    case RKT_KINETO_PYTHON:
    case RKT_KINETO_OVERHEAD:
    case RKT_KINETO_OTHER:
        break;
    }
    return false;
}

/* ---- times ---- */

/* Some builds wrote 1 us 5 ns as 1.5: among right fractions one in ten begins with a zero. */
static void note_fraction(struct rkt_kineto_times *times, const struct rkt_json_field *field)
{
    const char *dot = NULL;
    size_t digits = 0;

    times->count++;
    if (field->shape != RKT_JSON_DIGITS)
        dot = memchr(field->value, '.', field->value_bytes);
    if (!dot)
        return;
    digits = field->value_bytes - (size_t)(dot - field->value) - 1;
    times->with_fraction++;
    times->short_count += digits < PADDED_DIGITS;
    times->long_count += digits > PADDED_DIGITS;
    times->wide_count += digits > 1;
    times->zero_count += digits > 1 && dot[1] == '0';
}

bool rkt_kineto_times_are_unpadded(const struct rkt_kineto_times *times)
{
    return times->wide_count >= TIMES_TO_JUDGE && times->zero_count == 0 &&
           times->short_count > 0 && times->long_count == 0;
}

/* As most are written: whole microseconds, or with all digits of the nanoseconds. */
static bool usual_time(const struct rkt_json_field *field, int64_t *ns_out)
{
    const char *value = field->value;
    size_t us_bytes = field->value_bytes;
    uint64_t ns = 0;
    uint64_t us;

    if (field->shape == RKT_JSON_DECIMAL && us_bytes > DECIMALS_BYTES &&
        value[us_bytes - DECIMALS_BYTES] == '.') {
        us_bytes -= DECIMALS_BYTES;
        ns = rkt_kineto_digits(value + us_bytes + 1, DECIMALS_BYTES - 1);
    } else if (field->shape != RKT_JSON_DIGITS) {
        return false;
    }
    if (us_bytes > RKT_KINETO_DIGITS_MAX)
        return false;
    us = rkt_kineto_digits(value, us_bytes);
    if (us >= INT64_MAX / NS_PER_US)
        return false;
    *ns_out = (int64_t)(us * NS_PER_US + ns);
    return true;
}

bool rkt_kineto_time(struct rkt_kineto *kineto, const struct rkt_json_field *field, int64_t *ns_out)
{
    if (!field || (!usual_time(field, ns_out) &&
                   !rkt_parse_us_to_ns(field->value, field->value_bytes, ns_out)))
        return false;
    if (kineto->times.count < TIMES_SAMPLED)
        note_fraction(&kineto->times, field);
    return true;
}

bool rkt_kineto_start(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                      int64_t *start_ns_out)
{
    int64_t start_ns;

    return rkt_kineto_time(kineto, fields->of[RKT_KEY_TS], &start_ns) && start_ns > 0 &&
           rkt_add_i64(start_ns, kineto->shift_ns, start_ns_out) && *start_ns_out > 0;
}

static enum rkt_fate read_times(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                struct rkt_event *event)
{
    int64_t start_ns;
    int64_t dur_ns;
    int64_t end_ns;

    if (!rkt_kineto_start(kineto, fields, &start_ns) ||
        !rkt_kineto_time(kineto, fields->of[RKT_KEY_DUR], &dur_ns))
        return RKT_FATE_NO_TIME;
    if (dur_ns < 0)
        return RKT_FATE_REVERSED;
    if (!rkt_add_i64(start_ns, dur_ns, &end_ns))
        return RKT_FATE_NO_TIME;
    event->start_ns = (uint64_t)start_ns;
    event->end_ns = (uint64_t)end_ns;
    return RKT_FATE_STORED;
}

/* ---- everything else ---- */

static void fill_api(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                     enum rkt_api_type type, struct rkt_event *event)
{
    event->kind = RKT_EVENT_API;
    event->type = (uint8_t)type;
    event->thread_id = rkt_kineto_thread(kineto, fields);
    event->api.cbid = rkt_kineto_u32(fields, RKT_KEY_CBID, 0);
}

static void fill_range(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                       enum rkt_range_type type, struct rkt_event *event)
{
    event->kind = RKT_EVENT_RANGE;
    event->type = (uint8_t)type;
    if (type == RKT_RANGE_GPU_ANNOTATION)
        event->range.stream_id = rkt_kineto_stream(fields, 0);
    else
        event->thread_id = rkt_kineto_thread(kineto, fields);
    if (type == RKT_RANGE_OTHER)
        event->range.domain_id = rkt_kineto_intern(kineto, fields->of[RKT_KEY_CAT]);
}

/* Sizes and types as one name: most operators of a program have the same, step by step. */
static uint32_t intern_inputs(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields)
{
    struct rkt_json_field sizes;
    struct rkt_json_field types;
    size_t bytes;

    if (!rkt_kineto_inputs(fields, &sizes, &types))
        return 0;
    bytes = sizes.value_bytes + (types.value ? 1 + types.value_bytes : 0);
    /* a text that a table of names cuts tells nothing of what changed */
    if (bytes > RKT_STRING_BYTES_MAX ||
        !rkt_array_reserve((void **)&kineto->scratch, &kineto->scratch_cap, bytes, 1))
        return 0;
    memcpy(kineto->scratch, sizes.value, sizes.value_bytes);
    if (types.value) {
        kineto->scratch[sizes.value_bytes] = ' ';
        memcpy(kineto->scratch + sizes.value_bytes + 1, types.value, types.value_bytes);
    }
    return rkt_strtab_intern(kineto->names, kineto->scratch, bytes);
}

static bool contains(const struct rkt_json_field *field, const char *word)
{
    return field && memmem(field->value, field->value_bytes, word, strlen(word));
}

static void fill_overhead(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                          struct rkt_event *event)
{
    static const struct {
        const char *word;
        enum rkt_overhead_type type;
    } WORDS[] = {
        {"Compiler", RKT_OVERHEAD_COMPILER},
        {"Buffer Flush", RKT_OVERHEAD_BUFFER_FLUSH},
        {"Instrumentation", RKT_OVERHEAD_INSTRUMENTATION},
        {"Resource", RKT_OVERHEAD_RESOURCE},
        {"Module Loading", RKT_OVERHEAD_MODULE_LOADING},
        {"Lazy Function Loading", RKT_OVERHEAD_LAZY_LOADING},
        {"Command Buffer Full", RKT_OVERHEAD_QUEUE_FULL},
    };

    event->kind = RKT_EVENT_OVERHEAD;
    for (size_t i = 0; i < COUNT(WORDS); i++) {
        if (contains(fields->of[RKT_KEY_NAME], WORDS[i].word))
            event->type = (uint8_t)WORDS[i].type;
    }
    event->thread_id = rkt_kineto_thread(kineto, fields);
    event->overhead.device_id = UINT32_MAX;
    event->overhead.context_id = UINT32_MAX;
    event->overhead.stream_id = UINT32_MAX;
}

/* Everything of the event but its times, name and correlation. */
static enum rkt_status fill(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                            enum rkt_kineto_class class, struct rkt_event *event,
                            struct rkt_error *err)
{
    switch (class) {
    case RKT_KINETO_KERNEL:
        return rkt_kineto_fill_kernel(kineto, fields, event, err);
    case RKT_KINETO_MEMCPY:
        rkt_kineto_fill_memcpy(kineto, fields, event);
        break;
    case RKT_KINETO_MEMSET:
        rkt_kineto_fill_memset(fields, event);
        break;
    case RKT_KINETO_RUNTIME:
        fill_api(kineto, fields, RKT_API_RUNTIME, event);
        break;
    case RKT_KINETO_DRIVER:
        fill_api(kineto, fields, RKT_API_DRIVER, event);
        break;
    case RKT_KINETO_SYNC:
        rkt_kineto_fill_sync(fields, event);
        break;
    case RKT_KINETO_CPU_OP:
        fill_range(kineto, fields, RKT_RANGE_CPU_OP, event);
        event->range.inputs_id = intern_inputs(kineto, fields);
        break;
    case RKT_KINETO_ANNOTATION:
        fill_range(kineto, fields, RKT_RANGE_ANNOTATION, event);
        break;
    case RKT_KINETO_GPU_ANNOTATION:
        fill_range(kineto, fields, RKT_RANGE_GPU_ANNOTATION, event);
        break;
    case RKT_KINETO_PYTHON:
        fill_range(kineto, fields, RKT_RANGE_PYTHON, event);
        break;
    case RKT_KINETO_OVERHEAD:
        fill_overhead(kineto, fields, event);
        break;
    case RKT_KINETO_COUNTERS: /* its values come beside it */
    case RKT_KINETO_OTHER:
        fill_range(kineto, fields, RKT_RANGE_OTHER, event);
        break;
    }
    return RKT_OK;
}

static bool has_correlation(enum rkt_kineto_class class)
{
    return class >= RKT_KINETO_KERNEL && class <= RKT_KINETO_SYNC;
}

enum rkt_status rkt_kineto_fill(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                enum rkt_kineto_class class, struct rkt_event *event,
                                struct rkt_error *err)
{
    *event = (struct rkt_event){.clock_id = RKT_CLOCK_TRACE};
    event->name_id = rkt_kineto_intern(kineto, fields->of[RKT_KEY_NAME]);
    if (has_correlation(class))
        event->correlation_id = rkt_kineto_correlation(kineto, fields);
    return fill(kineto, fields, class, event, err);
}

void rkt_kineto_note_event(struct rkt_kineto *kineto, const struct rkt_event *event)
{
    struct rkt_trace_facts *facts = &kineto->facts;

    facts->gpu_count += event->kind >= RKT_EVENT_KERNEL && event->kind <= RKT_EVENT_MEMSET;
    if (event->start_ns < facts->first_ns)
        facts->first_ns = event->start_ns;
    if (event->end_ns > facts->last_ns)
        facts->last_ns = event->end_ns;
}

static void note_class(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                       enum rkt_kineto_class class)
{
    bool is_host =
        class == RKT_KINETO_CPU_OP || class == RKT_KINETO_RUNTIME || class == RKT_KINETO_DRIVER;

    kineto->facts.is_trace |= class != RKT_KINETO_OTHER;
    if (is_host && kineto->facts.pid == 0)
        (void)rkt_kineto_u64(fields, RKT_KEY_PID, &kineto->facts.pid);
}

enum rkt_status rkt_kineto_store(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                 enum rkt_kineto_class class, const struct rkt_event *event,
                                 struct rkt_error *err)
{
    enum rkt_status status = rkt_kineto_add(kineto, event, err);

    if (status != RKT_OK)
        return status;
    rkt_kineto_note_event(kineto, event);
    kineto->facts.fates[RKT_FATE_STORED]++;
    note_class(kineto, fields, class);
    if (class == RKT_KINETO_KERNEL)
        return rkt_kineto_comm_kernel(kineto, fields, event, err);
    if (class == RKT_KINETO_CPU_OP && fields->of[RKT_KEY_COLLECTIVE])
        return rkt_kineto_comm_operator(kineto, fields, err);
    if (class == RKT_KINETO_COUNTERS)
        return rkt_kineto_slice_counters(kineto, fields, event, err);
    return RKT_OK;
}

bool rkt_kineto_is_left_out(struct rkt_kineto *kineto, enum rkt_kineto_class class)
{
    if (class != RKT_KINETO_PYTHON || kineto->options.keeps_python)
        return false;
    kineto->facts.fates[RKT_FATE_PYTHON]++;
    return true;
}

void rkt_kineto_reject(struct rkt_kineto *kineto, enum rkt_fate fate, enum rkt_event_kind kind)
{
    kineto->facts.fates[fate]++;
    kineto->rejected[kind]++;
}

enum rkt_status rkt_kineto_slice(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                 struct rkt_error *err)
{
    enum rkt_kineto_class class = rkt_kineto_class(kineto, fields->of[RKT_KEY_CAT]);
    struct rkt_event event;
    enum rkt_status status;
    enum rkt_fate fate;

    if (rkt_kineto_is_left_out(kineto, class))
        return RKT_OK;
    status = rkt_kineto_fill(kineto, fields, class, &event, err);
    if (status != RKT_OK)
        return status;
    fate = read_times(kineto, fields, &event);
    if (fate == RKT_FATE_STORED)
        return rkt_kineto_store(kineto, fields, class, &event, err);
    rkt_kineto_reject(kineto, fate, (enum rkt_event_kind)event.kind);
    return RKT_OK;
}
