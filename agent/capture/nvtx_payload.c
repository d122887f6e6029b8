/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/nvtx_payload.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMAS_MAX 128u /* NCCL has about twenty */
#define RECORDS_MAX 8u
#define ENTRIES_MAX 256u /* more is no schema of NCCL */

/* As NCCL calls its fields. */
static const char *const NAMES[RKT_NVTX_FIELD_COUNT] = {
    [RKT_NVTX_FIELD_COMM] = "NCCL communicator ID",
    [RKT_NVTX_FIELD_BYTES] = "Message size [bytes]",
    [RKT_NVTX_FIELD_ROOT] = "Root",
    [RKT_NVTX_FIELD_PEER] = "Peer rank",
    [RKT_NVTX_FIELD_RANK_COUNT] = "No. of ranks",
    [RKT_NVTX_FIELD_RANK] = "Rank",
};

struct place {
    uint32_t offset;
    uint8_t bytes; /* 0: the schema has no such field */
    bool is_signed;
};

struct layout {
    _Atomic uint64_t id; /* 0: free, then it is being filled in; published with its id */
    _Atomic bool is_taken;
    size_t bytes; /* of a record; 0: not said */
    struct place places[RKT_NVTX_FIELD_COUNT];
};

struct rkt_nvtx_schemas {
    _Atomic uint64_t next_id;
    struct layout layouts[SCHEMAS_MAX];
};

struct rkt_nvtx_schemas *rkt_nvtx_schemas_create(void)
{
    struct rkt_nvtx_schemas *schemas = calloc(1, sizeof(*schemas));

    if (schemas)
        atomic_init(&schemas->next_id, RKT_NVTX_FIRST_DYNAMIC_ID);
    return schemas;
}

void rkt_nvtx_schemas_destroy(struct rkt_nvtx_schemas *schemas)
{
    free(schemas);
}

/* ---- registration ---- */

static uint64_t new_id(struct rkt_nvtx_schemas *schemas)
{
    return atomic_fetch_add_explicit(&schemas->next_id, 1, memory_order_relaxed);
}

/* Of the types that are read; bytes 0 for the others. */
static struct place place_of_type(uint64_t type)
{
    switch (type) {
    case RKT_NVTX_ENTRY_INT:
    case RKT_NVTX_ENTRY_INT32:
        return (struct place){.bytes = 4, .is_signed = true};
    case RKT_NVTX_ENTRY_UINT:
    case RKT_NVTX_ENTRY_UINT32:
        return (struct place){.bytes = 4};
    case RKT_NVTX_ENTRY_LONG:
    case RKT_NVTX_ENTRY_LONGLONG:
    case RKT_NVTX_ENTRY_INT64:
    case RKT_NVTX_ENTRY_ULONG:
    case RKT_NVTX_ENTRY_ULONGLONG:
    case RKT_NVTX_ENTRY_UINT64:
    case RKT_NVTX_ENTRY_SIZE:
        return (struct place){.bytes = 8};
    default:
        return (struct place){.bytes = 0};
    }
}

static void place_entry(struct layout *layout, const struct rkt_nvtx_schema_entry *entry,
                        uint64_t offset)
{
    struct place place = place_of_type(entry->type);

    if (entry->flags != 0 || !entry->name || place.bytes == 0 || offset > UINT32_MAX)
        return;
    place.offset = (uint32_t)offset;
    for (int field = 0; field < RKT_NVTX_FIELD_COUNT; field++) {
        if (strcmp(entry->name, NAMES[field]) == 0)
            layout->places[field] = place;
    }
}

static void lay_out(struct layout *layout, const struct rkt_nvtx_schema *schema)
{
    uint64_t end = 0;

    if (schema->fields & RKT_NVTX_SCHEMA_HAS_BYTES)
        layout->bytes = schema->bytes;
    for (size_t i = 0; i < schema->entry_count; i++) {
        const struct rkt_nvtx_schema_entry *entry = &schema->entries[i];
        uint64_t bytes = place_of_type(entry->type).bytes;
        uint64_t offset = entry->offset;

        if (offset == 0 && i > 0 && bytes > 0)
            offset = (end + bytes - 1) / bytes * bytes;
        place_entry(layout, entry, offset);
        end = offset + (bytes ? bytes : 4); /* an enumeration, most likely */
    }
}

static void keep_layout(struct rkt_nvtx_schemas *schemas, const struct rkt_nvtx_schema *schema,
                        uint64_t id)
{
    for (uint32_t i = 0; i < SCHEMAS_MAX; i++) {
        struct layout *layout = &schemas->layouts[(id + i) % SCHEMAS_MAX];

        if (atomic_load_explicit(&layout->id, memory_order_relaxed) == id)
            return; /* two threads register it at once */
        if (atomic_exchange_explicit(&layout->is_taken, true, memory_order_relaxed))
            continue;
        lay_out(layout, schema);
        /* release: who finds the id sees the places */
        atomic_store_explicit(&layout->id, id, memory_order_release);
        return;
    }
}

uint64_t rkt_nvtx_schema_register(struct rkt_nvtx_schemas *schemas,
                                  const struct rkt_nvtx_schema *schema, bool is_read)
{
    const uint64_t needed = RKT_NVTX_SCHEMA_HAS_ENTRIES | RKT_NVTX_SCHEMA_HAS_ENTRY_COUNT;
    uint64_t id;

    if (!schema)
        return 0;
    id = schema->fields & RKT_NVTX_SCHEMA_HAS_ID ? schema->id : 0;
    if (id == 0)
        id = new_id(schemas);
    if (is_read && (schema->fields & needed) == needed && schema->entries &&
        schema->entry_count <= ENTRIES_MAX)
        keep_layout(schemas, schema, id);
    return id;
}

uint64_t rkt_nvtx_enum_register(struct rkt_nvtx_schemas *schemas, const struct rkt_nvtx_enum *list)
{
    if (!list)
        return 0;
    return list->fields & RKT_NVTX_ENUM_HAS_ID && list->id != 0 ? list->id : new_id(schemas);
}

/* ---- reading ---- */

static const struct layout *find_layout(const struct rkt_nvtx_schemas *schemas, uint64_t id)
{
    for (uint32_t i = 0; i < SCHEMAS_MAX; i++) {
        const struct layout *layout = &schemas->layouts[(id + i) % SCHEMAS_MAX];
        /* acquire: the places */
        uint64_t found = atomic_load_explicit(&layout->id, memory_order_acquire);

        if (found == id && id != 0)
            return layout;
        if (!atomic_load_explicit(&layout->is_taken, memory_order_relaxed))
            return NULL;
    }
    return NULL;
}

static uint64_t read_number(const unsigned char *data, const struct place *place)
{
    uint64_t wide;
    uint32_t narrow;

    if (place->bytes == sizeof(wide)) {
        memcpy(&wide, data + place->offset, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, data + place->offset, sizeof(narrow));
    return place->is_signed ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
}

static void read_record(const struct layout *layout, const struct rkt_nvtx_payload_data *record,
                        struct rkt_nvtx_fields *fields)
{
    size_t bytes = record->bytes == SIZE_MAX ? layout->bytes : record->bytes;

    for (int field = 0; field < RKT_NVTX_FIELD_COUNT; field++) {
        const struct place *place = &layout->places[field];

        if (place->bytes == 0 || bytes < place->bytes || place->offset > bytes - place->bytes)
            continue;
        fields->value[field] = read_number(record->data, place);
        fields->has |= 1u << field;
    }
}

struct rkt_nvtx_fields rkt_nvtx_payload_read(const struct rkt_nvtx_schemas *schemas,
                                             const struct rkt_nvtx_payload_data *records,
                                             size_t count)
{
    struct rkt_nvtx_fields fields = {0};

    for (size_t i = 0; records && i < count && i < RECORDS_MAX; i++) {
        const struct layout *layout = find_layout(schemas, records[i].schema_id);

        if (layout && records[i].data)
            read_record(layout, &records[i], &fields);
    }
    return fields;
}
