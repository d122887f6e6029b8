/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole runs in one process: every rank's sidecar, rank 0's aggregator, the wires of the loop
 * transport, and the test as every supervisor. Time is the test's: a round is a millisecond.
 */
#include "rkt_test.h"

#include <unistd.h>

#include "common/clock.h"
#include "loop_run.h"

#define RANKS 3

/* Own sources are 0, 1, 2; those of the jobs 3, 4, 5. */
static void good_run_ends_with_a_whole_file_and_a_clean_leave(void **state)
{
    struct run *run = *state;

    run_start_jobs(run);
    for (int rank = 0; rank < RANKS; rank++)
        run_end_job(run, rank, 0);
    run_for(run, 8 * S);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_true(run->ranks[rank].has_left);
        assert_true(run->ranks[rank].leave.is_clean);
        assert_int_equal(run->ranks[rank].leave.value, 0);
    }
    assert_int_equal(rkt_aggregator_phase_of(run->aggregator), RKT_AGGREGATOR_DONE);
    assert_true(rkt_aggregator_is_file_whole(run->aggregator));
    run_open_store(run);
    assert_true(rkt_store_reader_health(run->reader)->has_trailer);
    assert_int_equal(rkt_store_reader_health(run->reader)->seq_gap_count, 0);
    assert_int_equal(rkt_store_reader_source_count(run->reader), 2 * RANKS);
    for (uint32_t number = 0; number < 2 * RANKS; number++) {
        assert_int_equal(run_source(run, number)->end.reason, RKT_END_EXITED);
        assert_true(run_source(run, number)->has_align);
    }
    /* ranks 0 and 1 share a kernel clock, rank 2 has another */
    assert_int_equal(run_source(run, 3)->align.state, RKT_ALIGN_REFERENCE);
    assert_int_equal(run_source(run, 4)->align.state, RKT_ALIGN_SAME_HOST);
    assert_int_equal(run_source(run, 5)->align.state, RKT_ALIGN_MEASURED);
}

static void nobody_leaves_before_the_report_is_done(void **state)
{
    struct run *run = *state;

    run->is_report_held = true;
    run_start_jobs(run);
    for (int rank = 0; rank < RANKS; rank++)
        run_end_job(run, rank, 0);
    run_for(run, 40 * S);
    assert_int_equal(rkt_aggregator_phase_of(run->aggregator), RKT_AGGREGATOR_CLOSED);
    for (int rank = 0; rank < RANKS; rank++)
        assert_false(run->ranks[rank].has_left);
    run->is_report_held = false;
    run_for(run, S);
    for (int rank = 0; rank < RANKS; rank++)
        assert_true(run->ranks[rank].has_left);
}

static void rank_that_goes_silent_is_lost_and_the_others_end(void **state)
{
    struct run *run = *state;

    run_start_jobs(run);
    run_for(run, 2 * S);
    run_die(run, 2);
    run_for(run, 60 * S); /* long dead, but nobody waits for it yet */
    assert_int_equal(rkt_aggregator_phase_of(run->aggregator), RKT_AGGREGATOR_OPEN);
    run_end_job(run, 0, 0);
    run_end_job(run, 1, 0);
    run_for(run, 10 * S);
    for (int rank = 0; rank < 2; rank++) {
        assert_true(run->ranks[rank].has_left);
        assert_false(run->ranks[rank].leave.is_clean);
    }
    run_open_store(run);
    assert_true(rkt_store_reader_health(run->reader)->has_trailer);
    assert_int_equal(run_source(run, 2)->end.reason, RKT_END_LOST);
    assert_int_equal(run_source(run, 5)->end.reason, RKT_END_LOST);
    assert_int_equal(run_source(run, 5)->info.role, RKT_ROLE_RANK);
    assert_int_equal(run_source(run, 5)->info.rank, 2);
    assert_true(run_source(run, 5)->end.cut_short);
    assert_int_equal(run_source(run, 3)->end.reason, RKT_END_EXITED);
}

/* By SIGSTOP, while it waits for the others' end: what it did not hear meanwhile was no silence. */
static void rank_0_that_stood_still_takes_nobody_for_lost(void **state)
{
    struct run *run = *state;

    run_start_jobs(run);
    run_end_job(run, 0, 0);
    run_for(run, 2 * S);
    run->ranks[0].is_stopped = true;
    run_for(run, 12 * S);
    run->ranks[0].is_stopped = false;
    run_for(run, 2 * S);
    run_end_job(run, 1, 0);
    run_end_job(run, 2, 0);
    run_for(run, 8 * S);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_true(run->ranks[rank].has_left);
        assert_true(run->ranks[rank].leave.is_clean);
    }
    run_open_store(run);
    for (uint32_t number = 0; number < 2 * RANKS; number++)
        assert_int_equal(run_source(run, number)->end.reason, RKT_END_EXITED);
}

/* MPI takes more than a second for each try to reach the dead. */
static void others_leave_the_dead_however_slow_they_are(void **state)
{
    struct run *run = *state;

    run_start_jobs(run);
    run_die(run, 0);
    run_end_job(run, 1, 0);
    run_end_job(run, 2, 0);
    for (unsigned i = 0; i < 20; i++) {
        run->ranks[1].is_stopped = run->ranks[2].is_stopped = true;
        run_for(run, 3 * S / 2);
        run->ranks[1].is_stopped = run->ranks[2].is_stopped = false;
        run_for(run, S / 100);
    }
    assert_true(run->ranks[1].has_left && run->ranks[2].has_left);
}

static void others_leave_when_rank_0_is_dead_and_their_jobs_have_ended(void **state)
{
    struct run *run = *state;

    run_start_jobs(run);
    run_die(run, 0);
    run_for(run, 60 * S); /* the jobs run on */
    assert_false(run->ranks[1].has_left);
    run_end_job(run, 1, 0);
    run_end_job(run, 2, 0);
    run_for(run, 5 * S);
    for (int rank = 1; rank < RANKS; rank++) {
        assert_true(run->ranks[rank].has_left);
        assert_false(run->ranks[rank].leave.is_clean);
        assert_int_equal(run->ranks[rank].leave.value, 0);
    }
}

/* ---- capture windows ---- */

/* For so long each rank is in step `rate` x seconds since the start, and a little ahead by rank. */
static void march(struct run *run, struct run_capture *captures, uint64_t duration_ns,
                  uint64_t rate)
{
    for (uint64_t end_ns = run->now_ns + duration_ns; run->now_ns < end_ns; run_step(run)) {
        for (uint64_t rank = 0; rank < RANKS; rank++)
            rkt_region_set_step(captures[rank].region,
                                rank + (run->now_ns - 1000 * S) / MS * rate / 1000);
    }
}

static void one_toggle_is_an_order_ahead_of_all_ranks(void **state)
{
    struct run *run = *state;
    struct run_capture captures[RANKS];
    struct rkt_region_window_order first, order;
    uint64_t furthest;

    run_start_jobs(run);
    for (int rank = 0; rank < RANKS; rank++)
        run_connect_job(run, rank, &captures[rank]);
    march(run, captures, 4 * S, 50);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_false(rkt_region_window_order(captures[rank].region, &order));
        run_tell(run, rank, RKT_CONTROL_TOGGLE, 0); /* mpirun passes a signal on to every rank */
    }
    march(run, captures, S / 10, 50);
    assert_true(rkt_region_step(captures[2].region, &furthest));
    assert_true(rkt_region_window_order(captures[0].region, &first));
    assert_false(first.is_open);
    assert_true(first.from_step > furthest);
    for (int rank = 1; rank < RANKS; rank++) {
        assert_true(rkt_region_window_order(captures[rank].region, &order));
        assert_false(order.is_open);
        assert_int_equal(order.from_step, first.from_step);
    }
    march(run, captures, 3 * S, 50);
    run_tell(run, 1, RKT_CONTROL_TOGGLE, 0);
    march(run, captures, S, 50);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_true(rkt_region_window_order(captures[rank].region, &order));
        assert_true(order.is_open);
        run_leave_job(&captures[rank]);
    }
}

static void a_process_that_comes_late_gets_the_order_too(void **state)
{
    struct run *run = *state;
    struct run_capture capture;
    struct rkt_region_window_order order;

    run_start_jobs(run);
    run_tell(run, 0, RKT_CONTROL_TOGGLE, 0);
    run_for(run, 4 * S);
    run_connect_job(run, 2, &capture);
    assert_true(rkt_region_window_order(capture.region, &order));
    assert_false(order.is_open);
    assert_int_equal(order.from_step, 0);
    run_leave_job(&capture);
}

static void failed_job_ends_the_others_and_gives_its_code(void **state)
{
    struct run *run = *state;

    run_start_jobs(run);
    run_for(run, S);
    run_end_job(run, 1, 7 << 8);
    run_for(run, 6 * S);
    assert_true(run->ranks[0].has_abort);
    assert_true(run->ranks[2].has_abort);
    assert_false(run->ranks[1].has_abort);
    assert_int_equal(run->ranks[2].abort_rank, 1);
    run_end_job(run, 0, 15); /* as their supervisors then do */
    run_end_job(run, 2, 15);
    run_for(run, 8 * S);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_true(run->ranks[rank].leave.is_clean);
        assert_int_equal(run->ranks[rank].leave.value, 7);
    }
    run_open_store(run);
    assert_int_equal(run_source(run, 4)->end.exit_code, 7);
    assert_int_equal(run_source(run, 5)->end.signal_number, 15);
}

/* As when its supervisor alone got a SIGTERM; mpirun's own comes to all, and then it is over at
 * once. */
static void job_that_was_stopped_alone_ends_the_others(void **state)
{
    struct run *run = *state;

    run_start_jobs(run);
    run_tell(run, 1, RKT_CONTROL_STOP, 15);
    run_end_job(run, 1, 15);
    run_for(run, 2 * S);
    assert_false(run->ranks[0].has_abort);
    run_for(run, 3 * S);
    assert_true(run->ranks[0].has_abort);
    assert_true(run->ranks[2].has_abort);
    run_end_job(run, 0, 15);
    run_end_job(run, 2, 15);
    run_for(run, 8 * S);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(run->ranks[rank].leave.value, 128 + 15);
}

static void hang_up_of_a_supervisor_ends_its_rank_not_the_run(void **state)
{
    struct run *run = *state;

    run_start_jobs(run);
    close(run->ranks[2].control_fd);
    run->ranks[2].control_fd = -1;
    run_for(run, 8 * S);
    assert_false(run->ranks[2].has_left);
    run_end_job(run, 0, 0);
    run_end_job(run, 1, 0);
    run_for(run, 8 * S);
    for (int rank = 0; rank < RANKS; rank++)
        assert_true(run->ranks[rank].leave.is_clean);
    run_open_store(run);
    assert_int_equal(run_source(run, 5)->end.reason, RKT_END_UNKNOWN);
}

static void stop_closes_the_file_within_a_second(void **state)
{
    struct run *run = *state;

    run_start_jobs(run);
    run_for(run, 2 * S);
    rkt_aggregator_stop(run->aggregator, run->now_ns);
    run_for(run, S);
    assert_int_equal(rkt_aggregator_phase_of(run->aggregator), RKT_AGGREGATOR_DONE);
    run_open_store(run);
    assert_true(rkt_store_reader_health(run->reader)->has_trailer);
    for (uint32_t number = 0; number < RANKS; number++)
        assert_true(run_source(run, number)->end.cut_short);
}

/* Its records go to no file: neither are they acknowledged, nor waited for. */
static void job_that_ends_after_the_file_was_closed_is_not_held_up(void **state)
{
    struct run *run = *state;

    run_start_jobs(run);
    rkt_aggregator_stop(run->aggregator, run->now_ns);
    run_for(run, 2 * S);
    assert_int_equal(rkt_aggregator_phase_of(run->aggregator), RKT_AGGREGATOR_DONE);
    for (int rank = 0; rank < RANKS; rank++)
        run_end_job(run, rank, 0);
    run_for(run, 5 * S); /* with the clock's last word: less than silence or draining takes */
    for (int rank = 0; rank < RANKS; rank++)
        assert_true(run->ranks[rank].has_left);
}

/* ---- wires that misbehave, with records on them ---- */

#define RECORDED_S 20
#define KERNELS_PER_S 10

static enum rkt_status count_kernels(void *ctx, const struct rkt_event *events, size_t count,
                                     struct rkt_error *err)
{
    uint64_t *kernels = ctx;

    (void)err;
    for (size_t i = 0; i < count; i++)
        *kernels += events[i].kind == RKT_EVENT_KERNEL;
    return RKT_OK;
}

/* A frame a second of each rank; what the store has of its kernels, all ranks together. */
static uint64_t record_over(struct run *run, const struct rkt_loop_faults *faults)
{
    struct rkt_event event = {.kind = RKT_EVENT_KERNEL, .clock_id = RKT_CLOCK_MONOTONIC_RAW};
    struct run_capture captures[RANKS];
    struct rkt_ring *rings[RANKS];
    uint64_t kernels = 0;

    rkt_loop_hub_set_faults(run->hub, RKT_TAG_FRAME, faults);
    run_start_jobs(run);
    for (int rank = 0; rank < RANKS; rank++) {
        run_connect_job(run, rank, &captures[rank]);
        rings[rank] = rkt_region_claim(captures[rank].region, 1);
    }
    for (uint64_t i = 0; i < RECORDED_S * KERNELS_PER_S; i++) {
        event.start_ns = event.end_ns = run->now_ns;
        for (int rank = 0; rank < RANKS; rank++)
            assert_true(rkt_ring_push(rings[rank], &event));
        run_for(run, S / KERNELS_PER_S);
    }
    for (int rank = 0; rank < RANKS; rank++) {
        run_leave_job(&captures[rank]);
        run_end_job(run, rank, 0);
    }
    run_for(run, 30 * S); /* the drain limit, where a frame is never acknowledged */
    for (int rank = 0; rank < RANKS; rank++)
        assert_true(run->ranks[rank].has_left);
    run_open_store(run);
    for (uint32_t number = RANKS; number < 2 * RANKS; number++)
        assert_int_equal(
            rkt_store_reader_walk(run->reader, number, NULL, count_kernels, &kernels, NULL),
            RKT_OK);
    assert_true(rkt_store_reader_health(run->reader)->has_trailer);
    assert_int_equal(rkt_store_reader_health(run->reader)->damaged_frames, 0);
    return kernels;
}

static void frames_that_come_late_and_twice_are_stored_once(void **state)
{
    struct run *run = *state;
    struct rkt_loop_faults faults = {.duplicate_per_10k = 10000, .delay_ticks_max = 500};

    assert_int_equal(record_over(run, &faults), RANKS * RECORDED_S * KERNELS_PER_S);
    assert_int_equal(rkt_store_reader_health(run->reader)->seq_gap_count, 0);
}

/* Each frame that is gone leaves a gap, which every report shows; a frame has a second's
 * kernels. */
static void assert_gaps_tell_what_is_gone(const struct run *run, uint64_t kernels)
{
    uint64_t gaps = rkt_store_reader_health(run->reader)->seq_gap_count;

    assert_in_range(kernels, 1, RANKS * RECORDED_S * KERNELS_PER_S - 1);
    assert_true(gaps > 0);
    assert_true(kernels + gaps * (KERNELS_PER_S + 1) >=
                (uint64_t)RANKS * (RECORDED_S - 2) * KERNELS_PER_S);
}

static void corrupt_frames_are_refused_and_leave_gaps(void **state)
{
    struct run *run = *state;
    struct rkt_loop_faults faults = {.corrupt_per_10k = 2000, .delay_ticks_max = 50};

    assert_gaps_tell_what_is_gone(run, record_over(run, &faults));
}

static void dropped_frames_leave_gaps_and_end_every_wait(void **state)
{
    struct run *run = *state;
    struct rkt_loop_faults faults = {.drop_per_10k = 2000};

    assert_gaps_tell_what_is_gone(run, record_over(run, &faults));
}

static void rank_that_never_joins_is_described_as_lost(void **state)
{
    struct run *run = *state;

    run_die(run, 1);
    run_for(run, S);
    run_end_job(run, 0, 0);
    run_end_job(run, 2, 0);
    run_for(run, 15 * S);
    run_open_store(run);
    assert_int_equal(run_source(run, 4)->info.role, RKT_ROLE_RANK);
    assert_int_equal(run_source(run, 4)->info.rank, 1);
    assert_int_equal(run_source(run, 4)->end.reason, RKT_END_LOST);
}

static void refusal_lets_every_sidecar_leave_before_its_job_is_traced(void **state)
{
    struct run *run = *state;
    struct rkt_error why = {.text = "cannot make the file"};

    rkt_aggregator_refuse_all(rkt_loop_hub_transport(run->hub, 0), &why);
    for (int i = 0; i < 3; i++) {
        struct rkt_activity activity = {0};

        rkt_sidecar_step(run->ranks[2].sidecar, run->now_ns += MS, &activity);
        rkt_loop_hub_tick(run->hub);
    }
    run_hear(&run->ranks[2]);
    assert_true(rkt_sidecar_has_left(run->ranks[2].sidecar, &run->ranks[2].leave));
    assert_true(run->ranks[2].leave.is_clean);
    assert_false(run->ranks[2].is_ready);
    /* rank 0's would still have a file to close, and hear of its report */
    run_tell(run, 2, RKT_CONTROL_REPORT_DONE, 0);
    rkt_sidecar_step(run->ranks[2].sidecar, run->now_ns += MS, &(struct rkt_activity){0});
    assert_true(rkt_sidecar_is_report_done(run->ranks[2].sidecar));
}

static int make_run(void **state)
{
    *state = run_create(RANKS, NULL, false);
    return 0;
}

static int drop_run(void **state)
{
    run_destroy(*state);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_run, drop_run)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(good_run_ends_with_a_whole_file_and_a_clean_leave),
        CASE(nobody_leaves_before_the_report_is_done),
        CASE(rank_that_goes_silent_is_lost_and_the_others_end),
        CASE(rank_0_that_stood_still_takes_nobody_for_lost),
        CASE(others_leave_the_dead_however_slow_they_are),
        CASE(others_leave_when_rank_0_is_dead_and_their_jobs_have_ended),
        CASE(one_toggle_is_an_order_ahead_of_all_ranks),
        CASE(a_process_that_comes_late_gets_the_order_too),
        CASE(failed_job_ends_the_others_and_gives_its_code),
        CASE(job_that_was_stopped_alone_ends_the_others),
        CASE(hang_up_of_a_supervisor_ends_its_rank_not_the_run),
        CASE(stop_closes_the_file_within_a_second),
        CASE(job_that_ends_after_the_file_was_closed_is_not_held_up),
        CASE(frames_that_come_late_and_twice_are_stored_once),
        CASE(corrupt_frames_are_refused_and_leave_gaps),
        CASE(dropped_frames_leave_gaps_and_end_every_wait),
        CASE(rank_that_never_joins_is_described_as_lost),
        CASE(refusal_lets_every_sidecar_leave_before_its_job_is_traced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
