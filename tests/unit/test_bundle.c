/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include "common/bundle.h"

static const char *const FRAMES[] = {"one", "", "three and more"};

/* The three frames, of ranks 7, 8 and 9. */
static size_t make_bundle(uint8_t *buf)
{
    const struct rkt_bundle_head head = {.first = UINT64_C(1) << 40, .frame_count = 3};
    size_t len = RKT_BUNDLE_HEAD_BYTES;

    rkt_bundle_head_encode(&head, buf);
    for (uint32_t i = 0; i < 3; i++) {
        size_t frame_bytes = strlen(FRAMES[i]);

        rkt_bundle_entry_encode(7 + i, (uint32_t)frame_bytes, buf + len);
        memcpy(buf + len + RKT_BUNDLE_ENTRY_BYTES, FRAMES[i], frame_bytes);
        len += RKT_BUNDLE_ENTRY_BYTES + frame_bytes;
    }
    return len;
}

static void frames_come_out_as_they_went_in(void **state)
{
    struct rkt_bundle bundle;
    struct rkt_bundle_entry entry;
    struct rkt_error err = {0};
    uint8_t buf[200];
    size_t len = make_bundle(buf);

    (void)state;
    assert_rkt_ok(rkt_bundle_decode(buf, len, &bundle, &err), err);
    assert_true(bundle.head.first == UINT64_C(1) << 40);
    assert_int_equal(bundle.head.frame_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(rkt_bundle_next(&bundle, &entry));
        assert_int_equal(entry.from, 7 + i);
        assert_int_equal(entry.frame_bytes, strlen(FRAMES[i]));
        assert_memory_equal(entry.frame, FRAMES[i], entry.frame_bytes);
    }
    assert_false(rkt_bundle_next(&bundle, &entry));
}

static void bundle_that_is_cut_or_longer_is_refused(void **state)
{
    struct rkt_bundle bundle;
    uint8_t buf[200];
    size_t len = make_bundle(buf);

    (void)state;
    for (size_t cut = 0; cut < len; cut++)
        assert_rkt_status(rkt_bundle_decode(buf, cut, &bundle, NULL), RKT_ERR_FORMAT);
    for (size_t more = 1; more < 10; more++)
        assert_rkt_status(rkt_bundle_decode(buf, len + more, &bundle, NULL), RKT_ERR_FORMAT);
}

static void head_that_does_not_fit_its_frames_is_refused(void **state)
{
    static const struct {
        const char *what;
        size_t at;
        uint8_t value;
        enum rkt_status want;
    } CASES[] = {
        {"no magic", 0, 0, RKT_ERR_FORMAT},
        {"another version", 4, 2, RKT_ERR_VERSION},
        {"a frame less", 16, 2, RKT_ERR_FORMAT},
        {"a frame more", 16, 4, RKT_ERR_FORMAT},
        {"a frame too long", RKT_BUNDLE_HEAD_BYTES + 7, 0x7f, RKT_ERR_FORMAT},
        {"the longest frame there could be", RKT_BUNDLE_HEAD_BYTES + 7, 0xff, RKT_ERR_FORMAT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_bundle bundle;
        struct rkt_error err = {0};
        uint8_t buf[200];
        size_t len = make_bundle(buf);

        buf[CASES[i].at] = CASES[i].value;
        if (rkt_bundle_decode(buf, len, &bundle, &err) != CASES[i].want)
            fail_msg("%s: %s", CASES[i].what, err.text);
    }
}

static void acknowledgement_is_eight_bytes(void **state)
{
    uint8_t buf[RKT_BUNDLE_ACK_BYTES + 1] = {0};
    uint64_t count = 0;

    (void)state;
    rkt_bundle_ack_encode(UINT64_C(5000000001), buf);
    assert_rkt_status(rkt_bundle_ack_decode(buf, RKT_BUNDLE_ACK_BYTES, &count, NULL), RKT_OK);
    assert_true(count == UINT64_C(5000000001));
    for (size_t len = 0; len <= sizeof(buf); len++) {
        if (len != RKT_BUNDLE_ACK_BYTES)
            assert_rkt_status(rkt_bundle_ack_decode(buf, len, &count, NULL), RKT_ERR_FORMAT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_out_as_they_went_in),
        cmocka_unit_test(bundle_that_is_cut_or_longer_is_refused),
        cmocka_unit_test(head_that_does_not_fit_its_frames_is_refused),
        cmocka_unit_test(acknowledgement_is_eight_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
