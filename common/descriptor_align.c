/* SPDX-License-Identifier: Apache-2.0 */
#include "common/descriptor.h"

#include <assert.h>
#include <stdbool.h>

#include "common/codec_read.h"
#include "common/codec_write.h"
#include "common/descriptor_part.h"
#include "common/frame.h"

enum align_key {
    ALIGN_SOURCE = 0,
    ALIGN_STATE = 1,
    ALIGN_KNOTS = 2, /* array: local_ns, offset_ns, bound_ns of each knot in turn */
};

#define NUMBERS_PER_KNOT 3u

static_assert(RKT_ALIGN_KNOTS_MAX * NUMBERS_PER_KNOT * 9 + 64 < RKT_FRAME_RAW_BYTES_MAX,
              "any alignment fits in a frame");

static bool knots_are_good(const struct rkt_align_knot *knots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (knots[i].bound_ns < 0 || (i > 0 && knots[i].local_ns <= knots[i - 1].local_ns))
            return false;
    }
    return true;
}

enum rkt_status rkt_align_info_encode(const struct rkt_align_info *info, uint8_t *buf,
                                      size_t buf_bytes, size_t *len_out, struct rkt_error *err)
{
    struct rkt_codec_buf out;

    if (info->knot_count > RKT_ALIGN_KNOTS_MAX || !knots_are_good(info->knots, info->knot_count))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "alignment of source %u: its %zu knots are too many or out of order",
                        info->source, info->knot_count);
    rkt_codec_buf_init(&out);
    rkt_write_map(&out, 3);
    rkt_write_uint(&out, ALIGN_SOURCE);
    rkt_write_uint(&out, info->source);
    rkt_write_uint(&out, ALIGN_STATE);
    rkt_write_uint(&out, info->state);
    rkt_write_uint(&out, ALIGN_KNOTS);
    rkt_write_array(&out, info->knot_count * NUMBERS_PER_KNOT);
    for (size_t i = 0; i < info->knot_count; i++) {
        rkt_write_uint(&out, info->knots[i].local_ns);
        rkt_write_int(&out, info->knots[i].offset_ns);
        rkt_write_int(&out, info->knots[i].bound_ns);
    }
    return rkt_descriptor_give(&out, "alignment",
                               (struct rkt_descriptor_room){buf, buf_bytes, len_out}, err);
}

static bool next_int(struct rkt_cursor *cursor, int64_t *value_out)
{
    struct rkt_item item;

    if (!rkt_cursor_next(cursor, &item) ||
        !(item.kind == RKT_ITEM_INT || (item.kind == RKT_ITEM_UINT && item.value <= INT64_MAX)))
        return false;
    *value_out = (int64_t)item.value;
    return true;
}

/* The cursor stands behind the array's head. */
static enum rkt_status read_knots(struct rkt_cursor *cursor, size_t number_count,
                                  struct rkt_arena *arena, struct rkt_align_info *info,
                                  struct rkt_error *err)
{
    size_t count = number_count / NUMBERS_PER_KNOT;
    struct rkt_align_knot *knots;

    if (number_count % NUMBERS_PER_KNOT || count > RKT_ALIGN_KNOTS_MAX)
        return rkt_fail(err, RKT_ERR_FORMAT, "alignment: %zu numbers are no knots", number_count);
    knots = RKT_ARENA_ARRAY(arena, struct rkt_align_knot, count ? count : 1);
    if (!knots)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots of an alignment", count);
    for (size_t i = 0; i < count; i++) {
        struct rkt_item local;

        if (!rkt_cursor_next(cursor, &local) || local.kind != RKT_ITEM_UINT ||
            !next_int(cursor, &knots[i].offset_ns) || !next_int(cursor, &knots[i].bound_ns))
            return rkt_fail(err, RKT_ERR_FORMAT, "alignment: knot %zu is no three integers", i);
        knots[i].local_ns = local.value;
    }
    if (!knots_are_good(knots, count))
        return rkt_fail(err, RKT_ERR_FORMAT, "alignment: knots out of order");
    info->knots = knots;
    info->knot_count = count;
    return RKT_OK;
}

static enum rkt_status read_align_pair(struct rkt_cursor *cursor, struct rkt_arena *arena,
                                       struct rkt_align_info *info, struct rkt_error *err)
{
    struct rkt_cursor inside;
    struct rkt_item key;
    struct rkt_item value;

    if (!rkt_cursor_next_whole(cursor, &key) || !rkt_cursor_next(cursor, &value))
        return rkt_descriptor_fail(cursor, "alignment", err);
    inside = *cursor;
    if (!rkt_cursor_skip_inside(cursor, &value))
        return rkt_descriptor_fail(cursor, "alignment", err);
    if (key.kind != RKT_ITEM_UINT)
        return RKT_OK;
    if (key.value == ALIGN_SOURCE && value.kind == RKT_ITEM_UINT && value.value <= UINT32_MAX)
        info->source = (uint32_t)value.value;
    else if (key.value == ALIGN_STATE && value.kind == RKT_ITEM_UINT)
        info->state = value.value <= RKT_ALIGN_WALL_CLOCK ? (uint8_t)value.value
                                                          : (uint8_t)RKT_ALIGN_UNALIGNED;
    else if (key.value == ALIGN_KNOTS && value.kind == RKT_ITEM_ARRAY)
        return read_knots(&inside, value.count, arena, info, err);
    else if (key.value <= ALIGN_KNOTS)
        return rkt_fail(err, RKT_ERR_FORMAT, "alignment: key %u has an impossible value",
                        (unsigned)key.value);
    return RKT_OK;
}

enum rkt_status rkt_align_info_decode(const uint8_t *raw, size_t raw_bytes, struct rkt_arena *arena,
                                      struct rkt_align_info *info_out, struct rkt_error *err)
{
    struct rkt_align_info info = {0};
    struct rkt_cursor cursor;
    struct rkt_item map;

    rkt_cursor_init(&cursor, raw, raw_bytes);
    if (!rkt_cursor_next(&cursor, &map) || map.kind != RKT_ITEM_MAP)
        return rkt_descriptor_fail(&cursor, "alignment", err);
    for (size_t i = 0; i < map.count; i++) {
        enum rkt_status status = read_align_pair(&cursor, arena, &info, err);

        if (status != RKT_OK)
            return status;
    }
    *info_out = info;
    return RKT_OK;
}
