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
    ALIGN_KNOTS = 2,  /* array: local_ns, offset_ns, bound_ns of each knot in turn */
    ALIGN_LIKELY = 3, /* array: likely_ns of each knot */
    ALIGN_HOPS = 4,   /* array */
    ALIGN_FIRST_RATE = 5,
    ALIGN_LAST_RATE = 6,
    ALIGN_GROWTH = 7,
    ALIGN_FLAGS = 8,
    ALIGN_RHO = 9,
    ALIGN_KAPPA = 10,
    ALIGN_NOISE = 11,
    ALIGN_KEY_COUNT
};

#define NUMBERS_PER_KNOT 3u

static_assert(RKT_ALIGN_KNOTS_MAX * 40 + 256 < RKT_FRAME_RAW_BYTES_MAX,
              "any alignment fits in a frame");

static bool knots_are_good(const struct rkt_align_knot *knots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (knots[i].bound_ns < 0 || knots[i].likely_ns < 0 ||
            (i > 0 && knots[i].local_ns <= knots[i - 1].local_ns))
            return false;
    }
    return true;
}

static void write_knots(struct rkt_codec_buf *out, const struct rkt_align_info *info)
{
    rkt_write_uint(out, ALIGN_KNOTS);
    rkt_write_array(out, info->knot_count * NUMBERS_PER_KNOT);
    for (size_t i = 0; i < info->knot_count; i++) {
        rkt_write_uint(out, info->knots[i].local_ns);
        rkt_write_int(out, info->knots[i].offset_ns);
        rkt_write_int(out, info->knots[i].bound_ns);
    }
    rkt_write_uint(out, ALIGN_LIKELY);
    rkt_write_array(out, info->knot_count);
    for (size_t i = 0; i < info->knot_count; i++)
        rkt_write_int(out, info->knots[i].likely_ns);
}

static void write_uint_field(struct rkt_codec_buf *out, enum align_key key, uint64_t value)
{
    rkt_write_uint(out, key);
    rkt_write_uint(out, value);
}

enum rkt_status rkt_align_info_encode(const struct rkt_align_info *info, uint8_t *buf,
                                      size_t buf_bytes, size_t *len_out, struct rkt_error *err)
{
    struct rkt_codec_buf out;

    if (info->knot_count > RKT_ALIGN_KNOTS_MAX || info->hop_count > RKT_ALIGN_HOPS_MAX ||
        !knots_are_good(info->knots, info->knot_count))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "alignment of source %u: its %zu knots are too many or out of order",
                        info->source, info->knot_count);
    rkt_codec_buf_init(&out);
    rkt_write_map(&out, ALIGN_KEY_COUNT);
    write_uint_field(&out, ALIGN_SOURCE, info->source);
    write_uint_field(&out, ALIGN_STATE, info->state);
    write_knots(&out, info);
    rkt_write_uint(&out, ALIGN_HOPS);
    rkt_write_array(&out, info->hop_count);
    for (size_t i = 0; i < info->hop_count; i++)
        rkt_write_uint(&out, info->hops[i]);
    rkt_write_uint(&out, ALIGN_FIRST_RATE);
    rkt_write_int(&out, info->first_rate_ppb);
    rkt_write_uint(&out, ALIGN_LAST_RATE);
    rkt_write_int(&out, info->last_rate_ppb);
    write_uint_field(&out, ALIGN_GROWTH, info->growth_ppb);
    write_uint_field(&out, ALIGN_FLAGS, info->flags);
    write_uint_field(&out, ALIGN_RHO, info->rho_ppb);
    write_uint_field(&out, ALIGN_KAPPA, info->kappa_permille);
    write_uint_field(&out, ALIGN_NOISE, info->noise_ppt);
    return rkt_descriptor_give(&out, "alignment",
                               (struct rkt_descriptor_room){buf, buf_bytes, len_out}, err);
}

/* An alignment under way: its two arrays may come in either order. */
struct reading {
    struct rkt_arena *arena;
    struct rkt_align_info info;
    struct rkt_align_knot *knots;
    const int64_t *likely_ns;
    size_t likely_count;
};

static bool is_int(const struct rkt_item *item)
{
    return item->kind == RKT_ITEM_INT || (item->kind == RKT_ITEM_UINT && item->value <= INT64_MAX);
}

static bool next_int(struct rkt_cursor *cursor, int64_t *value_out)
{
    struct rkt_item item;

    if (!rkt_cursor_next(cursor, &item) || !is_int(&item))
        return false;
    *value_out = (int64_t)item.value;
    return true;
}

/* The cursor stands behind the array's head. Likewise below. */
static enum rkt_status read_knots(struct reading *reading, struct rkt_cursor *cursor,
                                  size_t number_count, struct rkt_error *err)
{
    size_t count = number_count / NUMBERS_PER_KNOT;
    struct rkt_align_knot *knots;

    if (number_count % NUMBERS_PER_KNOT || count > RKT_ALIGN_KNOTS_MAX)
        return rkt_fail(err, RKT_ERR_FORMAT, "alignment: %zu numbers are no knots", number_count);
    knots = RKT_ARENA_ARRAY(reading->arena, struct rkt_align_knot, count ? count : 1);
    if (!knots)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots of an alignment", count);
    for (size_t i = 0; i < count; i++) {
        struct rkt_item local;

        if (!rkt_cursor_next(cursor, &local) || local.kind != RKT_ITEM_UINT ||
            !next_int(cursor, &knots[i].offset_ns) || !next_int(cursor, &knots[i].bound_ns))
            return rkt_fail(err, RKT_ERR_FORMAT, "alignment: knot %zu is no three integers", i);
        knots[i].local_ns = local.value;
    }
    reading->knots = knots;
    reading->info.knot_count = count;
    return RKT_OK;
}

static enum rkt_status read_likely(struct reading *reading, struct rkt_cursor *cursor, size_t count,
                                   struct rkt_error *err)
{
    int64_t *likely_ns;

    if (count > RKT_ALIGN_KNOTS_MAX)
        return rkt_fail(err, RKT_ERR_FORMAT, "alignment: %zu likely bounds", count);
    likely_ns = RKT_ARENA_ARRAY(reading->arena, int64_t, count ? count : 1);
    if (!likely_ns)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots of an alignment", count);
    for (size_t i = 0; i < count; i++) {
        if (!next_int(cursor, &likely_ns[i]))
            return rkt_fail(err, RKT_ERR_FORMAT, "alignment: likely bound %zu is no integer", i);
    }
    reading->likely_ns = likely_ns;
    reading->likely_count = count;
    return RKT_OK;
}

static enum rkt_status read_hops(struct reading *reading, struct rkt_cursor *cursor, size_t count,
                                 struct rkt_error *err)
{
    for (size_t i = 0; i < count && i < RKT_ALIGN_HOPS_MAX; i++) {
        struct rkt_item hop;

        if (!rkt_cursor_next(cursor, &hop) || hop.kind != RKT_ITEM_UINT || hop.value > UINT32_MAX)
            return rkt_fail(err, RKT_ERR_FORMAT, "alignment: hop %zu is no source", i);
        reading->info.hops[i] = (uint32_t)hop.value;
        reading->info.hop_count = (uint8_t)(i + 1);
    }
    return RKT_OK;
}

static enum rkt_status read_array(struct reading *reading, uint64_t key, struct rkt_cursor *inside,
                                  size_t count, struct rkt_error *err)
{
    if (key == ALIGN_KNOTS)
        return read_knots(reading, inside, count, err);
    if (key == ALIGN_LIKELY)
        return read_likely(reading, inside, count, err);
    return read_hops(reading, inside, count, err);
}

/* False: not of the field's type. */
static bool read_number(struct rkt_align_info *info, uint64_t key, const struct rkt_item *item)
{
    int32_t *rate = key == ALIGN_FIRST_RATE ? &info->first_rate_ppb : &info->last_rate_ppb;
    uint32_t *const fields[ALIGN_KEY_COUNT] = {
        [ALIGN_SOURCE] = &info->source,        [ALIGN_GROWTH] = &info->growth_ppb,
        [ALIGN_FLAGS] = &info->flags,          [ALIGN_RHO] = &info->rho_ppb,
        [ALIGN_KAPPA] = &info->kappa_permille, [ALIGN_NOISE] = &info->noise_ppt,
    };
    int64_t value = (int64_t)item->value;

    if (key == ALIGN_FIRST_RATE || key == ALIGN_LAST_RATE) {
        if (!is_int(item) || value < INT32_MIN || value > INT32_MAX)
            return false;
        *rate = (int32_t)value;
        return true;
    }
    if (item->kind != RKT_ITEM_UINT)
        return false;
    if (key == ALIGN_STATE) {
        info->state = item->value < RKT_ALIGN_STATE_COUNT ? (uint8_t)item->value
                                                          : (uint8_t)RKT_ALIGN_UNALIGNED;
        return true;
    }
    if (!fields[key] || item->value > UINT32_MAX)
        return false;
    *fields[key] = (uint32_t)item->value;
    return true;
}

static enum rkt_status read_align_pair(struct reading *reading, struct rkt_cursor *cursor,
                                       struct rkt_error *err)
{
    struct rkt_cursor inside;
    struct rkt_item key;
    struct rkt_item value;
    bool is_array;

    if (!rkt_cursor_next_whole(cursor, &key) || !rkt_cursor_next(cursor, &value))
        return rkt_descriptor_fail(cursor, "alignment", err);
    inside = *cursor;
    if (!rkt_cursor_skip_inside(cursor, &value))
        return rkt_descriptor_fail(cursor, "alignment", err);
    if (key.kind != RKT_ITEM_UINT || key.value >= ALIGN_KEY_COUNT)
        return RKT_OK;
    is_array = key.value == ALIGN_KNOTS || key.value == ALIGN_LIKELY || key.value == ALIGN_HOPS;
    if (is_array && value.kind == RKT_ITEM_ARRAY)
        return read_array(reading, key.value, &inside, value.count, err);
    if (is_array || !read_number(&reading->info, key.value, &value))
        return rkt_fail(err, RKT_ERR_FORMAT, "alignment: key %u has an impossible value",
                        (unsigned)key.value);
    return RKT_OK;
}

/* Before version 1.3 nothing is said of what is likely: no less than what is certain. */
static enum rkt_status close_knots(struct reading *reading, struct rkt_error *err)
{
    size_t count = reading->info.knot_count;

    if (reading->likely_ns && reading->likely_count != count)
        return rkt_fail(err, RKT_ERR_FORMAT, "alignment: %zu likely bounds of %zu knots",
                        reading->likely_count, count);
    for (size_t i = 0; i < count; i++)
        reading->knots[i].likely_ns =
            reading->likely_ns ? reading->likely_ns[i] : reading->knots[i].bound_ns;
    if (!knots_are_good(reading->knots, count))
        return rkt_fail(err, RKT_ERR_FORMAT, "alignment: knots out of order");
    reading->info.knots = reading->knots;
    return RKT_OK;
}

enum rkt_status rkt_align_info_decode(const uint8_t *raw, size_t raw_bytes, struct rkt_arena *arena,
                                      struct rkt_align_info *info_out, struct rkt_error *err)
{
    struct reading reading = {.arena = arena};
    struct rkt_cursor cursor;
    struct rkt_item map;
    enum rkt_status status;

    rkt_cursor_init(&cursor, raw, raw_bytes);
    if (!rkt_cursor_next(&cursor, &map) || map.kind != RKT_ITEM_MAP)
        return rkt_descriptor_fail(&cursor, "alignment", err);
    for (size_t i = 0; i < map.count; i++) {
        status = read_align_pair(&reading, &cursor, err);
        if (status != RKT_OK)
            return status;
    }
    status = close_knots(&reading, err);
    if (status == RKT_OK)
        *info_out = reading.info;
    return status;
}
