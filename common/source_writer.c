/* SPDX-License-Identifier: Apache-2.0 */
#include "common/source_writer.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/batch_span.h"
#include "common/clock.h"
#include "common/codec.h"
#include "common/event_fields.h"
#include "common/pack.h"

/* Events of one kind and clock, until they fill a frame. */
struct batch {
    struct rkt_event *events; /* RKT_BATCH_EVENTS_USUAL of them, once the first came */
    size_t count;
};

struct rkt_source_writer {
    uint32_t source;
    rkt_frame_sink_fn sink;
    void *sink_ctx;
    struct rkt_strtab *tab;
    struct rkt_encoder *encoder;
    struct rkt_packer *packer;
    struct batch batches[RKT_EVENT_KIND_COUNT][RKT_CLOCK_COUNT];
    struct rkt_batch_spans spans; /* of batches that went out: not told yet */
    struct rkt_codec_buf spans_buf;
    uint32_t next_name_id; /* the first that has not gone out */
    uint32_t next_seq;
    uint64_t event_count; /* gone out */
    uint64_t sent_bytes;
};

static enum rkt_status send_frame(struct rkt_source_writer *writer, uint8_t kind,
                                  struct rkt_bytes raw, struct rkt_error *err)
{
    struct rkt_frame_head head = {.kind = kind, .source = writer->source, .seq = writer->next_seq};
    struct rkt_bytes frame;
    enum rkt_status status = rkt_pack_frame(writer->packer, &head, raw, &frame, err);

    if (status == RKT_OK)
        status = writer->sink(writer->sink_ctx, frame.at, frame.len_bytes, err);
    if (status != RKT_OK)
        return status;
    writer->next_seq++;
    writer->sent_bytes += frame.len_bytes;
    return RKT_OK;
}

static enum rkt_status send_new_names(struct rkt_source_writer *writer, struct rkt_error *err)
{
    while (writer->next_name_id < rkt_strtab_count(writer->tab)) {
        struct rkt_bytes raw;
        uint32_t next_id;
        enum rkt_status status = rkt_encode_strings(writer->encoder, writer->tab,
                                                    writer->next_name_id, &next_id, &raw, err);

        if (status == RKT_OK)
            status = send_frame(writer, RKT_FRAME_STRINGS, raw, err);
        if (status != RKT_OK)
            return status;
        writer->next_name_id = next_id;
    }
    return RKT_OK;
}

/* On failure they are kept, for another try. */
static enum rkt_status send_spans(struct rkt_source_writer *writer, struct rkt_error *err)
{
    enum rkt_status status =
        rkt_batch_spans_encode(writer->spans.items, writer->spans.count, &writer->spans_buf, err);

    if (status == RKT_OK)
        status = send_frame(
            writer, RKT_FRAME_SPANS,
            (struct rkt_bytes){writer->spans_buf.bytes, writer->spans_buf.len_bytes}, err);
    if (status == RKT_OK)
        writer->spans.count = 0;
    return status;
}

/* Before a batch goes out there is room for its span. */
static enum rkt_status make_span_room(struct rkt_source_writer *writer, struct rkt_error *err)
{
    struct rkt_batch_spans *spans = &writer->spans;

    if (spans->count == RKT_SPANS_MAX)
        return send_spans(writer, err);
    if (!rkt_array_reserve((void **)&spans->items, &spans->cap, spans->count + 1,
                           sizeof(*spans->items)))
        return rkt_fail(err, RKT_ERR_NOMEM, "source %u: no memory for spans", writer->source);
    return RKT_OK;
}

/* On failure the batch is kept, for another try. */
static enum rkt_status send_batch(struct rkt_source_writer *writer, struct batch *batch,
                                  struct rkt_error *err)
{
    struct rkt_batch_span span = rkt_batch_span_of(batch->events, batch->count);
    enum rkt_status status = make_span_room(writer, err);
    uint64_t sent_bytes = 0;
    struct rkt_bytes raw;

    if (status == RKT_OK)
        status = send_new_names(writer, err);
    if (status == RKT_OK)
        status = rkt_encode_events(writer->encoder, batch->events, batch->count, &raw, err);
    if (status == RKT_OK) {
        sent_bytes = writer->sent_bytes;
        status = send_frame(writer, RKT_FRAME_BATCH, raw, err);
    }
    if (status != RKT_OK)
        return status;
    span.seq = writer->next_seq - 1;
    span.frame_bytes = (uint32_t)(writer->sent_bytes - sent_bytes);
    writer->spans.items[writer->spans.count++] = span;
    writer->event_count += batch->count;
    batch->count = 0;
    return RKT_OK;
}

enum rkt_status rkt_source_writer_create(const struct rkt_source_info *info, rkt_frame_sink_fn sink,
                                         void *sink_ctx, struct rkt_source_writer **writer_out,
                                         struct rkt_error *err)
{
    struct rkt_source_writer *writer = calloc(1, sizeof(*writer));
    enum rkt_status status;

    if (!writer)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for source %u", info->source);
    writer->source = info->source;
    writer->sink = sink;
    writer->sink_ctx = sink_ctx;
    writer->next_name_id = 1; /* 0 is "unknown" everywhere */
    rkt_codec_buf_init(&writer->spans_buf);
    writer->tab = rkt_strtab_create();
    writer->encoder = rkt_encoder_create();
    writer->packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    if (writer->tab && writer->encoder && writer->packer)
        status = rkt_source_writer_update(writer, info, err);
    else
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for source %u", info->source);
    if (status != RKT_OK) {
        rkt_source_writer_destroy(writer);
        return status;
    }
    *writer_out = writer;
    return RKT_OK;
}

void rkt_source_writer_destroy(struct rkt_source_writer *writer)
{
    if (!writer)
        return;
    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++) {
        for (size_t clock = 0; clock < RKT_CLOCK_COUNT; clock++)
            free(writer->batches[kind][clock].events);
    }
    free(writer->spans.items);
    rkt_codec_buf_release(&writer->spans_buf);
    rkt_strtab_destroy(writer->tab);
    rkt_encoder_destroy(writer->encoder);
    rkt_packer_destroy(writer->packer);
    free(writer);
}

struct rkt_strtab *rkt_source_writer_strtab(struct rkt_source_writer *writer)
{
    return writer->tab;
}

/* Untouched: what a source has few of costs few pages. */
static bool make_events(struct batch *batch)
{
    if (!batch->events)
        batch->events = malloc(RKT_BATCH_EVENTS_USUAL * sizeof(*batch->events));
    return batch->events != NULL;
}

enum rkt_status rkt_source_writer_add(struct rkt_source_writer *writer,
                                      const struct rkt_event *event, struct rkt_error *err)
{
    struct batch *batch;
    enum rkt_status status = RKT_OK;

    if (event->kind == RKT_EVENT_NONE || event->kind >= RKT_EVENT_KIND_COUNT ||
        event->clock_id >= RKT_CLOCK_COUNT)
        return rkt_fail(err, RKT_ERR_INVALID, "source %u: an event of kind %u and clock %u",
                        writer->source, event->kind, event->clock_id);
    batch = &writer->batches[event->kind][event->clock_id];
    if (!make_events(batch))
        return rkt_fail(err, RKT_ERR_NOMEM, "source %u: no memory for a batch", writer->source);
    if (batch->count == RKT_BATCH_EVENTS_USUAL)
        return RKT_AGAIN; /* not encoded anew for each event */
    batch->events[batch->count++] = *event;
    if (batch->count == RKT_BATCH_EVENTS_USUAL)
        status = send_batch(writer, batch, err);
    if (status == RKT_AGAIN)
        return RKT_OK;
    if (status != RKT_OK)
        batch->count--;
    return status;
}

enum rkt_status rkt_source_writer_flush(struct rkt_source_writer *writer, struct rkt_error *err)
{
    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++) {
        for (size_t clock = 0; clock < RKT_CLOCK_COUNT; clock++) {
            struct batch *batch = &writer->batches[kind][clock];
            enum rkt_status status = batch->count ? send_batch(writer, batch, err) : RKT_OK;

            if (status != RKT_OK)
                return status;
        }
    }
    return RKT_OK;
}

enum rkt_status rkt_source_writer_update(struct rkt_source_writer *writer,
                                         const struct rkt_source_info *info, struct rkt_error *err)
{
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    size_t raw_bytes;
    enum rkt_status status;

    if (info->source != writer->source)
        return rkt_fail(err, RKT_ERR_INVALID, "source %u cannot become source %u", writer->source,
                        info->source);
    status = rkt_source_info_encode(info, raw, sizeof(raw), &raw_bytes, err);
    if (status != RKT_OK)
        return status;
    return send_frame(writer, RKT_FRAME_SOURCE, (struct rkt_bytes){raw, raw_bytes}, err);
}

enum rkt_status rkt_source_writer_end(struct rkt_source_writer *writer, struct rkt_end_info *end,
                                      struct rkt_error *err)
{
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    size_t raw_bytes;
    enum rkt_status status = rkt_source_writer_flush(writer, err);

    if (status == RKT_OK)
        status = send_new_names(writer, err);
    if (status == RKT_OK && writer->spans.count > 0)
        status = send_spans(writer, err);
    if (status != RKT_OK)
        return status;
    end->event_count = writer->event_count;
    end->sent_bytes = writer->sent_bytes;
    status = rkt_end_info_encode(end, raw, sizeof(raw), &raw_bytes, err);
    if (status != RKT_OK)
        return status;
    return send_frame(writer, RKT_FRAME_END, (struct rkt_bytes){raw, raw_bytes}, err);
}

uint64_t rkt_source_writer_event_count(const struct rkt_source_writer *writer)
{
    return writer->event_count;
}
