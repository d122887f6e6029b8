/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/kineto_fields.h"

#include <string.h>
#include <strings.h>

#include "analysis/import/json_scan.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct key_name {
    const char *text; /* NULL: the end of a list */
    enum rkt_kineto_key key;
};

#define KEYS(...)               \
    (const struct key_name[])   \
    {                           \
        __VA_ARGS__,            \
        {                       \
            NULL, RKT_KEY_COUNT \
        }                       \
    }

/* By length, as events have many keys that are none of these. Spellings of all versions; "cid" and
 * "size" are ROCm's. */
static const struct key_name *const ARG_KEYS[] = {
    [3] = KEYS({"cid", RKT_KEY_CBID}, {"Seq", RKT_KEY_SEQ}),
    [4] = KEYS({"cbid", RKT_KEY_CBID}, {"grid", RKT_KEY_GRID}, {"size", RKT_KEY_BYTES},
               {"kind", RKT_KEY_KIND}, {"Rank", RKT_KEY_RANK}, {"name", RKT_KEY_ARG_NAME},
               {"Addr", RKT_KEY_ADDRESS}),
    [5] = KEYS({"block", RKT_KEY_BLOCK}, {"bytes", RKT_KEY_BYTES}, {"dtype", RKT_KEY_DTYPE},
               {"Bytes", RKT_KEY_ALLOCATED_BYTES}),
    [6] = KEYS({"device", RKT_KEY_DEVICE}, {"stream", RKT_KEY_STREAM}),
    [7] = KEYS({"context", RKT_KEY_CONTEXT}),
    [8] = KEYS({"graph id", RKT_KEY_GRAPH_ID}, {"Src Rank", RKT_KEY_SRC_RANK},
               {"Dst Rank", RKT_KEY_DST_RANK}),
    [9] = KEYS({"Root Rank", RKT_KEY_ROOT_RANK}, {"Device Id", RKT_KEY_MEMORY_DEVICE}),
    [10] = KEYS({"Group size", RKT_KEY_GROUP_SIZE}, {"Input Dims", RKT_KEY_INPUT_SIZES},
                {"Input dims", RKT_KEY_INPUT_SIZES}, {"Input type", RKT_KEY_INPUT_TYPES}),
    [11] = KEYS({"External id", RKT_KEY_EXTERNAL_ID}, {"external id", RKT_KEY_EXTERNAL_ID},
                {"correlation", RKT_KEY_CORRELATION}, {"Device Type", RKT_KEY_MEMORY_DEVICE_TYPE}),
    [13] = KEYS({"shared memory", RKT_KEY_SHARED_BYTES}, {"graph node id", RKT_KEY_GRAPH_NODE_ID},
                {"In msg nelems", RKT_KEY_IN_COUNT}),
    [14] = KEYS({"cuda_sync_kind", RKT_KEY_SYNC_KIND}, {"Out msg nelems", RKT_KEY_OUT_COUNT},
                {"Total Reserved", RKT_KEY_TOTAL_RESERVED}),
    [15] =
        KEYS({"Collective name", RKT_KEY_COLLECTIVE}, {"Total Allocated", RKT_KEY_TOTAL_ALLOCATED}),
    [16] = KEYS({"Process Group ID", RKT_KEY_GROUP_ID}),
    [18] = KEYS({"Process Group Name", RKT_KEY_GROUP_NAME}),
    [19] = KEYS({"Process Group Ranks", RKT_KEY_GROUP_RANKS}),
    [20] = KEYS({"registers per thread", RKT_KEY_REGISTERS}),
    [21] = KEYS({"wait_on_cuda_event_id", RKT_KEY_SYNC_EVENT}),
    [25] = KEYS({"Process Group Description", RKT_KEY_GROUP_TEXT}),
};

/* Up to four letters as one number. */
#define WORD(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

static enum rkt_kineto_key event_key(const char *key, size_t bytes)
{
    uint32_t word = 0;

    if (bytes > sizeof(word))
        return RKT_KEY_COUNT;
    for (size_t i = 0; i < bytes; i++)
        word |= (uint32_t)(unsigned char)key[i] << 8 * i;
    switch (word) {
    case WORD('p', 'h', 0, 0):
        return RKT_KEY_PH;
    case WORD('c', 'a', 't', 0):
        return RKT_KEY_CAT;
    case WORD('n', 'a', 'm', 'e'):
        return RKT_KEY_NAME;
    case WORD('p', 'i', 'd', 0):
        return RKT_KEY_PID;
    case WORD('t', 'i', 'd', 0):
        return RKT_KEY_TID;
    case WORD('t', 's', 0, 0):
        return RKT_KEY_TS;
    case WORD('d', 'u', 'r', 0):
        return RKT_KEY_DUR;
    case WORD('i', 'd', 0, 0):
        return RKT_KEY_ID;
    default:
        return RKT_KEY_COUNT;
    }
}

static enum rkt_kineto_key arg_key(const char *key, size_t bytes)
{
    const struct key_name *name = bytes < COUNT(ARG_KEYS) ? ARG_KEYS[bytes] : NULL;

    for (; name && name->text; name++) {
        if (name->text[0] == key[0] && memcmp(name->text, key, bytes) == 0)
            return name->key;
    }
    return RKT_KEY_COUNT;
}

uint16_t rkt_kineto_meaning(const char *key, size_t bytes, bool in_args)
{
    return (uint16_t)(in_args ? arg_key(key, bytes) : event_key(key, bytes));
}

void rkt_kineto_pick(const struct rkt_json_field *fields, size_t count,
                     struct rkt_kineto_fields *out)
{
    out->all = fields;
    out->all_count = count;
    for (size_t i = 0; i < count; i++)
        out->of[fields[i].meaning] = &fields[i];
}

void rkt_kineto_clear(struct rkt_kineto_fields *fields)
{
    for (size_t i = 0; i < fields->all_count; i++)
        fields->of[fields->all[i].meaning] = NULL;
}

bool rkt_kineto_to_u64(const struct rkt_json_field *field, uint64_t *out)
{
    return rkt_json_to_u64(field->value, field->value_bytes, out);
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

bool rkt_kineto_equals_any_case(const struct rkt_json_field *field, const char *text)
{
    size_t bytes = strlen(text);

    return field && field->value_bytes == bytes &&
           (memcmp(field->value, text, bytes) == 0 || strncasecmp(field->value, text, bytes) == 0);
}

/* ---- inputs of an operator ---- */

/* The list behind a key that ends at `at`; false: none. */
static bool list_behind(const char *text, size_t len, size_t at, struct rkt_json_field *list_out)
{
    size_t end;

    at = rkt_json_skip_blank(text, len, at);
    if (at == len || text[at] != ':')
        return false;
    at = rkt_json_skip_blank(text, len, at + 1);
    if (at == len || text[at] != '[' ||
        rkt_json_scan_strictly(text, len, at, &end) != RKT_SCAN_FOUND)
        return false;
    list_out->value = text + at;
    list_out->value_bytes = end - at;
    return true;
}

/*
 * Looks at each I: operators have few of them, and memmem prepares itself anew for every operator.
 * A quote inside a text has a backslash before it, so what is found is a key, or a whole text.
 */
static void search_inputs(const char *text, size_t len, struct rkt_json_field *sizes,
                          struct rkt_json_field *types)
{
    static const char BEGIN[] = "\"Input ";
    static const char ENDS[][6] = {"Dims\"", "dims\"", "type\""};
    const size_t key_bytes = sizeof(BEGIN) - 1 + sizeof(ENDS[0]) - 1;
    const char *end = text + len;
    const char *at = text + 1;

    while ((!sizes->value || !types->value) && at < end &&
           (at = memchr(at, 'I', (size_t)(end - at))) != NULL) {
        const char *key = at++ - 1;
        const char *rest = key + sizeof(BEGIN) - 1;

        if ((size_t)(end - key) < key_bytes || memcmp(key, BEGIN, sizeof(BEGIN) - 1) != 0)
            continue;
        for (size_t i = 0; i < COUNT(ENDS); i++) {
            if (memcmp(rest, ENDS[i], sizeof(ENDS[0]) - 1) == 0)
                (void)list_behind(text, len, (size_t)(key - text) + key_bytes,
                                  ENDS[i][0] == 't' ? types : sizes);
        }
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool has_digit(const struct rkt_json_field *list)
{
    for (size_t i = 0; i < list->value_bytes; i++) {
        if (is_digit(list->value[i]))
            return true;
    }
    return false;
}

static void take_list(const struct rkt_json_field *field, struct rkt_json_field *list_out)
{
    if (field && !field->is_text && field->value[0] == '[')
        *list_out = *field;
}

bool rkt_kineto_inputs(const struct rkt_kineto_fields *fields, struct rkt_json_field *sizes_out,
                       struct rkt_json_field *types_out)
{
    *sizes_out = (struct rkt_json_field){0};
    *types_out = (struct rkt_json_field){0};
    if (fields->unread)
        search_inputs(fields->unread, (size_t)(fields->unread_end - fields->unread), sizes_out,
                      types_out);
    take_list(fields->of[RKT_KEY_INPUT_SIZES], sizes_out);
    take_list(fields->of[RKT_KEY_INPUT_TYPES], types_out);
    return sizes_out->value && has_digit(sizes_out);
}

/* The number that begins at *at, to behind it; false: it is past 2^64. */
static bool read_number(const char *text, size_t len, size_t *at, uint64_t *out)
{
    bool is_whole = true;
    uint64_t value = 0;

    for (; *at < len && is_digit(text[*at]); ++*at)
        is_whole &= !__builtin_mul_overflow(value, 10, &value) &&
                    !__builtin_add_overflow(value, (uint64_t)(text[*at] - '0'), &value);
    if (is_whole)
        *out = value;
    return is_whole;
}

size_t rkt_kineto_list(const struct rkt_json_field *field, uint64_t *out, size_t cap)
{
    size_t count = 0;
    size_t at = 0;

    while (field && at < field->value_bytes && count < cap) {
        if (!is_digit(field->value[at]))
            at++;
        else if (read_number(field->value, field->value_bytes, &at, &out[count]))
            count++;
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
