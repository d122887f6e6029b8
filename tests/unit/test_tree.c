/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs with leaders: what a tree changes, and above all what it must not change. Ranks 0 and 1 send
 * to rank 0, ranks 2 to 4 to rank 2. Each rank's job records EVENTS kernels before something happens and
 * as many after.
 */
#include "rkt_test.h"

#include <stdio.h>

#include "agent/ring.h"
#include "common/clock.h"
#include "loop_run.h"

#define RANKS 5
#define LEADER 2
#define EVENTS 400u

static const int LEADERS[RANKS] = {0, 0, LEADER, LEADER, LEADER};

struct tree {
    struct run *run;
    struct run_capture captures[RANKS];
    struct rkt_ring *rings[RANKS];
    uint64_t pushed[RANKS];
};

static int make_tree(void **state)
{
    struct tree *tree = test_calloc(1, sizeof(*tree));

    tree->run = run_create(RANKS, LEADERS);
    tree->run->round_ns = 5 * MS;
    *state = tree;
    return 0;
}

static int drop_tree(void **state)
{
    struct tree *tree = *state;

    run_destroy(tree->run);
    test_free(tree);
    return 0;
}

static void connect_jobs(struct tree *tree)
{
    run_start_jobs(tree->run);
    for (int rank = 0; rank < RANKS; rank++) {
        run_connect_job(tree->run, rank, &tree->captures[rank]);
        tree->rings[rank] = rkt_region_claim(tree->captures[rank].region, 1);
        assert_non_null(tree->rings[rank]);
    }
}

/* A batch is cut after a second: one frame and more per second and rank. */
static void record(struct tree *tree, uint64_t seconds)
{
    for (uint64_t s = 0; s < seconds; s++) {
        for (uint32_t i = 0; i < EVENTS; i++) {
            for (int rank = 0; rank < RANKS; rank++) {
                const struct rkt_event event = {.kind = RKT_EVENT_KERNEL,
                                                .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                                .start_ns = tree->pushed[rank] * 10,
                                                .end_ns = tree->pushed[rank] * 10 + 5};

                if (!tree->run->ranks[rank].is_dead && rkt_ring_push(tree->rings[rank], &event))
                    tree->pushed[rank]++;
            }
        }
        run_for(tree->run, S);
    }
}

static void end_jobs(struct tree *tree)
{
    for (int rank = 0; rank < RANKS; rank++) {
        rkt_region_set_closed(tree->captures[rank].region);
        run_leave_job(&tree->captures[rank]);
        if (!tree->run->ranks[rank].is_dead)
            run_end_job(tree->run, rank, 0);
    }
}

struct count {
    uint64_t kernels;
    bool is_in_order;
};

static enum rkt_status count_events(void *ctx, const struct rkt_event *events, size_t count,
                                    struct rkt_error *err)
{
    struct count *total = ctx;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind != RKT_EVENT_KERNEL)
            continue;
        total->is_in_order = total->is_in_order && events[i].start_ns == total->kernels * 10;
        total->kernels++;
    }
    return RKT_OK;
}

/* Kernels of this rank's job in the timeline; they must be the first ones, each once, in order. */
static uint64_t kernels_of(struct tree *tree, int rank)
{
    struct count total = {.is_in_order = true};
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_store_reader_walk(tree->run->reader, (uint32_t)(RANKS + rank), NULL,
                                        count_events, &total, &err),
                  err);
    if (!total.is_in_order)
        fail_msg("rank %d: records are missing or there twice", rank);
    return total.kernels;
}

static void all_is_stored_of(struct tree *tree, int first_rank, int last_rank)
{
    for (int rank = first_rank; rank <= last_rank; rank++) {
        assert_true(tree->pushed[rank] >= EVENTS);
        assert_int_equal(kernels_of(tree, rank), tree->pushed[rank]);
        assert_false(run_source(tree->run, (uint32_t)(RANKS + rank))->end.cut_short);
    }
}

static void all_have_left(const struct tree *tree, bool is_clean)
{
    for (int rank = 0; rank < RANKS; rank++) {
        const struct run_rank *of = &tree->run->ranks[rank];

        if (!of->is_dead && (!of->has_left || of->leave.is_clean != is_clean))
            fail_msg("rank %d: left=%d clean=%d", rank, of->has_left, of->leave.is_clean);
    }
}

static void store_is_whole(struct tree *tree)
{
    const struct rkt_store_health *health;

    run_open_store(tree->run);
    health = rkt_store_reader_health(tree->run->reader);
    assert_true(health->has_trailer);
    assert_int_equal(health->damaged_frames, 0);
    assert_int_equal(health->seq_gap_count, 0);
}

static void frames_of_a_group_come_by_its_leader(void **state)
{
    struct tree *tree = *state;

    connect_jobs(tree);
    record(tree, 3);
    end_jobs(tree);
    run_for(tree->run, 8 * S);
    all_have_left(tree, true);
    store_is_whole(tree);
    all_is_stored_of(tree, 0, RANKS - 1);
    assert_in_range(rkt_aggregator_bundled_frames(tree->run->aggregator), 9, 1000);
}

/* The leader's last frames come when its group's next ones do: nobody is left waiting. */
static void a_leader_relays_after_the_end_of_its_own_job(void **state)
{
    struct tree *tree = *state;
    uint64_t bundled;

    connect_jobs(tree);
    record(tree, 1);
    run_end_job(tree->run, LEADER, 0);
    run_for(tree->run, 5 * S);
    bundled = rkt_aggregator_bundled_frames(tree->run->aggregator);
    record(tree, 3);
    assert_true(rkt_aggregator_bundled_frames(tree->run->aggregator) >= bundled + 6);
    end_jobs(tree);
    run_for(tree->run, 8 * S);
    all_have_left(tree, true);
    store_is_whole(tree);
    all_is_stored_of(tree, 3, 4);
}

static void a_leader_that_dies_takes_nothing_of_its_group_with_it(void **state)
{
    struct tree *tree = *state;
    const struct rkt_loop_faults delays = {.delay_ticks_max = 1000};

    connect_jobs(tree);
    record(tree, 2);
    rkt_loop_hub_set_faults(tree->run->hub, RKT_TAG_BUNDLE, &delays);
    record(tree, 1); /* frames are on their way: sent, relayed, not acknowledged */
    run_die(tree->run, LEADER);
    record(tree, 8);
    end_jobs(tree);
    run_for(tree->run, 20 * S);
    all_have_left(tree, false);
    store_is_whole(tree);
    all_is_stored_of(tree, 0, 1);
    all_is_stored_of(tree, 3, 4);
    assert_int_equal(run_source(tree->run, LEADER)->end.reason, RKT_END_LOST);
}

static void a_leader_that_stands_still_is_left_and_may_come_back(void **state)
{
    struct tree *tree = *state;

    connect_jobs(tree);
    record(tree, 2);
    tree->run->ranks[LEADER].is_stopped = true;
    record(tree, 10);
    tree->run->ranks[LEADER].is_stopped = false;
    record(tree, 3);
    end_jobs(tree);
    run_for(tree->run, 8 * S);
    all_have_left(tree, true);
    store_is_whole(tree);
    all_is_stored_of(tree, 0, RANKS - 1);
}

static void a_leader_that_stands_still_for_a_moment_is_kept(void **state)
{
    struct tree *tree = *state;
    uint64_t bundled;

    connect_jobs(tree);
    record(tree, 1);
    tree->run->ranks[LEADER].is_stopped = true;
    record(tree, 3);
    tree->run->ranks[LEADER].is_stopped = false;
    record(tree, 1);
    bundled = rkt_aggregator_bundled_frames(tree->run->aggregator);
    record(tree, 3);
    assert_true(rkt_aggregator_bundled_frames(tree->run->aggregator) >= bundled + 6);
    end_jobs(tree);
    run_for(tree->run, 8 * S);
    all_have_left(tree, true);
    store_is_whole(tree);
    all_is_stored_of(tree, 0, RANKS - 1);
}

/* It hears its leader again when it runs again, and nothing tells it that it was the one who slept. */
static void a_member_that_stood_still_itself_keeps_its_leader(void **state)
{
    struct tree *tree = *state;
    uint64_t bundled;

    connect_jobs(tree);
    for (int rank = 3; rank < RANKS; rank++)
        tree->run->ranks[rank].is_stopped = true;
    record(tree, 10);
    for (int rank = 3; rank < RANKS; rank++)
        tree->run->ranks[rank].is_stopped = false;
    record(tree, 3);
    bundled = rkt_aggregator_bundled_frames(tree->run->aggregator);
    record(tree, 3);
    assert_true(rkt_aggregator_bundled_frames(tree->run->aggregator) >= bundled + 6);
    end_jobs(tree);
    run_for(tree->run, 8 * S);
    all_have_left(tree, true);
    store_is_whole(tree);
    all_is_stored_of(tree, 0, RANKS - 1);
}

static void a_leader_that_never_was_is_not_waited_for(void **state)
{
    struct tree *tree = *state;

    run_die(tree->run, LEADER);
    run_for(tree->run, S);
    for (int rank = 3; rank < RANKS; rank++) {
        assert_true(tree->run->ranks[rank].is_ready);
        run_tell(tree->run, rank, RKT_CONTROL_JOB_STARTED, 1);
    }
    run_for(tree->run, 8 * S);
    for (int rank = 0; rank < RANKS; rank++)
        run_end_job(tree->run, rank, 0);
    run_for(tree->run, 15 * S);
    all_have_left(tree, false);
    store_is_whole(tree);
    for (uint32_t rank = 3; rank < RANKS; rank++)
        assert_int_equal(run_source(tree->run, RANKS + rank)->end.reason, RKT_END_EXITED);
}

static void others_leave_when_rank_0_is_dead_and_their_jobs_have_ended(void **state)
{
    struct tree *tree = *state;

    connect_jobs(tree);
    record(tree, 2);
    run_die(tree->run, 0);
    record(tree, 12);
    end_jobs(tree);
    run_for(tree->run, 15 * S);
    all_have_left(tree, false);
}

static void a_failed_job_ends_the_others_through_a_tree_too(void **state)
{
    struct tree *tree = *state;

    connect_jobs(tree);
    record(tree, 1);
    run_end_job(tree->run, 3, 7 << 8);
    run_for(tree->run, S);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(tree->run->ranks[rank].has_abort, rank != 3);
        if (rank != 3)
            run_end_job(tree->run, rank, 15);
        run_leave_job(&tree->captures[rank]);
    }
    run_for(tree->run, 8 * S);
    all_have_left(tree, true);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(tree->run->ranks[rank].leave.value, 7);
    store_is_whole(tree);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(kernels_of(tree, rank), tree->pushed[rank]);
}

static void every_wait_ends_on_wires_that(void **state, enum rkt_tag tag,
                                          const struct rkt_loop_faults *faults, bool is_lossless)
{
    struct tree *tree = *state;

    rkt_loop_hub_set_faults(tree->run->hub, tag, faults);
    connect_jobs(tree);
    record(tree, 4);
    end_jobs(tree);
    run_for(tree->run, 40 * S);
    for (int rank = 0; rank < RANKS; rank++)
        assert_true(tree->run->ranks[rank].has_left);
    run_open_store(tree->run);
    assert_true(rkt_store_reader_health(tree->run->reader)->has_trailer);
    assert_int_equal(rkt_store_reader_health(tree->run->reader)->damaged_frames, 0);
    if (is_lossless)
        all_is_stored_of(tree, 0, RANKS - 1);
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

static void wires_that_lose_acknowledgements_lose_no_frame(void **state)
{
    const struct rkt_loop_faults faults = {.drop_per_10k = 5000};

    every_wait_ends_on_wires_that(state, RKT_TAG_BUNDLE_ACK, &faults, true);
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
        CASE(wires_that_lose_acknowledgements_lose_no_frame),
        CASE(wires_that_lose_bundles_hold_nobody_up),
        CASE(wires_that_damage_bundles_spoil_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
