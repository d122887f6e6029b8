/* SPDX-License-Identifier: Apache-2.0 */
#include "common/batch_span.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/codec_column.h"
#include "common/frame.h"

/* Stored in files: never renumber. */
enum span_key {
    SPAN_COUNT = 0,

    SPAN_SEQ = 16,
    SPAN_KIND = 17,
    SPAN_CLOCK = 18,
    SPAN_EVENT_COUNT = 19,
    SPAN_FRAME_BYTES = 20,
    SPAN_FIRST = 21,
    SPAN_LENGTH = 22,
    SPAN_KEY_END
};

#define COLUMN_COUNT (SPAN_KEY_END - SPAN_SEQ)

static_assert((size_t)RKT_SPANS_MAX * COLUMN_COUNT * 8 * 2 < RKT_FRAME_RAW_BYTES_MAX,
              "any of them fit in a frame");

struct rkt_batch_span rkt_batch_span_of(const struct rkt_event *events, size_t count)
{
    struct rkt_batch_span span = {.first_ns = UINT64_MAX,
                                  .event_count = (uint32_t)count,
                                  .kind = events->kind,
                                  .clock_id = events->clock_id};

    for (size_t i = 0; i < count; i++) {
        if (events[i].start_ns == 0 || events[i].end_ns < events[i].start_ns) {
            span.first_ns = 0;
            span.last_ns = UINT64_MAX;
        }
        if (events[i].start_ns < span.first_ns)
            span.first_ns = events[i].start_ns;
        if (events[i].end_ns > span.last_ns)
            span.last_ns = events[i].end_ns;
    }
    return span;
}

/* ---- columns ---- */

/* `before` is that of the row before; of seq and first the change is told. */
static uint64_t get_column(const struct rkt_batch_span *span, const struct rkt_batch_span *before,
                           unsigned key)
{
    switch (key) {
    case SPAN_SEQ:
        return rkt_zigzag((uint64_t)span->seq - before->seq);
    case SPAN_KIND:
        return span->kind;
    case SPAN_CLOCK:
        return span->clock_id;
    case SPAN_EVENT_COUNT:
        return span->event_count;
    case SPAN_FRAME_BYTES:
        return span->frame_bytes;
    case SPAN_FIRST:
        return rkt_zigzag(span->first_ns - before->first_ns);
    default:
        return span->last_ns - span->first_ns;
    }
}

static void put_column(struct rkt_batch_span *span, const struct rkt_batch_span *before,
                       unsigned key, uint64_t value)
{
    switch (key) {
    case SPAN_SEQ:
        span->seq = before->seq + (uint32_t)rkt_unzigzag(value);
        break;
    case SPAN_KIND:
        span->kind = (uint8_t)value;
        break;
    case SPAN_CLOCK:
        span->clock_id = (uint8_t)value;
        break;
    case SPAN_EVENT_COUNT:
        span->event_count = (uint32_t)value;
        break;
    case SPAN_FRAME_BYTES:
        span->frame_bytes = (uint32_t)value;
        break;
    case SPAN_FIRST:
        span->first_ns = before->first_ns + rkt_unzigzag(value);
        break;
    default:
        span->last_ns = span->first_ns + value;
    }
}

static unsigned column_bytes(unsigned key)
{
    switch (key) {
    case SPAN_KIND:
    case SPAN_CLOCK:
        return 1;
    case SPAN_EVENT_COUNT:
    case SPAN_FRAME_BYTES:
        return 4;
    default:
        return 8;
    }
}

static const struct rkt_batch_span NOTHING = {0};

enum rkt_status rkt_batch_spans_encode(const struct rkt_batch_span *spans, size_t count,
                                       struct rkt_codec_buf *buf, struct rkt_error *err)
{
    uint64_t *values = malloc((count + 1) * sizeof(*values));
    struct rkt_codec_buf columns;
    size_t column_count = 0;

    rkt_codec_buf_reset(buf);
    rkt_codec_buf_init(&columns);
    for (unsigned key = SPAN_SEQ; values && key < SPAN_KEY_END; key++) {
        for (size_t i = 0; i < count; i++)
            values[i] = get_column(&spans[i], i > 0 ? &spans[i - 1] : &NOTHING, key);
        column_count += rkt_column_write(&columns, (uint8_t)key, values, count);
    }
    rkt_write_map(buf, 1 + column_count);
    rkt_write_uint(buf, SPAN_COUNT);
    rkt_write_uint(buf, count);
    rkt_write_buf(buf, &columns);
    rkt_codec_buf_release(&columns);
    free(values);
    if (!values || buf->has_failed)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the spans of %zu batches", count);
    return RKT_OK;
}

static bool read_columns(const struct rkt_item items[SPAN_KEY_END],
                         const bool has_key[SPAN_KEY_END], struct rkt_batch_span *spans,
                         size_t count, uint64_t *values)
{
    for (unsigned key = SPAN_SEQ; key < SPAN_KEY_END; key++) {
        memset(values, 0, count * sizeof(*values));
        if (has_key[key] && !rkt_column_read(&items[key], count, column_bytes(key), values))
            return false;
        for (size_t i = 0; i < count; i++)
            put_column(&spans[i], i > 0 ? &spans[i - 1] : &NOTHING, key, values[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (spans[i].last_ns < spans[i].first_ns)
            return false;
        if (spans[i].clock_id >= RKT_CLOCK_COUNT)
            spans[i].clock_id = RKT_CLOCK_UNKNOWN;
    }
    return true;
}

enum rkt_status rkt_batch_spans_decode(struct rkt_bytes raw, struct rkt_batch_spans *spans,
                                       struct rkt_error *err)
{
    struct rkt_item items[SPAN_KEY_END] = {{0}};
    bool has_key[SPAN_KEY_END] = {false};
    uint64_t *values;
    size_t count;
    bool is_good;

    if (!rkt_columns_find(raw, items, has_key, SPAN_KEY_END) || !has_key[SPAN_COUNT] ||
        items[SPAN_COUNT].kind != RKT_ITEM_UINT || items[SPAN_COUNT].value > RKT_SPANS_MAX)
        return rkt_fail(err, RKT_ERR_FORMAT, "spans: not a map with its number of batches");
    count = (size_t)items[SPAN_COUNT].value;
    values = malloc((count + 1) * sizeof(*values));
    if (!values || !rkt_array_reserve((void **)&spans->items, &spans->cap, spans->count + count + 1,
                                      sizeof(*spans->items))) {
        free(values);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the spans of %zu batches", count);
    }
    memset(spans->items + spans->count, 0, count * sizeof(*spans->items));
    is_good = read_columns(items, has_key, spans->items + spans->count, count, values);
    free(values);
    if (!is_good)
        return rkt_fail(err, RKT_ERR_FORMAT, "spans: their columns do not fit %zu batches", count);
    spans->count += count;
    return RKT_OK;
}
