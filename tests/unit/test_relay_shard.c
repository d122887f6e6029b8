/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A leader with a file of its own: what it acknowledges, and when. Rank 1 leads, ranks 1 and 2 are
 * its group; the test is rank 0 and rank 2.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "aggregator/relay.h"
#include "common/bundle.h"
#include "common/run_message.h"
#include "common/store_reader.h"
#include "common/transport_loop.h"
#include "rkt_test.h"
#include "sample.h"

#define RANKS 3
#define LEADER 1
#define MEMBER 2
#define S UINT64_C(1000000000)
#define PAYLOAD_BYTES 1024u

struct fixture {
    char folder[200];
    char path[256];
    struct rkt_loop_hub *hub;
    struct rkt_relay *relay;
    uint64_t now_ns;
    uint32_t seq;
    uint32_t acked_count;
    uint8_t *buf; /* of RKT_BUNDLE_BYTES_MAX */
    uint64_t copied_count;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const struct rkt_run_info run = {
        .producer = RKT_PRODUCER_CAPTURE, .run_id = 7, .is_part = true};
    struct rkt_relay_config config = {.shard_run = &run, .shard_path = f->path};
    struct rkt_error err = {0};

    f->now_ns = 1000 * S;
    f->buf = malloc(RKT_BUNDLE_BYTES_MAX);
    sample_folder_make(f->folder, sizeof(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/shard.rkt", f->folder);
    assert_rkt_ok(rkt_loop_hub_create(RANKS, 1, &f->hub, &err), err);
    config.transport = rkt_loop_hub_transport(f->hub, LEADER);
    assert_rkt_ok(rkt_relay_create(&config, &f->relay, &err), err);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    rkt_relay_destroy(f->relay);
    rkt_loop_hub_destroy(f->hub);
    sample_folder_remove(f->folder);
    free(f->buf);
    free(f);
    return 0;
}

static void step(struct fixture *f)
{
    (void)rkt_relay_step(f->relay, f->now_ns);
}

/* The member's next frame, of its job's source. */
static void send_frame(struct fixture *f, enum rkt_frame_kind kind)
{
    uint8_t frame[RKT_FRAME_HEAD_BYTES + PAYLOAD_BYTES] = {0};
    struct rkt_frame_head head = {.kind = (uint8_t)kind,
                                  .source = rkt_source_number(RANKS, MEMBER, 1),
                                  .seq = f->seq++,
                                  .raw_bytes = PAYLOAD_BYTES,
                                  .packed_bytes = PAYLOAD_BYTES};

    head.payload_crc = rkt_frame_payload_crc(frame + RKT_FRAME_HEAD_BYTES, PAYLOAD_BYTES);
    rkt_frame_head_encode(&head, frame);
    assert_int_equal(rkt_transport_send(rkt_loop_hub_transport(f->hub, MEMBER), LEADER,
                                        RKT_TAG_FRAME, frame, sizeof(frame), NULL),
                     RKT_OK);
}

/* All that the member was told so far. */
static uint32_t acked_count(struct fixture *f)
{
    struct rkt_transport *member = rkt_loop_hub_transport(f->hub, MEMBER);
    uint8_t buf[RKT_ACK_BYTES];
    struct rkt_arrival arrival;
    uint32_t count = 0;

    while (rkt_transport_receive(member, RKT_TAG_ACK, buf, sizeof(buf), &arrival, NULL) == RKT_OK) {
        assert_int_equal(rkt_ack_decode(buf, arrival.len_bytes, &count, NULL), RKT_OK);
        f->acked_count += count;
    }
    return f->acked_count;
}

static void say(struct fixture *f, int from, enum rkt_tag tag, enum rkt_run_type type)
{
    const struct rkt_run_message message = {.type = (uint16_t)type};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];

    assert_int_equal(rkt_transport_send(rkt_loop_hub_transport(f->hub, from), LEADER, tag, buf,
                                        rkt_run_message_encode(&message, buf), NULL),
                     RKT_OK);
    step(f);
}

/* The next message to this rank; its type is 0 when there is none. */
static struct rkt_run_message hear(struct fixture *f, int rank, enum rkt_tag tag)
{
    struct rkt_run_message message = {0};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    struct rkt_arrival arrival;

    if (rkt_transport_receive(rkt_loop_hub_transport(f->hub, rank), tag, buf, sizeof(buf), &arrival,
                              NULL) == RKT_OK)
        assert_int_equal(rkt_run_message_decode(buf, arrival.len_bytes, &message, NULL), RKT_OK);
    return message;
}

static void be_taken(struct fixture *f)
{
    step(f);
    assert_int_equal(hear(f, 0, RKT_TAG_CONTROL_UP).type, RKT_RUN_SHARD_READY);
    say(f, 0, RKT_TAG_LEADER_DOWN, RKT_RUN_SHARD_TAKEN);
}

/* Frames that came to rank 0 since the last time. */
static uint32_t take_bundles(struct fixture *f)
{
    struct rkt_arrival arrival;
    struct rkt_bundle bundle;
    struct rkt_error err = {0};
    uint32_t count = 0;

    while (rkt_transport_receive(rkt_loop_hub_transport(f->hub, 0), RKT_TAG_BUNDLE, f->buf,
                                 RKT_BUNDLE_BYTES_MAX, &arrival, NULL) == RKT_OK) {
        assert_rkt_ok(rkt_bundle_decode(f->buf, arrival.len_bytes, &bundle, &err), err);
        count += bundle.head.frame_count;
    }
    f->copied_count += count;
    return count;
}

static void acknowledge_copies(struct fixture *f)
{
    uint8_t buf[RKT_BUNDLE_ACK_BYTES];

    rkt_bundle_ack_encode(f->copied_count, buf);
    assert_int_equal(rkt_transport_send(rkt_loop_hub_transport(f->hub, 0), LEADER,
                                        RKT_TAG_BUNDLE_ACK, buf, sizeof(buf), NULL),
                     RKT_OK);
    step(f);
}

static void no_frame_is_taken_before_rank_0_has_named_the_file(void **state)
{
    struct fixture *f = *state;

    send_frame(f, RKT_FRAME_BATCH);
    for (int i = 0; i < 35; i++, f->now_ns += S / 10)
        step(f);
    for (int i = 0; i < 4; i++) /* each second */
        assert_int_equal(hear(f, 0, RKT_TAG_CONTROL_UP).type, RKT_RUN_SHARD_READY);
    assert_int_equal(hear(f, 0, RKT_TAG_CONTROL_UP).type, 0);
    assert_int_equal(acked_count(f), 0);
    say(f, MEMBER, RKT_TAG_LEADER_DOWN, RKT_RUN_SHARD_TAKEN); /* who is nobody to say so */
    assert_int_equal(acked_count(f), 0);
    say(f, 0, RKT_TAG_LEADER_DOWN, RKT_RUN_SHARD_TAKEN);
    assert_int_equal(acked_count(f), 1);
    assert_int_equal(take_bundles(f), 0);
}

static void what_tells_of_a_source_is_acknowledged_when_rank_0_has_it_too(void **state)
{
    struct fixture *f = *state;

    be_taken(f);
    send_frame(f, RKT_FRAME_BATCH);
    step(f);
    assert_int_equal(acked_count(f), 1);
    send_frame(f, RKT_FRAME_SOURCE);
    send_frame(f, RKT_FRAME_BATCH); /* acknowledgements count: it has to wait as well */
    step(f);
    assert_int_equal(acked_count(f), 1);
    assert_int_equal(take_bundles(f), 1);
    acknowledge_copies(f);
    assert_int_equal(acked_count(f), 3);
    send_frame(f, RKT_FRAME_END);
    step(f);
    assert_int_equal(acked_count(f), 3);
    assert_int_equal(take_bundles(f), 1);
    acknowledge_copies(f);
    assert_int_equal(acked_count(f), 4);
}

static void a_file_that_rank_0_does_not_see_is_removed_and_frames_are_passed_on(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(access(f->path, F_OK), 0);
    say(f, 0, RKT_TAG_LEADER_DOWN, RKT_RUN_SHARD_REFUSED);
    assert_int_not_equal(access(f->path, F_OK), 0);
    send_frame(f, RKT_FRAME_BATCH);
    step(f);
    assert_int_equal(acked_count(f), 0);
    assert_int_equal(take_bundles(f), 1);
    acknowledge_copies(f);
    assert_int_equal(acked_count(f), 1);
}

static void a_file_that_was_never_taken_is_not_left_behind(void **state)
{
    struct fixture *f = *state;

    step(f);
    rkt_relay_destroy(f->relay);
    f->relay = NULL;
    assert_int_not_equal(access(f->path, F_OK), 0);
}

/* Nor is it written to. */
static void a_file_that_is_there_already_is_kept(void **state)
{
    struct fixture *f = *state;
    const struct rkt_run_info run = {.run_id = 8, .is_part = true};
    struct rkt_relay_config config = {.transport = rkt_loop_hub_transport(f->hub, LEADER),
                                      .shard_path = f->path,
                                      .shard_run = &run};
    struct rkt_relay *second;
    struct rkt_error err = {0};
    uint8_t *before, *after;
    size_t before_bytes, after_bytes;

    before = sample_file_read(f->path, &before_bytes);
    assert_rkt_ok(rkt_relay_create(&config, &second, &err), err);
    rkt_relay_destroy(second);
    after = sample_file_read(f->path, &after_bytes);
    assert_int_equal(after_bytes, before_bytes);
    assert_memory_equal(after, before, before_bytes);
    free(before);
    free(after);
}

static void a_closed_file_is_whole_and_takes_nothing_more(void **state)
{
    struct fixture *f = *state;
    struct rkt_run_message closed;
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};

    be_taken(f);
    send_frame(f, RKT_FRAME_BATCH);
    step(f);
    for (int i = 0; i < 2; i++) { /* the answer may be lost */
        say(f, 0, RKT_TAG_LEADER_DOWN, RKT_RUN_SHARD_CLOSE);
        closed = hear(f, 0, RKT_TAG_CONTROL_UP);
        assert_int_equal(closed.type, RKT_RUN_SHARD_CLOSED);
        assert_int_equal(closed.value, 0);
    }
    send_frame(f, RKT_FRAME_BATCH);
    step(f);
    assert_int_equal(acked_count(f), 1);
    assert_rkt_ok(rkt_store_reader_open(f->path, &reader, &err), err);
    assert_true(rkt_store_reader_health(reader)->has_trailer);
    assert_int_equal(rkt_store_reader_health(reader)->frame_count, 1);
    assert_int_equal(rkt_store_reader_run(reader)->run_id, 7);
    rkt_store_reader_close(reader);
}

static void a_full_disk_is_said_and_nothing_more_is_acknowledged(void **state)
{
    struct fixture *f = *state;
    struct rlimit before, limit;

    be_taken(f);
    say(f, MEMBER, RKT_TAG_CONTROL_UP, RKT_RUN_HEARTBEAT);
    assert_int_equal(hear(f, MEMBER, RKT_TAG_CONTROL_DOWN).type, RKT_RUN_HEARTBEAT);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)4 * PAYLOAD_BYTES;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 8; i++) {
        send_frame(f, RKT_FRAME_BATCH);
        step(f);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(acked_count(f), 3);
    say(f, MEMBER, RKT_TAG_CONTROL_UP, RKT_RUN_HEARTBEAT);
    assert_int_equal(hear(f, MEMBER, RKT_TAG_CONTROL_DOWN).type, RKT_RUN_STORE_FAILED);
    say(f, 0, RKT_TAG_LEADER_DOWN, RKT_RUN_SHARD_CLOSE);
    assert_int_equal(hear(f, 0, RKT_TAG_CONTROL_UP).value, 1);
    assert_int_equal(acked_count(f), 3);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(no_frame_is_taken_before_rank_0_has_named_the_file),
        CASE(what_tells_of_a_source_is_acknowledged_when_rank_0_has_it_too),
        CASE(a_file_that_rank_0_does_not_see_is_removed_and_frames_are_passed_on),
        CASE(a_file_that_was_never_taken_is_not_left_behind),
        CASE(a_file_that_is_there_already_is_kept),
        CASE(a_closed_file_is_whole_and_takes_nothing_more),
        CASE(a_full_disk_is_said_and_nothing_more_is_acknowledged),
    };

    (void)signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
