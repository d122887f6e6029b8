/* SPDX-License-Identifier: Apache-2.0 */
#include "loop_run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/hello.h"
#include "rkt_test.h"

static struct rkt_node_id node_of(int rank)
{
    struct rkt_node_id node = {.time_namespace = 1};

    (void)snprintf(node.host, sizeof(node.host), "node-%d", rank / 2);
    (void)snprintf(node.boot_id, sizeof(node.boot_id), "boot-%d", rank / 2);
    return node;
}

static void make_rank(struct run *run, int number)
{
    struct run_rank *rank = &run->ranks[number];
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

struct run *run_create(int rank_count, const int *leaders, bool is_sharded)
{
    struct run *run = calloc(1, sizeof(*run));
    struct rkt_run_info info = {.producer = RKT_PRODUCER_CAPTURE,
                                .rank_count = (uint32_t)rank_count,
                                .run_id = 0x1234567890abcdef};
    struct rkt_aggregator_config config = {.run = &info,
                                           .master_host = "node-0",
                                           .master_port = 4242,
                                           .is_abort_on_failure = true,
                                           .leaders = leaders,
                                           .is_sharded = is_sharded};
    struct rkt_error err = {0};

    assert_in_range(rank_count, 1, RUN_RANKS_MAX);
    run->rank_count = rank_count;
    run->now_ns = 1000 * S;
    run->round_ns = MS;
    (void)snprintf(run->folder, sizeof(run->folder), "/tmp/rkt_run_test.XXXXXX");
    assert_non_null(mkdtemp(run->folder));
    (void)snprintf(run->store_path, sizeof(run->store_path), "%s/timeline.rkt", run->folder);
    assert_rkt_ok(rkt_loop_hub_create(rank_count, 5, &run->hub, &err), err);
    config.transport = rkt_loop_hub_transport(run->hub, 0);
    config.store_path = run->store_path;
    config.node = node_of(0);
    assert_rkt_ok(rkt_aggregator_create(&config, run->now_ns, &run->aggregator, &err), err);
    for (int rank = 0; rank < rank_count; rank++)
        make_rank(run, rank);
    return run;
}

void run_destroy(struct run *run)
{
    for (int number = 0; number < run->rank_count; number++) {
        struct run_rank *rank = &run->ranks[number];

        rkt_sidecar_destroy(rank->sidecar);
        rkt_relay_destroy(rank->relay);
        close(rank->listen_fd);
        close(rank->sidecar_fd);
        if (rank->control_fd >= 0)
            close(rank->control_fd);
        (void)unlink(rank->socket);
        if (rank->shard_path[0])
            (void)unlink(rank->shard_path);
    }
    rkt_store_reader_close(run->reader);
    rkt_aggregator_destroy(run->aggregator);
    rkt_loop_hub_destroy(run->hub);
    (void)unlink(run->store_path);
    (void)rmdir(run->folder);
    free(run);
}

void run_hear(struct run_rank *rank)
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

static void make_relay(struct run *run, int number, const struct rkt_sidecar_lead *lead)
{
    const struct rkt_run_info info = {.producer = RKT_PRODUCER_CAPTURE,
                                      .rank_count = (uint32_t)run->rank_count,
                                      .run_id = lead->run_id,
                                      .is_part = true};
    struct rkt_relay_config config = {.transport = rkt_loop_hub_transport(run->hub, number),
                                      .shard_run = &info};
    struct run_rank *rank = &run->ranks[number];
    char name[RKT_SHARD_FILE_BYTES];
    struct rkt_error err = {0};

    if (lead->has_shard) {
        rkt_shard_file_name(lead->run_id, lead->rank, name);
        (void)snprintf(rank->shard_path, sizeof(rank->shard_path), "%s/%s",
                       run->shard_folder ? run->shard_folder : run->folder, name);
        config.shard_path = rank->shard_path;
    }
    assert_rkt_ok(rkt_relay_create(&config, &rank->relay, &err), err);
}

static void step_rank(struct run *run, int number)
{
    struct run_rank *rank = &run->ranks[number];
    struct rkt_activity activity = {0};
    struct rkt_sidecar_lead lead;

    rkt_sidecar_step(rank->sidecar, run->now_ns, &activity);
    rank->has_left = rkt_sidecar_has_left(rank->sidecar, &rank->leave);
    run_hear(rank);
    if (!rank->relay && rkt_sidecar_is_leader(rank->sidecar, &lead))
        make_relay(run, number, &lead);
    if (rank->relay && !rank->has_left)
        (void)rkt_relay_step(rank->relay, run->now_ns);
}

void run_step(struct run *run)
{
    for (int number = 0; number < run->rank_count; number++) {
        if (!run->ranks[number].is_dead && !run->ranks[number].is_stopped)
            step_rank(run, number);
    }
    if (!run->ranks[0].is_dead && !run->ranks[0].is_stopped) {
        (void)rkt_aggregator_step(run->aggregator, run->now_ns);
        if (rkt_aggregator_phase_of(run->aggregator) == RKT_AGGREGATOR_CLOSED &&
            !run->is_report_held)
            rkt_aggregator_release(run->aggregator, run->now_ns);
    }
    rkt_loop_hub_tick(run->hub);
    run->now_ns += run->round_ns;
}

void run_for(struct run *run, uint64_t duration_ns)
{
    for (uint64_t end_ns = run->now_ns + duration_ns; run->now_ns < end_ns;)
        run_step(run);
}

void run_tell(struct run *run, int rank, enum rkt_control_type type, int value)
{
    assert_int_equal(rkt_control_send(run->ranks[rank].control_fd, type, value, NULL, NULL),
                     RKT_OK);
}

void run_start_jobs(struct run *run)
{
    run_for(run, S);
    for (int rank = 0; rank < run->rank_count; rank++) {
        assert_true(run->ranks[rank].is_ready);
        run_tell(run, rank, RKT_CONTROL_JOB_STARTED, 100 + rank);
    }
}

void run_end_job(struct run *run, int rank, int wait_status)
{
    run_tell(run, rank, RKT_CONTROL_JOB_ENDED, wait_status);
}

void run_die(struct run *run, int rank)
{
    rkt_loop_hub_silence(run->hub, rank);
    run->ranks[rank].is_dead = true;
}

void run_open_store(struct run *run)
{
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_store_reader_open(run->store_path, &run->reader, &err), err);
}

const struct rkt_store_source *run_source(struct run *run, uint32_t number)
{
    for (size_t i = 0; i < rkt_store_reader_source_count(run->reader); i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(run->reader, i);

        if (source->info.source == number)
            return source;
    }
    fail_msg("no source %u", number);
    return NULL;
}

static void *connect_capture(void *arg)
{
    struct run_capture *capture = arg;
    struct rkt_welcome welcome;
    struct rkt_hello hello;

    rkt_hello_fill(&hello);
    if (rkt_hello_connect(capture->socket, &hello, &welcome, &capture->region, &capture->fd,
                          NULL) != RKT_OK)
        capture->region = NULL;
    capture->has_met = true;
    return NULL;
}

void run_connect_job(struct run *run, int rank, struct run_capture *capture)
{
    pthread_t thread;

    *capture = (struct run_capture){.socket = run->ranks[rank].socket, .fd = -1};
    assert_int_equal(pthread_create(&thread, NULL, connect_capture, capture), 0);
    while (!capture->has_met)
        run_step(run);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(capture->region);
}

void run_leave_job(struct run_capture *capture)
{
    rkt_region_destroy(capture->region);
    close(capture->fd);
}
