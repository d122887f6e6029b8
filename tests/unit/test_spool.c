/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/sidecar/spool.h"
#include "tests/unit/sample.h"

#define MIB ((size_t)1 << 20)

struct fixture {
    char folder[200];
    char path[256];
    struct rkt_spool *spool;
};

static int make_spool(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    struct rkt_error err = {0};

    sample_folder_make(fx->folder, sizeof(fx->folder));
    snprintf(fx->path, sizeof(fx->path), "%s/spool", fx->folder);
    assert_rkt_ok(rkt_spool_create(fx->path, 64 * MIB, &fx->spool, &err), err);
    *state = fx;
    return 0;
}

static int drop_spool(void **state)
{
    struct fixture *fx = *state;

    rkt_spool_destroy(fx->spool);
    sample_folder_remove(fx->folder);
    free(fx);
    return 0;
}

/* A frame whose bytes say its number. */
static enum rkt_status push(struct rkt_spool *spool, uint32_t number, size_t bytes)
{
    uint32_t *frame = calloc(1, bytes);
    enum rkt_status status;

    frame[0] = number;
    frame[bytes / sizeof(*frame) - 1] = number;
    status = rkt_spool_push(spool, (const uint8_t *)frame, bytes, NULL);
    free(frame);
    return status;
}

static void expect_first(struct rkt_spool *spool, uint32_t number, size_t bytes)
{
    const uint8_t *frame;
    size_t frame_bytes;
    uint32_t got[2];
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_spool_first(spool, &frame, &frame_bytes, &err), err);
    assert_int_equal(frame_bytes, bytes);
    memcpy(&got[0], frame, sizeof(got[0]));
    memcpy(&got[1], frame + bytes - sizeof(got[1]), sizeof(got[1]));
    assert_int_equal(got[0], number);
    assert_int_equal(got[1], number);
}

static void no_file_is_made_before_the_first_frame(void **state)
{
    struct fixture *fx = *state;

    assert_int_not_equal(access(fx->path, F_OK), 0);
    assert_int_equal(push(fx->spool, 1, 64), RKT_OK);
    assert_int_equal(access(fx->path, F_OK), 0);
}

static void frames_come_out_as_they_went_in(void **state)
{
    struct fixture *fx = *state;
    uint32_t next = 0, sent = 0, acked = 0;

    for (int round = 0; round < 200; round++) {
        for (uint32_t i = 0; i < 7; i++, next++)
            assert_int_equal(push(fx->spool, next, 64 + 4 * (next % 50)), RKT_OK);
        for (uint32_t i = 0; i < 5 + (uint32_t)round % 3 && sent < next; i++, sent++) {
            expect_first(fx->spool, sent, 64 + 4 * (sent % 50));
            expect_first(fx->spool, sent, 64 + 4 * (sent % 50)); /* until it is sent */
            rkt_spool_sent(fx->spool);
        }
        for (; acked + 3 < sent; acked++)
            rkt_spool_acked(fx->spool);
    }
    assert_true(sent > 1000);
    for (; sent < next; sent++) {
        expect_first(fx->spool, sent, 64 + 4 * (sent % 50));
        rkt_spool_sent(fx->spool);
    }
    assert_false(rkt_spool_has_unsent(fx->spool));
    for (; acked < next; acked++)
        rkt_spool_acked(fx->spool);
    assert_int_equal(rkt_spool_bytes(fx->spool), 0);
}

static void what_was_sent_can_be_sent_again_until_it_is_acknowledged(void **state)
{
    struct fixture *fx = *state;

    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(push(fx->spool, i, 64 + 8 * i), RKT_OK);
    for (uint32_t i = 0; i < 4; i++) {
        expect_first(fx->spool, i, 64 + 8 * i);
        rkt_spool_sent(fx->spool);
    }
    rkt_spool_acked(fx->spool);
    expect_first(fx->spool, 4, 64 + 8 * 4); /* in hand, but not sent */
    rkt_spool_rewind(fx->spool);
    for (uint32_t i = 1; i < 5; i++) {
        expect_first(fx->spool, i, 64 + 8 * i);
        rkt_spool_sent(fx->spool);
        rkt_spool_acked(fx->spool);
    }
    assert_int_equal(rkt_spool_bytes(fx->spool), 0);
}

static void what_is_acknowledged_gives_its_disk_back(void **state)
{
    struct fixture *fx = *state;
    struct stat st;

    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(push(fx->spool, i, MIB), RKT_OK);
    for (uint32_t i = 0; i < 31; i++) {
        expect_first(fx->spool, i, MIB);
        rkt_spool_sent(fx->spool);
        rkt_spool_acked(fx->spool);
    }
    assert_int_equal(rkt_spool_bytes(fx->spool), MIB);
    assert_int_equal(stat(fx->path, &st), 0);
    assert_in_range((size_t)st.st_blocks * 512, MIB, MIB + RKT_SPOOL_PUNCH_BYTES + 65536);
    expect_first(fx->spool, 31, MIB);
    rkt_spool_sent(fx->spool);
    rkt_spool_acked(fx->spool);
    assert_int_equal(stat(fx->path, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(push(fx->spool, 99, 64), RKT_OK); /* and it begins anew */
    expect_first(fx->spool, 99, 64);
}

/* It outlives the acknowledged frames, whether these become a hole or are cut off. */
static void a_head_stays_at_the_start_of_the_file(void **state)
{
    struct fixture *fx = *state;
    struct rkt_error err = {0};
    uint8_t *bytes;
    size_t len;

    assert_rkt_ok(rkt_spool_set_head(fx->spool, (const uint8_t *)"of run 7", 8, &err), err);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 9; i++)
            assert_int_equal(push(fx->spool, i, MIB), RKT_OK);
        assert_int_equal(rkt_spool_bytes(fx->spool), 9 * MIB);
        for (uint32_t i = 0; i < 9; i++) {
            expect_first(fx->spool, i, MIB);
            rkt_spool_sent(fx->spool);
            rkt_spool_acked(fx->spool);
            bytes = sample_file_read(fx->path, &len);
            assert_int_equal(len, 8 + (i < 8 ? 9 * MIB : 0));
            assert_memory_equal(bytes, "of run 7", 8);
            free(bytes);
        }
        assert_int_equal(rkt_spool_bytes(fx->spool), 0);
    }
    rkt_spool_destroy(fx->spool);
    fx->spool = NULL;
    assert_int_not_equal(access(fx->path, F_OK), 0);
}

static void a_full_spool_takes_no_more_until_it_is_acknowledged(void **state)
{
    struct fixture *fx = *state;
    uint32_t count = 0;

    while (push(fx->spool, count, MIB) == RKT_OK)
        count++;
    assert_int_equal(count, 64);
    assert_true(rkt_spool_is_full(fx->spool));
    expect_first(fx->spool, 0, MIB);
    rkt_spool_sent(fx->spool);
    assert_int_equal(push(fx->spool, count, MIB), RKT_AGAIN); /* sent is not written */
    rkt_spool_acked(fx->spool);
    assert_int_equal(push(fx->spool, count, MIB), RKT_OK);
}

static void the_file_stays_when_something_was_not_acknowledged(void **state)
{
    struct fixture *fx = *state;
    struct rkt_error err = {0};

    assert_int_equal(push(fx->spool, 1, 64), RKT_OK);
    assert_int_equal(push(fx->spool, 2, 64), RKT_OK);
    expect_first(fx->spool, 1, 64);
    rkt_spool_sent(fx->spool);
    rkt_spool_acked(fx->spool);
    rkt_spool_destroy(fx->spool);
    assert_int_equal(access(fx->path, F_OK), 0);

    assert_rkt_ok(rkt_spool_create(fx->path, MIB, &fx->spool, &err), err);
    assert_int_equal(push(fx->spool, 1, 64), RKT_OK);
    expect_first(fx->spool, 1, 64);
    rkt_spool_sent(fx->spool);
    rkt_spool_acked(fx->spool);
    rkt_spool_destroy(fx->spool);
    fx->spool = NULL;
    assert_int_not_equal(access(fx->path, F_OK), 0);
}

static void a_disk_that_fails_ends_the_spool_and_keeps_what_is_in_it(void **state)
{
    struct fixture *fx = *state;
    struct rlimit before, small = {.rlim_cur = 1000};
    uint8_t frame[600] = {0};
    struct rkt_error err = {0};
    struct stat st;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(push(fx->spool, 1, 600), RKT_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_rkt_status(rkt_spool_push(fx->spool, frame, sizeof(frame), &err), RKT_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(err.text, fx->path));
    assert_true(rkt_spool_is_broken(fx->spool));
    assert_int_equal(push(fx->spool, 3, 64), RKT_AGAIN);
    assert_int_equal(stat(fx->path, &st), 0);
    assert_int_equal(st.st_size, 600); /* no half frame */
    expect_first(fx->spool, 1, 600);
}

static void a_folder_that_is_not_there_is_said(void **state)
{
    struct fixture *fx = *state;
    struct rkt_spool *spool;
    struct rkt_error err = {0};
    uint8_t frame[64] = {0};
    char path[300];

    snprintf(path, sizeof(path), "%s/none/spool", fx->folder);
    assert_rkt_ok(rkt_spool_create(path, MIB, &spool, &err), err);
    assert_rkt_status(rkt_spool_push(spool, frame, sizeof(frame), &err), RKT_ERR_IO);
    assert_true(rkt_spool_is_full(spool));
    rkt_spool_destroy(spool);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_spool, drop_spool)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(no_file_is_made_before_the_first_frame),
        CASE(frames_come_out_as_they_went_in),
        CASE(what_was_sent_can_be_sent_again_until_it_is_acknowledged),
        CASE(what_is_acknowledged_gives_its_disk_back),
        CASE(a_head_stays_at_the_start_of_the_file),
        CASE(a_full_spool_takes_no_more_until_it_is_acknowledged),
        CASE(the_file_stays_when_something_was_not_acknowledged),
        CASE(a_disk_that_fails_ends_the_spool_and_keeps_what_is_in_it),
        CASE(a_folder_that_is_not_there_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
