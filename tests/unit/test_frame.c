/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <zlib.h>

#include "common/bytes.h"
#include "common/frame.h"

static const struct rkt_frame_head EXAMPLE = {
    .kind = RKT_FRAME_EVENTS,
    .flags = RKT_FRAME_ZSTD,
    .source = 7,
    .seq = 0x01020304,
    .raw_bytes = 70000,
    .packed_bytes = 4096,
    .payload_crc = 0xdeadbeef,
};

static void seal(uint8_t *bytes)
{
    rkt_put_u32(bytes + 28, (uint32_t)crc32(crc32(0, Z_NULL, 0), bytes, 28));
}

static void a_head_has_the_bytes_of_the_spec(void **state)
{
    static const uint8_t WANT[28] = {
        'R', 'K', 'T',  'F',  1,    4, 1, 0,    7, 0, 0,    0,    4,    3,
        2,   1,   0x70, 0x11, 0x01, 0, 0, 0x10, 0, 0, 0xef, 0xbe, 0xad, 0xde,
    };
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];

    (void)state;
    rkt_frame_head_encode(&EXAMPLE, bytes);
    assert_memory_equal(bytes, WANT, sizeof(WANT));
    assert_int_equal(rkt_get_u32(bytes + 28), crc32(crc32(0, Z_NULL, 0), WANT, sizeof(WANT)));
}

static void a_head_survives_encode_and_decode(void **state)
{
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];
    struct rkt_frame_head head;
    struct rkt_error err;

    (void)state;
    rkt_frame_head_encode(&EXAMPLE, bytes);
    assert_rkt_ok(rkt_frame_head_decode(bytes, sizeof(bytes), &head, &err), err);
    assert_int_equal(head.kind, EXAMPLE.kind);
    assert_int_equal(head.flags, EXAMPLE.flags);
    assert_int_equal(head.source, EXAMPLE.source);
    assert_int_equal(head.seq, EXAMPLE.seq);
    assert_int_equal(head.raw_bytes, EXAMPLE.raw_bytes);
    assert_int_equal(head.packed_bytes, EXAMPLE.packed_bytes);
    assert_int_equal(head.payload_crc, EXAMPLE.payload_crc);
}

static void a_short_head_asks_for_more(void **state)
{
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];
    struct rkt_frame_head head;

    (void)state;
    rkt_frame_head_encode(&EXAMPLE, bytes);
    for (size_t len = 0; len < sizeof(bytes); len++)
        assert_rkt_status(rkt_frame_head_decode(bytes, len, &head, NULL), RKT_AGAIN);
}

static void every_flipped_bit_of_a_head_is_noticed(void **state)
{
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];

    (void)state;
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        struct rkt_frame_head head = {.kind = 99};

        rkt_frame_head_encode(&EXAMPLE, bytes);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_rkt_status(rkt_frame_head_decode(bytes, sizeof(bytes), &head, NULL),
                          bit < 32 ? RKT_ERR_FORMAT : RKT_ERR_CHECKSUM);
        assert_int_equal(head.kind, 99);
    }
}

static void another_major_version_is_named(void **state)
{
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];
    struct rkt_frame_head head;
    struct rkt_error err = {0};

    (void)state;
    rkt_frame_head_encode(&EXAMPLE, bytes);
    bytes[4] = 9;
    seal(bytes);
    assert_rkt_status(rkt_frame_head_decode(bytes, sizeof(bytes), &head, &err), RKT_ERR_VERSION);
    assert_non_null(strstr(err.text, "version 9"));
    assert_non_null(strstr(err.text, "version 1"));
}

static void impossible_sizes_are_refused(void **state)
{
    static const struct {
        const char *what;
        uint16_t flags;
        uint32_t raw_bytes;
        uint32_t packed_bytes;
        enum rkt_status want;
    } CASES[] = {
        {"both at their limits", 1, RKT_FRAME_RAW_BYTES_MAX, RKT_FRAME_PACKED_BYTES_MAX, RKT_OK},
        {"raw past its limit", 1, RKT_FRAME_RAW_BYTES_MAX + 1, 100, RKT_ERR_FORMAT},
        {"packed past its limit", 1, 100, RKT_FRAME_PACKED_BYTES_MAX + 1, RKT_ERR_FORMAT},
        {"plain and alike", 0, 100, 100, RKT_OK},
        {"plain and different", 0, 100, 99, RKT_ERR_FORMAT},
        {"empty", 0, 0, 0, RKT_OK},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rkt_frame_head head = EXAMPLE;
        struct rkt_frame_head got;
        uint8_t bytes[RKT_FRAME_HEAD_BYTES];

        head.flags = CASES[i].flags;
        head.raw_bytes = CASES[i].raw_bytes;
        head.packed_bytes = CASES[i].packed_bytes;
        rkt_frame_head_encode(&head, bytes);
        if (rkt_frame_head_decode(bytes, sizeof(bytes), &got, NULL) != CASES[i].want)
            fail_msg("%s", CASES[i].what);
    }
}

static void a_changed_payload_fails_its_check(void **state)
{
    uint8_t payload[] = "0123456789";
    struct rkt_frame_head head = {.packed_bytes = 10};

    (void)state;
    head.payload_crc = rkt_frame_payload_crc(payload, 10);
    assert_rkt_status(rkt_frame_payload_check(&head, payload, NULL), RKT_OK);
    payload[9] ^= 1;
    assert_rkt_status(rkt_frame_payload_check(&head, payload, NULL), RKT_ERR_CHECKSUM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_has_the_bytes_of_the_spec),
        cmocka_unit_test(a_head_survives_encode_and_decode),
        cmocka_unit_test(a_short_head_asks_for_more),
        cmocka_unit_test(every_flipped_bit_of_a_head_is_noticed),
        cmocka_unit_test(another_major_version_is_named),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(a_changed_payload_fails_its_check),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
