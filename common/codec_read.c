/* SPDX-License-Identifier: Apache-2.0 */
#include "common/codec_read.h"

enum form {
    FORM_NEVER, /* 0xc1, which no writer may use */
    FORM_OTHER,
    FORM_BOOL,
    FORM_UINT,
    FORM_INT,
    FORM_BYTES,
    FORM_EXT,
    FORM_ARRAY,
    FORM_MAP,
};

/* First bytes 0xc0 to 0xdf: a big-endian number of so many bytes, then so many bytes to skip. */
static const struct layout {
    uint8_t form;
    uint8_t number_bytes;
    uint8_t skip_bytes;
} LAYOUTS[32] = {
    {FORM_OTHER, 0, 0},  {FORM_NEVER, 0, 0}, {FORM_BOOL, 0, 0},  {FORM_BOOL, 0, 0},  /* c0 - c3 */
    {FORM_BYTES, 1, 0},  {FORM_BYTES, 2, 0}, {FORM_BYTES, 4, 0}, {FORM_EXT, 1, 1},   /* c4 - c7 */
    {FORM_EXT, 2, 1},    {FORM_EXT, 4, 1},   {FORM_OTHER, 0, 4}, {FORM_OTHER, 0, 8}, /* c8 - cb */
    {FORM_UINT, 1, 0},   {FORM_UINT, 2, 0},  {FORM_UINT, 4, 0},  {FORM_UINT, 8, 0},  /* cc - cf */
    {FORM_INT, 1, 0},    {FORM_INT, 2, 0},   {FORM_INT, 4, 0},   {FORM_INT, 8, 0},   /* d0 - d3 */
    {FORM_OTHER, 0, 2},  {FORM_OTHER, 0, 3}, {FORM_OTHER, 0, 5}, {FORM_OTHER, 0, 9}, /* d4 - d7 */
    {FORM_OTHER, 0, 17}, {FORM_BYTES, 1, 0}, {FORM_BYTES, 2, 0}, {FORM_BYTES, 4, 0}, /* d8 - db */
    {FORM_ARRAY, 2, 0},  {FORM_ARRAY, 4, 0}, {FORM_MAP, 2, 0},   {FORM_MAP, 4, 0},   /* dc - df */
};

void rkt_cursor_init(struct rkt_cursor *cursor, const uint8_t *bytes, size_t len_bytes)
{
    cursor->start = bytes;
    cursor->at = bytes;
    cursor->end = bytes + len_bytes;
}

static bool take(struct rkt_cursor *cursor, size_t len_bytes, const uint8_t **bytes_out)
{
    if ((size_t)(cursor->end - cursor->at) < len_bytes)
        return false;
    *bytes_out = cursor->at;
    cursor->at += len_bytes;
    return true;
}

static bool take_number(struct rkt_cursor *cursor, size_t len_bytes, uint64_t *number_out)
{
    const uint8_t *at;
    uint64_t number = 0;

    if (!take(cursor, len_bytes, &at))
        return false;
    for (size_t i = 0; i < len_bytes; i++)
        number = number << 8 | at[i];
    *number_out = number;
    return true;
}

static bool give_bytes(struct rkt_cursor *cursor, size_t count, struct rkt_item *item)
{
    item->kind = RKT_ITEM_BYTES;
    item->count = count;
    return take(cursor, count, &item->bytes);
}

static int64_t sign_extended(uint64_t number, size_t number_bytes)
{
    switch (number_bytes) {
    case 1:
        return (int8_t)number;
    case 2:
        return (int16_t)number;
    case 4:
        return (int32_t)number;
    default:
        return (int64_t)number;
    }
}

static bool give_int(uint64_t number, size_t number_bytes, struct rkt_item *item)
{
    int64_t extended = sign_extended(number, number_bytes);

    item->kind = extended < 0 ? RKT_ITEM_INT : RKT_ITEM_UINT;
    item->value = (uint64_t)extended;
    return true;
}

static bool give_short(struct rkt_cursor *cursor, uint8_t first, struct rkt_item *item)
{
    if (first < 0x80) {
        item->kind = RKT_ITEM_UINT;
        item->value = first;
        return true;
    }
    if (first >= 0xe0)
        return give_int(first, 1, item);
    if (first >= 0xa0)
        return give_bytes(cursor, first & 0x1f, item);
    item->kind = first >= 0x90 ? RKT_ITEM_ARRAY : RKT_ITEM_MAP;
    item->count = first & 0x0f;
    return true;
}

static bool give_long(struct rkt_cursor *cursor, uint8_t first, struct rkt_item *item)
{
    const struct layout *layout = &LAYOUTS[first - 0xc0];
    const uint8_t *skipped;
    uint64_t number;

    if (!take_number(cursor, layout->number_bytes, &number) ||
        !take(cursor, layout->skip_bytes, &skipped))
        return false;
    switch ((enum form)layout->form) {
    case FORM_NEVER:
        return false;
    case FORM_OTHER:
        item->kind = RKT_ITEM_OTHER;
        return true;
    case FORM_BOOL:
        item->kind = RKT_ITEM_BOOL;
        item->value = first & 1;
        return true;
    case FORM_UINT:
        item->kind = RKT_ITEM_UINT;
        item->value = number;
        return true;
    case FORM_INT:
        return give_int(number, layout->number_bytes, item);
    case FORM_BYTES:
        return give_bytes(cursor, (size_t)number, item);
    case FORM_EXT:
        item->kind = RKT_ITEM_OTHER;
        return take(cursor, (size_t)number, &skipped);
    case FORM_ARRAY:
    case FORM_MAP:
        item->kind = layout->form == FORM_MAP ? RKT_ITEM_MAP : RKT_ITEM_ARRAY;
        item->count = (size_t)number;
        return true;
    }
    return false;
}

bool rkt_cursor_next(struct rkt_cursor *cursor, struct rkt_item *item_out)
{
    struct rkt_item item = {RKT_ITEM_OTHER, 0, NULL, 0};
    const uint8_t *first;
    bool is_good;

    if (!take(cursor, 1, &first))
        return false;
    if (*first >= 0xc0 && *first < 0xe0)
        is_good = give_long(cursor, *first, &item);
    else
        is_good = give_short(cursor, *first, &item);
    if (is_good)
        *item_out = item;
    return is_good;
}

static uint64_t inside_count(const struct rkt_item *item)
{
    if (item->kind == RKT_ITEM_ARRAY)
        return item->count;
    if (item->kind == RKT_ITEM_MAP)
        return (uint64_t)item->count * 2;
    return 0;
}

bool rkt_cursor_skip_inside(struct rkt_cursor *cursor, const struct rkt_item *item)
{
    /* Each item takes a byte at least and adds less than 2^33, so this cannot overflow. */
    uint64_t pending = inside_count(item);

    while (pending > 0) {
        struct rkt_item inner;

        if (!rkt_cursor_next(cursor, &inner))
            return false;
        pending += inside_count(&inner) - 1;
    }
    return true;
}

bool rkt_cursor_next_whole(struct rkt_cursor *cursor, struct rkt_item *item_out)
{
    return rkt_cursor_next(cursor, item_out) && rkt_cursor_skip_inside(cursor, item_out);
}

bool rkt_cursor_is_at_end(const struct rkt_cursor *cursor)
{
    return cursor->at == cursor->end;
}

size_t rkt_cursor_offset(const struct rkt_cursor *cursor)
{
    return (size_t)(cursor->at - cursor->start);
}
