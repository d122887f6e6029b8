/* SPDX-License-Identifier: Apache-2.0 */
/* What rank 0 acknowledges, and when: with needs_sync not before the disk has it. */
#include "aggregator/receiver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/frame.h"
#include "common/run_message.h"
#include "common/transport_loop.h"
#include "rkt_test.h"

#define SENDER 1
#define FRAME_BYTES (RKT_FRAME_HEAD_BYTES + 64u)

/* In place of the C library's, which this program is linked without (--wrap). */
int __wrap_fdatasync(int fd);

static struct {
    unsigned sync_count;
    uint32_t acks_before_sync;
    bool fails;
    struct fixture *fixture;
} disk;

struct fixture {
    char path[64];
    struct rkt_loop_hub *hub;
    struct rkt_receiver *receiver;
    uint32_t seq;
    uint32_t acked_count;
};

static void take_acks(struct fixture *f)
{
    struct rkt_transport *sender = rkt_loop_hub_transport(f->hub, SENDER);
    struct rkt_arrival arrival = {0};
    uint8_t buf[RKT_ACK_BYTES];
    uint32_t count;

    rkt_loop_hub_tick(f->hub);
    while (rkt_transport_receive(sender, RKT_TAG_ACK, buf, sizeof(buf), &arrival, NULL) == RKT_OK) {
        assert_int_equal(rkt_ack_decode(buf, arrival.len_bytes, &count, NULL), RKT_OK);
        f->acked_count += count;
    }
}

int __wrap_fdatasync(int fd)
{
    (void)fd;
    disk.sync_count++;
    take_acks(disk.fixture);
    disk.acks_before_sync = disk.fixture->acked_count;
    if (!disk.fails)
        return 0;
    errno = EIO;
    return -1;
}

static void create(struct fixture *f, bool needs_sync)
{
    struct rkt_run_info run = {.producer = RKT_PRODUCER_CAPTURE, .rank_count = 2};
    struct rkt_receiver_config config = {
        .store_path = f->path, .run = &run, .needs_sync = needs_sync};
    struct rkt_error err = {0};

    memset(&disk, 0, sizeof(disk));
    disk.fixture = f;
    assert_rkt_ok(rkt_loop_hub_create(2, 1, &f->hub, &err), err);
    config.transport = rkt_loop_hub_transport(f->hub, 0);
    assert_rkt_ok(rkt_receiver_create(&config, &f->receiver, &err), err);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int fd;

    strcpy(f->path, "/tmp/rkt_receiver_test.XXXXXX");
    fd = mkstemp(f->path);
    assert_true(fd >= 0);
    close(fd);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    rkt_receiver_destroy(f->receiver);
    rkt_loop_hub_destroy(f->hub);
    (void)unlink(f->path);
    free(f);
    return 0;
}

static void send_frame(struct fixture *f)
{
    uint8_t frame[FRAME_BYTES] = {0};
    uint32_t payload_bytes = FRAME_BYTES - RKT_FRAME_HEAD_BYTES;
    struct rkt_frame_head head = {
        .kind = RKT_FRAME_BATCH,
        .source = rkt_source_number(2, SENDER, 1),
        .seq = f->seq++,
        .raw_bytes = payload_bytes,
        .packed_bytes = payload_bytes,
        .payload_crc = rkt_frame_payload_crc(frame + RKT_FRAME_HEAD_BYTES, payload_bytes),
    };

    rkt_frame_head_encode(&head, frame);
    assert_int_equal(rkt_transport_send(rkt_loop_hub_transport(f->hub, SENDER), 0, RKT_TAG_FRAME,
                                        frame, sizeof(frame), NULL),
                     RKT_OK);
}

static void ignore_rank(void *ctx, int rank)
{
    (void)ctx;
    (void)rank;
}

static void receive(struct fixture *f)
{
    rkt_loop_hub_tick(f->hub);
    (void)rkt_receiver_step(f->receiver, ignore_rank, NULL);
    take_acks(f);
}

static void a_frame_is_acknowledged_when_it_is_written(void **state)
{
    struct fixture *f = *state;

    create(f, false);
    send_frame(f);
    send_frame(f);
    receive(f);
    assert_int_equal(f->acked_count, 2);
    assert_int_equal(disk.sync_count, 0);
}

static void with_a_sync_the_disk_comes_first(void **state)
{
    struct fixture *f = *state;

    create(f, true);
    for (unsigned step = 1; step <= 3; step++) {
        send_frame(f);
        send_frame(f);
        receive(f);
        assert_int_equal(disk.sync_count, step); /* one for both */
        assert_int_equal(disk.acks_before_sync, 2 * (step - 1));
        assert_int_equal(f->acked_count, 2 * step);
    }
    receive(f); /* nothing came: the disk is left alone */
    assert_int_equal(disk.sync_count, 3);
    assert_int_equal(rkt_receiver_close(f->receiver, NULL), RKT_OK);
}

static void what_the_disk_refused_is_never_acknowledged(void **state)
{
    struct fixture *f = *state;

    create(f, true);
    disk.fails = true;
    send_frame(f);
    receive(f);
    assert_true(rkt_receiver_has_failed(f->receiver));
    disk.fails = false; /* it may say so once only, and have lost it all the same */
    send_frame(f);
    receive(f);
    assert_int_equal(rkt_receiver_close(f->receiver, NULL), RKT_ERR_IO);
    send_frame(f);
    receive(f);
    assert_int_equal(f->acked_count, 0);
}

static void what_comes_too_late_for_the_file_is_never_acknowledged(void **state)
{
    struct fixture *f = *state;

    create(f, false);
    send_frame(f);
    receive(f);
    rkt_receiver_ignore(f->receiver, SENDER); /* taken for lost, and it speaks again */
    send_frame(f);
    receive(f);
    assert_int_equal(rkt_receiver_close(f->receiver, NULL), RKT_OK);
    send_frame(f);
    receive(f);
    assert_int_equal(f->acked_count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_frame_is_acknowledged_when_it_is_written),
        TEST(with_a_sync_the_disk_comes_first),
        TEST(what_the_disk_refused_is_never_acknowledged),
        TEST(what_comes_too_late_for_the_file_is_never_acknowledged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
