/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "common/pack.h"
#include "tests/unit/rkt_random.h"

static int set_up(void **state)
{
    *state = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    rkt_packer_destroy(*state);
    return 0;
}

/* Pack, check as a receiver does, unpack with another packer, compare. */
static struct rkt_frame_head survives(struct rkt_packer *packer, const uint8_t *raw,
                                      size_t raw_bytes)
{
    struct rkt_packer *other = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    struct rkt_frame_head head = {.kind = RKT_FRAME_BATCH, .source = 3, .seq = 4};
    struct rkt_frame_head got;
    struct rkt_error err;
    struct rkt_bytes frame;
    struct rkt_bytes back;

    assert_non_null(other);
    assert_rkt_ok(rkt_pack_frame(packer, &head, (struct rkt_bytes){raw, raw_bytes}, &frame, &err),
                  err);
    assert_rkt_ok(rkt_frame_head_decode(frame.at, frame.len_bytes, &got, &err), err);
    assert_int_equal(frame.len_bytes, RKT_FRAME_HEAD_BYTES + got.packed_bytes);
    assert_int_equal(got.raw_bytes, raw_bytes);
    assert_int_equal(got.source, 3);
    assert_int_equal(got.seq, 4);
    assert_rkt_ok(rkt_frame_payload_check(&got, frame.at + RKT_FRAME_HEAD_BYTES, &err), err);
    assert_rkt_ok(rkt_unpack_payload(other, &got, frame.at + RKT_FRAME_HEAD_BYTES, &back, &err),
                  err);
    assert_int_equal(back.len_bytes, raw_bytes);
    assert_memory_equal(back.at, raw, raw_bytes);
    rkt_packer_destroy(other);
    return got;
}

static void a_repetitive_payload_is_stored_as_zstd(void **state)
{
    uint8_t *raw = calloc(1, 100000);
    struct rkt_frame_head head;

    assert_non_null(raw);
    head = survives(*state, raw, 100000);
    assert_int_equal(head.flags, RKT_FRAME_ZSTD);
    assert_true(head.packed_bytes < 1000);
    free(raw);
}

static void a_random_payload_is_stored_plain(void **state)
{
    struct rkt_random random = {1};
    uint8_t raw[4096];

    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = (uint8_t)rkt_random_next(&random);
    assert_int_equal(survives(*state, raw, sizeof(raw)).flags, 0);
}

static void an_empty_payload_is_possible(void **state)
{
    assert_int_equal(survives(*state, (const uint8_t *)"", 0).packed_bytes, 0);
}

static void one_packer_packs_many_frames_of_growing_size(void **state)
{
    uint8_t raw[5000];

    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = (uint8_t)(i % 31);
    for (size_t len = 1; len < sizeof(raw); len = len * 3 + 1)
        survives(*state, raw, len);
}

static void a_payload_past_the_limit_is_refused(void **state)
{
    struct rkt_bytes raw = {(const uint8_t *)"", (size_t)RKT_FRAME_RAW_BYTES_MAX + 1};
    struct rkt_frame_head head = {0};
    struct rkt_bytes frame;

    assert_rkt_status(rkt_pack_frame(*state, &head, raw, &frame, NULL), RKT_ERR_RANGE);
}

static void a_payload_that_is_not_what_its_head_says_is_refused(void **state)
{
    static const uint8_t ZEROS[1000];
    static const struct {
        const char *what;
        int32_t raw_change;
        int32_t packed_change;
        uint16_t more_flags;
    } CASES[] = {
        {"shorter than its head says", 1, 0, 0},
        {"longer than its head says", -1, 0, 0},
        {"cut short", 0, -1, 0},
        {"flags of a later version", 0, 0, 0x8000},
    };
    struct rkt_frame_head head = {0};
    struct rkt_bytes frame;
    struct rkt_error err;

    assert_rkt_ok(
        rkt_pack_frame(*state, &head, (struct rkt_bytes){ZEROS, sizeof(ZEROS)}, &frame, &err), err);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rkt_frame_head wrong = head;
        struct rkt_bytes back;

        wrong.raw_bytes += (uint32_t)CASES[i].raw_change;
        wrong.packed_bytes += (uint32_t)CASES[i].packed_change;
        wrong.flags |= CASES[i].more_flags;
        if (rkt_unpack_payload(*state, &wrong, frame.at + RKT_FRAME_HEAD_BYTES, &back, NULL) !=
            RKT_ERR_FORMAT)
            fail_msg("%s: taken", CASES[i].what);
    }
}

static void a_payload_that_is_no_zstd_is_refused(void **state)
{
    static const uint8_t TEXT[] = "this is not zstd";
    struct rkt_frame_head head = {.flags = RKT_FRAME_ZSTD, .raw_bytes = 10};
    struct rkt_bytes back;

    head.packed_bytes = sizeof(TEXT);
    assert_rkt_status(rkt_unpack_payload(*state, &head, TEXT, &back, NULL), RKT_ERR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_repetitive_payload_is_stored_as_zstd, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_random_payload_is_stored_plain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_payload_is_possible, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_packer_packs_many_frames_of_growing_size, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_payload_past_the_limit_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_payload_that_is_not_what_its_head_says_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_payload_that_is_no_zstd_is_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
