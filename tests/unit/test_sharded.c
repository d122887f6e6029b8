/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in which the leader writes the records of its group into a file of its own. */
#include "rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/run_message.h"
#include "tree_run.h"

static int make_tree(void **state)
{
    *state = tree_create(true);
    return 0;
}

static int drop_tree(void **state)
{
    tree_destroy(*state);
    return 0;
}

static bool has_shard_file(const struct tree *tree)
{
    return access(tree->run->ranks[TREE_LEADER].shard_path, F_OK) == 0;
}

/* The one shard that the timeline names. */
static const struct rkt_store_shard *the_shard(const struct tree *tree)
{
    assert_int_equal(rkt_store_reader_shard_count(tree->run->reader), 1);
    return rkt_store_reader_shard(tree->run->reader, 0);
}

static void all_are_aligned(struct tree *tree)
{
    for (uint32_t number = 0; number < 2 * TREE_RANKS; number++)
        assert_true(run_source(tree->run, number)->has_align);
}

static void records_of_a_group_are_in_the_file_of_its_leader(void **state)
{
    struct tree *tree = *state;
    const struct rkt_store_shard *shard;

    tree_connect_jobs(tree);
    tree_record(tree, 3);
    tree_must_end_whole(tree);
    all_are_aligned(tree);
    shard = the_shard(tree);
    assert_true(shard->is_read);
    assert_true(shard->has_trailer);
    assert_int_equal(shard->info.rank, TREE_LEADER);
    assert_string_equal(shard->info.host, "node-1");
    /* an END of each of 6 sources, and what was said of it once or twice; nothing else */
    assert_in_range(rkt_aggregator_bundled_frames(tree->run->aggregator), 2 * 6, 3 * 6);
}

/* Who reads it without the shard knows what is missing. */
static void the_timeline_alone_knows_all_sources(void **state)
{
    struct tree *tree = *state;

    tree_connect_jobs(tree);
    tree_record(tree, 3);
    tree_end_jobs(tree);
    run_for(tree->run, 8 * S);
    assert_int_equal(unlink(tree->run->ranks[TREE_LEADER].shard_path), 0);
    run_open_store(tree->run);
    assert_false(the_shard(tree)->is_read);
    assert_true(rkt_store_reader_health(tree->run->reader)->seq_gap_count > 0);
    assert_int_equal(rkt_store_reader_source_count(tree->run->reader), 2 * TREE_RANKS);
    all_are_aligned(tree);
    for (uint32_t number = 0; number < TREE_RANKS; number++)
        assert_int_equal(run_source(tree->run, number)->end.reason, RKT_END_EXITED);
}

static void a_leader_that_dies_leaves_its_file_and_its_group_goes_on(void **state)
{
    struct tree *tree = *state;
    const struct rkt_loop_faults delays = {.delay_ticks_max = 1000};

    tree_connect_jobs(tree);
    tree_record(tree, 3);
    rkt_loop_hub_set_faults(tree->run->hub, RKT_TAG_ACK, &delays);
    tree_record(tree, 1); /* written, and not acknowledged */
    run_die(tree->run, TREE_LEADER);
    tree_record(tree, 8);
    tree_end_jobs(tree);
    run_for(tree->run, 20 * S);
    tree_all_have_left(tree, false);
    tree_store_is_good(tree);
    tree_all_is_stored(tree, 0, 1);
    tree_all_is_stored(tree, 3, 4);
    assert_true(tree_kernels(tree, TREE_LEADER) >= 3 * (uint64_t)TREE_EVENTS);
    assert_int_equal(run_source(tree->run, TREE_LEADER)->end.reason, RKT_END_LOST);
    all_are_aligned(tree);
    assert_true(the_shard(tree)->is_read);
    assert_false(the_shard(tree)->has_trailer);
}

static void a_leader_that_stands_still_is_left_and_may_come_back(void **state)
{
    struct tree *tree = *state;

    tree_connect_jobs(tree);
    tree_record(tree, 2);
    tree_stand_still(tree, TREE_LEADER, TREE_LEADER, 10);
    tree_record(tree, 3);
    tree_must_end_whole(tree);
    assert_true(the_shard(tree)->has_trailer);
}

static void where_rank_0_does_not_see_the_file_the_leader_passes_on(void **state)
{
    struct tree *tree = *state;
    char elsewhere[] = "/tmp/rkt_sharded_test.XXXXXX";

    assert_non_null(mkdtemp(elsewhere));
    tree->run->shard_folder = elsewhere;
    run_for(tree->run, 2 * S);
    assert_true(has_shard_file(tree)); /* rank 0 still looks for it */
    tree_connect_jobs(tree);
    tree_record(tree, 8);
    assert_false(has_shard_file(tree));
    assert_int_equal(rmdir(elsewhere), 0);
    tree_must_end_whole(tree);
    assert_int_equal(rkt_store_reader_shard_count(tree->run->reader), 0);
}

static void where_there_is_no_such_folder_the_leader_passes_on(void **state)
{
    struct tree *tree = *state;

    tree->run->shard_folder = "/nowhere";
    tree_connect_jobs(tree);
    tree_record(tree, 2);
    tree_must_end_whole(tree);
    assert_int_equal(rkt_store_reader_shard_count(tree->run->reader), 0);
}

static void answers_that_are_lost_are_given_again(void **state)
{
    struct tree *tree = *state;
    const struct rkt_loop_faults faults = {.drop_per_10k = 6000, .duplicate_per_10k = 3000};

    rkt_loop_hub_set_faults(tree->run->hub, RKT_TAG_LEADER_DOWN, &faults);
    tree_connect_jobs(tree);
    tree_record(tree, 10);
    tree_end_jobs(tree);
    run_for(tree->run, 16 * S);
    tree_all_have_left(tree, true);
    tree_store_is_good(tree);
    tree_all_is_stored(tree, 0, TREE_RANKS - 1);
    assert_true(the_shard(tree)->is_read);
}

/* It is asked to close its file, and is dead by then. */
static void a_leader_that_does_not_close_its_file_holds_nobody_up(void **state)
{
    struct tree *tree = *state;
    const struct rkt_loop_faults faults = {.drop_per_10k = 10000};

    tree_connect_jobs(tree);
    tree_record(tree, 3);
    rkt_loop_hub_set_faults(tree->run->hub, RKT_TAG_LEADER_DOWN, &faults);
    tree_end_jobs(tree);
    run_for(tree->run, 16 * S);
    tree_all_have_left(tree, true);
    tree_store_is_good(tree);
    tree_all_is_stored(tree, 0, TREE_RANKS - 1);
    assert_false(the_shard(tree)->has_trailer);
}

static void a_stop_closes_all_files_within_a_second(void **state)
{
    struct tree *tree = *state;

    tree_connect_jobs(tree);
    tree_record(tree, 3);
    rkt_aggregator_stop(tree->run->aggregator, tree->run->now_ns);
    run_for(tree->run, S);
    assert_int_equal(rkt_aggregator_phase_of(tree->run->aggregator), RKT_AGGREGATOR_DONE);
    tree_store_is_whole(tree);
    assert_true(the_shard(tree)->has_trailer);
    for (int rank = 0; rank < TREE_RANKS; rank++) {
        assert_true(tree_kernels(tree, rank) >= 2 * (uint64_t)TREE_EVENTS);
        run_leave_job(&tree->captures[rank]);
    }
}

static void a_stop_waits_for_no_leader_that_stands_still(void **state)
{
    struct tree *tree = *state;

    tree_connect_jobs(tree);
    tree_record(tree, 3);
    tree->run->ranks[TREE_LEADER].is_stopped = true;
    rkt_aggregator_stop(tree->run->aggregator, tree->run->now_ns);
    run_for(tree->run, S);
    assert_int_equal(rkt_aggregator_phase_of(tree->run->aggregator), RKT_AGGREGATOR_DONE);
    tree_store_is_good(tree);
    assert_false(the_shard(tree)->has_trailer);
    for (int rank = 0; rank < TREE_RANKS; rank++)
        run_leave_job(&tree->captures[rank]);
}

static void say_store_failed(struct tree *tree, int from, int to)
{
    const struct rkt_run_message message = {.type = RKT_RUN_STORE_FAILED};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];

    assert_int_equal(rkt_transport_send(rkt_loop_hub_transport(tree->run->hub, from), to,
                                        RKT_TAG_CONTROL_DOWN, buf,
                                        rkt_run_message_encode(&message, buf), NULL),
                     RKT_OK);
}

static void a_member_keeps_what_its_leader_cannot_write_and_heeds_no_other(void **state)
{
    struct tree *tree = *state;

    tree_connect_jobs(tree);
    tree_record(tree, 3);
    say_store_failed(tree, TREE_LEADER, 3);
    say_store_failed(tree, 1, 4); /* who is not its leader */
    tree_record(tree, 3);
    tree_end_jobs(tree);
    run_for(tree->run, 8 * S); /* less than draining may take: nobody waits for what is kept */
    tree_all_have_left(tree, true);
    tree_store_is_good(tree);
    tree_all_is_stored(tree, 4, 4);
    assert_in_range(tree_kernels(tree, 3), 2 * TREE_EVENTS, 4 * TREE_EVENTS);
}

static void a_dead_rank_0_ends_no_file_and_holds_nobody_up(void **state)
{
    struct tree *tree = *state;

    tree_connect_jobs(tree);
    tree_record(tree, 3);
    run_die(tree->run, 0);
    tree_record(tree, 12);
    tree_end_jobs(tree);
    run_for(tree->run, 20 * S);
    tree_all_have_left(tree, false);
    run_open_store(tree->run);
    assert_true(the_shard(tree)->is_read);
    for (int rank = TREE_LEADER; rank < TREE_RANKS; rank++)
        assert_true(tree_kernels(tree, rank) >= 14 * (uint64_t)TREE_EVENTS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_tree, drop_tree)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(records_of_a_group_are_in_the_file_of_its_leader),
        CASE(the_timeline_alone_knows_all_sources),
        CASE(a_leader_that_dies_leaves_its_file_and_its_group_goes_on),
        CASE(a_leader_that_stands_still_is_left_and_may_come_back),
        CASE(where_rank_0_does_not_see_the_file_the_leader_passes_on),
        CASE(where_there_is_no_such_folder_the_leader_passes_on),
        CASE(answers_that_are_lost_are_given_again),
        CASE(a_leader_that_does_not_close_its_file_holds_nobody_up),
        CASE(a_stop_closes_all_files_within_a_second),
        CASE(a_stop_waits_for_no_leader_that_stands_still),
        CASE(a_member_keeps_what_its_leader_cannot_write_and_heeds_no_other),
        CASE(a_dead_rank_0_ends_no_file_and_holds_nobody_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
