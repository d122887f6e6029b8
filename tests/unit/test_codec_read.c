/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <math.h>
#include <msgpack.h>

#include "common/codec_read.h"
#include "common/codec_write.h"

static bool one_item(const uint8_t *bytes, size_t len, struct rkt_item *item)
{
    struct rkt_cursor cursor;

    rkt_cursor_init(&cursor, bytes, len);
    return rkt_cursor_next(&cursor, item) && rkt_cursor_skip_inside(&cursor, item) &&
           rkt_cursor_is_at_end(&cursor);
}

static void integers_of_every_width_are_read(void **state)
{
    static const int64_t VALUES[] = {
        0,  1,   127, 128,  255,  256,    65535,  65536,     4294967295, INT64_MAX,
        -1, -32, -33, -128, -129, -32768, -32769, INT32_MIN, INT64_MIN,  4294967296,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(VALUES) / sizeof(*VALUES); i++) {
        struct rkt_codec_buf buf;
        struct rkt_item item;

        rkt_codec_buf_init(&buf);
        rkt_write_int(&buf, VALUES[i]);
        assert_true(one_item(buf.bytes, buf.len_bytes, &item));
        assert_int_equal(item.kind, VALUES[i] < 0 ? RKT_ITEM_INT : RKT_ITEM_UINT);
        assert_int_equal((int64_t)item.value, VALUES[i]);
        rkt_codec_buf_release(&buf);
    }
}

static void a_positive_number_in_a_signed_form_is_unsigned(void **state)
{
    static const uint8_t WIDE_ONE[] = {0xd3, 0, 0, 0, 0, 0, 0, 0, 1};
    struct rkt_item item;

    (void)state;
    assert_true(one_item(WIDE_ONE, sizeof(WIDE_ONE), &item));
    assert_int_equal(item.kind, RKT_ITEM_UINT);
    assert_int_equal(item.value, 1);
}

/* Everything that msgpack-c can write, nested, must be passed over in whole. */
static void write_zoo(msgpack_packer *packer)
{
    static const size_t LENGTHS[] = {0, 31, 32, 300, 70000};
    static const size_t EXTS[] = {1, 2, 4, 8, 16, 3, 300, 70000};
    static const char BODY[70000];

    msgpack_pack_array(packer, 8);
    msgpack_pack_nil(packer);
    msgpack_pack_true(packer);
    msgpack_pack_float(packer, 1.5f);
    msgpack_pack_double(packer, NAN);
    msgpack_pack_map(packer, 1);
    msgpack_pack_array(packer, 20);
    for (int i = 0; i < 20; i++)
        msgpack_pack_int(packer, -i * 1000);
    msgpack_pack_map(packer, 0);
    msgpack_pack_array(packer, 5);
    for (size_t i = 0; i < 5; i++)
        msgpack_pack_bin_with_body(packer, BODY, LENGTHS[i]);
    msgpack_pack_array(packer, 5);
    for (size_t i = 0; i < 5; i++)
        msgpack_pack_str_with_body(packer, BODY, LENGTHS[i]);
    msgpack_pack_array(packer, 8);
    for (size_t i = 0; i < 8; i++)
        msgpack_pack_ext_with_body(packer, BODY, EXTS[i], 1);
}

static void every_form_of_msgpack_is_skipped_in_whole(void **state)
{
    msgpack_sbuffer buf;
    msgpack_packer packer;
    struct rkt_item item;

    (void)state;
    msgpack_sbuffer_init(&buf);
    msgpack_packer_init(&packer, &buf, msgpack_sbuffer_write);
    write_zoo(&packer);
    assert_true(one_item((const uint8_t *)buf.data, buf.size, &item));
    assert_int_equal(item.kind, RKT_ITEM_ARRAY);
    assert_int_equal(item.count, 8);
    for (size_t len = 0; len < buf.size; len += len < 300 ? 1 : 997)
        assert_false(one_item((const uint8_t *)buf.data, len, &item));
    msgpack_sbuffer_destroy(&buf);
}

static void hostile_heads_are_refused_at_once(void **state)
{
    static const struct {
        const char *what;
        uint8_t bytes[8];
        size_t len;
    } CASES[] = {
        {"nothing", {0}, 0},
        {"the byte that msgpack never uses", {0xc1}, 1},
        {"bin of 4 GiB", {0xc6, 0xff, 0xff, 0xff, 0xff}, 5},
        {"array of 2^32 - 1", {0xdd, 0xff, 0xff, 0xff, 0xff}, 5},
        {"map of 2^32 - 1", {0xdf, 0xff, 0xff, 0xff, 0xff, 0xc0}, 6},
        {"arrays without an end", {0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91}, 8},
        {"ext of 4 GiB", {0xc9, 0xff, 0xff, 0xff, 0xff, 0}, 6},
        {"integer cut short", {0xcf, 0, 0, 0}, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rkt_item item;

        if (one_item(CASES[i].bytes, CASES[i].len, &item))
            fail_msg("%s was taken", CASES[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_every_width_are_read),
        cmocka_unit_test(a_positive_number_in_a_signed_form_is_unsigned),
        cmocka_unit_test(every_form_of_msgpack_is_skipped_in_whole),
        cmocka_unit_test(hostile_heads_are_refused_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
