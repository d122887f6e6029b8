/* SPDX-License-Identifier: Apache-2.0 */
/* What runs on a GPU, and what joins it with its launch: kernels, copies, synchronisations. */
#include <string.h>

#include "analysis/import/json_scan.h"
#include "analysis/import/kineto_parts.h"
#include "common/array.h"

/* Correlation ids up to here are kept as they are; larger ones get numbers above it. */
#define CORRELATION_PLAIN_MAX 0x7fffffffu

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool begins_with(const struct rkt_json_field *field, const char *text)
{
    size_t bytes = strlen(text);

    return field && field->value_bytes >= bytes && memcmp(field->value, text, bytes) == 0;
}

/* What an id joins: two of different kinds are never equal. */
enum id_space {
    ID_CORRELATION = 0,
    ID_EXTERNAL = 1, /* some ROCm traces have nothing else */
};

/* An id of any size as a number above all plain ones. */
static uint32_t intern_correlation(struct rkt_kineto *kineto, enum id_space space, uint64_t value)
{
    uint64_t key[2] = {value, (uint64_t)kineto->window << 8 | space};
    uint32_t id = rkt_strtab_intern(kineto->correlations, (const char *)key, sizeof(key));

    return id == 0 ? 0 : CORRELATION_PLAIN_MAX + id;
}

/* Ids of a process that was started again begin anew: each window has its own range of them. */
static uint32_t correlation_of(struct rkt_kineto *kineto, uint64_t value)
{
    if (value == 0)
        return 0;
    if (value > CORRELATION_PLAIN_MAX - kineto->correlation_base)
        return intern_correlation(kineto, ID_CORRELATION, value);
    value += kineto->correlation_base;
    if (value > kineto->correlation_max)
        kineto->correlation_max = (uint32_t)value;
    return (uint32_t)value;
}

uint32_t rkt_kineto_correlation(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields)
{
    uint64_t value;
    int64_t signed_value;

    if (rkt_kineto_u64(fields, RKT_KEY_CORRELATION, &value))
        return correlation_of(kineto, value);
    if (rkt_kineto_i64(fields, RKT_KEY_CORRELATION, &signed_value))
        return intern_correlation(kineto, ID_CORRELATION, (uint64_t)signed_value);
    if (!fields->of[RKT_KEY_CORRELATION] && rkt_kineto_u64(fields, RKT_KEY_EXTERNAL_ID, &value) &&
        value > 0)
        return intern_correlation(kineto, ID_EXTERNAL, value);
    return 0;
}

static uint32_t device_of(const struct rkt_kineto_fields *fields)
{
    return rkt_kineto_u32(fields, RKT_KEY_DEVICE, rkt_kineto_u32(fields, RKT_KEY_PID, 0));
}

/* The arg, else the track: 7 or "stream 7". */
uint32_t rkt_kineto_stream(const struct rkt_kineto_fields *fields, uint32_t fallback)
{
    uint64_t stream;
    int64_t number;

    if (fields->of[RKT_KEY_STREAM])
        return rkt_kineto_u32(fields, RKT_KEY_STREAM, fallback);
    if (rkt_kineto_i64(fields, RKT_KEY_TID, &number))
        return number >= 0 && number <= UINT32_MAX ? (uint32_t)number : fallback;
    if (rkt_kineto_list(fields->of[RKT_KEY_TID], &stream, 1) == 1 && stream <= UINT32_MAX)
        return (uint32_t)stream;
    return fallback;
}

static uint16_t cap_u16(uint64_t value)
{
    return value <= UINT16_MAX ? (uint16_t)value : UINT16_MAX;
}

static uint32_t cap_u32(uint64_t value)
{
    return value <= UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* The id of the kernel's launch shape, added to the source when it is new; 0 without one. */
static enum rkt_status shape_of(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                                uint32_t name_id, uint32_t *shape_id_out, struct rkt_error *err)
{
    struct rkt_event event = {
        .kind = RKT_EVENT_SHAPE, .clock_id = RKT_CLOCK_TRACE, .name_id = name_id};
    uint64_t grid[3] = {0, 1, 1};
    uint64_t block[3] = {0, 1, 1};
    uint32_t known = rkt_strtab_count(kineto->shapes);

    *shape_id_out = 0;
    if (rkt_kineto_list(fields->of[RKT_KEY_GRID], grid, 3) == 0)
        return RKT_OK;
    (void)rkt_kineto_list(fields->of[RKT_KEY_BLOCK], block, 3);
    event.shape.grid_x = cap_u32(grid[0]);
    event.shape.grid_y = cap_u16(grid[1]);
    event.shape.grid_z = cap_u16(grid[2]);
    event.shape.block_x = cap_u16(block[0]);
    event.shape.block_y = cap_u16(block[1]);
    event.shape.block_z = cap_u16(block[2]);
    event.shape.registers = cap_u16(rkt_kineto_u32(fields, RKT_KEY_REGISTERS, 0));
    /* Kineto gives the sum of static and dynamic */
    event.shape.dynamic_shared_bytes = rkt_kineto_u32(fields, RKT_KEY_SHARED_BYTES, 0);
    event.shape.shape_id = rkt_strtab_intern(kineto->shapes, (const char *)&event, sizeof(event));
    *shape_id_out = event.shape.shape_id;
    return event.shape.shape_id >= known ? rkt_kineto_add(kineto, &event, err) : RKT_OK;
}

enum rkt_status rkt_kineto_fill_kernel(struct rkt_kineto *kineto,
                                       const struct rkt_kineto_fields *fields,
                                       struct rkt_event *event, struct rkt_error *err)
{
    event->kind = RKT_EVENT_KERNEL;
    event->kernel.device_id = device_of(fields);
    event->kernel.context_id = rkt_kineto_u32(fields, RKT_KEY_CONTEXT, 0);
    event->kernel.stream_id = rkt_kineto_stream(fields, 0);
    event->kernel.graph_id = rkt_kineto_u32(fields, RKT_KEY_GRAPH_ID, 0);
    (void)rkt_kineto_u64(fields, RKT_KEY_GRAPH_NODE_ID, &event->kernel.graph_node_id);
    if (event->kernel.graph_id > 0 || event->kernel.graph_node_id > 0)
        event->flags |= RKT_FLAG_GRAPH;
    return shape_of(kineto, fields, event->name_id, &event->kernel.shape_id, err);
}

static bool contains(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

static uint8_t copy_kind_of(const struct rkt_json_field *field)
{
    static const struct {
        const char *word;
        enum rkt_copy_kind kind;
    } WORDS[] = {
        {"HostToDevice", RKT_COPY_HTOD},
        {"DeviceToHost", RKT_COPY_DTOH},
        {"DeviceToDevice", RKT_COPY_DTOD},
        {"PeerToPeer", RKT_COPY_PTOP},
    };

    for (int kind = RKT_COPY_HTOD; field && kind <= RKT_COPY_PTOP; kind++) {
        if (contains(field->value, field->value_bytes,
                     rkt_copy_kind_name((enum rkt_copy_kind)kind)))
            return (uint8_t)kind;
    }
    for (size_t k = 0; field && k < COUNT(WORDS); k++) {
        if (contains(field->value, field->value_bytes, WORDS[k].word))
            return (uint8_t)WORDS[k].kind;
    }
    return RKT_COPY_UNKNOWN;
}

static uint8_t memory_kind_of(const char *text, size_t len)
{
    static const struct {
        const char *word;
        enum rkt_memory_kind kind;
    } WORDS[] = {
        /* longer words before those that they hold */
        {"Managed Static", RKT_MEMORY_MANAGED_STATIC},
        {"Device Static", RKT_MEMORY_DEVICE_STATIC},
        {"Managed", RKT_MEMORY_MANAGED},
        {"Device", RKT_MEMORY_DEVICE},
        {"Pageable", RKT_MEMORY_PAGEABLE},
        {"Pinned", RKT_MEMORY_PINNED},
        {"Array", RKT_MEMORY_ARRAY},
    };

    for (size_t i = 0; i < COUNT(WORDS); i++) {
        if (contains(text, len, WORDS[i].word))
            return (uint8_t)WORDS[i].kind;
    }
    return RKT_MEMORY_UNKNOWN;
}

/* "Memcpy HtoD (Pageable -> Device)" */
static struct rkt_kineto_copy read_copy_name(const struct rkt_json_field *name)
{
    struct rkt_kineto_copy copy = {.is_known = true, .copy_kind = copy_kind_of(name)};
    const char *open = name ? memchr(name->value, '(', name->value_bytes) : NULL;
    const char *end = name ? name->value + name->value_bytes : NULL;
    const char *arrow = open ? memmem(open, (size_t)(end - open), "->", 2) : NULL;

    if (arrow) {
        copy.src_kind = memory_kind_of(open, (size_t)(arrow - open));
        copy.dst_kind = memory_kind_of(arrow, (size_t)(end - arrow));
    }
    return copy;
}

/* The same of a name that is looked at once. */
static struct rkt_kineto_copy copy_of_name(struct rkt_kineto *kineto,
                                           const struct rkt_json_field *name, uint32_t name_id)
{
    if (name_id == 0 || !rkt_array_reserve((void **)&kineto->copies, &kineto->copy_cap,
                                           (size_t)name_id + 1, sizeof(*kineto->copies)))
        return read_copy_name(name);
    for (; kineto->copy_count <= name_id; kineto->copy_count++)
        kineto->copies[kineto->copy_count] = (struct rkt_kineto_copy){0};
    if (!kineto->copies[name_id].is_known)
        kineto->copies[name_id] = read_copy_name(name);
    return kineto->copies[name_id];
}

void rkt_kineto_fill_memcpy(struct rkt_kineto *kineto, const struct rkt_kineto_fields *fields,
                            struct rkt_event *event)
{
    struct rkt_kineto_copy copy = copy_of_name(kineto, fields->of[RKT_KEY_NAME], event->name_id);

    event->kind = RKT_EVENT_MEMCPY;
    event->memcpy.device_id = device_of(fields);
    event->memcpy.context_id = rkt_kineto_u32(fields, RKT_KEY_CONTEXT, 0);
    event->memcpy.stream_id = rkt_kineto_stream(fields, 0);
    event->memcpy.peer_device_id = event->memcpy.device_id;
    event->memcpy.graph_id = rkt_kineto_u32(fields, RKT_KEY_GRAPH_ID, 0);
    /* from the name, which metrics.md goes by; from the arg where the name does not say */
    event->memcpy.copy_kind = copy.copy_kind != RKT_COPY_UNKNOWN
                                  ? copy.copy_kind
                                  : copy_kind_of(fields->of[RKT_KEY_KIND]);
    event->memcpy.src_kind = copy.src_kind;
    event->memcpy.dst_kind = copy.dst_kind;
    (void)rkt_kineto_u64(fields, RKT_KEY_BYTES, &event->memcpy.bytes);
    if (event->memcpy.graph_id > 0)
        event->flags |= RKT_FLAG_GRAPH;
}

void rkt_kineto_fill_memset(const struct rkt_kineto_fields *fields, struct rkt_event *event)
{
    event->kind = RKT_EVENT_MEMSET;
    event->memset.device_id = device_of(fields);
    event->memset.context_id = rkt_kineto_u32(fields, RKT_KEY_CONTEXT, 0);
    event->memset.stream_id = rkt_kineto_stream(fields, 0);
    event->memset.graph_id = rkt_kineto_u32(fields, RKT_KEY_GRAPH_ID, 0);
    (void)rkt_kineto_u64(fields, RKT_KEY_BYTES, &event->memset.bytes);
    if (event->memset.graph_id > 0)
        event->flags |= RKT_FLAG_GRAPH;
}

void rkt_kineto_fill_sync(const struct rkt_kineto_fields *fields, struct rkt_event *event)
{
    static const struct {
        const char *text;
        enum rkt_sync_type type;
    } TYPES[] = {
        {"Event Sync", RKT_SYNC_EVENT},
        {"Stream Wait Event", RKT_SYNC_STREAM_WAIT_EVENT},
        {"Stream Sync", RKT_SYNC_STREAM},
        {"Context Sync", RKT_SYNC_CONTEXT},
    };
    const struct rkt_json_field *text = fields->of[RKT_KEY_SYNC_KIND];

    if (!text)
        text = fields->of[RKT_KEY_NAME];
    event->kind = RKT_EVENT_SYNC;
    for (size_t i = 0; i < COUNT(TYPES); i++) {
        if (begins_with(text, TYPES[i].text))
            event->type = (uint8_t)TYPES[i].type;
    }
    event->sync.device_id = device_of(fields);
    event->sync.context_id = rkt_kineto_u32(fields, RKT_KEY_CONTEXT, 0);
    event->sync.stream_id = rkt_kineto_stream(fields, UINT32_MAX);
    event->sync.cuda_event_id = rkt_kineto_u32(fields, RKT_KEY_SYNC_EVENT, UINT32_MAX);
}
