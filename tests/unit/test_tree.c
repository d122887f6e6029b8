/* SPDX-License-Identifier: Apache-2.0 */
/* Runs with leaders: what a tree changes, and above all what it must not change. */
#include "rkt_test.h"

#include "tree_run.h"

static int make_tree(void **state)
{
    *state = tree_create(false);
    return 0;
}

static int drop_tree(void **state)
{
    tree_destroy(*state);
    return 0;
}

static void frames_of_a_group_come_by_its_leader(void **state)
{
    struct tree *tree = *state;

    tree_connect_jobs(tree);
    tree_record(tree, 3);
    tree_must_end_whole(tree);
    assert_in_range(rkt_aggregator_bundled_frames(tree->run->aggregator), 9, 1000);
}

/* The leader's last frames come when its group's next ones do: nobody is left waiting. */
static void a_leader_relays_after_the_end_of_its_own_job(void **state)
{
    struct tree *tree = *state;
    uint64_t bundled;

    tree_connect_jobs(tree);
    tree_record(tree, 1);
    run_end_job(tree->run, TREE_LEADER, 0);
    run_for(tree->run, 5 * S);
    bundled = rkt_aggregator_bundled_frames(tree->run->aggregator);
    tree_record(tree, 3);
    assert_true(rkt_aggregator_bundled_frames(tree->run->aggregator) >= bundled + 6);
    tree_end_jobs(tree);
    run_for(tree->run, 8 * S);
    tree_all_have_left(tree, true);
    tree_store_is_whole(tree);
    tree_all_is_stored(tree, 3, 4);
}

static void a_leader_that_dies_takes_nothing_of_its_group_with_it(void **state)
{
    struct tree *tree = *state;
    const struct rkt_loop_faults delays = {.delay_ticks_max = 1000};

    tree_connect_jobs(tree);
    tree_record(tree, 2);
    rkt_loop_hub_set_faults(tree->run->hub, RKT_TAG_BUNDLE, &delays);
    tree_record(tree, 1); /* frames are on their way: sent, relayed, not acknowledged */
    run_die(tree->run, TREE_LEADER);
    tree_record(tree, 8);
    tree_end_jobs(tree);
    run_for(tree->run, 20 * S);
    tree_all_have_left(tree, false);
    tree_store_is_whole(tree);
    tree_all_is_stored(tree, 0, 1);
    tree_all_is_stored(tree, 3, 4);
    assert_int_equal(run_source(tree->run, TREE_LEADER)->end.reason, RKT_END_LOST);
}

static void a_leader_that_stands_still_is_left_and_may_come_back(void **state)
{
    struct tree *tree = *state;

    tree_connect_jobs(tree);
    tree_record(tree, 2);
    tree_stand_still(tree, TREE_LEADER, TREE_LEADER, 10);
    tree_record(tree, 3);
    tree_must_end_whole(tree);
}

static void a_leader_that_stands_still_for_a_moment_is_kept(void **state)
{
    struct tree *tree = *state;
    uint64_t bundled;

    tree_connect_jobs(tree);
    tree_record(tree, 1);
    tree_stand_still(tree, TREE_LEADER, TREE_LEADER, 3);
    tree_record(tree, 1);
    bundled = rkt_aggregator_bundled_frames(tree->run->aggregator);
    tree_record(tree, 3);
    assert_true(rkt_aggregator_bundled_frames(tree->run->aggregator) >= bundled + 6);
    tree_must_end_whole(tree);
}

/* It hears its leader again when it runs again, and nothing tells it that it was the one who
 * slept. */
static void a_member_that_stood_still_itself_keeps_its_leader(void **state)
{
    struct tree *tree = *state;
    uint64_t bundled;

    tree_connect_jobs(tree);
    tree_stand_still(tree, 3, TREE_RANKS - 1, 10);
    tree_record(tree, 3);
    bundled = rkt_aggregator_bundled_frames(tree->run->aggregator);
    tree_record(tree, 3);
    assert_true(rkt_aggregator_bundled_frames(tree->run->aggregator) >= bundled + 6);
    tree_must_end_whole(tree);
}

static void a_leader_that_never_was_is_not_waited_for(void **state)
{
    struct tree *tree = *state;

    run_die(tree->run, TREE_LEADER);
    run_for(tree->run, S);
    for (int rank = 3; rank < TREE_RANKS; rank++) {
        assert_true(tree->run->ranks[rank].is_ready);
        run_tell(tree->run, rank, RKT_CONTROL_JOB_STARTED, 1);
    }
    run_for(tree->run, 8 * S);
    for (int rank = 0; rank < TREE_RANKS; rank++)
        run_end_job(tree->run, rank, 0);
    run_for(tree->run, 15 * S);
    tree_all_have_left(tree, false);
    tree_store_is_whole(tree);
    for (uint32_t rank = 3; rank < TREE_RANKS; rank++)
        assert_int_equal(run_source(tree->run, TREE_RANKS + rank)->end.reason, RKT_END_EXITED);
}

static void others_leave_when_rank_0_is_dead_and_their_jobs_have_ended(void **state)
{
    struct tree *tree = *state;

    tree_connect_jobs(tree);
    tree_record(tree, 2);
    run_die(tree->run, 0);
    tree_record(tree, 12);
    tree_end_jobs(tree);
    run_for(tree->run, 15 * S);
    tree_all_have_left(tree, false);
}

static void a_failed_job_ends_the_others_through_a_tree_too(void **state)
{
    struct tree *tree = *state;

    tree_connect_jobs(tree);
    tree_record(tree, 1);
    run_end_job(tree->run, 3, 7 << 8);
    run_for(tree->run, S);
    for (int rank = 0; rank < TREE_RANKS; rank++) {
        assert_int_equal(tree->run->ranks[rank].has_abort, rank != 3);
        if (rank != 3)
            run_end_job(tree->run, rank, 15);
        run_leave_job(&tree->captures[rank]);
    }
    run_for(tree->run, 8 * S);
    tree_all_have_left(tree, true);
    for (int rank = 0; rank < TREE_RANKS; rank++)
        assert_int_equal(tree->run->ranks[rank].leave.value, 7);
    tree_store_is_whole(tree);
    for (int rank = 0; rank < TREE_RANKS; rank++)
        assert_int_equal(tree_kernels(tree, rank), tree->pushed[rank]);
}

static void every_wait_ends_on_wires_that(void **state, enum rkt_tag tag,
                                          const struct rkt_loop_faults *faults, bool is_lossless)
{
    struct tree *tree = *state;

    rkt_loop_hub_set_faults(tree->run->hub, tag, faults);
    tree_connect_jobs(tree);
    tree_record(tree, 4);
    tree_end_jobs(tree);
    run_for(tree->run, 40 * S);
    for (int rank = 0; rank < TREE_RANKS; rank++)
        assert_true(tree->run->ranks[rank].has_left);
    run_open_store(tree->run);
    assert_true(rkt_store_reader_health(tree->run->reader)->has_trailer);
    assert_int_equal(rkt_store_reader_health(tree->run->reader)->damaged_frames, 0);
    if (is_lossless)
        tree_all_is_stored(tree, 0, TREE_RANKS - 1);
}

static void bundles_that_are_late_or_come_twice_change_nothing(void **state)
{
    const struct rkt_loop_faults faults = {.duplicate_per_10k = 4000, .delay_ticks_max = 50};

    every_wait_ends_on_wires_that(state, RKT_TAG_BUNDLE, &faults, true);
}

static void acknowledgements_that_are_late_or_come_twice_change_nothing(void **state)
{
    const struct rkt_loop_faults faults = {.duplicate_per_10k = 4000, .delay_ticks_max = 50};

    every_wait_ends_on_wires_that(state, RKT_TAG_BUNDLE_ACK, &faults, true);
}

static void wires_that_lose_acknowledgements_hold_nobody_up(void **state)
{
    const struct rkt_loop_faults faults = {.drop_per_10k = 5000};

    every_wait_ends_on_wires_that(state, RKT_TAG_BUNDLE_ACK, &faults, false);
}

static void wires_that_lose_bundles_hold_nobody_up(void **state)
{
    const struct rkt_loop_faults faults = {.drop_per_10k = 5000};

    every_wait_ends_on_wires_that(state, RKT_TAG_BUNDLE, &faults, false);
}

static void wires_that_damage_bundles_spoil_no_file(void **state)
{
    const struct rkt_loop_faults faults = {.corrupt_per_10k = 5000};

    every_wait_ends_on_wires_that(state, RKT_TAG_BUNDLE, &faults, false);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_tree, drop_tree)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(frames_of_a_group_come_by_its_leader),
        CASE(a_leader_relays_after_the_end_of_its_own_job),
        CASE(a_leader_that_dies_takes_nothing_of_its_group_with_it),
        CASE(a_leader_that_stands_still_is_left_and_may_come_back),
        CASE(a_leader_that_stands_still_for_a_moment_is_kept),
        CASE(a_member_that_stood_still_itself_keeps_its_leader),
        CASE(a_leader_that_never_was_is_not_waited_for),
        CASE(others_leave_when_rank_0_is_dead_and_their_jobs_have_ended),
        CASE(a_failed_job_ends_the_others_through_a_tree_too),
        CASE(bundles_that_are_late_or_come_twice_change_nothing),
        CASE(acknowledgements_that_are_late_or_come_twice_change_nothing),
        CASE(wires_that_lose_acknowledgements_hold_nobody_up),
        CASE(wires_that_lose_bundles_hold_nobody_up),
        CASE(wires_that_damage_bundles_spoil_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
