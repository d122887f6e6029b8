/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole runs in one process: every rank's sidecar, rank 0's aggregator, the wires of the loop
 * transport, and the test as every supervisor. Time is the test's: a round is a millisecond.
 */
#include "rkt_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/control.h"
#include "agent/hello.h"
#include "agent/sidecar/sidecar.h"
#include "aggregator/aggregator.h"
#include "common/store_reader.h"
#include "common/transport_loop.h"

#define RANKS 3
#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

struct rank {
    int listen_fd;
    int control_fd; /* the supervisor's end */
    int sidecar_fd;
    char socket[96];
    struct rkt_sidecar *sidecar;
    bool is_dead; /* gets no more turns */

    /* what the sidecar said */
    bool is_ready;
    bool has_abort;
    bool has_left;
    int32_t abort_rank;
    struct rkt_sidecar_leave leave;
};

struct run {
    char folder[64];
    char store_path[96];
    uint64_t now_ns;
    struct rkt_loop_hub *hub;
    struct rkt_aggregator *aggregator;
    bool is_report_held;
    struct rank ranks[RANKS];
    struct rkt_store_reader *reader;
};

static struct rkt_node_id node_of(int rank)
{
    struct rkt_node_id node = {.time_namespace = 1};

    (void)snprintf(node.host, sizeof(node.host), "node-%d", rank / 2);
    (void)snprintf(node.boot_id, sizeof(node.boot_id), "boot-%d", rank / 2);
    return node;
}

static void make_rank(struct run *run, int number)
{
    struct rank *rank = &run->ranks[number];
    struct rkt_sidecar_config config = {
        .transport = rkt_loop_hub_transport(run->hub, number),
        .region = RKT_REGION_CONFIG_DEFAULT,
        .job_rank = number,
        .drain_timeout_ns = 20 * S,
        .flush_interval_ns = S,
        .send = {.memory_bytes = (uint64_t)1 << 20},
        .node = node_of(number),
    };
    struct rkt_error err = {0};
    int fds[2];

    (void)snprintf(rank->socket, sizeof(rank->socket), "%s/socket-%d", run->folder, number);
    assert_rkt_ok(rkt_hello_listen(rank->socket, &rank->listen_fd, &err), err);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    rank->control_fd = fds[0];
    rank->sidecar_fd = fds[1];
    config.control_fd = fds[1];
    config.listen_fd = rank->listen_fd;
    assert_rkt_ok(rkt_sidecar_create(&config, run->now_ns, &rank->sidecar, &err), err);
}

static int make_run(void **state)
{
    struct run *run = calloc(1, sizeof(*run));
    struct rkt_run_info info = {.producer = RKT_PRODUCER_CAPTURE, .rank_count = RANKS};
    struct rkt_aggregator_config config = {
        .run = &info, .master_host = "node-0", .master_port = 4242, .is_abort_on_failure = true};
    struct rkt_error err = {0};

    run->now_ns = 1000 * S;
    (void)snprintf(run->folder, sizeof(run->folder), "/tmp/rkt_run_test.XXXXXX");
    assert_non_null(mkdtemp(run->folder));
    (void)snprintf(run->store_path, sizeof(run->store_path), "%s/timeline.rkt", run->folder);
    assert_rkt_ok(rkt_loop_hub_create(RANKS, 5, &run->hub, &err), err);
    config.transport = rkt_loop_hub_transport(run->hub, 0);
    config.store_path = run->store_path;
    config.node = node_of(0);
    assert_rkt_ok(rkt_aggregator_create(&config, run->now_ns, &run->aggregator, &err), err);
    for (int rank = 0; rank < RANKS; rank++)
        make_rank(run, rank);
    *state = run;
    return 0;
}

static int drop_run(void **state)
{
    struct run *run = *state;

    for (int number = 0; number < RANKS; number++) {
        struct rank *rank = &run->ranks[number];

        rkt_sidecar_destroy(rank->sidecar);
        close(rank->listen_fd);
        close(rank->sidecar_fd);
        if (rank->control_fd >= 0)
            close(rank->control_fd);
        (void)unlink(rank->socket);
    }
    rkt_store_reader_close(run->reader);
    rkt_aggregator_destroy(run->aggregator);
    rkt_loop_hub_destroy(run->hub);
    (void)unlink(run->store_path);
    (void)rmdir(run->folder);
    free(run);
    return 0;
}

static void hear(struct rank *rank)
{
    struct rkt_control_message message;

    while (rank->control_fd >= 0 &&
           rkt_control_receive(rank->control_fd, &message, NULL) == RKT_OK) {
        rank->is_ready |= message.type == RKT_CONTROL_READY;
        if (message.type == RKT_CONTROL_ABORT_JOB) {
            rank->has_abort = true;
            rank->abort_rank = message.value;
        }
    }
}

static void step(struct run *run)
{
    struct rkt_activity activity = {0};

    for (int number = 0; number < RANKS; number++) {
        struct rank *rank = &run->ranks[number];

        if (rank->is_dead)
            continue;
        rkt_sidecar_step(rank->sidecar, run->now_ns, &activity);
        rank->has_left = rkt_sidecar_has_left(rank->sidecar, &rank->leave);
        hear(rank);
    }
    if (!run->ranks[0].is_dead) {
        (void)rkt_aggregator_step(run->aggregator, run->now_ns);
        if (rkt_aggregator_phase_of(run->aggregator) == RKT_AGGREGATOR_CLOSED &&
            !run->is_report_held)
            rkt_aggregator_release(run->aggregator, run->now_ns);
    }
    rkt_loop_hub_tick(run->hub);
    run->now_ns += MS;
}

static void run_for(struct run *run, uint64_t duration_ns)
{
    for (uint64_t end_ns = run->now_ns + duration_ns; run->now_ns < end_ns;)
        step(run);
}

static void tell(struct run *run, int rank, enum rkt_control_type type, int value)
{
    assert_int_equal(rkt_control_send(run->ranks[rank].control_fd, type, value, NULL, NULL),
                     RKT_OK);
}

static void start_jobs(struct run *run)
{
    run_for(run, S);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_true(run->ranks[rank].is_ready);
        tell(run, rank, RKT_CONTROL_JOB_STARTED, 100 + rank);
    }
}

static void end_job(struct run *run, int rank, int wait_status)
{
    tell(run, rank, RKT_CONTROL_JOB_ENDED, wait_status);
}

static void die(struct run *run, int rank)
{
    rkt_loop_hub_silence(run->hub, rank);
    run->ranks[rank].is_dead = true;
}

static void open_store(struct run *run)
{
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_store_reader_open(run->store_path, &run->reader, &err), err);
}

static const struct rkt_store_source *source_of(struct run *run, uint32_t number)
{
    for (size_t i = 0; i < rkt_store_reader_source_count(run->reader); i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(run->reader, i);

        if (source->info.source == number)
            return source;
    }
    fail_msg("no source %u", number);
    return NULL;
}

/* Own sources are 0, 1, 2; those of the jobs 3, 4, 5. */
static void good_run_ends_with_a_whole_file_and_a_clean_leave(void **state)
{
    struct run *run = *state;

    start_jobs(run);
    for (int rank = 0; rank < RANKS; rank++)
        end_job(run, rank, 0);
    run_for(run, 8 * S);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_true(run->ranks[rank].has_left);
        assert_true(run->ranks[rank].leave.is_clean);
        assert_int_equal(run->ranks[rank].leave.value, 0);
    }
    assert_int_equal(rkt_aggregator_phase_of(run->aggregator), RKT_AGGREGATOR_DONE);
    assert_true(rkt_aggregator_is_file_whole(run->aggregator));
    open_store(run);
    assert_true(rkt_store_reader_health(run->reader)->has_trailer);
    assert_int_equal(rkt_store_reader_health(run->reader)->seq_gap_count, 0);
    assert_int_equal(rkt_store_reader_source_count(run->reader), 2 * RANKS);
    for (uint32_t number = 0; number < 2 * RANKS; number++) {
        assert_int_equal(source_of(run, number)->end.reason, RKT_END_EXITED);
        assert_true(source_of(run, number)->has_align);
    }
    /* ranks 0 and 1 share a kernel clock, rank 2 has another, never measured here */
    assert_int_equal(source_of(run, 4)->align.state, RKT_ALIGN_REFERENCE);
    assert_int_equal(source_of(run, 5)->align.state, RKT_ALIGN_UNALIGNED);
}

static void nobody_leaves_before_the_report_is_done(void **state)
{
    struct run *run = *state;

    run->is_report_held = true;
    start_jobs(run);
    for (int rank = 0; rank < RANKS; rank++)
        end_job(run, rank, 0);
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

    start_jobs(run);
    run_for(run, 2 * S);
    die(run, 2);
    run_for(run, 60 * S); /* long dead, but nobody waits for it yet */
    assert_int_equal(rkt_aggregator_phase_of(run->aggregator), RKT_AGGREGATOR_OPEN);
    end_job(run, 0, 0);
    end_job(run, 1, 0);
    run_for(run, 10 * S);
    for (int rank = 0; rank < 2; rank++) {
        assert_true(run->ranks[rank].has_left);
        assert_false(run->ranks[rank].leave.is_clean);
    }
    open_store(run);
    assert_true(rkt_store_reader_health(run->reader)->has_trailer);
    assert_int_equal(source_of(run, 2)->end.reason, RKT_END_LOST);
    assert_int_equal(source_of(run, 5)->end.reason, RKT_END_LOST);
    assert_int_equal(source_of(run, 5)->info.role, RKT_ROLE_RANK);
    assert_int_equal(source_of(run, 5)->info.rank, 2);
    assert_true(source_of(run, 5)->end.cut_short);
    assert_int_equal(source_of(run, 3)->end.reason, RKT_END_EXITED);
}

static void others_leave_when_rank_0_is_dead_and_their_jobs_have_ended(void **state)
{
    struct run *run = *state;

    start_jobs(run);
    die(run, 0);
    run_for(run, 60 * S); /* the jobs run on */
    assert_false(run->ranks[1].has_left);
    end_job(run, 1, 0);
    end_job(run, 2, 0);
    run_for(run, 5 * S);
    for (int rank = 1; rank < RANKS; rank++) {
        assert_true(run->ranks[rank].has_left);
        assert_false(run->ranks[rank].leave.is_clean);
        assert_int_equal(run->ranks[rank].leave.value, 0);
    }
}

/* ---- capture windows ---- */

/* The capture side of a rank's job. */
struct capture {
    const char *socket;
    struct rkt_region *region;
    int fd;
    _Atomic bool has_met;
};

static void *connect_capture(void *arg)
{
    struct capture *capture = arg;
    struct rkt_welcome welcome;
    struct rkt_hello hello;

    rkt_hello_fill(&hello);
    if (rkt_hello_connect(capture->socket, &hello, &welcome, &capture->region, &capture->fd,
                          NULL) != RKT_OK)
        capture->region = NULL;
    capture->has_met = true;
    return NULL;
}

static void connect_job(struct run *run, int rank, struct capture *capture)
{
    pthread_t thread;

    *capture = (struct capture){.socket = run->ranks[rank].socket, .fd = -1};
    assert_int_equal(pthread_create(&thread, NULL, connect_capture, capture), 0);
    while (!capture->has_met)
        step(run);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(capture->region);
}

static void leave_job(struct capture *capture)
{
    rkt_region_destroy(capture->region);
    close(capture->fd);
}

/* For so long each rank is in step `rate` x seconds since the start, and a little ahead by rank. */
static void march(struct run *run, struct capture *captures, uint64_t duration_ns, uint64_t rate)
{
    for (uint64_t end_ns = run->now_ns + duration_ns; run->now_ns < end_ns; step(run)) {
        for (uint64_t rank = 0; rank < RANKS; rank++)
            rkt_region_set_step(captures[rank].region,
                                rank + (run->now_ns - 1000 * S) / MS * rate / 1000);
    }
}

static void one_toggle_is_an_order_ahead_of_all_ranks(void **state)
{
    struct run *run = *state;
    struct capture captures[RANKS];
    struct rkt_region_window_order first, order;
    uint64_t furthest;

    start_jobs(run);
    for (int rank = 0; rank < RANKS; rank++)
        connect_job(run, rank, &captures[rank]);
    march(run, captures, 4 * S, 50);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_false(rkt_region_window_order(captures[rank].region, &order));
        tell(run, rank, RKT_CONTROL_TOGGLE, 0); /* mpirun passes a signal on to every rank */
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
    tell(run, 1, RKT_CONTROL_TOGGLE, 0);
    march(run, captures, S, 50);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_true(rkt_region_window_order(captures[rank].region, &order));
        assert_true(order.is_open);
        leave_job(&captures[rank]);
    }
}

static void a_process_that_comes_late_gets_the_order_too(void **state)
{
    struct run *run = *state;
    struct capture capture;
    struct rkt_region_window_order order;

    start_jobs(run);
    tell(run, 0, RKT_CONTROL_TOGGLE, 0);
    run_for(run, 4 * S);
    connect_job(run, 2, &capture);
    assert_true(rkt_region_window_order(capture.region, &order));
    assert_false(order.is_open);
    assert_int_equal(order.from_step, 0);
    leave_job(&capture);
}

static void failed_job_ends_the_others_and_gives_its_code(void **state)
{
    struct run *run = *state;

    start_jobs(run);
    run_for(run, S);
    end_job(run, 1, 7 << 8);
    run_for(run, 6 * S);
    assert_true(run->ranks[0].has_abort);
    assert_true(run->ranks[2].has_abort);
    assert_false(run->ranks[1].has_abort);
    assert_int_equal(run->ranks[2].abort_rank, 1);
    end_job(run, 0, 15); /* as their supervisors then do */
    end_job(run, 2, 15);
    run_for(run, 8 * S);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_true(run->ranks[rank].leave.is_clean);
        assert_int_equal(run->ranks[rank].leave.value, 7);
    }
    open_store(run);
    assert_int_equal(source_of(run, 4)->end.exit_code, 7);
    assert_int_equal(source_of(run, 5)->end.signal_number, 15);
}

static void hang_up_of_a_supervisor_ends_its_rank_not_the_run(void **state)
{
    struct run *run = *state;

    start_jobs(run);
    close(run->ranks[2].control_fd);
    run->ranks[2].control_fd = -1;
    run_for(run, 8 * S);
    assert_false(run->ranks[2].has_left);
    end_job(run, 0, 0);
    end_job(run, 1, 0);
    run_for(run, 8 * S);
    for (int rank = 0; rank < RANKS; rank++)
        assert_true(run->ranks[rank].leave.is_clean);
    open_store(run);
    assert_int_equal(source_of(run, 5)->end.reason, RKT_END_UNKNOWN);
}

static void stop_closes_the_file_within_a_second(void **state)
{
    struct run *run = *state;

    start_jobs(run);
    run_for(run, 2 * S);
    rkt_aggregator_stop(run->aggregator, run->now_ns);
    run_for(run, S);
    assert_int_equal(rkt_aggregator_phase_of(run->aggregator), RKT_AGGREGATOR_DONE);
    open_store(run);
    assert_true(rkt_store_reader_health(run->reader)->has_trailer);
    for (uint32_t number = 0; number < RANKS; number++)
        assert_true(source_of(run, number)->end.cut_short);
}

/* Its records go to no file: neither are they acknowledged, nor waited for. */
static void job_that_ends_after_the_file_was_closed_is_not_held_up(void **state)
{
    struct run *run = *state;

    start_jobs(run);
    rkt_aggregator_stop(run->aggregator, run->now_ns);
    run_for(run, 2 * S);
    assert_int_equal(rkt_aggregator_phase_of(run->aggregator), RKT_AGGREGATOR_DONE);
    for (int rank = 0; rank < RANKS; rank++)
        end_job(run, rank, 0);
    run_for(run, 5 * S); /* with the clock's last word: less than silence or draining takes */
    for (int rank = 0; rank < RANKS; rank++)
        assert_true(run->ranks[rank].has_left);
}

static void every_wait_ends_on_wires_that_drop_frames(void **state)
{
    struct run *run = *state;
    struct rkt_loop_faults faults = {.drop_per_10k = 6000};

    rkt_loop_hub_set_faults(run->hub, RKT_TAG_FRAME, &faults);
    start_jobs(run);
    for (int rank = 0; rank < RANKS; rank++)
        end_job(run, rank, 0);
    run_for(run, 30 * S); /* a lost frame is never acknowledged: the drain limit ends it */
    for (int rank = 0; rank < RANKS; rank++)
        assert_true(run->ranks[rank].has_left);
    open_store(run);
    assert_true(rkt_store_reader_health(run->reader)->has_trailer);
}

static void wires_that_delay_double_and_corrupt_frames_spoil_only_those(void **state)
{
    struct run *run = *state;
    struct rkt_loop_faults faults = {
        .duplicate_per_10k = 3000, .corrupt_per_10k = 2000, .delay_ticks_max = 50};

    rkt_loop_hub_set_faults(run->hub, RKT_TAG_FRAME, &faults);
    start_jobs(run);
    for (int rank = 0; rank < RANKS; rank++)
        end_job(run, rank, 0);
    run_for(run, 30 * S);
    for (int rank = 0; rank < RANKS; rank++)
        assert_true(run->ranks[rank].has_left);
    open_store(run);
    assert_true(rkt_store_reader_health(run->reader)->has_trailer);
    assert_int_equal(rkt_store_reader_health(run->reader)->damaged_frames, 0);
}

static void rank_that_never_joins_is_described_as_lost(void **state)
{
    struct run *run = *state;

    die(run, 1);
    run_for(run, S);
    end_job(run, 0, 0);
    end_job(run, 2, 0);
    run_for(run, 15 * S);
    open_store(run);
    assert_int_equal(source_of(run, 4)->info.role, RKT_ROLE_RANK);
    assert_int_equal(source_of(run, 4)->info.rank, 1);
    assert_int_equal(source_of(run, 4)->end.reason, RKT_END_LOST);
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
    hear(&run->ranks[2]);
    assert_true(rkt_sidecar_has_left(run->ranks[2].sidecar, &run->ranks[2].leave));
    assert_true(run->ranks[2].leave.is_clean);
    assert_false(run->ranks[2].is_ready);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_run, drop_run)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(good_run_ends_with_a_whole_file_and_a_clean_leave),
        CASE(nobody_leaves_before_the_report_is_done),
        CASE(rank_that_goes_silent_is_lost_and_the_others_end),
        CASE(others_leave_when_rank_0_is_dead_and_their_jobs_have_ended),
        CASE(one_toggle_is_an_order_ahead_of_all_ranks),
        CASE(a_process_that_comes_late_gets_the_order_too),
        CASE(failed_job_ends_the_others_and_gives_its_code),
        CASE(hang_up_of_a_supervisor_ends_its_rank_not_the_run),
        CASE(stop_closes_the_file_within_a_second),
        CASE(job_that_ends_after_the_file_was_closed_is_not_held_up),
        CASE(every_wait_ends_on_wires_that_drop_frames),
        CASE(wires_that_delay_double_and_corrupt_frames_spoil_only_those),
        CASE(rank_that_never_joins_is_described_as_lost),
        CASE(refusal_lets_every_sidecar_leave_before_its_job_is_traced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
