/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of a timeline with other alignments, beside the timeline itself. */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/frame.h"
#include "common/store_realign.h"
#include "tests/unit/sample.h"
#include "tests/unit/store_maker.h"

#define SOURCES 3u
#define EVENTS 500u

struct fixture {
    struct store_maker maker;
    char copy[256];
    struct rkt_align_knot knots[SOURCES][2];
    struct rkt_align_info aligns[SOURCES];
};

/* Different for each source; `plus_ns` for another alignment of all. */
static void set_aligns(struct fixture *f, int64_t plus_ns)
{
    for (uint32_t s = 0; s < SOURCES; s++) {
        for (size_t k = 0; k < 2; k++)
            f->knots[s][k] =
                (struct rkt_align_knot){.local_ns = 1000 + 1000000 * k,
                                        .offset_ns = (int64_t)s * 100 + (int64_t)k + plus_ns,
                                        .bound_ns = 50 + s,
                                        .likely_ns = 20 + s};
        f->aligns[s] = (struct rkt_align_info){.source = s,
                                               .state = RKT_ALIGN_MEASURED,
                                               .hop_count = 1,
                                               .knots = f->knots[s],
                                               .knot_count = 2,
                                               .rho_ppb = 300 + s};
    }
}

static int make_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    store_maker_init(&f->maker, RKT_PRODUCER_CAPTURE);
    for (uint32_t s = 0; s < SOURCES; s++) {
        uint32_t name;

        (void)store_add_source(
            &f->maker, (struct rkt_source_info){
                           .role = RKT_ROLE_RANK, .rank_known = true, .rank = s, .pid = 100 + s});
        name = store_name(&f->maker, s, "a kernel");
        for (uint64_t i = 0; i < EVENTS; i++)
            store_add(&f->maker, s,
                      (struct rkt_event){.kind = RKT_EVENT_KERNEL,
                                         .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                         .name_id = name,
                                         .start_ns = 1000 * (i + 1) + s,
                                         .end_ns = 1000 * (i + 1) + 500});
        if (s != 1) /* which was cut */
            store_end(&f->maker, s, (struct rkt_end_info){.reason = RKT_END_EXITED});
    }
    (void)snprintf(f->copy, sizeof(f->copy), "%s/copy.rkt", f->maker.folder);
    (void)store_open(&f->maker);
    set_aligns(f, 0);
    *state = f;
    return 0;
}

static int drop_fixture(void **state)
{
    struct fixture *f = *state;

    store_maker_release(&f->maker);
    free(f);
    return 0;
}

/* What is in a store but for alignments: a number that differs where anything of it does. */
struct content {
    uint64_t hash;
    size_t event_count;
    size_t align_count; /* frames */
    size_t frame_count; /* others */
};

static void add_bytes(struct content *content, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        content->hash = (content->hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
}

static enum rkt_status take_events(void *ctx, const struct rkt_event *events, size_t count,
                                   struct rkt_error *err)
{
    struct content *content = ctx;

    (void)err;
    add_bytes(content, events, count * sizeof(*events));
    content->event_count += count;
    return RKT_OK;
}

static enum rkt_status take_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    struct content *content = ctx;
    struct rkt_frame_head head;

    assert_rkt_ok(rkt_frame_head_decode(frame, frame_bytes, &head, err), *err);
    if (head.kind == RKT_FRAME_ALIGN) {
        content->align_count++;
        return RKT_OK;
    }
    content->frame_count++;
    add_bytes(content, frame, frame_bytes);
    return RKT_OK;
}

static struct content content_of(struct rkt_store_reader *reader)
{
    struct content content = {.hash = UINT64_C(14695981039346656037)};
    struct rkt_error err;

    assert_int_equal(rkt_store_reader_source_count(reader), SOURCES);
    for (uint32_t s = 0; s < SOURCES; s++)
        assert_rkt_ok(rkt_store_reader_walk(reader, s, NULL, take_events, &content, &err), err);
    assert_rkt_ok(rkt_store_reader_each_frame(reader, take_frame, &content, &err), err);
    return content;
}

/* The store at `path` has all that is in `want`, and these alignments once each. */
static void check_store(const struct fixture *f, const char *path, const struct content *want)
{
    struct rkt_store_reader *reader;
    struct rkt_error err;
    struct content got;

    assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
    got = content_of(reader);
    assert_int_equal(got.event_count, SOURCES * EVENTS);
    assert_int_equal(got.frame_count, want->frame_count);
    assert_true(got.hash == want->hash);
    assert_int_equal(got.align_count, SOURCES);
    assert_true(rkt_store_reader_health(reader)->has_trailer);
    for (uint32_t s = 0; s < SOURCES; s++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, s);

        assert_true(source->has_align);
        assert_int_equal(source->has_end, s != 1);
        assert_int_equal(source->align.source, s);
        assert_int_equal(source->align.rho_ppb, f->aligns[s].rho_ppb);
        assert_int_equal(source->align.knot_count, 2);
        assert_memory_equal(source->align.knots, f->knots[s], sizeof(f->knots[s]));
    }
    rkt_store_reader_close(reader);
}

static void a_copy_has_all_frames_and_the_alignments_that_are_given(void **state)
{
    struct fixture *f = *state;
    struct content want = content_of(f->maker.reader);
    struct rkt_error err;

    assert_int_equal(want.align_count, 0);
    assert_rkt_ok(rkt_store_realign(f->maker.reader, f->copy, f->aligns, &err), err);
    check_store(f, f->copy, &want);
}

static void alignments_that_were_there_are_replaced(void **state)
{
    struct fixture *f = *state;
    struct content want = content_of(f->maker.reader);
    struct rkt_store_reader *reader;
    struct rkt_error err;
    char again[300];

    (void)snprintf(again, sizeof(again), "%s.again", f->copy);
    assert_rkt_ok(rkt_store_realign(f->maker.reader, f->copy, f->aligns, &err), err);
    assert_rkt_ok(rkt_store_reader_open(f->copy, &reader, &err), err);
    set_aligns(f, 7777);
    assert_rkt_ok(rkt_store_realign(reader, again, f->aligns, &err), err);
    rkt_store_reader_close(reader);
    check_store(f, again, &want);
}

static void the_file_that_is_read_may_be_replaced(void **state)
{
    struct fixture *f = *state;
    struct content want = content_of(f->maker.reader);
    struct rkt_error err;

    assert_rkt_ok(rkt_store_realign(f->maker.reader, f->maker.path, f->aligns, &err), err);
    check_store(f, f->maker.path, &want);
    set_aligns(f, 12345);
    assert_rkt_ok(rkt_store_realign(f->maker.reader, f->maker.path, f->aligns, &err), err);
    check_store(f, f->maker.path, &want);
}

/* Its knots are none that can be stored: what was at the path is as it was. */
static void where_an_alignment_cannot_be_written_nothing_is_changed(void **state)
{
    struct fixture *f = *state;
    struct content want = content_of(f->maker.reader);
    struct rkt_error err;

    assert_rkt_ok(rkt_store_realign(f->maker.reader, f->copy, f->aligns, &err), err);
    f->aligns[2].knot_count = RKT_ALIGN_KNOTS_MAX + 1;
    assert_true(rkt_store_realign(f->maker.reader, f->copy, f->aligns, &err) < RKT_OK);
    f->aligns[2].knot_count = 2;
    check_store(f, f->copy, &want);
    assert_true(rkt_store_realign(f->maker.reader, "/proc/none/copy.rkt", f->aligns, &err) <
                RKT_OK);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_fixture, drop_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_copy_has_all_frames_and_the_alignments_that_are_given),
        CASE(alignments_that_were_there_are_replaced),
        CASE(the_file_that_is_read_may_be_replaced),
        CASE(where_an_alignment_cannot_be_written_nothing_is_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
