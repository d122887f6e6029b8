/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/nvtx_source.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/capture/cupti_source.h"
#include "agent/capture/nvtx_nccl.h"
#include "agent/capture/open_events.h"
#include "agent/capture/steps.h"
#include "agent/capture/window.h"
#include "common/clock.h"

#define CATEGORIES_MAX 256u /* named ones, of all domains */
#define CATEGORY_NAME_BYTES 512u

/* A category that has a name. Filled once, published with its name. */
struct category {
    _Atomic bool is_taken;
    uint32_t domain;
    uint32_t number;
    _Atomic uint32_t domain_id; /* "domain:category"; 0: not yet */
};

struct rkt_nvtx_source {
    struct rkt_open_events *started;
    struct rkt_nvtx_schemas *schemas;
    _Atomic uint32_t nccl_domain; /* the id of "NCCL"; 0: there is no such domain yet */
    struct category categories[CATEGORIES_MAX];
};

struct rkt_nvtx_source *rkt_nvtx_source_create(void)
{
    struct rkt_nvtx_source *source = calloc(1, sizeof(*source));

    if (!source)
        return NULL;
    source->started = rkt_open_events_create();
    source->schemas = rkt_nvtx_schemas_create();
    if (source->started && source->schemas)
        return source;
    rkt_nvtx_source_destroy(source);
    return NULL;
}

void rkt_nvtx_source_destroy(struct rkt_nvtx_source *source)
{
    if (!source)
        return;
    rkt_open_events_destroy(source->started);
    rkt_nvtx_schemas_destroy(source->schemas);
    free(source);
}

/* ---- domains and categories ---- */

void rkt_nvtx_domain_created(struct rkt_capture *capture, uint32_t name_id)
{
    static const char nccl[] = "NCCL";
    const char *name;
    size_t len_bytes;

    if (rkt_region_name(capture->region, name_id, &name, &len_bytes) &&
        len_bytes == sizeof(nccl) - 1 && memcmp(name, nccl, len_bytes) == 0)
        atomic_store_explicit(&capture->nvtx->nccl_domain, name_id, memory_order_relaxed);
}

static bool is_nccl(const struct rkt_nvtx_source *source, uint32_t domain)
{
    return domain != 0 &&
           domain == atomic_load_explicit(&source->nccl_domain, memory_order_relaxed);
}

/* "domain:category", or the category alone in the default domain. */
static uint32_t full_name(struct rkt_capture *capture, uint32_t domain, uint32_t category)
{
    const char *parts[2];
    size_t lens[2];
    char text[CATEGORY_NAME_BYTES];

    if (!rkt_region_name(capture->region, domain, &parts[0], &lens[0]) ||
        !rkt_region_name(capture->region, category, &parts[1], &lens[1]))
        return category;
    if (lens[0] + 1 + lens[1] > sizeof(text))
        return domain;
    memcpy(text, parts[0], lens[0]);
    text[lens[0]] = ':';
    memcpy(text + lens[0] + 1, parts[1], lens[1]);
    return rkt_intern_name(capture->intern, text, lens[0] + 1 + lens[1]);
}

void rkt_nvtx_name_category(struct rkt_capture *capture, uint32_t domain, uint32_t number,
                            uint32_t name_id)
{
    if (name_id == 0)
        return;
    for (uint32_t i = 0; i < CATEGORIES_MAX; i++) {
        struct category *category = &capture->nvtx->categories[(number + i) % CATEGORIES_MAX];

        /* acquire: a category with a name has its other members, too */
        if (atomic_load_explicit(&category->domain_id, memory_order_acquire) != 0) {
            if (category->domain == domain && category->number == number)
                return; /* the first name stays */
            continue;
        }
        if (atomic_exchange_explicit(&category->is_taken, true, memory_order_relaxed))
            continue;
        category->domain = domain;
        category->number = number;
        atomic_store_explicit(&category->domain_id, full_name(capture, domain, name_id),
                              memory_order_release);
        return;
    }
}

/* The name that stands for domain and category. */
static uint32_t domain_id_of(const struct rkt_nvtx_source *source, const struct rkt_nvtx_says *says)
{
    for (uint32_t i = 0; says->category != 0 && i < CATEGORIES_MAX; i++) {
        const struct category *category =
            &source->categories[(says->category + i) % CATEGORIES_MAX];
        /* acquire: as above */
        uint32_t domain_id = atomic_load_explicit(&category->domain_id, memory_order_acquire);

        if (domain_id == 0)
            break;
        if (category->number == says->category && category->domain == says->domain)
            return domain_id;
    }
    return says->domain;
}

/* ---- ranges and marks ---- */

static struct rkt_event range_event(const struct rkt_capture *capture,
                                    const struct rkt_nvtx_says *says, enum rkt_range_type type,
                                    uint64_t now_ns)
{
    return (struct rkt_event){
        .kind = RKT_EVENT_RANGE,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = (uint8_t)type,
        .name_id = says->name_id,
        .start_ns = now_ns,
        .end_ns = now_ns,
        .range = {.value = says->value, .domain_id = domain_id_of(capture->nvtx, says)},
    };
}

/* In NCCL's domain the payload tells the call. */
static void describe_nccl(struct rkt_capture *capture, const struct rkt_nvtx_says *says,
                          struct rkt_nvtx_range *range)
{
    struct rkt_nvtx_fields fields =
        rkt_nvtx_payload_read(capture->nvtx->schemas, says->records, says->record_count);

    if (fields.has >> RKT_NVTX_FIELD_BYTES & 1)
        range->value = fields.value[RKT_NVTX_FIELD_BYTES];
    range->operation = rkt_nvtx_nccl_operation(capture, says->name_id, &fields);
}

int rkt_nvtx_push(struct rkt_capture *capture, const struct rkt_nvtx_says *says)
{
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_thread *thread = rkt_threads_get(capture->threads);
    struct rkt_nvtx_range *range;

    if (!thread)
        return RKT_NVTX_NO_LEVEL; /* the pop will be counted as lost */
    range = rkt_nvtx_stack_push(&thread->nvtx, says->domain);
    if (!range)
        return RKT_NVTX_NO_LEVEL;
    range->start_ns = now_ns;
    range->value = says->value;
    range->name_id = says->name_id;
    range->domain_id = domain_id_of(capture->nvtx, says);
    if (is_nccl(capture->nvtx, says->domain))
        describe_nccl(capture, says, range);
    range->is_step = rkt_steps_range_pushed(capture, thread->thread_id, says->name_id, now_ns);
    return range->level;
}

static void push_range(struct rkt_capture *capture, struct rkt_thread *thread,
                       const struct rkt_nvtx_range *range, uint64_t end_ns)
{
    struct rkt_event event = {
        .kind = RKT_EVENT_RANGE,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = RKT_RANGE_NVTX,
        .name_id = range->name_id,
        .start_ns = range->start_ns,
        .end_ns = end_ns,
        .thread_id = thread->thread_id,
        .range = {.value = range->value, .domain_id = range->domain_id},
    };

    if (rkt_window_is_tracing(capture->window))
        (void)rkt_ring_push(thread->ring, &event);
    if (range->is_step)
        rkt_steps_range_popped(capture, end_ns);
}

int rkt_nvtx_pop(struct rkt_capture *capture, const struct rkt_nvtx_says *says)
{
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_thread *thread = rkt_threads_get(capture->threads);
    struct rkt_nvtx_range range;
    struct rkt_nvtx_fields fields;

    if (!thread) {
        rkt_region_count_no_ring(capture->region);
        return RKT_NVTX_NO_LEVEL;
    }
    switch (rkt_nvtx_stack_pop(&thread->nvtx, says->domain, &range)) {
    case RKT_NVTX_NONE:
        return RKT_NVTX_NO_LEVEL;
    case RKT_NVTX_TOO_DEEP:
        rkt_threads_push_loss(capture->threads, RKT_LOSS_TOO_MANY_OPEN, RKT_EVENT_RANGE, 1, 0);
        return RKT_NVTX_NO_LEVEL;
    case RKT_NVTX_POPPED:
        break;
    }
    push_range(capture, thread, &range, now_ns);
    if (is_nccl(capture->nvtx, says->domain)) {
        fields = rkt_nvtx_payload_read(capture->nvtx->schemas, says->records, says->record_count);
        rkt_nvtx_nccl_popped(capture, thread, &range, &fields, now_ns);
    }
    return range.level;
}

/* The id is the handle of the open event, with a bit for "a step ends with it". */
uint64_t rkt_nvtx_start(struct rkt_capture *capture, const struct rkt_nvtx_says *says)
{
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_event event = range_event(capture, says, RKT_RANGE_NVTX, now_ns);
    const struct rkt_thread *thread = rkt_threads_get(capture->threads);
    uint64_t handle;

    event.thread_id = thread ? thread->thread_id : 0;
    handle = rkt_open_events_begin(capture->nvtx->started, &event);
    if (handle == 0) {
        rkt_threads_push_loss(capture->threads, RKT_LOSS_TOO_MANY_OPEN, RKT_EVENT_RANGE, 1, 0);
        return 0;
    }
    return handle << 1 | rkt_steps_range_pushed(capture, event.thread_id, says->name_id, now_ns);
}

void rkt_nvtx_end(struct rkt_capture *capture, uint64_t id)
{
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_event event;

    if (!rkt_open_events_end(capture->nvtx->started, id >> 1, &event))
        return;
    event.end_ns = now_ns;
    if (rkt_window_is_tracing(capture->window))
        (void)rkt_threads_push(capture->threads, &event);
    if (id & 1)
        rkt_steps_range_popped(capture, now_ns);
}

void rkt_nvtx_mark(struct rkt_capture *capture, const struct rkt_nvtx_says *says)
{
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_event event = range_event(capture, says, RKT_RANGE_MARK, now_ns);

    (void)rkt_window_stamp(capture, &event);
    rkt_steps_marked(capture, event.thread_id, says->name_id, now_ns);
}

/* ---- names, schemas, exit ---- */

void rkt_nvtx_name_object(struct rkt_capture *capture, enum rkt_named_object what,
                          uint64_t object_id, uint32_t name_id)
{
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_event event = {
        .kind = RKT_EVENT_NAME,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = (uint8_t)what,
        .name_id = name_id,
        .start_ns = now_ns,
        .end_ns = now_ns,
        .thread_id = what == RKT_NAMED_THREAD ? (uint32_t)object_id : 0,
        .name.object_id = object_id,
    };

    if (name_id != 0)
        (void)rkt_threads_push(capture->threads, &event);
}

void rkt_nvtx_name_stream(struct rkt_capture *capture, void *stream, uint32_t name_id)
{
    uint32_t stream_id;

    if (rkt_cupti_source_stream_id(capture->cupti, stream, &stream_id))
        rkt_nvtx_name_object(capture, RKT_NAMED_STREAM, stream_id, name_id);
}

uint64_t rkt_nvtx_register_schema(struct rkt_capture *capture, uint32_t domain,
                                  const struct rkt_nvtx_schema *schema)
{
    return rkt_nvtx_schema_register(capture->nvtx->schemas, schema, is_nccl(capture->nvtx, domain));
}

uint64_t rkt_nvtx_register_enum(struct rkt_capture *capture, const struct rkt_nvtx_enum *list)
{
    return rkt_nvtx_enum_register(capture->nvtx->schemas, list);
}

void rkt_nvtx_source_close(struct rkt_capture *capture)
{
    struct rkt_event event;

    while (rkt_open_events_take(capture->nvtx->started, &event))
        (void)rkt_threads_push(capture->threads, &event);
}
