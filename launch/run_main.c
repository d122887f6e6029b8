/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace-run - starts a training job with its sidecar: options, checks, then supervisor.h.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/sidecar/clock_claim.h"
#include "common/log.h"
#include "common/options.h"
#include "launch/capture_options.h"
#include "launch/fan_in.h"
#include "launch/install.h"
#include "launch/run_check.h"
#include "launch/supervisor.h"
#include "launch/window_options.h"

#define COMMAND_BYTES 4096

struct run_options {
    const char *output;
    const char *on_failure;
    uint64_t hold_ns;
    uint64_t drain_timeout_ns;
    uint64_t report_timeout_ns;
    uint64_t kill_after_ns;
    struct rkt_capture_options asked;
    struct rkt_window_options when;
    const char *on_usr2;
    const char *fan_in;
    const char *store;
    uint64_t ptp_bound_ns;
    uint64_t spool_bytes;
    const char *spool_dir;
    bool needs_sync;
    bool is_per_node;
    bool has_no_report;
    bool has_no_sync_lines;
    bool is_verbose;
};

#define FIELD(name) offsetof(struct run_options, name)

static const struct rkt_option OPTIONS[] = {
    {"output", 'o', "RANKTRACE_OUTPUT", RKT_OPTION_STRING, FIELD(output), "DIR", "ranktrace-out",
     "where timeline and report go"},
    {"per-node", 0, "RANKTRACE_PER_NODE", RKT_OPTION_FLAG, FIELD(is_per_node), NULL, NULL,
     "the command starts the ranks of a node itself (implied by torchrun)"},
    {"on-failure", 0, "RANKTRACE_ON_FAILURE", RKT_OPTION_STRING, FIELD(on_failure), "WHAT", "abort",
     "when one rank's job fails: abort ends the others', wait lets them run"},
    RKT_CAPTURE_OPTION_ROWS(struct run_options),
    RKT_WINDOW_OPTION_ROWS(struct run_options),
    {"on-usr2", 0, "RANKTRACE_ON_USR2", RKT_OPTION_STRING, FIELD(on_usr2), "WHAT", "auto",
     "SIGUSR2: toggle recording on all ranks, forward it to the job, or auto: forward where the "
     "job catches it"},
    {"spool", 0, "RANKTRACE_SPOOL", RKT_OPTION_BYTES, FIELD(spool_bytes), "SIZE", "1GiB",
     "what may wait for rank 0 on each node's disk; then events are dropped; 0: nothing"},
    {"spool-dir", 0, "RANKTRACE_SPOOL_DIR", RKT_OPTION_STRING, FIELD(spool_dir), "DIR", NULL,
     "where it waits (default: the output folder, or TMPDIR on nodes without)"},
    {"fsync", 0, "RANKTRACE_FSYNC", RKT_OPTION_FLAG, FIELD(needs_sync), NULL, NULL,
     "what rank 0 has taken survives a power loss; waits for its disk"},
    {"fan-in", 0, "RANKTRACE_FAN_IN", RKT_OPTION_STRING, FIELD(fan_in), "HOW", "auto",
     "way of the records to rank 0: star, from every rank; tree, by one rank of each node; tree:K, "
     "by "
     "every K-th rank; auto: tree from 65 nodes on"},
    {"store", 0, "RANKTRACE_STORE", RKT_OPTION_STRING, FIELD(store), "HOW", "auto",
     "single: one timeline, written by rank 0; sharded: a file per node beside it, where all nodes "
     "share "
     "the output folder; auto: sharded from 65 nodes on"},
    {"ptp-bound", 0, "RANKTRACE_PTP_BOUND", RKT_OPTION_DURATION, FIELD(ptp_bound_ns), "TIME", "0s",
     "where PTP steers the system clocks: how far each is from true time at most, by your word; "
     "narrows the clocks' bounds, which then rest on it (at most 100us; 0s: nothing is known)"},
    {"no-report", 0, "RANKTRACE_NO_REPORT", RKT_OPTION_FLAG, FIELD(has_no_report), NULL, NULL,
     "stop after the timeline"},
    {"hold", 0, "RANKTRACE_HOLD", RKT_OPTION_DURATION, FIELD(hold_ns), "TIME", "30s",
     "longest wait for the sidecar; then the job runs untraced"},
    {"drain-timeout", 0, "RANKTRACE_DRAIN_TIMEOUT", RKT_OPTION_DURATION, FIELD(drain_timeout_ns),
     "TIME", "60s", "longest time to collect what is left when the job has ended"},
    {"report-timeout", 0, "RANKTRACE_REPORT_TIMEOUT", RKT_OPTION_DURATION, FIELD(report_timeout_ns),
     "TIME", "10min", "longest time that making the report may take"},
    {"kill-after", 0, "RANKTRACE_KILL_AFTER", RKT_OPTION_DURATION, FIELD(kill_after_ns), "TIME",
     "10s", "from SIGTERM to SIGKILL for a job that is ended because another failed"},
    {"no-sync-lines", 0, NULL, RKT_OPTION_FLAG, FIELD(has_no_sync_lines), NULL, NULL,
     "do not look for the Python lines that wait for the GPU (RANKTRACE_SYNC_LINES=0)"},
    {"verbose", 'v', NULL, RKT_OPTION_FLAG, FIELD(is_verbose), NULL, NULL,
     "say what is going on (RANKTRACE_LOG=info)"},
};

static const struct rkt_command COMMAND = {
    .name = "run",
    .usage = "[mpirun ...] ranktrace run [options] [--] COMMAND [ARGS...]",
    .summary = "Run a training job and trace all its ranks.",
    .details =
        "One job per rank:   mpirun -np 8 ranktrace run -- python train.py\n"
        "One job per node:   mpirun -np 2 --map-by ppr:1:node ranktrace run -- torchrun ...\n"
        "One node, no MPI:   ranktrace run -- torchrun --nproc_per_node=8 train.py\n"
        "\n"
        "The exit code is the job's own when it failed (128 + N when signal N ended it),\n"
        "1 when it could not be started, 2 for wrong use or a command that is not there.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .takes_command = true,
};

/* Variables that other parts read, besides those of OPTIONS. */
static const char *const OTHER_VARIABLES[] = {
    "RANKTRACE_LOG",         "RANKTRACE_SOCKET",
    "RANKTRACE_LIBRARY",     "RANKTRACE_RANK",
    "RANKTRACE_WORLD_SIZE",  "RANKTRACE_LOCAL_RANK",
    "RANKTRACE_TORCH_HOOK",  "RANKTRACE_BUCKETS",
    "RANKTRACE_COMMAND",     "RANKTRACE_FLUSH_INTERVAL",
    "RANKTRACE_CLOCK_STAR",  "RANKTRACE_QUEUE_BYTES",
    "RANKTRACE_RING_COUNT",  "RANKTRACE_RING_CAPACITY",
    "RANKTRACE_HEAP_BYTES",  "RANKTRACE_SYNC_LINES",
    "RANKTRACE_COMM_KERNEL",
};
#define OPTION_COUNT (sizeof(OPTIONS) / sizeof(OPTIONS[0]))
#define OTHER_COUNT (sizeof(OTHER_VARIABLES) / sizeof(OTHER_VARIABLES[0]))

/* Paths of what is beside us; the configuration points into this. */
struct parts {
    struct rkt_install install;
    char sidecar[PATH_MAX];
    char report[PATH_MAX];
    char leave[PATH_MAX];
    char capture[PATH_MAX];
    char torch_hook[PATH_MAX];
};

static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static void warn_unknown(void)
{
    const char *known[OPTION_COUNT + OTHER_COUNT];
    size_t count = 0;

    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (OPTIONS[i].env)
            known[count++] = OPTIONS[i].env;
    }
    for (size_t i = 0; i < OTHER_COUNT; i++)
        known[count++] = OTHER_VARIABLES[i];
    rkt_options_check_environment(known, count);
}

/* "python train.py", for the report; cut where it is too long. */
static void join_command(char *const *command, char *text, size_t text_bytes)
{
    size_t used = 0;

    *text = '\0';
    for (; *command && used < text_bytes; command++) {
        int len = snprintf(text + used, text_bytes - used, "%s%s", used > 0 ? " " : "", *command);

        used += len > 0 ? (size_t)len : 0;
    }
}

static void warn_taken(char *const *env, const char *name)
{
    const char *value = rkt_env_get(env, name);

    if (value)
        rkt_log(RKT_LOG_WARN, "run", "set already, so that other tool captures, ranktrace does not",
                "variable=%s value=\"%s\"", name, value);
}

static enum rkt_status find_parts(bool needs_mpi, struct parts *parts,
                                  struct rkt_supervisor_config *config, struct rkt_error *err)
{
    const char *sidecar = needs_mpi ? "ranktrace-sidecar-mpi" : "ranktrace-sidecar";
    const struct rkt_install *install = &parts->install;
    struct rkt_job_env_plan *plan = &config->job.plan;
    enum rkt_status status = rkt_install_locate(&parts->install, err);

    if (status != RKT_OK)
        return status;
    if (!rkt_install_program(install, sidecar, parts->sidecar))
        return rkt_fail(err, RKT_ERR_INVALID, "%s is not part of this build%s", sidecar,
                        needs_mpi ? ": runs of several ranks need one with MPI" : "");
    config->sidecar.program = parts->sidecar;
    if (rkt_install_program(install, "ranktrace-report", parts->report))
        config->report_program = parts->report;
    if (rkt_install_program(install, "ranktrace-leave", parts->leave))
        config->leave_program = parts->leave;
    if (rkt_install_library(install, "libranktrace.so", parts->capture))
        plan->capture_library = parts->capture;
    else
        rkt_log(RKT_LOG_WARN, "run", "libranktrace.so is missing: nothing of the GPU is captured",
                "prefix=\"%s\"", install->prefix);
    if (rkt_install_share(install, "torch_hook", parts->torch_hook))
        plan->torch_hook_dir = parts->torch_hook;
    return RKT_OK;
}

static enum rkt_status prepare_output(const char *dir, struct rkt_error *err)
{
    char moved_to[PATH_MAX];
    enum rkt_status status = rkt_check_output(dir, err);

    if (status == RKT_OK)
        status = rkt_set_earlier_aside(dir, moved_to, err);
    if (status == RKT_OK && *moved_to)
        rkt_log(RKT_LOG_WARN, "run", "an earlier run's timeline was renamed", "file=\"%s\"",
                moved_to);
    return status;
}

static enum rkt_status read_on_usr2(const char *text, enum rkt_on_usr2 *on_usr2_out,
                                    struct rkt_error *err)
{
    static const char *const NAMES[] = {
        [RKT_ON_USR2_AUTO] = "auto",
        [RKT_ON_USR2_TOGGLE] = "toggle",
        [RKT_ON_USR2_FORWARD] = "forward",
    };

    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (strcmp(text, NAMES[i]) == 0) {
            *on_usr2_out = (enum rkt_on_usr2)i;
            return RKT_OK;
        }
    }
    return rkt_fail_value(err, "on-usr2", text, "'%s' is not auto, toggle or forward", text);
}

/* The rest is wrong use by the command line or by the way of starting. */
static enum rkt_status check(const struct run_options *options, char *const *command,
                             const struct rkt_rank_env *ranks, bool *needs_mpi_out,
                             struct rkt_supervisor_config *config, struct rkt_error *err)
{
    struct rkt_capture_config capture;
    struct rkt_window_plan windows;
    struct rkt_fan_in fan_in;
    uint64_t gpu_interval_ns;
    enum rkt_status status;

    if (!command[0])
        return rkt_fail(err, RKT_ERR_INVALID, "no command is given: see 'ranktrace run --help'");
    if (strcmp(options->on_failure, "abort") != 0 && strcmp(options->on_failure, "wait") != 0)
        return rkt_fail_value(err, "on-failure", options->on_failure, "'%s' is not abort or wait",
                              options->on_failure);
    status = rkt_capture_options_read(&options->asked, &capture, err);
    if (status == RKT_OK)
        status = rkt_window_options_read(&options->when, &capture, &windows, err);
    if (status == RKT_OK)
        status = rkt_capture_options_gpu_interval(&options->asked, &gpu_interval_ns, err);
    if (status == RKT_OK)
        status = read_on_usr2(options->on_usr2, &config->on_usr2, err);
    if (status == RKT_OK)
        status = rkt_fan_in_read(options->fan_in, options->store, &fan_in, err);
    if (status == RKT_OK && options->ptp_bound_ns > RKT_CLOCK_CLAIM_BOUND_NS_MAX)
        status = rkt_fail(err, RKT_ERR_INVALID, "option '--ptp-bound': more than 100us");
    if (status != RKT_OK)
        return status;
    config->job.plan.has_no_nvtx = !(capture.mask & RKT_CAPTURE_NVTX);
    config->job.plan.has_no_sync_lines = options->has_no_sync_lines;
    status = rkt_check_command(command[0], rkt_env_get(environ, "PATH"), err);
    if (status == RKT_OK)
        status = rkt_check_launch(environ, ranks, needs_mpi_out, err);
    if (status == RKT_OK && ranks->rank <= 0)
        status = prepare_output(options->output, err);
    return status;
}

/* What the job inherits, before we change anything for our own programs. NULL: no memory. */
static char **copy_environment(void)
{
    size_t count = 0;
    char **copy;

    while (environ[count])
        count++;
    copy = calloc(count + 1, sizeof(*copy));
    if (copy)
        memcpy(copy, environ, count * sizeof(*copy));
    return copy;
}

/* Like the others of these, by the sidecar's environment. */
static bool export_storage(const struct run_options *options)
{
    char bytes[32], bound[32];

    (void)snprintf(bound, sizeof(bound), "%lluns", (unsigned long long)options->ptp_bound_ns);
    (void)snprintf(bytes, sizeof(bytes), "%lluB", (unsigned long long)options->spool_bytes);
    /* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
    return setenv("RANKTRACE_SPOOL", bytes, 1) == 0 &&
           setenv("RANKTRACE_FSYNC", options->needs_sync ? "1" : "0", 1) == 0 &&
           setenv("RANKTRACE_PTP_BOUND", bound, 1) == 0 &&
           setenv("RANKTRACE_FAN_IN", options->fan_in, 1) == 0 &&
           setenv("RANKTRACE_STORE", options->store, 1) == 0 &&
           (!options->spool_dir || setenv("RANKTRACE_SPOOL_DIR", options->spool_dir, 1) == 0);
    /* NOLINTEND(concurrency-mt-unsafe) */
}

/* For the sidecar alone; the job's environment is a copy from before. */
static enum rkt_status export_to_sidecar(const struct run_options *options, struct rkt_error *err)
{
    if (rkt_capture_options_export(&options->asked) && rkt_window_options_export(&options->when) &&
        export_storage(options))
        return RKT_OK;
    return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the sidecar's environment");
}

/* `env` is what the job inherits. */
static enum rkt_status run(const struct run_options *options, char *const *command, char **env,
                           const struct rkt_rank_env *ranks, int *exit_code_out,
                           struct rkt_error *err)
{
    char command_text[COMMAND_BYTES];
    struct rkt_supervisor_config config = {
        .job = {.command = command,
                .env = env,
                .hold_ns = options->hold_ns,
                .has_own_group = ranks->launcher || !has_terminal(),
                .plan = {.ranks = ranks}},
        .sidecar = {.output = options->output,
                    .command = command_text,
                    .on_failure = options->on_failure,
                    .drain_timeout_ns = options->drain_timeout_ns},
        .report_timeout_ns = options->report_timeout_ns,
        .kill_after_ns = options->kill_after_ns,
    };
    struct parts parts;
    bool needs_mpi = false;
    enum rkt_status status;

    status = check(options, command, ranks, &needs_mpi, &config, err);
    if (status == RKT_OK)
        status = export_to_sidecar(options, err);
    if (status == RKT_OK)
        status = find_parts(needs_mpi, &parts, &config, err);
    if (status != RKT_OK)
        return status;
    config.sidecar.is_per_node = options->is_per_node || rkt_command_starts_ranks(command);
    config.job.plan.sets_ranks = !config.sidecar.is_per_node;
    config.job.plan.has_mpi_sidecar = needs_mpi;
    if (options->has_no_report)
        config.report_program = NULL;
    join_command(command, command_text, sizeof(command_text));
    if (ranks->rank <= 0) {
        warn_unknown();
        warn_taken(env, "CUDA_INJECTION64_PATH");
        warn_taken(env, "NCCL_PROFILER_PLUGIN");
        if (!config.job.plan.has_no_nvtx)
            warn_taken(env, "NVTX_INJECTION64_PATH");
    }
    return rkt_supervise(&config, rkt_env_get(env, "XDG_RUNTIME_DIR"), exit_code_out, err);
}

int main(int argc, char **argv)
{
    struct run_options options = {0};
    struct rkt_rank_env ranks = {NULL, -1, -1, -1, -1, false, false};
    struct rkt_error err;
    int next = 0, exit_code = RKT_EXIT_FAILED;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &options, &next, &err);

    char **env;

    if (status == RKT_END)
        return 0;
    env = copy_environment();
    if (status == RKT_OK)
        status = rkt_rank_env_read(environ, &ranks, &err);
    if (status == RKT_OK && !env)
        status = rkt_fail(&err, RKT_ERR_NOMEM, "no memory for the job's environment");
    if (options.is_verbose)
        (void)setenv("RANKTRACE_LOG", "info", 0); // NOLINT(concurrency-mt-unsafe): one thread
    rkt_log_init(ranks.rank);
    if (status == RKT_OK)
        status = run(&options, argv + next, env, &ranks, &exit_code, &err);
    free(env);
    if (status == RKT_OK)
        return exit_code;
    /* All ranks of a node say the same; one is enough. */
    if (ranks.local_rank <= 0)
        (void)fprintf(stderr, "ranktrace run: %s\n", err.text);
    return status == RKT_ERR_INVALID ? RKT_EXIT_WRONG_USE : RKT_EXIT_FAILED;
}
