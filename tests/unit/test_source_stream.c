/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include "aggregator/source_stream.h"
#include "common/bytes.h"
#include "common/pack.h"

/* Three ranks: source 1 is rank 1 itself, source 4 its first process. */
struct fixture {
    struct rkt_source_streams *streams;
    struct rkt_packer *packer;
    uint8_t frame[256];
    size_t frame_bytes;
};

static int make_fixture(void **state)
{
    static struct fixture fixture;

    fixture.streams = rkt_source_streams_create(3);
    fixture.packer = rkt_packer_create(1);
    assert_non_null(fixture.streams);
    assert_non_null(fixture.packer);
    *state = &fixture;
    return 0;
}

static int drop_fixture(void **state)
{
    struct fixture *f = *state;

    rkt_source_streams_destroy(f->streams);
    rkt_packer_destroy(f->packer);
    return 0;
}

static void make_frame(struct fixture *f, uint32_t source, uint32_t seq, uint8_t kind)
{
    static const uint8_t raw[] = "a payload that is its own proof";
    struct rkt_frame_head head = {.kind = kind, .source = source, .seq = seq};
    struct rkt_bytes frame;
    struct rkt_error err = {0};

    assert_rkt_ok(
        rkt_pack_frame(f->packer, &head, (struct rkt_bytes){raw, sizeof(raw)}, &frame, &err), err);
    assert_in_range(frame.len_bytes, 1, sizeof(f->frame));
    memcpy(f->frame, frame.at, frame.len_bytes);
    f->frame_bytes = frame.len_bytes;
}

static enum rkt_stream_verdict check(struct fixture *f, int rank)
{
    struct rkt_error err = {0};

    return rkt_source_streams_check(f->streams, rank, f->frame, f->frame_bytes, &err);
}

static enum rkt_stream_verdict give(struct fixture *f, int rank, uint32_t source, uint32_t seq)
{
    make_frame(f, source, seq, RKT_FRAME_EVENTS);
    return check(f, rank);
}

static void frames_in_order_are_taken(void **state)
{
    struct fixture *f = *state;
    struct rkt_stream_counts counts;

    for (uint32_t seq = 0; seq < 5; seq++)
        assert_int_equal(give(f, 1, 4, seq), RKT_STREAM_TAKE);
    assert_int_equal(give(f, 1, 1, 0), RKT_STREAM_TAKE);
    rkt_source_streams_counts(f->streams, 1, &counts);
    assert_int_equal(counts.frame_count, 6);
    assert_int_equal(counts.gap_count + counts.bad_count + counts.duplicate_count, 0);
}

static void gap_is_counted_and_its_frame_taken(void **state)
{
    struct fixture *f = *state;
    struct rkt_stream_counts counts;

    assert_int_equal(give(f, 1, 4, 0), RKT_STREAM_TAKE);
    assert_int_equal(give(f, 1, 4, 3), RKT_STREAM_TAKE);
    assert_int_equal(give(f, 1, 4, 4), RKT_STREAM_TAKE);
    rkt_source_streams_counts(f->streams, 1, &counts);
    assert_int_equal(counts.gap_count, 2);
}

static void duplicate_is_left_out(void **state)
{
    struct fixture *f = *state;
    struct rkt_stream_counts counts;

    assert_int_equal(give(f, 1, 4, 0), RKT_STREAM_TAKE);
    assert_int_equal(give(f, 1, 4, 1), RKT_STREAM_TAKE);
    assert_int_equal(give(f, 1, 4, 1), RKT_STREAM_DUPLICATE);
    assert_int_equal(give(f, 1, 4, 0), RKT_STREAM_DUPLICATE);
    assert_int_equal(give(f, 1, 4, 2), RKT_STREAM_TAKE);
    rkt_source_streams_counts(f->streams, 1, &counts);
    assert_int_equal(counts.duplicate_count, 2);
}

static void source_of_another_rank_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(give(f, 2, 4, 0), RKT_STREAM_BAD);
    assert_int_equal(give(f, 1, 5, 0), RKT_STREAM_BAD);
    assert_int_equal(give(f, 1, 65536 - 65536 % 3 + 1, 0), RKT_STREAM_BAD);
    assert_int_equal(give(f, 2, 5, 0), RKT_STREAM_TAKE);
}

static void any_flipped_bit_is_noticed(void **state)
{
    struct fixture *f = *state;

    make_frame(f, 4, 0, RKT_FRAME_EVENTS);
    for (size_t bit = 0; bit < f->frame_bytes * 8; bit++) {
        f->frame[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        assert_int_equal(check(f, 1), RKT_STREAM_BAD);
        f->frame[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    assert_int_equal(check(f, 1), RKT_STREAM_TAKE);
}

static void a_frame_of_another_major_is_refused_with_both_numbers_and_the_rest_taken(void **state)
{
    struct fixture *f = *state;
    struct rkt_stream_counts counts;
    struct rkt_error err = {0};

    make_frame(f, 4, 0, RKT_FRAME_EVENTS);
    f->frame[4] = 9; /* with a head that is whole, as such a sender makes it */
    rkt_put_u32(f->frame + 28, rkt_frame_payload_crc(f->frame, 28));
    assert_int_equal(rkt_source_streams_check(f->streams, 1, f->frame, f->frame_bytes, &err),
                     RKT_STREAM_BAD);
    assert_non_null(strstr(err.text, "version 9; this ranktrace reads version 1"));
    assert_int_equal(give(f, 1, 4, 0), RKT_STREAM_TAKE);
    assert_int_equal(give(f, 2, 5, 0), RKT_STREAM_TAKE);
    rkt_source_streams_counts(f->streams, 1, &counts);
    assert_int_equal(counts.bad_count, 1);
    assert_int_equal(counts.gap_count, 0);
}

static void cut_or_longer_frame_is_refused(void **state)
{
    struct fixture *f = *state;
    size_t whole;

    make_frame(f, 4, 0, RKT_FRAME_EVENTS);
    whole = f->frame_bytes;
    for (f->frame_bytes = 0; f->frame_bytes < whole; f->frame_bytes++)
        assert_int_equal(check(f, 1), RKT_STREAM_BAD);
    f->frame_bytes = whole + 1;
    assert_int_equal(check(f, 1), RKT_STREAM_BAD);
}

static void source_is_open_until_its_end(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(give(f, 1, 7, 0), RKT_STREAM_TAKE);
    assert_int_equal(rkt_source_streams_count(f->streams, 1), 3); /* 1, 4 and 7 */
    assert_false(rkt_source_streams_is_known(f->streams, 1, 1));
    assert_false(rkt_source_streams_is_open(f->streams, 1, 1));
    assert_true(rkt_source_streams_is_open(f->streams, 1, 2));
    make_frame(f, 7, 1, RKT_FRAME_END);
    assert_int_equal(check(f, 1), RKT_STREAM_TAKE);
    assert_false(rkt_source_streams_is_open(f->streams, 1, 2));
    assert_true(rkt_source_streams_is_known(f->streams, 1, 2));
}

static void gaps_that_are_expected_are_not_counted(void **state)
{
    struct fixture *f = *state;
    struct rkt_stream_counts counts;

    rkt_source_streams_expect_some(f->streams, 1);
    assert_int_equal(give(f, 1, 4, 3), RKT_STREAM_TAKE);
    assert_int_equal(give(f, 1, 4, 9), RKT_STREAM_TAKE);
    assert_int_equal(give(f, 1, 4, 9), RKT_STREAM_DUPLICATE);
    rkt_source_streams_counts(f->streams, 1, &counts);
    assert_int_equal(counts.gap_count, 0);
}

static void after_a_restart_any_number_is_next_once(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(give(f, 1, 4, 9), RKT_STREAM_TAKE);
    rkt_source_streams_restart(f->streams, 1);
    assert_int_equal(give(f, 1, 4, 5), RKT_STREAM_TAKE);
    assert_int_equal(give(f, 1, 4, 5), RKT_STREAM_DUPLICATE);
    assert_int_equal(give(f, 1, 4, 4), RKT_STREAM_DUPLICATE);
    assert_int_equal(give(f, 1, 4, 6), RKT_STREAM_TAKE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_fixture, drop_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(frames_in_order_are_taken),
        CASE(gap_is_counted_and_its_frame_taken),
        CASE(duplicate_is_left_out),
        CASE(source_of_another_rank_is_refused),
        CASE(any_flipped_bit_is_noticed),
        CASE(cut_or_longer_frame_is_refused),
        CASE(source_is_open_until_its_end),
        CASE(gaps_that_are_expected_are_not_counted),
        CASE(after_a_restart_any_number_is_next_once),
        CASE(a_frame_of_another_major_is_refused_with_both_numbers_and_the_rest_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
