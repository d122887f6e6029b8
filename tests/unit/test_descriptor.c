/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/codec_write.h"
#include "common/descriptor.h"
#include "tests/unit/sample.h"

static void fill_text(char *text, size_t cap)
{
    memset(text, 'x', cap - 1);
    text[cap - 1] = '\0';
}

static void the_longest_descriptor_fits_its_room(void **state)
{
    struct rkt_source_info info;
    struct rkt_source_info back;
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    struct rkt_error err;
    size_t len;

    (void)state;
    memset(&info, 0xff, sizeof(info));
    info.producer = RKT_PRODUCER_KINETO;
    info.role = RKT_ROLE_SIDECAR;
    info.gpu_clock = RKT_CLOCK_TRACE;
    info.rank_known = true;
    info.base_ns = INT64_MIN;
    fill_text(info.host, sizeof(info.host));
    fill_text(info.boot_id, sizeof(info.boot_id));
    fill_text(info.file, sizeof(info.file));
    fill_text(info.program, sizeof(info.program));
    assert_rkt_ok(rkt_source_info_encode(&info, raw, sizeof(raw), &len, &err), err);
    assert_rkt_ok(rkt_source_info_decode(raw, len, &back, &err), err);
    assert_int_equal(back.rank, UINT32_MAX);
    assert_int_equal(back.pid, UINT64_MAX);
    assert_int_equal(back.base_ns, INT64_MIN);
    assert_string_equal(back.file, info.file);
    assert_rkt_status(rkt_source_info_encode(&info, raw, len - 1, &len, NULL), RKT_ERR_RANGE);
}

static void what_is_absent_is_zero(void **state)
{
    static const uint8_t EMPTY_MAP[] = {0x80};
    struct rkt_source_info source = {.rank = 5};
    struct rkt_run_info run = {.rank_count = 5};
    struct rkt_end_info end = {.exit_code = 5};
    struct rkt_error err;

    (void)state;
    assert_rkt_ok(rkt_source_info_decode(EMPTY_MAP, 1, &source, &err), err);
    assert_rkt_ok(rkt_run_info_decode(EMPTY_MAP, 1, &run, &err), err);
    assert_rkt_ok(rkt_end_info_decode(EMPTY_MAP, 1, &end, &err), err);
    assert_int_equal(source.rank, 0);
    assert_false(source.rank_known);
    assert_string_equal(source.host, "");
    assert_int_equal(run.rank_count, 0);
    assert_int_equal(end.exit_code, 0);
}

/* One pair, then the source descriptor that it gives. */
static enum rkt_status decode_pair(uint64_t key, const uint8_t *value, size_t value_bytes,
                                   struct rkt_source_info *info)
{
    struct rkt_codec_buf buf;
    uint8_t bytes[600];
    size_t len;

    rkt_codec_buf_init(&buf);
    rkt_write_map(&buf, 1);
    rkt_write_uint(&buf, key);
    memcpy(bytes, buf.bytes, buf.len_bytes);
    memcpy(bytes + buf.len_bytes, value, value_bytes);
    len = buf.len_bytes + value_bytes;
    rkt_codec_buf_release(&buf);
    return rkt_source_info_decode(bytes, len, info, NULL);
}

static void values_of_a_wrong_type_or_size_are_refused(void **state)
{
    static const struct {
        const char *what;
        uint64_t key;
        uint8_t value[10];
        size_t len;
        enum rkt_status want;
    } CASES[] = {
        {"rank 7", 5, {7}, 1, RKT_OK},
        {"rank past 32 bits", 5, {0xcf, 0, 0, 0, 1, 0, 0, 0, 0}, 9, RKT_ERR_FORMAT},
        {"negative rank", 5, {0xff}, 1, RKT_ERR_FORMAT},
        {"rank as text", 5, {0xa1, '7'}, 2, RKT_ERR_FORMAT},
        {"rank_known as a number", 4, {1}, 1, RKT_ERR_FORMAT},
        {"base_ns past 63 bits", 12, {0xcf, 0xff, 0, 0, 0, 0, 0, 0, 0}, 9, RKT_ERR_FORMAT},
        {"negative base_ns", 12, {0xff}, 1, RKT_OK},
        {"host as a number", 13, {7}, 1, RKT_ERR_FORMAT},
        {"host as str", 13, {0xa1, 'h'}, 2, RKT_OK},
        {"host as bin", 13, {0xc4, 1, 'h'}, 3, RKT_OK},
        {"host cut short", 13, {0xc4, 9, 'h'}, 3, RKT_ERR_FORMAT},
        {"key of a later version", 99, {0x92, 0xc0, 0xc3}, 3, RKT_OK},
        {"nothing", 5, {0}, 0, RKT_ERR_FORMAT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rkt_source_info info;

        if (decode_pair(CASES[i].key, CASES[i].value, CASES[i].len, &info) != CASES[i].want)
            fail_msg("%s", CASES[i].what);
    }
}

static void numbers_of_a_later_version_become_their_unknown(void **state)
{
    static const uint8_t LARGE[] = {0xcd, 0x01, 0x00}; /* 256: not 0 by chance of a cast */
    struct rkt_source_info info;

    (void)state;
    assert_rkt_status(decode_pair(1, LARGE, sizeof(LARGE), &info), RKT_OK);
    assert_int_equal(info.producer, RKT_PRODUCER_UNKNOWN);
    assert_rkt_status(decode_pair(2, LARGE, sizeof(LARGE), &info), RKT_OK);
    assert_int_equal(info.role, RKT_ROLE_HELPER);
    assert_rkt_status(decode_pair(3, LARGE, sizeof(LARGE), &info), RKT_OK);
    assert_int_equal(info.gpu_clock, RKT_CLOCK_UNKNOWN);
}

static void a_text_that_is_too_long_is_cut(void **state)
{
    struct rkt_source_info info;
    uint8_t value[3 + 300] = {0xc5, 1, 44}; /* bin of 300 */

    (void)state;
    memset(value + 3, 'y', 300);
    assert_rkt_status(decode_pair(13, value, sizeof(value), &info), RKT_OK);
    assert_int_equal(strlen(info.host), sizeof(info.host) - 1);
}

static int make_arena(void **state)
{
    struct rkt_arena *arena = malloc(sizeof(*arena));

    if (!arena)
        return -1;
    rkt_arena_init(arena, 1 << 20);
    *state = arena;
    return 0;
}

static int release_arena(void **state)
{
    rkt_arena_release(*state);
    free(*state);
    return 0;
}

static void an_alignment_survives(void **state)
{
    struct rkt_align_info align = sample_align(3);
    struct rkt_align_info back;
    struct rkt_error err;
    uint8_t raw[200];
    size_t len;

    assert_rkt_ok(rkt_align_info_encode(&align, raw, sizeof(raw), &len, &err), err);
    assert_rkt_ok(rkt_align_info_decode(raw, len, *state, &back, &err), err);
    assert_int_equal(back.source, 3);
    assert_int_equal(back.state, RKT_ALIGN_MEASURED);
    assert_int_equal(back.knot_count, 2);
    assert_memory_equal(back.knots, align.knots, 2 * sizeof(*align.knots));
    sample_expect_align_making(&back, true);
    for (size_t cut = 0; cut < len; cut++)
        assert_rkt_status(rkt_align_info_decode(raw, cut, *state, &back, NULL), RKT_ERR_FORMAT);
}

static void knots_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *what;
        uint8_t bytes[12];
        size_t len;
        enum rkt_status want;
    } CASES[] = {
        {"no knots", {0x81, 2, 0x90}, 3, RKT_OK},
        {"one knot", {0x81, 2, 0x93, 5, 0xff, 1}, 6, RKT_OK},
        {"two numbers", {0x81, 2, 0x92, 5, 1}, 5, RKT_ERR_FORMAT},
        {"a negative bound", {0x81, 2, 0x93, 5, 0, 0xff}, 6, RKT_ERR_FORMAT},
        {"a negative local time", {0x81, 2, 0x93, 0xff, 0, 0}, 6, RKT_ERR_FORMAT},
        {"out of order", {0x81, 2, 0x96, 5, 0, 0, 4, 0, 0}, 9, RKT_ERR_FORMAT},
        {"the same time twice", {0x81, 2, 0x96, 5, 0, 0, 5, 0, 0}, 9, RKT_ERR_FORMAT},
        {"a claim of 2^32 - 1", {0x81, 2, 0xdd, 0xff, 0xff, 0xff, 0xff}, 7, RKT_ERR_FORMAT},
        {"knots that are no array", {0x81, 2, 7}, 3, RKT_ERR_FORMAT},
        {"a state of a later version", {0x81, 1, 99}, 3, RKT_OK},
        {"a likely bound too many", {0x82, 2, 0x93, 5, 0, 1, 3, 0x92, 1, 1}, 10, RKT_ERR_FORMAT},
        {"a negative likely bound", {0x82, 2, 0x93, 5, 0, 1, 3, 0x91, 0xff}, 9, RKT_ERR_FORMAT},
        {"likely bounds of no knots", {0x81, 3, 0x91, 1}, 4, RKT_ERR_FORMAT},
        {"likely bounds that come first", {0x82, 3, 0x91, 1, 2, 0x93, 5, 0, 1}, 9, RKT_OK},
        {"a growth below 0", {0x81, 7, 0xff}, 3, RKT_ERR_FORMAT},
        {"a rate of 2^32", {0x81, 5, 0xcf, 0, 0, 0, 1, 0, 0, 0, 0}, 11, RKT_ERR_FORMAT},
        {"hops that are no array", {0x81, 4, 1}, 3, RKT_ERR_FORMAT},
        {"a hop that is no source", {0x81, 4, 0x91, 0xff}, 4, RKT_ERR_FORMAT},
        {"more hops than are kept", {0x81, 4, 0x95, 1, 2, 3, 4, 5}, 8, RKT_OK},
    };

    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rkt_align_info info = {.state = 1};

        if (rkt_align_info_decode(CASES[i].bytes, CASES[i].len, *state, &info, NULL) !=
            CASES[i].want)
            fail_msg("%s", CASES[i].what);
        if (CASES[i].want == RKT_OK)
            assert_int_equal(info.state, RKT_ALIGN_UNALIGNED);
    }
}

static void more_knots_than_the_arena_may_hold_fail(void **state)
{
    struct rkt_align_info align = sample_align(0);
    struct rkt_align_info back;
    struct rkt_arena small;
    struct rkt_error err;
    uint8_t raw[200];
    size_t len;

    (void)state;
    rkt_arena_init(&small, 16);
    assert_rkt_ok(rkt_align_info_encode(&align, raw, sizeof(raw), &len, &err), err);
    assert_rkt_status(rkt_align_info_decode(raw, len, &small, &back, NULL), RKT_ERR_NOMEM);
    rkt_arena_release(&small);
}

static void a_shard_is_a_file_of_the_same_folder(void **state)
{
    static const struct {
        const char *name;
        bool is_plain;
    } CASES[] = {
        {"timeline-00000000000000ff-8.rkt", true},
        {"..rkt", true},
        {".rkt", true},
        {"", false},
        {".", false},
        {"..", false},
        {"/etc/passwd", false},
        {"../other/timeline.rkt", false},
        {"a/b", false},
        {"a/", false},
    };
    struct rkt_shard_info shard = {.rank = 8};
    struct rkt_shard_info back;
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    struct rkt_error err;
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        snprintf(shard.file, sizeof(shard.file), "%s", CASES[i].name);
        if (rkt_shard_file_is_plain(shard.file) != CASES[i].is_plain)
            fail_msg("'%s'", CASES[i].name);
        assert_rkt_status(rkt_shard_info_encode(&shard, raw, sizeof(raw), &len, NULL),
                          CASES[i].is_plain ? RKT_OK : RKT_ERR_INVALID);
    }
    rkt_shard_file_name(255, 8, shard.file);
    assert_string_equal(shard.file, CASES[0].name);
    rkt_shard_file_name(UINT64_MAX, UINT32_MAX, shard.file);
    assert_string_equal(shard.file, "timeline-ffffffffffffffff-4294967295.rkt");
    fill_text(shard.file, sizeof(shard.file));
    fill_text(shard.host, sizeof(shard.host));
    assert_rkt_ok(rkt_shard_info_encode(&shard, raw, sizeof(raw), &len, &err), err);
    assert_rkt_ok(rkt_shard_info_decode(raw, len, &back, &err), err);
    assert_string_equal(back.file, shard.file);
    assert_string_equal(back.host, shard.host);
    assert_int_equal(back.rank, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_descriptor_fits_its_room),
        cmocka_unit_test(what_is_absent_is_zero),
        cmocka_unit_test(values_of_a_wrong_type_or_size_are_refused),
        cmocka_unit_test(numbers_of_a_later_version_become_their_unknown),
        cmocka_unit_test(a_text_that_is_too_long_is_cut),
        cmocka_unit_test(a_shard_is_a_file_of_the_same_folder),
        cmocka_unit_test_setup_teardown(an_alignment_survives, make_arena, release_arena),
        cmocka_unit_test_setup_teardown(knots_that_cannot_be_are_refused, make_arena,
                                        release_arena),
        cmocka_unit_test(more_knots_than_the_arena_may_hold_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
