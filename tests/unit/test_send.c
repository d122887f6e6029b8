/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/sidecar/send.h"
#include "common/frame.h"
#include "common/run_message.h"
#include "common/store_reader.h"
#include "common/transport_loop.h"
#include "tests/unit/sample.h"

#define MIB ((size_t)1 << 20)
#define LEADER 2

/* Rank 1 sends, the test is rank 0, and rank 2 where a leader is. */
struct wire {
    struct rkt_loop_hub *hub;
    struct rkt_transport *rank_0;
    struct rkt_send_queue *queue;
};

static int make_wire(void **state)
{
    struct wire *wire = calloc(1, sizeof(*wire));
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_loop_hub_create(3, 1, &wire->hub, &err), err);
    wire->rank_0 = rkt_loop_hub_transport(wire->hub, 0);
    assert_rkt_ok(rkt_send_queue_create(rkt_loop_hub_transport(wire->hub, 1),
                                        &(struct rkt_send_config){.memory_bytes = MIB},
                                        &wire->queue, &err),
                  err);
    *state = wire;
    return 0;
}

static int drop_wire(void **state)
{
    struct wire *wire = *state;

    rkt_send_queue_destroy(wire->queue);
    rkt_loop_hub_destroy(wire->hub);
    free(wire);
    return 0;
}

static void push(struct wire *wire, uint8_t mark, size_t bytes)
{
    uint8_t *frame = calloc(1, bytes);

    frame[0] = mark;
    assert_int_equal(rkt_send_queue_push(wire->queue, frame, bytes, NULL), RKT_OK);
    free(frame);
}

/* Frames that have come to rank 0; their marks in order go to `marks`. */
static size_t take_frames(struct wire *wire, uint8_t *marks)
{
    static uint8_t buf[2 << 20];
    struct rkt_arrival arrival;
    size_t count = 0;

    while (rkt_transport_receive(wire->rank_0, RKT_TAG_FRAME, buf, sizeof(buf), &arrival, NULL) ==
           RKT_OK)
        marks[count++] = buf[0];
    return count;
}

static void acknowledge_from(struct wire *wire, int rank, uint32_t count)
{
    uint8_t buf[RKT_ACK_BYTES];

    rkt_ack_encode(count, buf);
    assert_int_equal(rkt_transport_send(rkt_loop_hub_transport(wire->hub, rank), 1, RKT_TAG_ACK,
                                        buf, sizeof(buf), NULL),
                     RKT_OK);
}

static void acknowledge(struct wire *wire, uint32_t count)
{
    acknowledge_from(wire, 0, count);
}

static void no_more_frames_are_out_than_credits(void **state)
{
    struct wire *wire = *state;
    uint8_t marks[64];

    for (uint8_t i = 0; i < 20; i++)
        push(wire, i, 100);
    assert_true(rkt_send_queue_step(wire->queue, NULL));
    assert_int_equal(take_frames(wire, marks), RKT_SEND_CREDITS);
    assert_false(rkt_send_queue_step(wire->queue, NULL));
    assert_int_equal(take_frames(wire, marks), 0);
    acknowledge(wire, 3);
    assert_true(rkt_send_queue_step(wire->queue, NULL));
    assert_int_equal(take_frames(wire, marks), 3);
    assert_int_equal(marks[0], RKT_SEND_CREDITS);
    assert_int_equal(marks[2], RKT_SEND_CREDITS + 2);
}

static void queue_is_empty_only_when_all_is_acknowledged(void **state)
{
    struct wire *wire = *state;

    assert_true(rkt_send_queue_is_empty(wire->queue));
    push(wire, 1, 10);
    assert_false(rkt_send_queue_is_empty(wire->queue));
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_false(rkt_send_queue_is_empty(wire->queue));
    acknowledge(wire, 1);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_true(rkt_send_queue_is_empty(wire->queue));
}

static void acknowledging_more_than_was_sent_gives_no_credits_away(void **state)
{
    struct wire *wire = *state;
    struct rkt_send_counts counts;
    uint8_t marks[64];

    for (uint8_t i = 0; i < 40; i++)
        push(wire, i, 10);
    (void)rkt_send_queue_step(wire->queue, NULL);
    acknowledge(wire, UINT32_MAX);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_int_equal(take_frames(wire, marks), 2 * RKT_SEND_CREDITS);
    rkt_send_queue_counts(wire->queue, &counts);
    assert_int_equal(counts.acked_frames, RKT_SEND_CREDITS);
}

static void full_is_said_first_and_frames_are_refused_last(void **state)
{
    struct wire *wire = *state;
    struct rkt_send_counts counts;

    push(wire, 1, MIB);
    assert_false(rkt_send_queue_is_full(wire->queue));
    push(wire, 2, MIB / 2);
    assert_true(rkt_send_queue_is_full(wire->queue));
    push(wire, 3, MIB); /* past the soft limit frames still go in */
    assert_int_equal(rkt_send_queue_push(wire->queue, (const uint8_t *)"", 1, NULL), RKT_AGAIN);
    rkt_send_queue_counts(wire->queue, &counts);
    assert_int_equal(counts.pushed_frames, 3);
}

static void abandoned_queue_drops_what_waits_and_takes_nothing(void **state)
{
    struct wire *wire = *state;
    struct rkt_send_counts counts;
    uint8_t marks[64];

    for (uint8_t i = 0; i < 10; i++)
        push(wire, i, 10);
    (void)rkt_send_queue_step(wire->queue, NULL);
    (void)take_frames(wire, marks);
    rkt_send_queue_abandon(wire->queue);
    assert_int_equal(rkt_send_queue_push(wire->queue, (const uint8_t *)"", 1, NULL), RKT_AGAIN);
    rkt_send_queue_counts(wire->queue, &counts);
    assert_int_equal(counts.dropped_frames, 10 - RKT_SEND_CREDITS);
    assert_true(rkt_send_queue_is_empty(wire->queue));
    assert_true(rkt_send_queue_is_full(wire->queue));
}

/* ---- with a spool ---- */

struct spooled_wire {
    struct wire wire;
    char folder[200];
    char base[256];
};

static int make_spooled_wire(void **state)
{
    struct spooled_wire *spooled = calloc(1, sizeof(*spooled));
    struct rkt_send_config config = {.memory_bytes = MIB, .spool_bytes = 8 * MIB};
    struct wire *wire = &spooled->wire;
    struct rkt_error err = {0};

    sample_folder_make(spooled->folder, sizeof(spooled->folder));
    snprintf(spooled->base, sizeof(spooled->base), "%s/s", spooled->folder);
    config.spool_base = spooled->base;
    assert_rkt_ok(rkt_loop_hub_create(3, 1, &wire->hub, &err), err);
    wire->rank_0 = rkt_loop_hub_transport(wire->hub, 0);
    assert_rkt_ok(
        rkt_send_queue_create(rkt_loop_hub_transport(wire->hub, 1), &config, &wire->queue, &err),
        err);
    *state = spooled;
    return 0;
}

static int drop_spooled_wire(void **state)
{
    struct spooled_wire *spooled = *state;

    rkt_send_queue_destroy(spooled->wire.queue);
    rkt_loop_hub_destroy(spooled->wire.hub);
    sample_folder_remove(spooled->folder);
    free(spooled);
    return 0;
}

static bool has_file(const struct spooled_wire *spooled, const char *end)
{
    char path[300];

    snprintf(path, sizeof(path), "%s%s", spooled->base, end);
    return access(path, F_OK) == 0;
}

/* Serve as rank 0 until all is acknowledged; the marks in order go to `marks`. */
static size_t serve(struct wire *wire, uint8_t *marks)
{
    size_t count = 0;

    while (!rkt_send_queue_is_empty(wire->queue)) {
        size_t got;

        (void)rkt_send_queue_step(wire->queue, NULL);
        got = take_frames(wire, marks + count);
        count += got;
        if (got > 0)
            acknowledge(wire, (uint32_t)got);
    }
    return count;
}

static void what_memory_cannot_hold_goes_by_the_disk_in_order(void **state)
{
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    struct rkt_send_counts counts;
    uint8_t marks[64];

    for (uint8_t i = 0; i < 12; i++)
        push(wire, i, MIB / 4);
    assert_false(rkt_send_queue_is_full(wire->queue));
    assert_true(has_file(spooled, "-b.rkt"));
    assert_int_equal(serve(wire, marks), 12);
    for (uint8_t i = 0; i < 12; i++)
        assert_int_equal(marks[i], i);
    rkt_send_queue_counts(wire->queue, &counts);
    assert_int_equal(counts.dropped_frames, 0);
    assert_int_equal(counts.spooled_frames, 8);
    assert_int_equal(counts.acked_frames, 12);
    rkt_send_queue_destroy(wire->queue);
    wire->queue = NULL;
    assert_false(has_file(spooled, "-b.rkt"));
}

static void a_full_disk_limit_says_full_first_and_refuses_last(void **state)
{
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    uint8_t *frame = calloc(1, MIB / 2);
    uint8_t marks[64];
    uint8_t pushed = 0;

    while (!rkt_send_queue_is_full(wire->queue))
        push(wire, pushed++, MIB / 2);
    assert_in_range(pushed, 2 + 14, 2 + 15);
    while (rkt_send_queue_push(wire->queue, frame, MIB / 2, NULL) == RKT_OK)
        pushed++;
    free(frame);
    assert_int_equal(pushed, 2 + 16);
    assert_int_equal(serve(wire, marks), pushed);
}

static void what_is_kept_says_of_which_run_it_is(void **state)
{
    static const char *const ENDS[] = {"-a.rkt", "-b.rkt"};
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    struct rkt_error err = {0};
    const char *path;

    assert_rkt_ok(rkt_send_queue_set_run(wire->queue, UINT64_MAX - 6, &err), err);
    for (uint8_t i = 0; i < 12; i++)
        push(wire, i, MIB / 4);
    assert_rkt_ok(rkt_send_queue_keep(wire->queue, &path, &err), err);
    rkt_send_queue_abandon(wire->queue);
    rkt_send_queue_destroy(wire->queue);
    wire->queue = NULL;
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        struct rkt_store_reader *reader;
        char name[300];

        snprintf(name, sizeof(name), "%s%s", spooled->base, ENDS[i]);
        assert_rkt_ok(rkt_store_reader_open(name, &reader, &err), err);
        assert_true(rkt_store_reader_run(reader)->run_id == UINT64_MAX - 6);
        assert_false(rkt_store_reader_run(reader)->is_part);
        rkt_store_reader_close(reader);
    }
}

/* Not even the RUN frame is left where rank 0 wrote all in the end. */
static void a_run_is_no_reason_to_keep_a_file(void **state)
{
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    struct rkt_error err = {0};
    const char *path;
    uint8_t marks[64];

    assert_rkt_ok(rkt_send_queue_set_run(wire->queue, 7, &err), err);
    for (uint8_t i = 0; i < 12; i++)
        push(wire, i, MIB / 4);
    assert_rkt_ok(rkt_send_queue_keep(wire->queue, &path, &err), err);
    assert_true(has_file(spooled, "-a.rkt") && has_file(spooled, "-b.rkt"));
    assert_int_equal(serve(wire, marks), 12);
    rkt_send_queue_destroy(wire->queue);
    wire->queue = NULL;
    assert_false(has_file(spooled, "-a.rkt") || has_file(spooled, "-b.rkt"));
}

static void what_was_not_written_is_kept_memory_first(void **state)
{
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    struct rkt_send_counts counts;
    struct rkt_error err = {0};
    const char *path = NULL;
    uint8_t marks[64];
    char name[300];
    uint8_t *bytes;
    size_t len;

    for (uint8_t i = 0; i < 12; i++)
        push(wire, i, MIB / 4);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_int_equal(take_frames(wire, marks), RKT_SEND_CREDITS);
    acknowledge(wire, 2);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_rkt_ok(rkt_send_queue_keep(wire->queue, &path, &err), err);
    rkt_send_queue_abandon(wire->queue);
    rkt_send_queue_counts(wire->queue, &counts);
    assert_int_equal(counts.dropped_frames, 0);
    rkt_send_queue_destroy(wire->queue);
    wire->queue = NULL;

    snprintf(name, sizeof(name), "%s-a.rkt", spooled->base);
    assert_string_equal(path ? name : "", name);
    bytes = sample_file_read(name, &len);
    assert_int_equal(len, 2 * MIB / 4); /* frames 2 and 3: sent, not acknowledged */
    assert_int_equal(bytes[0], 2);
    assert_int_equal(bytes[MIB / 4], 3);
    free(bytes);
    snprintf(name, sizeof(name), "%s-b.rkt", spooled->base);
    bytes = sample_file_read(name, &len);
    assert_int_equal(len, 8 * MIB / 4);
    assert_int_equal(bytes[0], 4);
    free(bytes);
}

static void what_is_pushed_after_a_keep_is_on_disk_until_it_is_written(void **state)
{
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    struct rkt_error err = {0};
    const char *path = NULL;
    uint8_t marks[64];
    size_t len;

    assert_rkt_status(rkt_send_queue_keep(wire->queue, &path, &err), RKT_END);
    for (uint8_t round = 0; round < 2; round++) {
        assert_false(has_file(spooled, "-a.rkt"));
        push(wire, 1, 100);
        push(wire, 2, 200);
        assert_rkt_ok(rkt_send_queue_keep(wire->queue, &path, &err), err);
        free(sample_file_read(path, &len));
        assert_int_equal(len, 300);
        assert_int_equal(serve(wire, marks), 2);
    }
    assert_false(has_file(spooled, "-a.rkt"));
}

static void a_disk_that_is_full_keeps_whole_frames_and_the_rest_is_counted(void **state)
{
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    struct rlimit before, small;
    struct rkt_send_counts counts;
    struct rkt_error err = {0};
    const char *path = NULL;
    size_t len;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 1000, .rlim_max = before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN); /* as the sidecar has it */
    for (uint8_t i = 0; i < 3; i++)
        push(wire, i, 600);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_rkt_status(rkt_send_queue_keep(wire->queue, &path, &err), RKT_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    free(sample_file_read(path, &len));
    assert_int_equal(len, 600);
    rkt_send_queue_abandon(wire->queue);
    rkt_send_queue_counts(wire->queue, &counts);
    assert_int_equal(counts.dropped_frames, 2);
}

static void a_disk_with_room_for_the_run_alone_keeps_no_file(void **state)
{
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    struct rlimit before, small;
    struct rkt_error err = {0};
    const char *path = NULL;
    size_t len;

    assert_rkt_ok(rkt_send_queue_set_run(wire->queue, 7, &err), err);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 1000, .rlim_max = before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    push(wire, 1, 2000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_rkt_status(rkt_send_queue_keep(wire->queue, &path, &err), RKT_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    free(sample_file_read(path, &len));
    assert_in_range(len, RKT_FRAME_HEAD_BYTES + 1, 999); /* the RUN frame, and no part of another */
    rkt_send_queue_destroy(wire->queue);
    wire->queue = NULL;
    assert_false(has_file(spooled, "-a.rkt"));
}

static void a_paused_queue_sends_nothing_and_takes_all(void **state)
{
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    uint8_t marks[64];

    rkt_send_queue_pause(wire->queue);
    for (uint8_t i = 0; i < 12; i++)
        push(wire, i, MIB / 4);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_int_equal(take_frames(wire, marks), 0);
    assert_false(rkt_send_queue_is_full(wire->queue));
}

/* ---- another target ---- */

/* Marks of the frames that have come to rank 2. */
static size_t take_frames_of_leader(struct wire *wire, uint8_t *marks)
{
    struct wire leader = {.rank_0 = rkt_loop_hub_transport(wire->hub, LEADER)};

    return take_frames(&leader, marks);
}

static void frames_go_to_the_leader_and_its_acks_count(void **state)
{
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    uint8_t marks[64];

    rkt_send_queue_aim(wire->queue, LEADER);
    for (uint8_t i = 0; i < 10; i++)
        push(wire, i, 10);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_int_equal(take_frames(wire, marks), 0);
    assert_int_equal(take_frames_of_leader(wire, marks), RKT_SEND_CREDITS);
    acknowledge(wire, 3); /* of rank 0, which has no business with it */
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_int_equal(take_frames_of_leader(wire, marks), 0);
    acknowledge_from(wire, LEADER, 2);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_int_equal(take_frames_of_leader(wire, marks), 2);
}

static void another_target_gets_all_that_is_not_acknowledged_in_order(void **state)
{
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    uint8_t marks[64];

    rkt_send_queue_aim(wire->queue, LEADER);
    for (uint8_t i = 0; i < 12; i++) /* four in memory, eight in the spool */
        push(wire, i, MIB / 4);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_int_equal(take_frames_of_leader(wire, marks), RKT_SEND_CREDITS);
    acknowledge_from(wire, LEADER, 1);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_int_equal(take_frames_of_leader(wire, marks), 1);

    rkt_send_queue_aim(wire->queue, 0);
    acknowledge_from(wire, LEADER, 8); /* late */
    assert_int_equal(serve(wire, marks), 11);
    for (uint8_t i = 0; i < 11; i++)
        assert_int_equal(marks[i], i + 1);
}

static void the_same_target_again_changes_nothing(void **state)
{
    struct spooled_wire *spooled = *state;
    struct wire *wire = &spooled->wire;
    uint8_t marks[64];

    push(wire, 1, 10);
    (void)rkt_send_queue_step(wire->queue, NULL);
    rkt_send_queue_aim(wire->queue, 0);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_int_equal(take_frames(wire, marks), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_wire, drop_wire)

#define SPOOLED(name) cmocka_unit_test_setup_teardown(name, make_spooled_wire, drop_spooled_wire)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(no_more_frames_are_out_than_credits),
        CASE(queue_is_empty_only_when_all_is_acknowledged),
        CASE(acknowledging_more_than_was_sent_gives_no_credits_away),
        CASE(full_is_said_first_and_frames_are_refused_last),
        CASE(abandoned_queue_drops_what_waits_and_takes_nothing),
        SPOOLED(what_memory_cannot_hold_goes_by_the_disk_in_order),
        SPOOLED(a_full_disk_limit_says_full_first_and_refuses_last),
        SPOOLED(what_is_kept_says_of_which_run_it_is),
        SPOOLED(a_run_is_no_reason_to_keep_a_file),
        SPOOLED(what_was_not_written_is_kept_memory_first),
        SPOOLED(what_is_pushed_after_a_keep_is_on_disk_until_it_is_written),
        SPOOLED(a_disk_that_is_full_keeps_whole_frames_and_the_rest_is_counted),
        SPOOLED(a_disk_with_room_for_the_run_alone_keeps_no_file),
        SPOOLED(a_paused_queue_sends_nothing_and_takes_all),
        SPOOLED(frames_go_to_the_leader_and_its_acks_count),
        SPOOLED(another_target_gets_all_that_is_not_acknowledged_in_order),
        SPOOLED(the_same_target_again_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
