/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/kineto_fields.h"

#include <string.h>
#include <strings.h>

#include "analysis/import/json_scan.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct key_name {
    const char *text;
    uint8_t bytes;
    uint8_t key;
};

#define KEY(text, key)              \
    {                               \
        text, sizeof(text) - 1, key \
    }

static const struct key_name EVENT_KEYS[] = {
    KEY("ph", RKT_KEY_PH),   KEY("cat", RKT_KEY_CAT), KEY("name", RKT_KEY_NAME),
    KEY("pid", RKT_KEY_PID), KEY("tid", RKT_KEY_TID), KEY("ts", RKT_KEY_TS),
    KEY("dur", RKT_KEY_DUR), KEY("id", RKT_KEY_ID),
};

/* Spellings of all versions, the usual ones first. */
static const struct key_name ARG_KEYS[] = {
    KEY("External id", RKT_KEY_EXTERNAL_ID),
    KEY("external id", RKT_KEY_EXTERNAL_ID),
    KEY("correlation", RKT_KEY_CORRELATION),
    KEY("cbid", RKT_KEY_CBID),
    KEY("cid", RKT_KEY_CBID), /* ROCm */
    KEY("device", RKT_KEY_DEVICE),
    KEY("context", RKT_KEY_CONTEXT),
    KEY("stream", RKT_KEY_STREAM),
    KEY("registers per thread", RKT_KEY_REGISTERS),
    KEY("shared memory", RKT_KEY_SHARED_BYTES),
    KEY("grid", RKT_KEY_GRID),
    KEY("block", RKT_KEY_BLOCK),
    KEY("graph id", RKT_KEY_GRAPH_ID),
    KEY("graph node id", RKT_KEY_GRAPH_NODE_ID),
    KEY("bytes", RKT_KEY_BYTES),
    KEY("size", RKT_KEY_BYTES), /* ROCm */
    KEY("kind", RKT_KEY_KIND),
    KEY("cuda_sync_kind", RKT_KEY_SYNC_KIND),
    KEY("wait_on_cuda_event_id", RKT_KEY_SYNC_EVENT),
    KEY("Collective name", RKT_KEY_COLLECTIVE),
    KEY("In msg nelems", RKT_KEY_IN_COUNT),
    KEY("Out msg nelems", RKT_KEY_OUT_COUNT),
    KEY("dtype", RKT_KEY_DTYPE),
    KEY("Seq", RKT_KEY_SEQ),
    KEY("Src Rank", RKT_KEY_SRC_RANK),
    KEY("Dst Rank", RKT_KEY_DST_RANK),
    KEY("Root Rank", RKT_KEY_ROOT_RANK),
    KEY("Rank", RKT_KEY_RANK),
    KEY("Group size", RKT_KEY_GROUP_SIZE),
    KEY("Process Group Name", RKT_KEY_GROUP_NAME),
    KEY("Process Group ID", RKT_KEY_GROUP_ID),
    KEY("Process Group Ranks", RKT_KEY_GROUP_RANKS),
    KEY("Process Group Description", RKT_KEY_GROUP_TEXT),
    KEY("name", RKT_KEY_ARG_NAME),
    KEY("Bytes", RKT_KEY_ALLOCATED_BYTES),
    KEY("Addr", RKT_KEY_ADDRESS),
    KEY("Device Id", RKT_KEY_MEMORY_DEVICE),
    KEY("Device Type", RKT_KEY_MEMORY_DEVICE_TYPE),
    KEY("Total Allocated", RKT_KEY_TOTAL_ALLOCATED),
    KEY("Total Reserved", RKT_KEY_TOTAL_RESERVED),
};

static const struct key_name *find_key(const struct rkt_json_field *field)
{
    const struct key_name *names = field->in_args ? ARG_KEYS : EVENT_KEYS;
    size_t count = field->in_args ? COUNT(ARG_KEYS) : COUNT(EVENT_KEYS);

    for (size_t i = 0; i < count; i++) {
        if (names[i].bytes == field->key_bytes && names[i].text[0] == field->key[0] &&
            memcmp(names[i].text, field->key, field->key_bytes) == 0)
            return &names[i];
    }
    return NULL;
}

void rkt_kineto_pick(const struct rkt_json_field *fields, size_t count,
                     struct rkt_kineto_fields *out)
{
    memset(out, 0, sizeof(*out));
    out->all = fields;
    out->all_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct key_name *name = find_key(&fields[i]);

        if (name)
            out->of[name->key] = &fields[i];
    }
}

bool rkt_kineto_u64(const struct rkt_kineto_fields *fields, enum rkt_kineto_key key, uint64_t *out)
{
    const struct rkt_json_field *field = fields->of[key];

    return field && rkt_json_to_u64(field->value, field->value_bytes, out);
}

bool rkt_kineto_i64(const struct rkt_kineto_fields *fields, enum rkt_kineto_key key, int64_t *out)
{
    const struct rkt_json_field *field = fields->of[key];

    return field && rkt_json_to_i64(field->value, field->value_bytes, out);
}

uint32_t rkt_kineto_u32(const struct rkt_kineto_fields *fields, enum rkt_kineto_key key,
                        uint32_t fallback)
{
    uint64_t value;

    return rkt_kineto_u64(fields, key, &value) && value <= UINT32_MAX ? (uint32_t)value : fallback;
}

bool rkt_kineto_equals(const struct rkt_json_field *field, const char *text)
{
    size_t bytes = strlen(text);

    return field && field->value_bytes == bytes && memcmp(field->value, text, bytes) == 0;
}

bool rkt_kineto_equals_any_case(const struct rkt_json_field *field, const char *text)
{
    size_t bytes = strlen(text);

    return field && field->value_bytes == bytes && strncasecmp(field->value, text, bytes) == 0;
}

size_t rkt_kineto_list(const struct rkt_json_field *field, uint64_t *out, size_t cap)
{
    size_t count = 0;
    size_t at = 0;

    while (field && at < field->value_bytes && count < cap) {
        size_t end = at;

        while (end < field->value_bytes && field->value[end] >= '0' && field->value[end] <= '9')
            end++;
        if (end > at && rkt_json_to_u64(field->value + at, end - at, &out[count]))
            count++;
        at = end > at ? end : at + 1;
    }
    return count;
}

/* "xpu_runtime", "hpu_memcpy": what accelerators of any vendor have in common. */
static enum rkt_kineto_class class_of_ending(const struct rkt_json_field *cat)
{
    static const struct {
        const char *ending;
        enum rkt_kineto_class class;
    } ENDINGS[] = {
        {"_runtime", RKT_KINETO_RUNTIME}, {"_driver", RKT_KINETO_DRIVER},
        {"_memcpy", RKT_KINETO_MEMCPY},   {"_memset", RKT_KINETO_MEMSET},
        {"_sync", RKT_KINETO_SYNC},       {"_user_annotation", RKT_KINETO_GPU_ANNOTATION},
        {"_kernel", RKT_KINETO_KERNEL},   {"_profiler_range", RKT_KINETO_COUNTERS},
    };

    for (size_t i = 0; i < COUNT(ENDINGS); i++) {
        size_t bytes = strlen(ENDINGS[i].ending);

        if (cat->value_bytes > bytes &&
            strncasecmp(cat->value + cat->value_bytes - bytes, ENDINGS[i].ending, bytes) == 0)
            return ENDINGS[i].class;
    }
    return RKT_KINETO_OTHER;
}

enum rkt_kineto_class rkt_kineto_class_of(const struct rkt_json_field *cat)
{
    static const struct {
        const char *cat;
        enum rkt_kineto_class class;
    } CLASSES[] = {
        {"cpu_op", RKT_KINETO_CPU_OP},
        {"kernel", RKT_KINETO_KERNEL},
        {"cuda_runtime", RKT_KINETO_RUNTIME},
        {"python_function", RKT_KINETO_PYTHON},
        {"cuda_driver", RKT_KINETO_DRIVER},
        {"gpu_memcpy", RKT_KINETO_MEMCPY},
        {"gpu_memset", RKT_KINETO_MEMSET},
        {"user_annotation", RKT_KINETO_ANNOTATION},
        {"gpu_user_annotation", RKT_KINETO_GPU_ANNOTATION},
        {"cuda_sync", RKT_KINETO_SYNC},
        {"overhead", RKT_KINETO_OVERHEAD},
        /* older and other spellings */
        {"operator", RKT_KINETO_CPU_OP},
        {"runtime", RKT_KINETO_RUNTIME},
        {"driver", RKT_KINETO_DRIVER},
        {"concurrent_kernel", RKT_KINETO_KERNEL},
        {"memcpy", RKT_KINETO_MEMCPY},
        {"memset", RKT_KINETO_MEMSET},
        {"mtia_ccp_events", RKT_KINETO_KERNEL}, /* what runs on that device */
        {"hpu_op", RKT_KINETO_RUNTIME},         /* its calls on the host */
    };

    if (!cat)
        return RKT_KINETO_OTHER;
    for (size_t i = 0; i < COUNT(CLASSES); i++) {
        if (rkt_kineto_equals_any_case(cat, CLASSES[i].cat))
            return CLASSES[i].class;
    }
    return class_of_ending(cat);
}
