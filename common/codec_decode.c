/* SPDX-License-Identifier: Apache-2.0 */
#include "common/codec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/codec_column.h"
#include "common/codec_keys.h"
#include "common/codec_read.h"
#include "common/codec_time.h"
#include "common/event_fields.h"

#define KEY_COUNT 256u

struct rkt_decoder {
    struct rkt_event *events;
    size_t event_cap;
    uint64_t *values; /* of one column; the next two are of times */
    uint64_t *starts;
    uint64_t *durations;
    size_t value_cap;
    size_t start_cap;
    size_t duration_cap;
    struct rkt_item items[KEY_COUNT]; /* of the batch at hand, by key */
    bool has_key[KEY_COUNT];
};

/* The required keys of a batch, checked. */
struct batch_head {
    uint64_t kind; /* may be one that this version does not know */
    uint8_t clock_id;
    size_t count;
    uint64_t base_start_ns;
    uint64_t unit_ns; /* 0: the codings of version 1.0 */
};

struct rkt_decoder *rkt_decoder_create(void)
{
    return calloc(1, sizeof(struct rkt_decoder));
}

void rkt_decoder_destroy(struct rkt_decoder *decoder)
{
    if (!decoder)
        return;
    free(decoder->events);
    free(decoder->values);
    free(decoder->starts);
    free(decoder->durations);
    free(decoder);
}

static enum rkt_status fail_msgpack(const struct rkt_cursor *cursor, const char *what,
                                    struct rkt_error *err)
{
    return rkt_fail(err, RKT_ERR_FORMAT, "%s is no msgpack, or cut short, at byte %zu", what,
                    rkt_cursor_offset(cursor));
}

/* One pair of the batch's map to items[]; keys that cannot be a column's are counted. */
static enum rkt_status read_pair(struct rkt_decoder *decoder, struct rkt_cursor *cursor,
                                 uint64_t *unknown_count, struct rkt_error *err)
{
    struct rkt_item key;
    struct rkt_item value;

    if (!rkt_cursor_next_whole(cursor, &key) || !rkt_cursor_next_whole(cursor, &value))
        return fail_msgpack(cursor, "batch", err);
    if (key.kind != RKT_ITEM_UINT || key.value >= KEY_COUNT) {
        (*unknown_count)++;
        return RKT_OK;
    }
    if (decoder->has_key[key.value])
        return rkt_fail(err, RKT_ERR_FORMAT, "batch: key %u stands twice", (unsigned)key.value);
    decoder->has_key[key.value] = true;
    decoder->items[key.value] = value;
    return RKT_OK;
}

static enum rkt_status read_map(struct rkt_decoder *decoder, struct rkt_bytes raw,
                                uint64_t *unknown_count, struct rkt_error *err)
{
    struct rkt_cursor cursor;
    struct rkt_item map;

    memset(decoder->has_key, 0, sizeof(decoder->has_key));
    rkt_cursor_init(&cursor, raw.at, raw.len_bytes);
    if (!rkt_cursor_next(&cursor, &map))
        return fail_msgpack(&cursor, "batch", err);
    if (map.kind != RKT_ITEM_MAP)
        return rkt_fail(err, RKT_ERR_FORMAT, "batch: not a msgpack map");
    for (size_t i = 0; i < map.count; i++) {
        enum rkt_status status = read_pair(decoder, &cursor, unknown_count, err);

        if (status != RKT_OK)
            return status;
    }
    if (!rkt_cursor_is_at_end(&cursor))
        return rkt_fail(err, RKT_ERR_FORMAT, "batch: %zu bytes after its map at byte %zu",
                        raw.len_bytes - rkt_cursor_offset(&cursor), rkt_cursor_offset(&cursor));
    return RKT_OK;
}

static enum rkt_status read_batch_head(struct rkt_decoder *decoder, struct batch_head *head,
                                       struct rkt_error *err)
{
    const struct rkt_item *items = decoder->items;

    for (unsigned key = 0; key < RKT_BATCH_REQUIRED_COUNT; key++) {
        if (!decoder->has_key[key] || items[key].kind != RKT_ITEM_UINT)
            return rkt_fail(err, RKT_ERR_FORMAT, "batch: required key %u is missing or no integer",
                            key);
    }
    if (items[RKT_BATCH_ROW_COUNT].value == 0 ||
        items[RKT_BATCH_ROW_COUNT].value > RKT_BATCH_EVENTS_MAX)
        return rkt_fail(err, RKT_ERR_FORMAT, "batch: %llu rows; 1 to %u are possible",
                        (unsigned long long)items[RKT_BATCH_ROW_COUNT].value, RKT_BATCH_EVENTS_MAX);
    head->kind = items[RKT_BATCH_KIND].value;
    head->clock_id = RKT_CLOCK_UNKNOWN;
    if (items[RKT_BATCH_CLOCK].value < RKT_CLOCK_COUNT)
        head->clock_id = (uint8_t)items[RKT_BATCH_CLOCK].value;
    head->count = (size_t)items[RKT_BATCH_ROW_COUNT].value;
    head->base_start_ns = items[RKT_BATCH_BASE_START].value;
    head->unit_ns = 0;
    if (!decoder->has_key[RKT_BATCH_UNIT])
        return RKT_OK;
    decoder->has_key[RKT_BATCH_UNIT] = false;
    if (items[RKT_BATCH_UNIT].kind != RKT_ITEM_UINT || items[RKT_BATCH_UNIT].value == 0)
        return rkt_fail(err, RKT_ERR_FORMAT, "batch: its unit of time is no integer above 0");
    head->unit_ns = items[RKT_BATCH_UNIT].value;
    return RKT_OK;
}

static void scatter_plain(struct rkt_event *events, size_t count, const struct rkt_field *field,
                          const uint64_t *values)
{
    uint8_t *at = (uint8_t *)events + field->offset;

    for (size_t i = 0; i < count; i++, at += sizeof(*events)) {
        uint16_t v16 = (uint16_t)values[i];
        uint32_t v32 = (uint32_t)values[i];

        switch (field->bytes) {
        case 1:
            *at = (uint8_t)values[i];
            break;
        case 2:
            memcpy(at, &v16, sizeof(v16));
            break;
        case 4:
            memcpy(at, &v32, sizeof(v32));
            break;
        default:
            memcpy(at, &values[i], sizeof(values[i]));
        }
    }
}

static void sum_changes(uint64_t *values, size_t count)
{
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++) {
        value += rkt_unzigzag(values[i]);
        values[i] = value;
    }
}

/* Where the numbers of a column go. */
static uint64_t *room_for(const struct rkt_decoder *decoder, const struct rkt_field *field)
{
    if (field->coding == RKT_CODING_START)
        return decoder->starts;
    return field->coding == RKT_CODING_DURATION ? decoder->durations : decoder->values;
}

static enum rkt_status read_column(struct rkt_decoder *decoder, const struct batch_head *head,
                                   const struct rkt_field *field, struct rkt_error *err)
{
    bool is_time = field->coding == RKT_CODING_START || field->coding == RKT_CODING_DURATION;
    bool is_change = field->coding == RKT_CODING_CHANGE && head->unit_ns != 0;
    unsigned max_bytes = is_time || is_change ? 8 : field->bytes;
    uint64_t *values = room_for(decoder, field);

    if (!decoder->has_key[field->column]) {
        if (!is_time)
            return RKT_OK; /* the events are zeroed */
        memset(values, 0, head->count * sizeof(*values));
    } else if (!rkt_column_read(&decoder->items[field->column], head->count, max_bytes, values)) {
        return rkt_fail(err, RKT_ERR_FORMAT,
                        "batch of %s: column %u (%s) is no column of %zu rows of up to %u bytes",
                        rkt_event_kind_name((enum rkt_event_kind)head->kind), field->column,
                        field->name, head->count, max_bytes);
    }
    if (is_change)
        sum_changes(values, head->count);
    if (!is_time)
        scatter_plain(decoder->events, head->count, field, values);
    return RKT_OK;
}

static enum rkt_status make_rows(struct rkt_decoder *decoder, const struct batch_head *head,
                                 struct rkt_error *err)
{
    if (!rkt_array_reserve((void **)&decoder->events, &decoder->event_cap, head->count,
                           sizeof(*decoder->events)) ||
        !rkt_array_reserve((void **)&decoder->values, &decoder->value_cap, head->count,
                           sizeof(*decoder->values)) ||
        !rkt_array_reserve((void **)&decoder->starts, &decoder->start_cap, head->count,
                           sizeof(*decoder->starts)) ||
        !rkt_array_reserve((void **)&decoder->durations, &decoder->duration_cap, head->count,
                           sizeof(*decoder->durations)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a batch of %zu events", head->count);
    memset(decoder->events, 0, head->count * sizeof(*decoder->events));
    for (size_t i = 0; i < head->count; i++) {
        decoder->events[i].kind = (uint8_t)head->kind;
        decoder->events[i].clock_id = head->clock_id;
    }
    return RKT_OK;
}

static enum rkt_status read_columns(struct rkt_decoder *decoder, const struct batch_head *head,
                                    uint64_t *unknown_count, struct rkt_error *err)
{
    size_t field_count;
    const struct rkt_field *fields =
        rkt_event_fields((enum rkt_event_kind)head->kind, &field_count);

    for (size_t f = 0; f < field_count; f++) {
        enum rkt_status status = read_column(decoder, head, &fields[f], err);

        if (status != RKT_OK)
            return status;
        decoder->has_key[fields[f].column] = false; /* what is left is unknown */
    }
    /* Last: which lane a row is in says another column. */
    rkt_times_decode(decoder->events, head->count, head->base_start_ns, head->unit_ns,
                     decoder->starts, decoder->durations);
    for (size_t key = RKT_BATCH_REQUIRED_COUNT; key < KEY_COUNT; key++)
        *unknown_count += decoder->has_key[key];
    return RKT_OK;
}

enum rkt_status rkt_decode_events(struct rkt_decoder *decoder, struct rkt_bytes raw,
                                  struct rkt_batch *batch_out, struct rkt_error *err)
{
    uint64_t unknown_count = 0;
    struct batch_head head = {0};
    enum rkt_status status = read_map(decoder, raw, &unknown_count, err);

    if (status == RKT_OK)
        status = read_batch_head(decoder, &head, err);
    if (status != RKT_OK)
        return status;
    if (head.kind == RKT_EVENT_NONE || head.kind >= RKT_EVENT_KIND_COUNT) {
        *batch_out = (struct rkt_batch){NULL, 0, unknown_count + 1};
        return RKT_OK;
    }
    status = make_rows(decoder, &head, err);
    if (status == RKT_OK)
        status = read_columns(decoder, &head, &unknown_count, err);
    if (status == RKT_OK)
        *batch_out = (struct rkt_batch){decoder->events, head.count, unknown_count};
    return status;
}

/* The values of the two known keys; *texts_out is a cursor before the array. */
static enum rkt_status read_strings_map(struct rkt_bytes raw, uint64_t *first_id,
                                        struct rkt_cursor *texts_out, struct rkt_error *err)
{
    struct rkt_cursor cursor;
    struct rkt_item map;
    bool has_first = false;
    bool has_texts = false;

    rkt_cursor_init(&cursor, raw.at, raw.len_bytes);
    if (!rkt_cursor_next(&cursor, &map))
        return fail_msgpack(&cursor, "string table", err);
    if (map.kind != RKT_ITEM_MAP)
        return rkt_fail(err, RKT_ERR_FORMAT, "string table: not a msgpack map");
    for (size_t i = 0; i < map.count; i++) {
        struct rkt_cursor before_value;
        struct rkt_item key;
        struct rkt_item value;

        if (!rkt_cursor_next_whole(&cursor, &key))
            return fail_msgpack(&cursor, "string table", err);
        before_value = cursor;
        if (!rkt_cursor_next_whole(&cursor, &value))
            return fail_msgpack(&cursor, "string table", err);
        if (key.kind != RKT_ITEM_UINT)
            continue;
        if (key.value == RKT_STRINGS_FIRST_ID && value.kind == RKT_ITEM_UINT) {
            *first_id = value.value;
            has_first = true;
        } else if (key.value == RKT_STRINGS_TEXTS && value.kind == RKT_ITEM_ARRAY) {
            *texts_out = before_value;
            has_texts = true;
        }
    }
    if (!has_first || !has_texts)
        return rkt_fail(err, RKT_ERR_FORMAT, "string table: first id or texts are missing");
    return RKT_OK;
}

/* A clash loses that name only; the others are still defined. */
static enum rkt_status define_texts(struct rkt_strtab *tab, uint32_t first_id,
                                    struct rkt_cursor *cursor, size_t count, struct rkt_error *err)
{
    enum rkt_status result = RKT_OK;

    for (size_t i = 0; i < count; i++) {
        struct rkt_item text;
        enum rkt_status status;

        if (!rkt_cursor_next_whole(cursor, &text))
            return fail_msgpack(cursor, "string table", err);
        if (text.kind != RKT_ITEM_BYTES || text.count > RKT_STRING_BYTES_MAX)
            status = RKT_ERR_FORMAT;
        else
            status = rkt_strtab_define(tab, first_id + (uint32_t)i, (const char *)text.bytes,
                                       text.count);
        if (status == RKT_ERR_NOMEM)
            return rkt_fail(err, status, "no memory for %zu names", count);
        if (status != RKT_OK && result == RKT_OK)
            result =
                rkt_fail(err, status, "string table: name %u is no text, or has another already",
                         first_id + (uint32_t)i);
    }
    return result;
}

enum rkt_status rkt_decode_strings(struct rkt_bytes raw, struct rkt_strtab *tab,
                                   struct rkt_error *err)
{
    struct rkt_cursor cursor;
    struct rkt_item texts;
    uint64_t first_id = 0;
    enum rkt_status status = read_strings_map(raw, &first_id, &cursor, err);

    if (status != RKT_OK)
        return status;
    if (!rkt_cursor_next(&cursor, &texts))
        return fail_msgpack(&cursor, "string table", err);
    if (first_id == 0 || first_id > (uint64_t)rkt_strtab_count(tab) + RKT_STRINGS_JUMP_MAX ||
        texts.count + first_id > RKT_STRING_COUNT_MAX)
        return rkt_fail(err, RKT_ERR_FORMAT, "string table: %zu names from id %llu on after id %u",
                        texts.count, (unsigned long long)first_id, rkt_strtab_count(tab) - 1);
    return define_texts(tab, (uint32_t)first_id, &cursor, texts.count, err);
}
