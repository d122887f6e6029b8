/* SPDX-License-Identifier: Apache-2.0 */
#include "common/descriptor.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/bytes.h"
#include "common/clock.h"
#include "common/codec_read.h"
#include "common/codec_write.h"
#include "common/descriptor_part.h"

enum field_type {
    FIELD_UINT,
    FIELD_INT,
    FIELD_BOOL,
    FIELD_TEXT, /* char array, closed by a NUL */
};

struct field {
    uint8_t key; /* stored in files: never reused */
    uint8_t type;
    uint16_t offset;
    uint16_t bytes;
    uint8_t known_count; /* of an enum: numbers from here on become `fallback`; 0 no enum */
    uint8_t fallback;
    const char *name;
};

struct layout {
    const char *what;
    const struct field *fields;
    size_t count;
};

#define FIELD(key_of, type_of, of, member) \
    (key_of), (type_of), offsetof(struct of, member), sizeof(((const struct of *)NULL)->member)

static const struct field RUN_FIELDS[] = {
    {FIELD(0, FIELD_UINT, rkt_run_info, producer), RKT_PRODUCER_KINETO + 1, RKT_PRODUCER_UNKNOWN,
     "producer"},
    {FIELD(1, FIELD_UINT, rkt_run_info, reference_clock), RKT_CLOCK_COUNT, RKT_CLOCK_UNKNOWN,
     "reference_clock"},
    {FIELD(2, FIELD_UINT, rkt_run_info, rank_count), 0, 0, "rank_count"},
    {FIELD(3, FIELD_UINT, rkt_run_info, start_realtime_ns), 0, 0, "start_realtime_ns"},
    {FIELD(4, FIELD_TEXT, rkt_run_info, version), 0, 0, "version"},
    {FIELD(5, FIELD_TEXT, rkt_run_info, command), 0, 0, "command"},
    {FIELD(6, FIELD_TEXT, rkt_run_info, host), 0, 0, "host"},
    {FIELD(7, FIELD_UINT, rkt_run_info, run_id), 0, 0, "run_id"},
    {FIELD(8, FIELD_BOOL, rkt_run_info, is_part), 0, 0, "is_part"},
};

static const struct field SOURCE_FIELDS[] = {
    {FIELD(0, FIELD_UINT, rkt_source_info, source), 0, 0, "source"},
    {FIELD(1, FIELD_UINT, rkt_source_info, producer), RKT_PRODUCER_KINETO + 1, RKT_PRODUCER_UNKNOWN,
     "producer"},
    /* a role of a later version is outside every sum, as a helper is */
    {FIELD(2, FIELD_UINT, rkt_source_info, role), RKT_ROLE_SIDECAR + 1, RKT_ROLE_HELPER, "role"},
    {FIELD(3, FIELD_UINT, rkt_source_info, gpu_clock), RKT_CLOCK_COUNT, RKT_CLOCK_UNKNOWN,
     "gpu_clock"},
    {FIELD(4, FIELD_BOOL, rkt_source_info, rank_known), 0, 0, "rank_known"},
    {FIELD(5, FIELD_UINT, rkt_source_info, rank), 0, 0, "rank"},
    {FIELD(6, FIELD_UINT, rkt_source_info, local_rank), 0, 0, "local_rank"},
    {FIELD(7, FIELD_UINT, rkt_source_info, world_size), 0, 0, "world_size"},
    {FIELD(8, FIELD_UINT, rkt_source_info, node), 0, 0, "node"},
    {FIELD(9, FIELD_UINT, rkt_source_info, restart_count), 0, 0, "restart_count"},
    {FIELD(10, FIELD_UINT, rkt_source_info, pid), 0, 0, "pid"},
    {FIELD(11, FIELD_UINT, rkt_source_info, start_raw_ns), 0, 0, "start_raw_ns"},
    {FIELD(12, FIELD_INT, rkt_source_info, base_ns), 0, 0, "base_ns"},
    {FIELD(13, FIELD_TEXT, rkt_source_info, host), 0, 0, "host"},
    {FIELD(14, FIELD_TEXT, rkt_source_info, boot_id), 0, 0, "boot_id"},
    {FIELD(15, FIELD_TEXT, rkt_source_info, file), 0, 0, "file"},
    {FIELD(16, FIELD_TEXT, rkt_source_info, program), 0, 0, "program"},
    {FIELD(17, FIELD_UINT, rkt_source_info, time_namespace), 0, 0, "time_namespace"},
    {FIELD(18, FIELD_TEXT, rkt_source_info, clocksource), 0, 0, "clocksource"},
    {FIELD(19, FIELD_UINT, rkt_source_info, tsc_flags), 0, 0, "tsc_flags"},
};

static const struct field END_FIELDS[] = {
    {FIELD(0, FIELD_UINT, rkt_end_info, reason), RKT_END_LOST + 1, RKT_END_UNKNOWN, "reason"},
    {FIELD(1, FIELD_BOOL, rkt_end_info, cut_short), 0, 0, "cut_short"},
    {FIELD(2, FIELD_INT, rkt_end_info, exit_code), 0, 0, "exit_code"},
    {FIELD(3, FIELD_INT, rkt_end_info, signal_number), 0, 0, "signal_number"},
    {FIELD(4, FIELD_UINT, rkt_end_info, event_count), 0, 0, "event_count"},
    {FIELD(5, FIELD_UINT, rkt_end_info, dropped_count), 0, 0, "dropped_count"},
    {FIELD(6, FIELD_UINT, rkt_end_info, sent_bytes), 0, 0, "sent_bytes"},
};

static const struct field SHARD_FIELDS[] = {
    {FIELD(0, FIELD_TEXT, rkt_shard_info, file), 0, 0, "file"},
    {FIELD(1, FIELD_TEXT, rkt_shard_info, host), 0, 0, "host"},
    {FIELD(2, FIELD_UINT, rkt_shard_info, rank), 0, 0, "rank"},
};

#define LAYOUT(what, fields)                                 \
    {                                                        \
        (what), (fields), sizeof(fields) / sizeof(*(fields)) \
    }

static const struct layout RUN = LAYOUT("run descriptor", RUN_FIELDS);
static const struct layout SOURCE = LAYOUT("source descriptor", SOURCE_FIELDS);
static const struct layout END = LAYOUT("end descriptor", END_FIELDS);
static const struct layout SHARD = LAYOUT("shard descriptor", SHARD_FIELDS);

/* A number takes 10 bytes with its key, a text 4 more than its characters. */
static_assert(sizeof(struct rkt_source_info) + sizeof(SOURCE_FIELDS) < RKT_DESCRIPTOR_BYTES_MAX &&
                  sizeof(struct rkt_run_info) + sizeof(RUN_FIELDS) < RKT_DESCRIPTOR_BYTES_MAX,
              "an encoded descriptor fits in RKT_DESCRIPTOR_BYTES_MAX");

static uint64_t get_uint(const struct field *field, const uint8_t *at)
{
    uint32_t v32;
    uint64_t v64;

    switch (field->bytes) {
    case 1:
        return *at;
    case 4:
        memcpy(&v32, at, sizeof(v32));
        return v32;
    default:
        memcpy(&v64, at, sizeof(v64));
        return v64;
    }
}

static void put_uint(const struct field *field, uint8_t *at, uint64_t value)
{
    uint32_t v32 = (uint32_t)value;

    switch (field->bytes) {
    case 1:
        *at = (uint8_t)value;
        break;
    case 4:
        memcpy(at, &v32, sizeof(v32));
        break;
    default:
        memcpy(at, &value, sizeof(value));
    }
}

static int64_t get_int(const struct field *field, const uint8_t *at)
{
    uint64_t value = get_uint(field, at);

    return field->bytes == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static bool is_zero(const struct field *field, const uint8_t *at)
{
    return field->type == FIELD_TEXT ? *at == '\0' : get_uint(field, at) == 0;
}

static void write_field(struct rkt_codec_buf *buf, const struct field *field, const uint8_t *at)
{
    rkt_write_uint(buf, field->key);
    switch ((enum field_type)field->type) {
    case FIELD_UINT:
        rkt_write_uint(buf, get_uint(field, at));
        break;
    case FIELD_INT:
        rkt_write_int(buf, get_int(field, at));
        break;
    case FIELD_BOOL:
        rkt_write_bool(buf, *at != 0);
        break;
    case FIELD_TEXT:
        rkt_write_bin(buf, at, strnlen((const char *)at, field->bytes));
        break;
    }
}

enum rkt_status rkt_descriptor_give(struct rkt_codec_buf *buf, const char *what,
                                    struct rkt_descriptor_room room, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    if (buf->has_failed)
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for the %s", what);
    else if (buf->len_bytes > room.buf_bytes)
        status = rkt_fail(err, RKT_ERR_RANGE, "the %s takes %zu bytes; there is room for %zu", what,
                          buf->len_bytes, room.buf_bytes);
    if (status == RKT_OK) {
        memcpy(room.buf, buf->bytes, buf->len_bytes);
        *room.len_out = buf->len_bytes;
    }
    rkt_codec_buf_release(buf);
    return status;
}

enum rkt_status rkt_descriptor_fail(const struct rkt_cursor *cursor, const char *what,
                                    struct rkt_error *err)
{
    return rkt_fail(err, RKT_ERR_FORMAT, "%s is no msgpack map, or cut short, at byte %zu", what,
                    rkt_cursor_offset(cursor));
}

static enum rkt_status encode(const struct layout *layout, const void *info,
                              struct rkt_descriptor_room room, struct rkt_error *err)
{
    const uint8_t *base = info;
    struct rkt_codec_buf buf;
    size_t pair_count = 0;

    for (size_t i = 0; i < layout->count; i++)
        pair_count += !is_zero(&layout->fields[i], base + layout->fields[i].offset);
    rkt_codec_buf_init(&buf);
    rkt_write_map(&buf, pair_count);
    for (size_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];

        if (!is_zero(field, base + field->offset))
            write_field(&buf, field, base + field->offset);
    }
    return rkt_descriptor_give(&buf, layout->what, room, err);
}

static bool int_fits(const struct field *field, const struct rkt_item *item)
{
    int64_t value = (int64_t)item->value;

    if (item->kind == RKT_ITEM_UINT && item->value > INT64_MAX)
        return false;
    return field->bytes == 8 || (value >= INT32_MIN && value <= INT32_MAX);
}

static bool uint_fits(const struct field *field, uint64_t value)
{
    return field->bytes == 8 || value >> (8u * field->bytes) == 0;
}

/* False: the value is of another type, or does not fit. */
static bool read_field(const struct field *field, const struct rkt_item *item, uint8_t *at)
{
    switch ((enum field_type)field->type) {
    case FIELD_UINT:
        if (item->kind != RKT_ITEM_UINT)
            return false;
        if (field->known_count && item->value >= field->known_count)
            *at = field->fallback;
        else if (uint_fits(field, item->value))
            put_uint(field, at, item->value);
        else
            return false;
        return true;
    case FIELD_INT:
        if ((item->kind != RKT_ITEM_UINT && item->kind != RKT_ITEM_INT) || !int_fits(field, item))
            return false;
        put_uint(field, at, item->value);
        return true;
    case FIELD_BOOL:
        *at = item->value != 0;
        return item->kind == RKT_ITEM_BOOL;
    case FIELD_TEXT: {
        size_t len = item->count < field->bytes ? item->count : field->bytes - 1u;

        if (item->kind != RKT_ITEM_BYTES)
            return false;
        memset(at, 0, field->bytes);
        if (len)
            memcpy(at, item->bytes, len);
        return true;
    }
    }
    return false;
}

static const struct field *find_field(const struct layout *layout, const struct rkt_item *key)
{
    for (size_t i = 0; i < layout->count && key->kind == RKT_ITEM_UINT; i++) {
        if (layout->fields[i].key == key->value)
            return &layout->fields[i];
    }
    return NULL;
}

/* `info` must be zeroed. */
static enum rkt_status decode(const struct layout *layout, struct rkt_bytes raw, void *info,
                              struct rkt_error *err)
{
    struct rkt_cursor cursor;
    struct rkt_item map;

    rkt_cursor_init(&cursor, raw.at, raw.len_bytes);
    if (!rkt_cursor_next(&cursor, &map) || map.kind != RKT_ITEM_MAP)
        return rkt_descriptor_fail(&cursor, layout->what, err);
    for (size_t i = 0; i < map.count; i++) {
        const struct field *field;
        struct rkt_item key;
        struct rkt_item value;

        if (!rkt_cursor_next_whole(&cursor, &key) || !rkt_cursor_next_whole(&cursor, &value))
            return rkt_descriptor_fail(&cursor, layout->what, err);
        field = find_field(layout, &key);
        if (field && !read_field(field, &value, (uint8_t *)info + field->offset))
            return rkt_fail(err, RKT_ERR_FORMAT, "%s: key %u (%s) has an impossible value",
                            layout->what, field->key, field->name);
    }
    return RKT_OK;
}

enum rkt_status rkt_run_info_encode(const struct rkt_run_info *info, uint8_t *buf, size_t buf_bytes,
                                    size_t *len_out, struct rkt_error *err)
{
    return encode(&RUN, info, (struct rkt_descriptor_room){buf, buf_bytes, len_out}, err);
}

enum rkt_status rkt_run_info_decode(const uint8_t *raw, size_t raw_bytes,
                                    struct rkt_run_info *info_out, struct rkt_error *err)
{
    struct rkt_run_info info = {0};
    enum rkt_status status = decode(&RUN, (struct rkt_bytes){raw, raw_bytes}, &info, err);

    if (status == RKT_OK)
        *info_out = info;
    return status;
}

enum rkt_status rkt_source_info_encode(const struct rkt_source_info *info, uint8_t *buf,
                                       size_t buf_bytes, size_t *len_out, struct rkt_error *err)
{
    return encode(&SOURCE, info, (struct rkt_descriptor_room){buf, buf_bytes, len_out}, err);
}

enum rkt_status rkt_source_info_decode(const uint8_t *raw, size_t raw_bytes,
                                       struct rkt_source_info *info_out, struct rkt_error *err)
{
    struct rkt_source_info info = {0};
    enum rkt_status status = decode(&SOURCE, (struct rkt_bytes){raw, raw_bytes}, &info, err);

    if (status == RKT_OK)
        *info_out = info;
    return status;
}

enum rkt_status rkt_end_info_encode(const struct rkt_end_info *info, uint8_t *buf, size_t buf_bytes,
                                    size_t *len_out, struct rkt_error *err)
{
    return encode(&END, info, (struct rkt_descriptor_room){buf, buf_bytes, len_out}, err);
}

enum rkt_status rkt_end_info_decode(const uint8_t *raw, size_t raw_bytes,
                                    struct rkt_end_info *info_out, struct rkt_error *err)
{
    struct rkt_end_info info = {0};
    enum rkt_status status = decode(&END, (struct rkt_bytes){raw, raw_bytes}, &info, err);

    if (status == RKT_OK)
        *info_out = info;
    return status;
}

void rkt_shard_file_name(uint64_t run_id, uint32_t rank, char name_out[RKT_SHARD_FILE_BYTES])
{
    (void)snprintf(name_out, RKT_SHARD_FILE_BYTES, "timeline-%016" PRIx64 "-%" PRIu32 ".rkt",
                   run_id, rank);
}

bool rkt_shard_file_is_plain(const char *name)
{
    return *name != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

enum rkt_status rkt_shard_info_encode(const struct rkt_shard_info *info, uint8_t *buf,
                                      size_t buf_bytes, size_t *len_out, struct rkt_error *err)
{
    if (!rkt_shard_file_is_plain(info->file))
        return rkt_fail(err, RKT_ERR_INVALID, "'%s' is no name of a file beside the index",
                        info->file);
    return encode(&SHARD, info, (struct rkt_descriptor_room){buf, buf_bytes, len_out}, err);
}

enum rkt_status rkt_shard_info_decode(const uint8_t *raw, size_t raw_bytes,
                                      struct rkt_shard_info *info_out, struct rkt_error *err)
{
    struct rkt_shard_info info = {0};
    enum rkt_status status = decode(&SHARD, (struct rkt_bytes){raw, raw_bytes}, &info, err);

    if (status == RKT_OK)
        *info_out = info;
    return status;
}
