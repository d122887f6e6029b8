/* SPDX-License-Identifier: Apache-2.0 */
/* What rank 0 takes for the file of a leader. Ranks 2 and 4 lead, ranks 3 and 5 are led by them. */
#include "aggregator/shards.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/run_message.h"
#include "common/store_reader.h"
#include "common/store_writer.h"
#include "common/transport_loop.h"
#include "rkt_test.h"
#include "sample.h"

#define RANKS 6
#define S UINT64_C(1000000000)
#define RUN_ID UINT64_C(0xabcdef)

static const int LEADERS[RANKS] = {0, 0, 2, 2, 4, 4};

struct fixture {
    char folder[200];
    char path[256];
    struct rkt_loop_hub *hub;
    struct rkt_receiver *receiver;
    struct rkt_run_state *state;
    struct rkt_shards *shards;
    uint64_t now_ns;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const struct rkt_run_info run = {.producer = RKT_PRODUCER_CAPTURE, .run_id = RUN_ID};
    struct rkt_receiver_config receiver = {.store_path = f->path, .run = &run, .leaders = LEADERS};
    struct rkt_shards_config shards = {.store_path = f->path, .leaders = LEADERS, .run_id = RUN_ID};
    struct rkt_error err = {0};

    f->now_ns = 1000 * S;
    sample_folder_make(f->folder, sizeof(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/timeline.rkt", f->folder);
    assert_rkt_ok(rkt_loop_hub_create(RANKS, 1, &f->hub, &err), err);
    receiver.transport = shards.transport = rkt_loop_hub_transport(f->hub, 0);
    assert_rkt_ok(rkt_receiver_create(&receiver, &f->receiver, &err), err);
    f->state = rkt_run_state_create(RANKS, f->now_ns);
    assert_non_null(f->state);
    shards.receiver = f->receiver;
    shards.state = f->state;
    assert_rkt_ok(rkt_shards_create(&shards, &f->shards, &err), err);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    rkt_shards_destroy(f->shards);
    rkt_run_state_destroy(f->state);
    rkt_receiver_destroy(f->receiver);
    rkt_loop_hub_destroy(f->hub);
    sample_folder_remove(f->folder);
    free(f);
    return 0;
}

static void path_of(const struct fixture *f, int rank, char *path, size_t path_bytes)
{
    char name[RKT_SHARD_FILE_BYTES];

    rkt_shard_file_name(RUN_ID, (uint32_t)rank, name);
    (void)snprintf(path, path_bytes, "%s/%s", f->folder, name);
}

/* As its leader would. */
static void make_file(const struct fixture *f, int rank, uint64_t run_id)
{
    const struct rkt_run_info run = {.run_id = run_id, .is_part = true};
    struct rkt_store_writer *writer;
    struct rkt_error err = {0};
    char path[512];

    path_of(f, rank, path, sizeof(path));
    assert_rkt_ok(rkt_store_writer_create(path, RKT_STORE_LIVE, &run, &writer, &err), err);
    rkt_store_writer_destroy(writer);
}

static void step_for(struct fixture *f, uint64_t duration_ns)
{
    for (uint64_t end_ns = f->now_ns + duration_ns; f->now_ns < end_ns; f->now_ns += S / 100)
        rkt_shards_step(f->shards, f->now_ns);
}

/* What this rank was told; 0: nothing. */
static int answer_to(struct fixture *f, int rank)
{
    struct rkt_run_message message = {0};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    struct rkt_arrival arrival;

    if (rkt_transport_receive(rkt_loop_hub_transport(f->hub, rank), RKT_TAG_LEADER_DOWN, buf,
                              sizeof(buf), &arrival, NULL) == RKT_OK)
        assert_int_equal(rkt_run_message_decode(buf, arrival.len_bytes, &message, NULL), RKT_OK);
    return message.type;
}

static void offer(struct fixture *f, int rank)
{
    rkt_shards_ready(f->shards, rank, "node", f->now_ns);
}

/* Ranks of the files that the timeline names, as digits. */
static int named_files(const struct fixture *f)
{
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};
    int ranks = 0;

    assert_rkt_ok(rkt_store_reader_open(f->path, &reader, &err), err);
    for (size_t i = 0; i < rkt_store_reader_shard_count(reader); i++)
        ranks = 10 * ranks + (int)rkt_store_reader_shard(reader, i)->info.rank;
    rkt_store_reader_close(reader);
    return ranks;
}

static void a_file_that_is_seen_is_named_and_its_leader_may_write(void **state)
{
    struct fixture *f = *state;

    make_file(f, 2, RUN_ID);
    offer(f, 2);
    step_for(f, S / 10);
    assert_int_equal(answer_to(f, 2), RKT_RUN_SHARD_TAKEN);
    assert_int_equal(named_files(f), 2);
    offer(f, 2); /* it missed the answer: it gets it again, and is named once */
    step_for(f, S / 10);
    assert_int_equal(answer_to(f, 2), RKT_RUN_SHARD_TAKEN);
    assert_int_equal(named_files(f), 2);
    assert_int_equal(rkt_shards_count(f->shards), 1);
}

static void a_file_may_take_some_seconds_to_be_seen(void **state)
{
    struct fixture *f = *state;

    offer(f, 4);
    step_for(f, 3 * S);
    offer(f, 4); /* it says so again and again, which does not begin anew */
    assert_int_equal(answer_to(f, 4), 0);
    make_file(f, 4, RUN_ID);
    step_for(f, S / 2);
    assert_int_equal(answer_to(f, 4), RKT_RUN_SHARD_TAKEN);
}

static void a_file_that_is_not_seen_is_refused_in_the_end(void **state)
{
    struct fixture *f = *state;

    offer(f, 2);
    step_for(f, 4 * S);
    assert_int_equal(answer_to(f, 2), 0);
    offer(f, 2);
    step_for(f, 2 * S);
    assert_int_equal(answer_to(f, 2), RKT_RUN_SHARD_REFUSED);
    make_file(f, 2, RUN_ID); /* too late: the leader passes on */
    offer(f, 2);
    step_for(f, S);
    assert_int_equal(answer_to(f, 2), RKT_RUN_SHARD_REFUSED);
    assert_int_equal(named_files(f), 0);
    assert_int_equal(rkt_shards_count(f->shards), 0);
}

static void what_is_not_the_file_of_this_run_is_refused(void **state)
{
    struct fixture *f = *state;
    char path[512];
    FILE *file;

    make_file(f, 2, RUN_ID + 1);
    path_of(f, 4, path, sizeof(path));
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs("no store", file) < 0, 0);
    assert_int_equal(fclose(file), 0);
    offer(f, 2);
    offer(f, 4);
    step_for(f, 6 * S);
    assert_int_equal(answer_to(f, 2), RKT_RUN_SHARD_REFUSED);
    assert_int_equal(answer_to(f, 4), RKT_RUN_SHARD_REFUSED);
    assert_int_equal(named_files(f), 0);
}

static void who_leads_nobody_has_no_file(void **state)
{
    struct fixture *f = *state;

    for (int rank = 0; rank < RANKS; rank++) {
        if (LEADERS[rank] == rank && rank != 0)
            continue;
        make_file(f, rank, RUN_ID);
        offer(f, rank);
        step_for(f, S / 10);
        assert_int_equal(answer_to(f, rank), RKT_RUN_SHARD_REFUSED);
    }
    assert_int_equal(named_files(f), 0);
}

static void those_that_live_are_asked_to_close_and_waited_for(void **state)
{
    struct fixture *f = *state;

    for (int rank = 2; rank <= 4; rank += 2) {
        make_file(f, rank, RUN_ID);
        offer(f, rank);
    }
    step_for(f, S / 10);
    assert_int_equal(named_files(f), 24);
    for (int rank = 2; rank <= 4; rank += 2)
        (void)answer_to(f, rank);
    for (int rank = 0; rank < RANKS; rank++) {
        if (rank != 4)
            rkt_run_state_flushed(f->state, rank);
    }
    f->now_ns += 2 * RKT_PEER_SILENT_NS;
    assert_true(rkt_run_state_is_over(f->state, f->now_ns)); /* rank 4 is lost */
    rkt_shards_close(f->shards);
    assert_int_equal(answer_to(f, 2), RKT_RUN_SHARD_CLOSE);
    assert_int_equal(answer_to(f, 4), 0);
    assert_false(rkt_shards_are_closed(f->shards));
    rkt_shards_closed(f->shards, 4, true); /* it was not asked */
    assert_false(rkt_shards_are_closed(f->shards));
    rkt_shards_closed(f->shards, 2, true);
    assert_true(rkt_shards_are_closed(f->shards));
    assert_int_equal(rkt_shards_count(f->shards), 2);
    assert_int_equal(rkt_shards_whole_count(f->shards), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_file_that_is_seen_is_named_and_its_leader_may_write),
        CASE(a_file_may_take_some_seconds_to_be_seen),
        CASE(a_file_that_is_not_seen_is_refused_in_the_end),
        CASE(what_is_not_the_file_of_this_run_is_refused),
        CASE(who_leads_nobody_has_no_file),
        CASE(those_that_live_are_asked_to_close_and_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
