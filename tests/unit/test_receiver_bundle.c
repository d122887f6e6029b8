/* SPDX-License-Identifier: Apache-2.0 */
/* What rank 0 believes of a leader. Rank 2 leads ranks 2 and 3; ranks 0, 1 and 4 are led by rank
 * 0. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aggregator/receiver.h"
#include "common/bundle.h"
#include "common/run_message.h"
#include "common/transport_loop.h"
#include "rkt_test.h"

#define RANKS 5
#define LEADER 2
#define PAYLOAD_BYTES 64u
#define FRAME_BYTES (RKT_FRAME_HEAD_BYTES + PAYLOAD_BYTES)

static const int LEADERS[RANKS] = {0, 0, LEADER, LEADER, 0};

struct fixture {
    char path[64];
    struct rkt_loop_hub *hub;
    struct rkt_receiver *receiver;
    uint8_t bundle[4096];
    size_t len_bytes;
    struct rkt_bundle_head head;
    uint32_t seqs[RANKS]; /* of the source of each rank's job */
    uint64_t sent[RANKS]; /* frames that each rank bundled */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct rkt_run_info run = {.producer = RKT_PRODUCER_CAPTURE, .rank_count = RANKS};
    struct rkt_receiver_config config = {.store_path = f->path, .run = &run, .leaders = LEADERS};
    struct rkt_error err = {0};
    int fd;

    strcpy(f->path, "/tmp/rkt_bundle_test.XXXXXX");
    fd = mkstemp(f->path);
    assert_true(fd >= 0);
    close(fd);
    assert_rkt_ok(rkt_loop_hub_create(RANKS, 1, &f->hub, &err), err);
    config.transport = rkt_loop_hub_transport(f->hub, 0);
    assert_rkt_ok(rkt_receiver_create(&config, &f->receiver, &err), err);
    f->len_bytes = RKT_BUNDLE_HEAD_BYTES;
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

/* The next frame of this rank's job. */
static void make_frame(struct fixture *f, int rank, uint8_t frame[FRAME_BYTES])
{
    struct rkt_frame_head head = {.kind = RKT_FRAME_BATCH,
                                  .source = rkt_source_number(RANKS, (uint32_t)rank, 1),
                                  .seq = f->seqs[rank]++,
                                  .raw_bytes = PAYLOAD_BYTES,
                                  .packed_bytes = PAYLOAD_BYTES};

    memset(frame, 0, FRAME_BYTES);
    head.payload_crc = rkt_frame_payload_crc(frame + RKT_FRAME_HEAD_BYTES, PAYLOAD_BYTES);
    rkt_frame_head_encode(&head, frame);
}

/* `of`: whose frame it is; `from`: whose the leader says it is. */
static void add(struct fixture *f, int of, int from)
{
    rkt_bundle_entry_encode((uint32_t)from, FRAME_BYTES, f->bundle + f->len_bytes);
    make_frame(f, of, f->bundle + f->len_bytes + RKT_BUNDLE_ENTRY_BYTES);
    f->len_bytes += RKT_BUNDLE_ENTRY_BYTES + FRAME_BYTES;
    f->head.frame_count++;
}

static void ignore_rank(void *ctx, int rank)
{
    (void)ctx;
    (void)rank;
}

static void give(struct fixture *f, int from, enum rkt_tag tag, const uint8_t *bytes, size_t len)
{
    assert_int_equal(
        rkt_transport_send(rkt_loop_hub_transport(f->hub, from), 0, tag, bytes, len, NULL), RKT_OK);
    assert_true(rkt_receiver_step(f->receiver, ignore_rank, NULL));
}

static void send_direct(struct fixture *f, int rank)
{
    uint8_t frame[FRAME_BYTES];

    make_frame(f, rank, frame);
    give(f, rank, RKT_TAG_FRAME, frame, sizeof(frame));
}

/* The same bytes again, where nothing was added. */
static void send_bundle(struct fixture *f, int from)
{
    rkt_bundle_head_encode(&f->head, f->bundle);
    f->sent[from] = f->head.first + f->head.frame_count;
    give(f, from, RKT_TAG_BUNDLE, f->bundle, f->len_bytes);
}

static void begin_bundle(struct fixture *f, uint64_t first)
{
    f->head = (struct rkt_bundle_head){.first = first};
    f->len_bytes = RKT_BUNDLE_HEAD_BYTES;
}

/* What the leader was last told; UINT64_MAX: nothing since. */
static uint64_t acked_count(struct fixture *f, int leader)
{
    uint8_t buf[RKT_BUNDLE_ACK_BYTES];
    struct rkt_arrival arrival;
    uint64_t count = UINT64_MAX;

    while (rkt_transport_receive(rkt_loop_hub_transport(f->hub, leader), RKT_TAG_BUNDLE_ACK, buf,
                                 sizeof(buf), &arrival, NULL) == RKT_OK)
        assert_int_equal(rkt_bundle_ack_decode(buf, arrival.len_bytes, &count, NULL), RKT_OK);
    return count;
}

static struct rkt_stream_counts counts_of(struct fixture *f, int rank)
{
    struct rkt_stream_counts counts;

    rkt_source_streams_counts(rkt_receiver_streams(f->receiver), rank, &counts);
    return counts;
}

static void frames_of_the_group_are_stored_and_acknowledged(void **state)
{
    struct fixture *f = *state;

    add(f, 2, 2);
    add(f, 3, 3);
    add(f, 3, 3);
    send_bundle(f, LEADER);
    assert_int_equal(acked_count(f, LEADER), 3);
    assert_int_equal(counts_of(f, 2).frame_count, 1);
    assert_int_equal(counts_of(f, 3).frame_count, 2);
    begin_bundle(f, 3);
    add(f, 3, 3);
    send_bundle(f, LEADER);
    assert_int_equal(acked_count(f, LEADER), 4);
    assert_int_equal(rkt_receiver_bundled_frames(f->receiver), 4);
}

static void a_leader_that_lies_is_refused_and_counted(void **state)
{
    static const struct {
        const char *what;
        int sender, of, from, bad_rank;
    } CASES[] = {
        {"a frame of a rank that it does not lead", LEADER, 4, 4, LEADER},
        {"a frame of rank 0", LEADER, 0, 0, LEADER},
        {"a frame of no rank", LEADER, 3, RANKS, LEADER},
        {"a frame that another of its group made", LEADER, 3, 2, 2},
        {"a frame that a stranger made", LEADER, 4, 3, 3},
        {"a member that bundles", 3, 3, 3, 3},
        {"a rank of rank 0's group that bundles", 1, 1, 1, 1},
        {"rank 0 itself", 0, 1, 1, 0},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        uint64_t bad = counts_of(f, CASES[i].bad_rank).bad_count;
        uint64_t bytes = rkt_receiver_bytes(f->receiver);

        begin_bundle(f, f->sent[CASES[i].sender]);
        add(f, CASES[i].of, CASES[i].from);
        send_bundle(f, CASES[i].sender);
        if (counts_of(f, CASES[i].bad_rank).bad_count != bad + 1 ||
            rkt_receiver_bytes(f->receiver) != bytes)
            fail_msg("%s: it was not refused", CASES[i].what);
    }
}

/* What is true in the bundle of a liar is stored all the same, and its order goes on. */
static void a_lie_spoils_no_other_frame(void **state)
{
    struct fixture *f = *state;

    add(f, 2, 2);
    add(f, 4, 4);
    add(f, 3, 3);
    send_bundle(f, LEADER);
    assert_int_equal(acked_count(f, LEADER), 3);
    assert_int_equal(counts_of(f, 2).frame_count, 1);
    assert_int_equal(counts_of(f, 3).frame_count, 1);
    assert_int_equal(counts_of(f, 4).frame_count, 0);
}

static void a_bundle_that_is_cut_is_refused_whole_and_not_acknowledged(void **state)
{
    struct fixture *f = *state;

    add(f, 2, 2);
    add(f, 3, 3);
    f->len_bytes -= 1;
    send_bundle(f, LEADER);
    assert_int_equal(acked_count(f, LEADER), UINT64_MAX);
    assert_int_equal(counts_of(f, 2).frame_count, 0);
    assert_int_equal(counts_of(f, LEADER).bad_count, 1);
    f->len_bytes += 1;
    send_bundle(f, LEADER);
    assert_int_equal(acked_count(f, LEADER), 2);
}

static void a_bundle_that_comes_twice_is_stored_once_and_acknowledged_again(void **state)
{
    struct fixture *f = *state;

    add(f, 3, 3);
    send_bundle(f, LEADER);
    assert_int_equal(acked_count(f, LEADER), 1);
    send_bundle(f, LEADER);
    assert_int_equal(acked_count(f, LEADER), 1);
    assert_int_equal(counts_of(f, 3).frame_count, 1);
    assert_int_equal(rkt_receiver_bundled_frames(f->receiver), 1);
}

static void a_bundle_after_one_that_was_lost_is_refused(void **state)
{
    struct fixture *f = *state;

    begin_bundle(f, 1);
    add(f, 3, 3);
    send_bundle(f, LEADER);
    assert_int_equal(acked_count(f, LEADER), UINT64_MAX);
    assert_int_equal(counts_of(f, LEADER).bad_count, 1);
    assert_int_equal(counts_of(f, 3).frame_count, 0);
}

/* Its leader was silent; what that brings later is there already. */
static void a_member_may_send_itself_and_nothing_is_stored_twice(void **state)
{
    struct fixture *f = *state;

    add(f, 3, 3);
    add(f, 3, 3);
    f->seqs[3] = 0;
    for (int i = 0; i < 3; i++)
        send_direct(f, 3);
    send_bundle(f, LEADER);
    assert_int_equal(acked_count(f, LEADER), 2);
    assert_int_equal(counts_of(f, 3).frame_count, 3);
    assert_int_equal(counts_of(f, 3).duplicate_count, 2);
    assert_int_equal(counts_of(f, 3).gap_count, 0);
}

/* ---- groups with a file of their own ---- */

static void add_shard(struct fixture *f)
{
    struct rkt_shard_info shard = {.file = "shard.rkt", .host = "node", .rank = LEADER};
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_receiver_add_shard(f->receiver, &shard, &err), err);
}

static void between_copies_nothing_is_missing(void **state)
{
    struct fixture *f = *state;

    add_shard(f);
    add(f, 3, 3);
    f->seqs[3] = 20;
    add(f, 3, 3);
    send_bundle(f, LEADER);
    send_direct(f, 4); /* of another group, where all come */
    f->seqs[4] = 3;
    send_direct(f, 4);
    assert_int_equal(counts_of(f, 3).frame_count, 2);
    assert_int_equal(counts_of(f, 3).gap_count, 0);
    assert_int_equal(counts_of(f, 4).gap_count, 2);
}

/*
 * The leader wrote frames 5 to 9, sent a copy of 9, and was lost with its disk before it
 * acknowledged them: 5 to 9 come again, and are no copies of what is here.
 */
static void what_a_lost_leader_did_not_acknowledge_is_stored_though_a_copy_was_ahead(void **state)
{
    struct fixture *f = *state;
    uint8_t late[FRAME_BYTES];

    add_shard(f);
    f->seqs[3] = 9;
    add(f, 3, 3);
    send_bundle(f, LEADER);
    f->seqs[3] = 5;
    for (int i = 0; i < 3; i++)
        send_direct(f, 3);
    assert_int_equal(counts_of(f, 3).frame_count, 1 + 3);
    /* from now on it is its only way: what the leader still brings moves nothing */
    begin_bundle(f, 1);
    f->seqs[3] = 12;
    add(f, 3, 3);
    send_bundle(f, LEADER);
    assert_int_equal(acked_count(f, LEADER), 2);
    assert_int_equal(counts_of(f, 3).frame_count, 4);
    f->seqs[3] = 8;
    send_direct(f, 3);
    f->seqs[3] = 8;
    make_frame(f, 3, late); /* and among its own each comes once */
    give(f, 3, RKT_TAG_FRAME, late, sizeof(late));
    assert_int_equal(counts_of(f, 3).frame_count, 5);
    assert_int_equal(counts_of(f, 3).duplicate_count, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(frames_of_the_group_are_stored_and_acknowledged),
        CASE(a_leader_that_lies_is_refused_and_counted),
        CASE(a_lie_spoils_no_other_frame),
        CASE(a_bundle_that_is_cut_is_refused_whole_and_not_acknowledged),
        CASE(a_bundle_that_comes_twice_is_stored_once_and_acknowledged_again),
        CASE(a_bundle_after_one_that_was_lost_is_refused),
        CASE(a_member_may_send_itself_and_nothing_is_stored_twice),
        CASE(between_copies_nothing_is_missing),
        CASE(what_a_lost_leader_did_not_acknowledge_is_stored_though_a_copy_was_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
