/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "common/batch_span.h"
#include "common/clock.h"
#include "common/codec.h"
#include "common/frame.h"
#include "common/pack.h"
#include "common/source_writer.h"
#include "tests/unit/sample.h"

#define FRAMES_MAX 64u

/* A sink that decodes what it gets as a receiver would. */
struct fixture {
    struct rkt_source_writer *writer;
    struct rkt_packer *packer;
    struct rkt_decoder *decoder;
    struct rkt_strtab *tab;
    uint8_t kinds[FRAMES_MAX];
    size_t frame_count;
    size_t frame_bytes;
    size_t event_count;
    struct rkt_end_info end;
    struct rkt_source_info source;
    struct rkt_batch_spans spans;
    struct rkt_batch_span sent[FRAMES_MAX]; /* what they have to say */
    size_t sent_count;
    bool is_broken; /* refuse frames */
};

static void take_events(struct fixture *fx, const struct rkt_frame_head *head, struct rkt_bytes raw)
{
    struct rkt_batch_span *span = &fx->sent[fx->sent_count++];
    struct rkt_batch batch;
    struct rkt_error err;

    assert_rkt_ok(rkt_decode_events(fx->decoder, raw, &batch, &err), err);
    fx->event_count += batch.count;
    *span = rkt_batch_span_of(batch.events, batch.count);
    span->seq = head->seq;
    span->frame_bytes = RKT_FRAME_HEAD_BYTES + head->packed_bytes;
    for (size_t i = 0; i < batch.count; i++) {
        /* the names came before */
        assert_true(batch.events[i].name_id < rkt_strtab_count(fx->tab));
    }
}

static void take_payload(struct fixture *fx, const struct rkt_frame_head *head,
                         struct rkt_bytes raw)
{
    struct rkt_error err;

    if (head->kind == RKT_FRAME_STRINGS)
        assert_rkt_ok(rkt_decode_strings(raw, fx->tab, &err), err);
    else if (head->kind == RKT_FRAME_BATCH)
        take_events(fx, head, raw);
    else if (head->kind == RKT_FRAME_SPANS)
        assert_rkt_ok(rkt_batch_spans_decode(raw, &fx->spans, &err), err);
    else if (head->kind == RKT_FRAME_END)
        assert_rkt_ok(rkt_end_info_decode(raw.at, raw.len_bytes, &fx->end, &err), err);
    else
        assert_rkt_ok(rkt_source_info_decode(raw.at, raw.len_bytes, &fx->source, &err), err);
}

static enum rkt_status take_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    struct fixture *fx = ctx;
    struct rkt_frame_head head;
    struct rkt_bytes raw;

    if (fx->is_broken)
        return rkt_fail(err, RKT_ERR_IO, "the sink is broken");
    assert_rkt_ok(rkt_frame_head_decode(frame, frame_bytes, &head, err), *err);
    assert_int_equal(head.seq, fx->frame_count);
    assert_int_equal(head.source, 1);
    assert_rkt_ok(rkt_unpack_payload(fx->packer, &head, frame + RKT_FRAME_HEAD_BYTES, &raw, err),
                  *err);
    take_payload(fx, &head, raw);
    fx->kinds[fx->frame_count++] = head.kind;
    fx->frame_bytes += frame_bytes;
    return RKT_OK;
}

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    struct rkt_source_info info = sample_source(1);
    struct rkt_error err;

    if (!fx)
        return -1;
    fx->packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    fx->decoder = rkt_decoder_create();
    fx->tab = rkt_strtab_create();
    *state = fx;
    assert_rkt_ok(rkt_source_writer_create(&info, take_frame, fx, &fx->writer, &err), err);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    rkt_source_writer_destroy(fx->writer);
    rkt_packer_destroy(fx->packer);
    rkt_decoder_destroy(fx->decoder);
    rkt_strtab_destroy(fx->tab);
    free(fx->spans.items);
    free(fx);
    return 0;
}

static enum rkt_status add(struct fixture *fx, enum rkt_event_kind kind, const char *name)
{
    struct rkt_event event;

    sample_event(kind, 0, &event);
    event.name_id = rkt_strtab_intern(rkt_source_writer_strtab(fx->writer), name, strlen(name));
    return rkt_source_writer_add(fx->writer, &event, NULL);
}

static void the_descriptor_goes_out_first_and_at_once(void **state)
{
    struct fixture *fx = *state;

    assert_int_equal(fx->frame_count, 1);
    assert_int_equal(fx->kinds[0], RKT_FRAME_SOURCE);
    sample_expect_source(&fx->source);
}

static void flush(struct fixture *fx)
{
    struct rkt_error err;

    assert_rkt_ok(rkt_source_writer_flush(fx->writer, &err), err);
}

static void names_go_out_before_the_events_that_use_them(void **state)
{
    static const uint8_t WANT[] = {RKT_FRAME_SOURCE,  RKT_FRAME_STRINGS, RKT_FRAME_BATCH,
                                   RKT_FRAME_STRINGS, RKT_FRAME_BATCH,   RKT_FRAME_BATCH};
    struct fixture *fx = *state;

    assert_rkt_status(add(fx, RKT_EVENT_API, "cudaLaunchKernel"), RKT_OK);
    assert_int_equal(fx->frame_count, 1);
    flush(fx);
    assert_rkt_status(add(fx, RKT_EVENT_API, "cudaMemcpyAsync"), RKT_OK);
    assert_rkt_status(add(fx, RKT_EVENT_KERNEL, "cudaLaunchKernel"), RKT_OK);
    flush(fx);
    flush(fx); /* nothing new: no frame */
    assert_int_equal(fx->frame_count, sizeof(WANT));
    assert_memory_equal(fx->kinds, WANT, sizeof(WANT));
    assert_int_equal(fx->event_count, 3);
}

static void a_full_batch_goes_out_by_itself(void **state)
{
    struct fixture *fx = *state;

    for (size_t i = 0; i < RKT_BATCH_EVENTS_USUAL - 1; i++)
        assert_rkt_status(add(fx, RKT_EVENT_API, "a"), RKT_OK);
    assert_int_equal(fx->event_count, 0);
    assert_rkt_status(add(fx, RKT_EVENT_API, "a"), RKT_OK);
    assert_int_equal(fx->event_count, RKT_BATCH_EVENTS_USUAL);
    assert_int_equal(rkt_source_writer_event_count(fx->writer), RKT_BATCH_EVENTS_USUAL);
}

static void clocks_do_not_mix_in_a_batch(void **state)
{
    struct fixture *fx = *state;
    struct rkt_event event;
    struct rkt_error err;

    for (int clock = 1; clock < RKT_CLOCK_COUNT; clock++) {
        sample_event(RKT_EVENT_RANGE, 0, &event);
        event.clock_id = (uint8_t)clock;
        assert_rkt_ok(rkt_source_writer_add(fx->writer, &event, &err), err);
    }
    assert_rkt_ok(rkt_source_writer_flush(fx->writer, &err), err);
    assert_int_equal(fx->frame_count, 1 + RKT_CLOCK_COUNT - 1);
}

static void the_end_says_what_went_out(void **state)
{
    struct fixture *fx = *state;
    struct rkt_end_info end = sample_end();
    struct rkt_error err;

    assert_rkt_status(add(fx, RKT_EVENT_API, "a"), RKT_OK);
    assert_rkt_ok(rkt_source_writer_end(fx->writer, &end, &err), err);
    assert_int_equal(fx->kinds[fx->frame_count - 1], RKT_FRAME_END);
    assert_int_equal(fx->end.event_count, 1);
    assert_int_equal(fx->end.sent_bytes, end.sent_bytes);
    assert_true(end.sent_bytes > 0 && end.sent_bytes < fx->frame_bytes);
    assert_int_equal(fx->end.signal_number, 9);
    assert_int_equal(fx->end.exit_code, -1);
    assert_true(fx->end.cut_short);
}

static void add_many(struct fixture *fx, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_rkt_status(add(fx, RKT_EVENT_API, "a"), RKT_OK);
}

static void add_at(struct fixture *fx, uint64_t start_ns, uint64_t end_ns)
{
    struct rkt_event event = {.kind = RKT_EVENT_KERNEL,
                              .clock_id = RKT_CLOCK_REALTIME,
                              .start_ns = start_ns,
                              .end_ns = end_ns};

    assert_rkt_status(rkt_source_writer_add(fx->writer, &event, NULL), RKT_OK);
}

static void at_the_end_spans_tell_when_each_batch_is(void **state)
{
    struct fixture *fx = *state;
    struct rkt_end_info end = sample_end();

    for (uint64_t i = 0; i < 3; i++) {
        add_at(fx, 1000 + i, 5000 - i);
        add_at(fx, 3000, 9000 + i);
        if (i == 2)
            add_at(fx, 4000, 3999); /* no time */
        add(fx, RKT_EVENT_API, "a");
        fx->is_broken = true; /* what was refused is told once, as what it became */
        assert_rkt_status(rkt_source_writer_flush(fx->writer, NULL), RKT_ERR_IO);
        fx->is_broken = false;
        flush(fx);
    }
    assert_int_equal(fx->spans.count, 0);
    assert_rkt_status(rkt_source_writer_end(fx->writer, &end, NULL), RKT_OK);
    assert_int_equal(fx->spans.count, 6);
    assert_memory_equal(fx->spans.items, fx->sent, 6 * sizeof(fx->sent[0]));
    assert_int_equal(fx->spans.items[0].first_ns, 1000);
    assert_int_equal(fx->spans.items[0].last_ns, 9000);
    assert_int_equal(fx->spans.items[4].first_ns, 0);
    assert_int_equal(fx->spans.items[4].last_ns, UINT64_MAX);
}

static void a_broken_sink_loses_nothing_that_was_added(void **state)
{
    struct fixture *fx = *state;

    add_many(fx, RKT_BATCH_EVENTS_USUAL - 1);
    fx->is_broken = true;
    assert_rkt_status(add(fx, RKT_EVENT_API, "b"), RKT_ERR_IO);
    assert_rkt_status(rkt_source_writer_flush(fx->writer, NULL), RKT_ERR_IO);
    fx->is_broken = false;
    add_many(fx, 1);
    flush(fx);
    assert_int_equal(fx->event_count, RKT_BATCH_EVENTS_USUAL);
}

static void events_that_cannot_be_are_refused(void **state)
{
    struct fixture *fx = *state;
    struct rkt_event event;

    sample_event(RKT_EVENT_API, 0, &event);
    event.kind = RKT_EVENT_NONE;
    assert_rkt_status(rkt_source_writer_add(fx->writer, &event, NULL), RKT_ERR_INVALID);
    event.kind = RKT_EVENT_KIND_COUNT;
    assert_rkt_status(rkt_source_writer_add(fx->writer, &event, NULL), RKT_ERR_INVALID);
    event.kind = RKT_EVENT_API;
    event.clock_id = RKT_CLOCK_COUNT;
    assert_rkt_status(rkt_source_writer_add(fx->writer, &event, NULL), RKT_ERR_INVALID);
}

static void an_update_sends_the_descriptor_again(void **state)
{
    struct fixture *fx = *state;
    struct rkt_source_info info = sample_source(1);
    struct rkt_error err;

    info.rank = 7;
    assert_rkt_ok(rkt_source_writer_update(fx->writer, &info, &err), err);
    assert_int_equal(fx->frame_count, 2);
    assert_int_equal(fx->source.rank, 7);
    info.source = 2;
    assert_rkt_status(rkt_source_writer_update(fx->writer, &info, NULL), RKT_ERR_INVALID);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_descriptor_goes_out_first_and_at_once),
        CASE(names_go_out_before_the_events_that_use_them),
        CASE(a_full_batch_goes_out_by_itself),
        CASE(clocks_do_not_mix_in_a_batch),
        CASE(the_end_says_what_went_out),
        CASE(at_the_end_spans_tell_when_each_batch_is),
        CASE(a_broken_sink_loses_nothing_that_was_added),
        CASE(events_that_cannot_be_are_refused),
        CASE(an_update_sends_the_descriptor_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
