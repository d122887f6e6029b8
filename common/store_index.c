/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_index.h"

#include <assert.h>
#include <stdlib.h>

#include "common/codec_column.h"
#include "common/codec_read.h"

/* Stored in files: never renumber. Columns are as those of a batch, PLAIN. */
enum index_key {
    INDEX_ENTRY_COUNT = 0,
    INDEX_PREVIOUS_OFFSET = 1,
    INDEX_FIRST_OFFSET = 2,
    INDEX_SCALAR_COUNT,

    INDEX_SOURCE = 16,
    INDEX_KIND = 17,
    INDEX_SEQ = 18,
    INDEX_FRAME_BYTES = 19,
    INDEX_KEY_END
};

#define COLUMN_COUNT (INDEX_KEY_END - INDEX_SOURCE)

/* Offsets in the trailer's payload */
enum {
    AT_INDEX_OFFSET = 0,
    AT_FRAME_COUNT = 8,
    AT_FILE_BYTES = 16,
    AT_INDEX_COUNT = 24,
    AT_RESERVED = 28,
};

static_assert(AT_RESERVED + 4 == RKT_STORE_TRAILER_RAW_BYTES, "the trailer has no other bytes");
static_assert((size_t)RKT_STORE_INDEX_FRAMES_MAX * COLUMN_COUNT * 8 < RKT_FRAME_RAW_BYTES_MAX,
              "any index fits in a frame");

static uint64_t get_column(const struct rkt_store_entry *entry, unsigned key)
{
    switch (key) {
    case INDEX_SOURCE:
        return entry->source;
    case INDEX_KIND:
        return entry->kind;
    case INDEX_SEQ:
        return entry->seq;
    default:
        return entry->frame_bytes;
    }
}

static void put_column(struct rkt_store_entry *entry, unsigned key, uint64_t value)
{
    switch (key) {
    case INDEX_SOURCE:
        entry->source = (uint32_t)value;
        break;
    case INDEX_KIND:
        entry->kind = (uint8_t)value;
        break;
    case INDEX_SEQ:
        entry->seq = (uint32_t)value;
        break;
    default:
        entry->frame_bytes = (uint32_t)value;
    }
}

static unsigned column_bytes(unsigned key)
{
    return key == INDEX_KIND ? 1 : 4;
}

static size_t write_columns(struct rkt_codec_buf *columns, const struct rkt_store_index *index,
                            uint64_t *values)
{
    size_t written = 0;

    for (unsigned key = INDEX_SOURCE; key < INDEX_KEY_END; key++) {
        for (size_t i = 0; i < index->entry_count; i++)
            values[i] = get_column(&index->entries[i], key);
        written += rkt_column_write(columns, (uint8_t)key, values, index->entry_count);
    }
    return written;
}

enum rkt_status rkt_store_index_encode(const struct rkt_store_index *index,
                                       struct rkt_codec_buf *buf, struct rkt_error *err)
{
    uint64_t *values = malloc((index->entry_count + 1) * sizeof(*values));
    struct rkt_codec_buf columns;
    size_t column_count;
    bool has_failed;

    if (!values)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for an index of %zu frames",
                        index->entry_count);
    rkt_codec_buf_init(&columns);
    column_count = write_columns(&columns, index, values);
    rkt_codec_buf_reset(buf);
    rkt_write_map(buf, INDEX_SCALAR_COUNT + column_count);
    rkt_write_uint(buf, INDEX_ENTRY_COUNT);
    rkt_write_uint(buf, index->entry_count);
    rkt_write_uint(buf, INDEX_PREVIOUS_OFFSET);
    rkt_write_uint(buf, index->previous_offset);
    rkt_write_uint(buf, INDEX_FIRST_OFFSET);
    rkt_write_uint(buf, index->first_offset);
    rkt_write_buf(buf, &columns);
    has_failed = buf->has_failed;
    rkt_codec_buf_release(&columns);
    free(values);
    if (has_failed)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for an index of %zu frames",
                        index->entry_count);
    return RKT_OK;
}

/* All pairs of the map to items[]; false where it is no index. */
static bool read_items(struct rkt_bytes raw, struct rkt_item items[INDEX_KEY_END],
                       bool has_key[INDEX_KEY_END])
{
    if (!rkt_columns_find(raw, items, has_key, INDEX_KEY_END))
        return false;
    for (unsigned key = 0; key < INDEX_SCALAR_COUNT; key++) {
        if (!has_key[key] || items[key].kind != RKT_ITEM_UINT)
            return false;
    }
    return items[INDEX_ENTRY_COUNT].value <= RKT_STORE_INDEX_FRAMES_MAX;
}

static bool read_columns(const struct rkt_item items[INDEX_KEY_END],
                         const bool has_key[INDEX_KEY_END], struct rkt_store_index *index,
                         uint64_t *values)
{
    for (unsigned key = INDEX_SOURCE; key < INDEX_KEY_END; key++) {
        if (!has_key[key])
            continue;
        if (!rkt_column_read(&items[key], index->entry_count, column_bytes(key), values))
            return false;
        for (size_t i = 0; i < index->entry_count; i++)
            put_column(&index->entries[i], key, values[i]);
    }
    return true;
}

static bool place_entries(struct rkt_store_index *index)
{
    uint64_t offset = index->first_offset;

    if (offset > INT64_MAX)
        return false;
    for (size_t i = 0; i < index->entry_count; i++) {
        struct rkt_store_entry *entry = &index->entries[i];

        if (entry->frame_bytes < RKT_FRAME_HEAD_BYTES ||
            entry->frame_bytes > RKT_FRAME_HEAD_BYTES + RKT_FRAME_PACKED_BYTES_MAX)
            return false;
        entry->offset = offset;
        offset += entry->frame_bytes; /* 2^63 and 2^16 times 2^26 at most */
    }
    return true;
}

enum rkt_status rkt_store_index_decode(struct rkt_bytes raw, struct rkt_store_entry *room,
                                       size_t room_count, struct rkt_store_index *index_out,
                                       struct rkt_error *err)
{
    struct rkt_item items[INDEX_KEY_END] = {{0}};
    bool has_key[INDEX_KEY_END] = {false};
    struct rkt_store_index index;
    uint64_t *values;
    bool is_good;

    if (!read_items(raw, items, has_key))
        return rkt_fail(err, RKT_ERR_FORMAT, "index: not a map with its required keys");
    index.entry_count = (size_t)items[INDEX_ENTRY_COUNT].value;
    if (index.entry_count > room_count)
        return rkt_fail(err, RKT_ERR_FORMAT, "index: %zu frames where %zu are left",
                        index.entry_count, room_count);
    index.previous_offset = items[INDEX_PREVIOUS_OFFSET].value;
    index.first_offset = items[INDEX_FIRST_OFFSET].value;
    index.entries = room;
    values = malloc((index.entry_count + 1) * sizeof(*values));
    if (!values)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for an index of %zu frames",
                        index.entry_count);
    for (size_t i = 0; i < index.entry_count; i++)
        room[i] = (struct rkt_store_entry){0};
    is_good = read_columns(items, has_key, &index, values) && place_entries(&index);
    free(values);
    if (!is_good)
        return rkt_fail(err, RKT_ERR_FORMAT, "index: its columns do not fit %zu frames",
                        index.entry_count);
    *index_out = index;
    return RKT_OK;
}

void rkt_store_trailer_encode(const struct rkt_store_trailer *trailer,
                              uint8_t out[RKT_STORE_TRAILER_BYTES])
{
    uint8_t *raw = out + RKT_FRAME_HEAD_BYTES;
    struct rkt_frame_head head = {
        .kind = RKT_FRAME_TRAILER,
        .source = RKT_FRAME_SOURCE_NONE,
        .raw_bytes = RKT_STORE_TRAILER_RAW_BYTES,
        .packed_bytes = RKT_STORE_TRAILER_RAW_BYTES,
    };

    rkt_put_u64(raw + AT_INDEX_OFFSET, trailer->index_offset);
    rkt_put_u64(raw + AT_FRAME_COUNT, trailer->frame_count);
    rkt_put_u64(raw + AT_FILE_BYTES, trailer->file_bytes);
    rkt_put_u32(raw + AT_INDEX_COUNT, trailer->index_count);
    rkt_put_u32(raw + AT_RESERVED, 0);
    head.payload_crc = rkt_frame_payload_crc(raw, RKT_STORE_TRAILER_RAW_BYTES);
    rkt_frame_head_encode(&head, out);
}

bool rkt_store_trailer_decode(const uint8_t bytes[RKT_STORE_TRAILER_BYTES], uint64_t file_bytes,
                              struct rkt_store_trailer *trailer_out)
{
    const uint8_t *raw = bytes + RKT_FRAME_HEAD_BYTES;
    struct rkt_frame_head head;

    if (rkt_frame_head_decode(bytes, RKT_FRAME_HEAD_BYTES, &head, NULL) != RKT_OK ||
        head.kind != RKT_FRAME_TRAILER || head.flags != 0 ||
        head.packed_bytes != RKT_STORE_TRAILER_RAW_BYTES ||
        rkt_frame_payload_check(&head, raw, NULL) != RKT_OK ||
        rkt_get_u64(raw + AT_FILE_BYTES) != file_bytes)
        return false;
    trailer_out->index_offset = rkt_get_u64(raw + AT_INDEX_OFFSET);
    trailer_out->frame_count = rkt_get_u64(raw + AT_FRAME_COUNT);
    trailer_out->file_bytes = file_bytes;
    trailer_out->index_count = rkt_get_u32(raw + AT_INDEX_COUNT);
    return true;
}
