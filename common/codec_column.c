/* SPDX-License-Identifier: Apache-2.0 */
#include "common/codec_column.h"

static unsigned width_of(uint64_t bits)
{
    if (bits <= UINT8_MAX)
        return 1;
    if (bits <= UINT16_MAX)
        return 2;
    return bits <= UINT32_MAX ? 4 : 8;
}

static void write_planes(uint8_t *planes, unsigned width, const uint64_t *values, size_t count)
{
    for (unsigned p = 0; p < width; p++) {
        uint8_t *plane = planes + p * count;

        for (size_t i = 0; i < count; i++)
            plane[i] = (uint8_t)(values[i] >> (8 * p));
    }
}

bool rkt_column_write(struct rkt_codec_buf *buf, uint8_t key, const uint64_t *values, size_t count)
{
    uint64_t any_bits = 0;
    uint64_t odd_bits = 0; /* those that differ from the first row's */
    uint8_t *planes;

    for (size_t i = 0; i < count; i++) {
        any_bits |= values[i];
        odd_bits |= values[i] ^ values[0];
    }
    if (any_bits == 0)
        return false;
    rkt_write_uint(buf, key);
    if (odd_bits == 0) {
        rkt_write_uint(buf, values[0]);
        return true;
    }
    planes = rkt_write_bin_room(buf, width_of(any_bits) * count);
    if (planes)
        write_planes(planes, width_of(any_bits), values, count);
    return true;
}

static void read_planes(const uint8_t *planes, size_t width, size_t count, uint64_t *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = planes[i];
    for (size_t p = 1; p < width; p++) {
        const uint8_t *plane = planes + p * count;

        for (size_t i = 0; i < count; i++)
            values[i] |= (uint64_t)plane[i] << (8 * p);
    }
}

bool rkt_column_read(const struct rkt_item *item, size_t count, unsigned max_bytes,
                     uint64_t *values_out)
{
    size_t width;

    if (item->kind == RKT_ITEM_UINT) {
        if (width_of(item->value) > max_bytes)
            return false;
        for (size_t i = 0; i < count; i++)
            values_out[i] = item->value;
        return true;
    }
    if (item->kind != RKT_ITEM_BYTES || count == 0 || item->count % count != 0)
        return false;
    width = item->count / count;
    if (width > max_bytes || (width != 1 && width != 2 && width != 4 && width != 8))
        return false;
    read_planes(item->bytes, width, count, values_out);
    return true;
}

bool rkt_columns_find(struct rkt_bytes raw, struct rkt_item *items, bool *has_key, size_t key_end)
{
    struct rkt_cursor cursor;
    struct rkt_item map;

    rkt_cursor_init(&cursor, raw.at, raw.len_bytes);
    if (!rkt_cursor_next(&cursor, &map) || map.kind != RKT_ITEM_MAP)
        return false;
    for (size_t i = 0; i < map.count; i++) {
        struct rkt_item key;
        struct rkt_item value;

        if (!rkt_cursor_next_whole(&cursor, &key) || !rkt_cursor_next_whole(&cursor, &value))
            return false;
        if (key.kind != RKT_ITEM_UINT || key.value >= key_end)
            continue;
        has_key[key.value] = true;
        items[key.value] = value;
    }
    return true;
}
