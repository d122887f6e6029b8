/* SPDX-License-Identifier: Apache-2.0 */
#include "common/codec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/codec_column.h"
#include "common/codec_keys.h"
#include "common/codec_time.h"
#include "common/codec_write.h"
#include "common/event_fields.h"
#include "common/frame.h"

static_assert(RKT_BATCH_EVENTS_MAX * sizeof(struct rkt_event) * 2 < RKT_FRAME_RAW_BYTES_MAX,
              "any batch fits in a frame");
static_assert(RKT_STRINGS_TEXT_BYTES_USUAL + RKT_STRING_BYTES_MAX + 5 * RKT_STRINGS_COUNT_USUAL <
                  RKT_FRAME_RAW_BYTES_MAX,
              "any part of a string table fits in a frame");

struct rkt_encoder {
    struct rkt_codec_buf out;
    struct rkt_codec_buf columns; /* written first: the map's head needs their number */
    uint64_t *values;             /* of one column; the next two are of times */
    uint64_t *starts;
    uint64_t *durations;
    size_t value_cap;
    size_t start_cap;
    size_t duration_cap;
};

struct rkt_encoder *rkt_encoder_create(void)
{
    struct rkt_encoder *encoder = calloc(1, sizeof(*encoder));

    if (!encoder)
        return NULL;
    rkt_codec_buf_init(&encoder->out);
    rkt_codec_buf_init(&encoder->columns);
    return encoder;
}

void rkt_encoder_destroy(struct rkt_encoder *encoder)
{
    if (!encoder)
        return;
    rkt_codec_buf_release(&encoder->out);
    rkt_codec_buf_release(&encoder->columns);
    free(encoder->values);
    free(encoder->starts);
    free(encoder->durations);
    free(encoder);
}

static enum rkt_status check_events(const struct rkt_event *events, size_t count,
                                    struct rkt_error *err)
{
    size_t field_count;

    if (count == 0 || count > RKT_BATCH_EVENTS_MAX)
        return rkt_fail(err, RKT_ERR_INVALID, "a batch of %zu events; 1 to %u are possible", count,
                        RKT_BATCH_EVENTS_MAX);
    rkt_event_fields(events[0].kind, &field_count);
    if (field_count == 0)
        return rkt_fail(err, RKT_ERR_INVALID, "events of kind %u cannot be encoded",
                        events[0].kind);
    for (size_t i = 1; i < count; i++) {
        if (events[i].kind != events[0].kind || events[i].clock_id != events[0].clock_id)
            return rkt_fail(err, RKT_ERR_INVALID,
                            "a batch of kind %u and clock %u has kind %u and clock %u in row %zu",
                            events[0].kind, events[0].clock_id, events[i].kind, events[i].clock_id,
                            i);
    }
    return RKT_OK;
}

#define GATHER(type)                                            \
    for (size_t i = 0; i < count; i++, at += sizeof(*events)) { \
        type value;                                             \
                                                                \
        memcpy(&value, at, sizeof(value));                      \
        values[i] = value;                                      \
    }

static void gather_plain(const struct rkt_event *events, size_t count,
                         const struct rkt_field *field, uint64_t *values)
{
    const uint8_t *at = (const uint8_t *)events + field->offset;

    switch (field->bytes) {
    case 1:
        GATHER(uint8_t);
        break;
    case 2:
        GATHER(uint16_t);
        break;
    case 4:
        GATHER(uint32_t);
        break;
    default:
        GATHER(uint64_t);
    }
}

/* The column's numbers, on loan from the encoder. */
static const uint64_t *gather(const struct rkt_encoder *encoder, const struct rkt_event *events,
                              size_t count, const struct rkt_field *field)
{
    uint64_t *values = encoder->values;

    if (field->coding == RKT_CODING_START)
        return encoder->starts;
    if (field->coding == RKT_CODING_DURATION)
        return encoder->durations;
    gather_plain(events, count, field, values);
    if (field->coding == RKT_CODING_CHANGE) {
        for (size_t i = count - 1; i > 0; i--)
            values[i] = rkt_zigzag(values[i] - values[i - 1]);
        values[0] = rkt_zigzag(values[0]);
    }
    return values;
}

static bool reserve(struct rkt_encoder *encoder, size_t count)
{
    return rkt_array_reserve((void **)&encoder->values, &encoder->value_cap, count,
                             sizeof(*encoder->values)) &&
           rkt_array_reserve((void **)&encoder->starts, &encoder->start_cap, count,
                             sizeof(*encoder->starts)) &&
           rkt_array_reserve((void **)&encoder->durations, &encoder->duration_cap, count,
                             sizeof(*encoder->durations));
}

static enum rkt_status finish(struct rkt_encoder *encoder, struct rkt_bytes *raw_out,
                              struct rkt_error *err)
{
    if (encoder->out.has_failed)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to encode a batch");
    *raw_out = (struct rkt_bytes){encoder->out.bytes, encoder->out.len_bytes};
    return RKT_OK;
}

enum rkt_status rkt_encode_events(struct rkt_encoder *encoder, const struct rkt_event *events,
                                  size_t count, struct rkt_bytes *raw_out, struct rkt_error *err)
{
    enum rkt_status status = check_events(events, count, err);
    const struct rkt_field *fields;
    size_t field_count;
    size_t key_count = RKT_BATCH_REQUIRED_COUNT + 1;
    uint64_t unit;

    if (status != RKT_OK)
        return status;
    if (!reserve(encoder, count))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to encode %zu events", count);
    unit = rkt_times_encode(events, count, encoder->starts, encoder->durations);
    fields = rkt_event_fields(events[0].kind, &field_count);
    rkt_codec_buf_reset(&encoder->columns);
    for (size_t f = 0; f < field_count; f++) {
        const uint64_t *values = gather(encoder, events, count, &fields[f]);

        if (rkt_column_write(&encoder->columns, fields[f].column, values, count))
            key_count++;
    }
    rkt_codec_buf_reset(&encoder->out);
    rkt_write_map(&encoder->out, key_count);
    rkt_write_uint(&encoder->out, RKT_BATCH_KIND);
    rkt_write_uint(&encoder->out, events[0].kind);
    rkt_write_uint(&encoder->out, RKT_BATCH_CLOCK);
    rkt_write_uint(&encoder->out, events[0].clock_id);
    rkt_write_uint(&encoder->out, RKT_BATCH_ROW_COUNT);
    rkt_write_uint(&encoder->out, count);
    rkt_write_uint(&encoder->out, RKT_BATCH_BASE_START);
    rkt_write_uint(&encoder->out, events[0].start_ns);
    rkt_write_uint(&encoder->out, RKT_BATCH_UNIT);
    rkt_write_uint(&encoder->out, unit);
    rkt_write_buf(&encoder->out, &encoder->columns);
    return finish(encoder, raw_out, err);
}

/* The id after the last one that still fits in a frame which starts at first_id. */
static uint32_t part_end(const struct rkt_strtab *tab, uint32_t first_id)
{
    uint32_t count = rkt_strtab_count(tab);
    size_t text_bytes = 0;
    uint32_t id = first_id;

    while (id < count && id - first_id < RKT_STRINGS_COUNT_USUAL &&
           text_bytes < RKT_STRINGS_TEXT_BYTES_USUAL) {
        size_t len_bytes;

        rkt_strtab_get(tab, id++, &len_bytes);
        text_bytes += len_bytes;
    }
    return id;
}

enum rkt_status rkt_encode_strings(struct rkt_encoder *encoder, const struct rkt_strtab *tab,
                                   uint32_t first_id, uint32_t *next_id_out,
                                   struct rkt_bytes *raw_out, struct rkt_error *err)
{
    uint32_t first = first_id ? first_id : 1; /* 0 is "unknown" everywhere */
    uint32_t end = part_end(tab, first);
    enum rkt_status status;

    if (end == first)
        return rkt_fail(err, RKT_ERR_INVALID, "no name from id %u on to encode", first);
    rkt_codec_buf_reset(&encoder->out);
    rkt_write_map(&encoder->out, 2);
    rkt_write_uint(&encoder->out, RKT_STRINGS_FIRST_ID);
    rkt_write_uint(&encoder->out, first);
    rkt_write_uint(&encoder->out, RKT_STRINGS_TEXTS);
    rkt_write_array(&encoder->out, end - first);
    for (uint32_t id = first; id < end; id++) {
        size_t len_bytes;
        const char *text = rkt_strtab_get(tab, id, &len_bytes);

        rkt_write_bin(&encoder->out, text, len_bytes);
    }
    status = finish(encoder, raw_out, err);
    if (status == RKT_OK)
        *next_id_out = end;
    return status;
}
