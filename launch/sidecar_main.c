/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two programs: ranktrace-sidecar, a run of one process without MPI, and ranktrace-sidecar-mpi
 * (RKT_SIDECAR_MPI), which is the same over MPI. On rank 0 the aggregator runs in the same loop.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/control.h"
#include "agent/hello.h"
#include "agent/sidecar/pace.h"
#include "agent/sidecar/sidecar.h"
#include "agent/sidecar/spool.h"
#include "aggregator/aggregator.h"
#include "aggregator/clock_answer.h"
#include "aggregator/relay.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/node_id.h"
#include "common/store_beside.h"
#include "common/transport.h"
#include "launch/free_port.h"
#include "launch/own_address.h"
#include "launch/rank_env.h"
#include "launch/sidecar_options.h"
#include "launch/step_limit.h"

#define SIDECAR_NICE 10
#define STEP_CPU_NS_MAX (UINT64_C(5) * 1000000000) /* a step takes milliseconds */
#define REPORT_LIMIT_NS (UINT64_C(600) * 1000000000)
#define REFUSE_LIMIT_NS (UINT64_C(2) * 1000000000)

struct program {
    struct rkt_sidecar_options options;
    struct rkt_node_id node;
    struct rkt_hello environment; /* rank and world size, as the launcher says */
    struct rkt_transport *transport;
    int listen_fd;
    char store_path[4096];
    char spool_base[4096];           /* "": none */
    char address[RKT_ADDRESS_BYTES]; /* rank 0: its host's */
    struct rkt_run_info run;
    struct rkt_sidecar *sidecar;
    struct rkt_aggregator *aggregator; /* rank 0 */
    struct rkt_relay *relay;           /* leaders of groups */
    struct rkt_clock_answer *clocks;   /* clock parents */
    struct rkt_pace pace;
    bool has_no_relay; /* there should be one, and cannot */
    bool has_said_closed;
    uint64_t closed_ns;
};

static enum rkt_status create_transport(struct rkt_transport **out, struct rkt_error *err)
{
#ifdef RKT_SIDECAR_MPI
    return rkt_transport_mpi_create(out, err);
#else
    return rkt_transport_local_create(out, err);
#endif
}

static int job_rank(const struct program *program)
{
    if (program->options.per_node)
        return -1;
    return program->environment.rank >= 0 ? program->environment.rank
                                          : rkt_transport_rank(program->transport);
}

/* Never 0, which is unknown. */
static uint64_t random_id(void)
{
    uint64_t id = 0;

    if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id) || id == 0)
        id = rkt_now_real_ns();
    return id;
}

static void describe_run(struct program *program)
{
    struct rkt_run_info *run = &program->run;
    int world_size = program->environment.world_size;

    *run = (struct rkt_run_info){.producer = RKT_PRODUCER_CAPTURE,
                                 .reference_clock = RKT_CLOCK_MONOTONIC_RAW,
                                 .start_realtime_ns = rkt_now_real_ns(),
                                 .run_id = random_id()};
    if (!program->options.per_node)
        run->rank_count = (uint32_t)rkt_transport_size(program->transport);
    else if (world_size > rkt_transport_size(program->transport))
        run->rank_count = (uint32_t)world_size;
    (void)snprintf(run->version, sizeof(run->version), "%s", RKT_VERSION);
    (void)snprintf(run->command, sizeof(run->command), "%s", program->options.command);
    (void)snprintf(run->host, sizeof(run->host), "%s", program->node.host);
}

/* NULL: rank 0 leads all, or memory is out. The caller's, free(). */
static int *make_groups(const struct program *program, bool *is_sharded_out)
{
    int *leaders = calloc((size_t)rkt_transport_size(program->transport), sizeof(*leaders));

    if (leaders &&
        !rkt_fan_in_groups(&program->options.groups, program->transport, leaders, is_sharded_out)) {
        free(leaders);
        leaders = NULL;
    }
    return leaders;
}

static enum rkt_status create_aggregator(struct program *program, struct rkt_error *err)
{
    enum rkt_status status;
    int *leaders;
    bool is_alone = rkt_transport_size(program->transport) == 1;
    bool has_address = !is_alone && rkt_own_address_find(program->address);
    struct rkt_aggregator_config config = {
        .transport = program->transport,
        .store_path = program->store_path,
        .run = &program->run,
        .node = program->node,
        .master_host = is_alone ? "127.0.0.1" : program->node.host,
        .master_address = has_address ? program->address : NULL,
        .master_port = rkt_free_port_find((uint64_t)getpid() ^ rkt_now_raw_ns()),
        .is_per_node = program->options.per_node,
        .is_abort_on_failure = program->options.is_abort_on_failure,
        .needs_sync = program->options.needs_sync,
        .clock_star_max = program->options.clock_star,
        .window_delay_ns = program->options.window_plan.delay_ns,
        .window_duration_ns = program->options.window_plan.duration_ns,
    };

    if (rkt_transport_rank(program->transport) != 0)
        return RKT_OK;
    if (snprintf(program->store_path, sizeof(program->store_path), "%s/timeline.rkt",
                 program->options.output) >= (int)sizeof(program->store_path))
        return rkt_fail(err, RKT_ERR_INVALID, "the path of the output folder is too long");
    leaders = make_groups(program, &config.is_sharded);
    config.leaders = leaders;
    status = rkt_aggregator_create(&config, rkt_now_raw_ns(), &program->aggregator, err);
    free(leaders);
    return status;
}

/* A folder of this node: the output folder need not be there on every one. */
static const char *spool_dir(const struct rkt_sidecar_options *options)
{
    const char *temporary = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): one thread */

    if (options->spool_dir)
        return options->spool_dir;
    if (access(options->output, W_OK | X_OK) == 0)
        return options->output;
    return temporary && *temporary ? temporary : "/tmp";
}

/* Without room for the name there is no spool: that loses frames only where rank 0 is slow. */
static void name_spool(struct program *program)
{
    int len;

    if (program->options.spool_bytes == 0)
        return;
    len = snprintf(program->spool_base, sizeof(program->spool_base), "%s/" RKT_SPOOL_PREFIX "%d-%d",
                   spool_dir(&program->options), rkt_transport_rank(program->transport),
                   (int)getpid());
    if (len < 0 || (size_t)len >= sizeof(program->spool_base))
        program->spool_base[0] = '\0';
}

static enum rkt_status create_sidecar(struct program *program, struct rkt_error *err)
{
    struct rkt_sidecar_config config = {
        .transport = program->transport,
        .control_fd = (int)program->options.control_fd,
        .listen_fd = program->listen_fd,
        .region = program->options.region,
        .capture = program->options.capture_config,
        .job_rank = job_rank(program),
        .is_per_node = program->options.per_node,
        .drain_timeout_ns = program->options.drain_timeout_ns,
        .flush_interval_ns = program->options.flush_interval_ns,
        .send = {.memory_bytes = program->options.queue_bytes,
                 .spool_base = program->spool_base[0] ? program->spool_base : NULL,
                 .spool_bytes = program->options.spool_bytes},
        .gpu_interval_ns = program->options.gpu_interval_ns,
        .ptp_bound_ns = program->options.ptp_bound_ns,
        .node = program->node,
    };

    return rkt_sidecar_create(&config, rkt_now_raw_ns(), &program->sidecar, err);
}

/* The others wait for a WELCOME: they get the reason instead. */
static void refuse_all(struct program *program, const struct rkt_error *err)
{
    uint64_t limit_ns = rkt_now_raw_ns() + REFUSE_LIMIT_NS;

    rkt_aggregator_refuse_all(program->transport, err);
    while (rkt_transport_progress(program->transport) && rkt_now_raw_ns() < limit_ns)
        usleep(RKT_PACE_MIN_NS / 1000);
}

/* Started by the mpiexec of another MPI, each sidecar would be rank 0 of a world of its own. */
static enum rkt_status check_world(struct program *program, struct rkt_error *err)
{
    struct rkt_rank_env ranks;
    enum rkt_status status = rkt_rank_env_read(environ, &ranks, err);

    if (status != RKT_OK || ranks.rank_count <= 1 || rkt_transport_size(program->transport) > 1)
        return status;
    return rkt_fail(
        err, RKT_ERR_MPI,
        "%s started %d processes, but MPI finds only this one: use the mpirun of the MPI "
        "that ranktrace was built with",
        ranks.launcher, ranks.rank_count);
}

static enum rkt_status create(struct program *program, bool *has_refused, struct rkt_error *err)
{
    enum rkt_status status;

    /* Inside MPI_Init nobody sees that the supervisor is gone; and there is nothing to keep. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* First, whatever else fails here: the other ranks wait in MPI_Init for this one. */
    status = create_transport(&program->transport, err);
    (void)prctl(PR_SET_PDEATHSIG, 0);
    if (!program->transport)
        return status;
    /* From here on beside the job; until here it waits for us, and MPI_Init may not starve. */
    (void)nice(SIDECAR_NICE);
    rkt_log_init(rkt_transport_rank(program->transport));
    status = rkt_step_limit_open(err);
    if (status == RKT_OK)
        status = check_world(program, err);
    if (status != RKT_OK)
        return status;
    describe_run(program);
    name_spool(program);
    status = create_aggregator(program, err);
    if (status == RKT_OK)
        status = rkt_hello_listen(program->options.socket, &program->listen_fd, err);
    if (status == RKT_OK)
        status = create_sidecar(program, err);
    *has_refused = status != RKT_OK && rkt_transport_rank(program->transport) == 0;
    if (*has_refused)
        refuse_all(program, err);
    return status;
}

/* The end of the file, the report, and that all may leave. */
static void step_end(struct program *program, uint64_t now_ns)
{
    bool is_alone = rkt_transport_size(program->transport) == 1;

    /* Alone there is no mpirun that would kill: the job ends as it likes. */
    if (!is_alone && rkt_sidecar_is_stopping(program->sidecar))
        rkt_aggregator_stop(program->aggregator, now_ns);
    if (rkt_aggregator_phase_of(program->aggregator) != RKT_AGGREGATOR_CLOSED)
        return;
    if (!program->has_said_closed) {
        program->has_said_closed = true;
        program->closed_ns = now_ns;
        (void)rkt_control_send((int)program->options.control_fd, RKT_CONTROL_STORE_CLOSED,
                               !rkt_aggregator_is_file_whole(program->aggregator),
                               program->store_path, NULL);
    }
    if (rkt_sidecar_is_report_done(program->sidecar) ||
        now_ns - program->closed_ns > REPORT_LIMIT_NS)
        rkt_aggregator_release(program->aggregator, now_ns);
}

/* A path that is too long is as one that cannot be opened: the relay says so, and passes on. */
static enum rkt_status create_relay(struct program *program, const struct rkt_sidecar_lead *lead,
                                    struct rkt_error *err)
{
    struct rkt_relay_config config = {.transport = program->transport,
                                      .shard_run = &program->run,
                                      .needs_sync = program->options.needs_sync};
    char name[RKT_SHARD_FILE_BYTES];
    char path[sizeof(program->store_path)];

    if (lead->has_shard) {
        program->run.run_id = lead->run_id;
        program->run.is_part = true;
        rkt_shard_file_name(lead->run_id, lead->rank, name);
        (void)snprintf(path, sizeof(path), "%s/%s", program->options.output, name);
        config.shard_path = path;
    }
    return rkt_relay_create(&config, &program->relay, err);
}

/* Where there can be no relay its members hear nothing of it, and send to rank 0 after a while. */
static bool step_relay(struct program *program, uint64_t now_ns)
{
    struct rkt_sidecar_lead lead;
    struct rkt_error err = {0};

    if (!program->relay && !program->has_no_relay &&
        rkt_sidecar_is_leader(program->sidecar, &lead) &&
        create_relay(program, &lead, &err) != RKT_OK) {
        program->has_no_relay = true;
        rkt_log(RKT_LOG_ERROR, "sidecar", "cannot lead its group", "reason=\"%s\"", err.text);
    }
    return program->relay && rkt_relay_step(program->relay, now_ns);
}

static uint64_t read_raw(void *ctx)
{
    (void)ctx;
    return rkt_now_raw_ns();
}

/* Where memory is out its children hear nothing, and measure against rank 0 after a while. */
static bool step_clocks(struct program *program)
{
    struct rkt_error err = {0};

    if (!program->clocks && rkt_sidecar_is_clock_parent(program->sidecar) &&
        rkt_clock_answer_create(program->transport, read_raw, NULL, &program->clocks, &err) !=
            RKT_OK)
        return false;
    return program->clocks && rkt_clock_answer_step(program->clocks, &err);
}

static bool is_done(const struct program *program, struct rkt_sidecar_leave *leave_out)
{
    return rkt_sidecar_has_left(program->sidecar, leave_out) &&
           (!program->aggregator ||
            rkt_aggregator_phase_of(program->aggregator) == RKT_AGGREGATOR_DONE);
}

static struct rkt_sidecar_leave loop(struct program *program)
{
    struct rkt_sidecar_leave leave = {0};

    while (!is_done(program, &leave)) {
        struct rkt_activity activity = {0};
        uint64_t now_ns = rkt_now_raw_ns();
        uint64_t sleep_ns;

        rkt_step_limit_begin(STEP_CPU_NS_MAX);
        rkt_sidecar_step(program->sidecar, now_ns, &activity);
        activity.wants_soon |= step_relay(program, now_ns);
        activity.wants_soon |= step_clocks(program);
        if (program->aggregator) {
            activity.wants_now |= rkt_aggregator_step(program->aggregator, now_ns);
            step_end(program, now_ns);
        }
        sleep_ns = rkt_pace_next_ns(&program->pace, &activity);
        if (sleep_ns > 0)
            rkt_sidecar_wait(program->sidecar, sleep_ns);
    }
    rkt_step_limit_begin(0); /* MPI_Finalize has a limit of its own */
    return leave;
}

static void destroy(struct program *program, bool is_clean)
{
    rkt_sidecar_destroy(program->sidecar);
    rkt_relay_destroy(program->relay);
    rkt_clock_answer_destroy(program->clocks);
    rkt_aggregator_destroy(program->aggregator);
    rkt_transport_destroy(program->transport, is_clean);
    if (program->listen_fd >= 0) { /* else the socket there is another's */
        close(program->listen_fd);
        (void)unlink(program->options.socket);
    }
}

int main(int argc, char **argv)
{
    static struct program program = {.listen_fd = -1};
    struct rkt_sidecar_leave leave;
    struct rkt_error err = {0};
    bool has_refused = false; /* then all leave, and MPI_Finalize is safe */
    enum rkt_status status;

    rkt_log_init(-1);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file size limit is as a full disk: said, survived */
    status = rkt_sidecar_options_parse(argc, argv, &program.options, &err);
    if (status == RKT_END)
        return 0;
    if (status != RKT_OK) {
        (void)fprintf(stderr, "ranktrace-sidecar: %s\n", err.text);
        return 2;
    }
    rkt_node_id_read(&program.node);
    rkt_hello_fill(&program.environment);
    status = create(&program, &has_refused, &err);
    if (status != RKT_OK) {
        rkt_log(RKT_LOG_ERROR, "sidecar", "cannot start", "reason=\"%s\"", err.text);
        destroy(&program, has_refused);
        return 1;
    }
    leave = loop(&program);
    (void)rkt_control_send((int)program.options.control_fd, RKT_CONTROL_DONE, leave.value, "",
                           NULL);
    destroy(&program, leave.is_clean);
    return leave.is_clean ? 0 : 1;
}
