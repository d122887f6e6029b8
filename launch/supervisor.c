/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/supervisor.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/control.h"
#include "common/clock.h"
#include "common/log.h"
#include "launch/guard.h"
#include "launch/helper.h"
#include "launch/hold.h"
#include "launch/mpi_watch.h"
#include "launch/run_dir.h"
#include "launch/signals.h"

#define COMP "run"
#define NEVER UINT64_MAX
#define NS_PER_S 1000000000u
#define NS_PER_MS 1000000u
#define POLL_MS_MAX 60000u

/* How long a sidecar may be silent: past its own limit for draining; between two signs of
 * life; after it said that it leaves, or should. */
#define DRAIN_MARGIN_NS (5u * (uint64_t)NS_PER_S)
#define SILENCE_NS (15u * (uint64_t)NS_PER_S)
#define LEAVE_NS (10u * (uint64_t)NS_PER_S)

/* A job that was ended because another failed exits after that other one, whose code is the one
 * that mpirun should return and name. */
#define AFTER_YOU_NS ((uint64_t)NS_PER_S)

enum helper_kind {
    HELPER_NONE,
    HELPER_REPORT,
    HELPER_LEAVE
};

struct supervisor {
    const struct rkt_supervisor_config *config;
    struct rkt_job_config job_config;
    struct rkt_run_dir dir;
    struct rkt_guard guard;
    struct rkt_signals signals;
    int hold_fd;    /* -1: the job has started */
    int control_fd; /* -1: the sidecar is gone */

    pid_t job_pid; /* each 0 when it is not running */
    pid_t sidecar_pid;
    pid_t helper_pid;
    enum helper_kind helper_kind;

    bool was_released; /* the held job has its order */
    bool was_ready;    /* the sidecar said READY */
    bool is_aborting;
    bool is_done;    /* the sidecar said DONE */
    bool was_killed; /* the sidecar, by us */
    bool has_left;   /* MPI knows that this rank is finished */
    int job_status;
    int done_value;

    struct rkt_mpi_watch mpi_watch;
    uint64_t kill_job_at_ns;
    uint64_t kill_sidecar_at_ns;
    uint64_t kill_helper_at_ns;
    uint64_t exit_at_ns;
};

static uint64_t now_ns(void)
{
    return rkt_clock_read_ns(CLOCK_MONOTONIC);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Log with how a process ended: sidecar="signal 9". */
static void warn_ended(const char *msg, const char *who, int wait_status)
{
    if (WIFSIGNALED(wait_status))
        rkt_log(RKT_LOG_WARN, COMP, msg, "%s=\"signal %d\"", who, WTERMSIG(wait_status));
    else
        rkt_log(RKT_LOG_WARN, COMP, msg, "%s=\"exit code %d\"", who, WEXITSTATUS(wait_status));
}

static int exit_code_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* --- the job ------------------------------------------------------------------------------- */

/* The target of kill for all of the job that can be told apart from ourselves. */
static pid_t whole_job(const struct supervisor *super)
{
    return super->job_config.has_own_group ? -super->job_pid : super->job_pid;
}

static void tell_sidecar(struct supervisor *super, enum rkt_control_type type, int value)
{
    /* A failure is a sidecar that is gone, whose hang-up is handled where it is read. */
    if (super->control_fd >= 0)
        (void)rkt_control_send(super->control_fd, type, value, NULL, NULL);
}

static void release_job(struct supervisor *super, const struct rkt_hold_order *order)
{
    if (super->was_released)
        return;
    super->was_released = true;
    /* On failure the job goes on by itself when its time is over, and says so. */
    (void)rkt_hold_release(super->hold_fd, order, NULL);
}

static void job_started(struct supervisor *super, bool is_traced)
{
    rkt_log(RKT_LOG_INFO, COMP, "the job has started", "pid=%ld traced=%d", (long)super->job_pid,
            is_traced);
    tell_sidecar(super, RKT_CONTROL_JOB_STARTED, super->job_pid);
    /* One rank's word is enough. */
    if (super->job_config.plan.has_mpi_sidecar && super->job_config.plan.ranks->rank == 0)
        rkt_mpi_watch_init(&super->mpi_watch, now_ns());
}

static void look_for_mpi(struct supervisor *super)
{
    if (rkt_mpi_watch_look(&super->mpi_watch, super->job_pid, now_ns()))
        rkt_log(RKT_LOG_WARN, COMP,
                "the job has loaded an MPI library: under 'run' an MPI_Init of its own finds a "
                "world of one rank",
                "%s", "");
}

static void read_hold(struct supervisor *super)
{
    struct rkt_hold_report report;
    struct rkt_error err;
    enum rkt_status status;

    while ((status = rkt_hold_read(super->hold_fd, &report, &err)) == RKT_OK) {
        super->was_released = true;
        if (report.word == RKT_HOLD_FAILED)
            rkt_log(RKT_LOG_ERROR, COMP, "the job cannot be started",
                    "command=\"%s\" reason=\"%s\"", super->job_config.command[0],
                    strerrordesc_np(report.sys_errno));
        else
            job_started(super, report.word == RKT_HOLD_STARTS_TRACED);
    }
    if (status == RKT_AGAIN)
        return;
    (void)close(super->hold_fd);
    super->hold_fd = -1;
}

static void abort_job(struct supervisor *super, int failed_rank)
{
    if (super->job_pid == 0 || super->is_aborting)
        return;
    rkt_log(RKT_LOG_WARN, COMP, "another rank failed: the job is ended", "failed_rank=%d",
            failed_rank);
    super->is_aborting = true;
    (void)kill(whole_job(super), SIGTERM);
    (void)kill(whole_job(super), SIGCONT); /* a stopped process would not see it */
    super->kill_job_at_ns = now_ns() + super->config->kill_after_ns;
}

static void job_ended(struct supervisor *super, int wait_status)
{
    uint64_t patience_ns = DRAIN_MARGIN_NS;

    if (super->hold_fd >= 0)
        read_hold(super);
    if (super->is_aborting && super->job_config.has_own_group)
        (void)kill(whole_job(super), SIGKILL); /* what the main process left behind */
    rkt_guard_aim(&super->guard, 0);
    super->job_pid = 0;
    super->job_status = wait_status;
    super->kill_job_at_ns = NEVER;
    super->mpi_watch.next_ns = NEVER;
    if (super->was_ready)
        patience_ns += super->config->sidecar.drain_timeout_ns;
    super->kill_sidecar_at_ns = now_ns() + patience_ns;
    rkt_log(RKT_LOG_INFO, COMP, "the job has ended", "code=%d", exit_code_of(wait_status));
    tell_sidecar(super, RKT_CONTROL_JOB_ENDED, wait_status);
}

/* --- helpers: the report, and the good-bye of a dead sidecar -------------------------------- */

static void start_helper(struct supervisor *super, enum helper_kind kind, const char *program,
                         const char *argument, uint64_t limit_ns)
{
    struct rkt_error err;

    if (rkt_helper_start(program, argument, kind == HELPER_REPORT, &super->helper_pid, &err) !=
        RKT_OK) {
        rkt_log(RKT_LOG_WARN, COMP, "a helper cannot be started", "reason=\"%s\"", err.text);
        super->helper_pid = 0;
        return;
    }
    super->helper_kind = kind;
    super->kill_helper_at_ns = now_ns() + limit_ns;
}

static void store_closed(struct supervisor *super, const char *path)
{
    if (super->config->report_program && super->helper_pid == 0)
        start_helper(super, HELPER_REPORT, super->config->report_program, path,
                     super->config->report_timeout_ns);
    if (super->helper_pid == 0)
        tell_sidecar(super, RKT_CONTROL_REPORT_DONE, 0);
}

static void helper_ended(struct supervisor *super, int wait_status)
{
    super->helper_pid = 0;
    super->kill_helper_at_ns = NEVER;
    if (super->helper_kind == HELPER_LEAVE)
        return;
    if (exit_code_of(wait_status) != 0)
        warn_ended("no report was made: 'ranktrace report' can make it again", "report",
                   wait_status);
    super->kill_sidecar_at_ns = now_ns() + SILENCE_NS;
    tell_sidecar(super, RKT_CONTROL_REPORT_DONE, exit_code_of(wait_status));
}

/* --- the sidecar --------------------------------------------------------------------------- */

static void sidecar_ready(struct supervisor *super, const char *text)
{
    struct rkt_hold_order order = {.is_traced = true};

    super->was_ready = true;
    rkt_hold_order_set_master(&order, text);
    release_job(super, &order);
}

static void take_message(struct supervisor *super, const struct rkt_control_message *message)
{
    switch (message->type) {
    case RKT_CONTROL_READY:
        sidecar_ready(super, message->text);
        break;
    case RKT_CONTROL_ABORT_JOB:
        abort_job(super, message->value);
        break;
    case RKT_CONTROL_WAITING:
        if (super->kill_sidecar_at_ns < now_ns() + SILENCE_NS)
            super->kill_sidecar_at_ns = now_ns() + SILENCE_NS;
        break;
    case RKT_CONTROL_STORE_CLOSED:
        store_closed(super, message->text);
        break;
    case RKT_CONTROL_DONE:
        super->is_done = true;
        super->done_value = message->value;
        rkt_log(RKT_LOG_INFO, COMP, "the sidecar is done", "value=%d", message->value);
        super->kill_sidecar_at_ns = now_ns() + LEAVE_NS;
        break;
    default:
        rkt_log(RKT_LOG_WARN, COMP, "the sidecar sent a message of unknown type", "type=%u",
                message->type);
    }
}

static void read_control(struct supervisor *super)
{
    struct rkt_control_message message;
    struct rkt_error err;
    enum rkt_status status = RKT_AGAIN;

    while (super->control_fd >= 0 &&
           (status = rkt_control_receive(super->control_fd, &message, &err)) == RKT_OK)
        take_message(super, &message);
    if (status == RKT_AGAIN || super->control_fd < 0)
        return;
    (void)close(super->control_fd);
    super->control_fd = -1;
    release_job(super, &(struct rkt_hold_order){.is_traced = false});
    super->kill_sidecar_at_ns = sooner(super->kill_sidecar_at_ns, now_ns() + LEAVE_NS);
}

static void sidecar_ended(struct supervisor *super, int wait_status)
{
    read_control(super); /* its last words; closes when it hung up */
    super->sidecar_pid = 0;
    super->kill_sidecar_at_ns = NEVER;
    super->has_left = super->is_done && exit_code_of(wait_status) == 0;
    if (super->is_done || super->was_killed)
        return;
    if (!super->was_ready)
        warn_ended("the sidecar ended before it was ready: the job runs untraced", "sidecar",
                   wait_status);
    else if (super->job_pid)
        warn_ended("the sidecar died: capture is off, the job goes on", "sidecar", wait_status);
    else
        warn_ended("the sidecar died before it had stored all of this rank", "sidecar",
                   wait_status);
}

/* --- signals and time ---------------------------------------------------------------------- */

static void reap(struct supervisor *super)
{
    pid_t pid;
    int wait_status;

    /* Also orphans, when we are the first process of a container. */
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
        if (pid == super->job_pid)
            job_ended(super, wait_status);
        else if (pid == super->sidecar_pid)
            sidecar_ended(super, wait_status);
        else if (pid == super->helper_pid)
            helper_ended(super, wait_status);
    }
}

/* The job has it already where the terminal gave it to the whole group. */
static void forward_signal(struct supervisor *super, const struct signalfd_siginfo *info)
{
    bool to_group = super->job_config.has_own_group && super->job_config.plan.ranks->signals_groups;

    if (super->job_pid == 0 || (!super->job_config.has_own_group && info->ssi_code == SI_KERNEL))
        return;
    (void)kill(to_group ? -super->job_pid : super->job_pid, (int)info->ssi_signo);
}

/* Of one job per node the ranks are not looked at, only the process that starts them. */
static bool is_toggle(const struct supervisor *super, int number)
{
    enum rkt_on_usr2 on_usr2 = super->config->on_usr2;

    if (number != SIGUSR2 || super->job_pid == 0 || on_usr2 == RKT_ON_USR2_FORWARD)
        return false;
    return on_usr2 == RKT_ON_USR2_TOGGLE || !rkt_signal_is_caught(super->job_pid, number);
}

static void toggle_window(struct supervisor *super)
{
    if (super->control_fd < 0)
        rkt_log(RKT_LOG_WARN, COMP, "SIGUSR2: there is no sidecar, nothing is recorded", "%s", "");
    tell_sidecar(super, RKT_CONTROL_TOGGLE, 0);
}

static void take_signal(struct supervisor *super, const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (number == SIGCHLD) {
        reap(super);
        return;
    }
    if (is_toggle(super, number)) {
        toggle_window(super);
        return;
    }
    forward_signal(super, info);
    if (!rkt_signal_ends_processes(number))
        return;
    tell_sidecar(super, RKT_CONTROL_STOP, number);
    if (super->job_pid)
        return;
    super->exit_at_ns = now_ns();
    if (super->helper_pid)
        (void)kill(super->helper_pid, SIGTERM);
    super->kill_sidecar_at_ns = sooner(super->kill_sidecar_at_ns, now_ns() + LEAVE_NS);
}

static void read_signals(struct supervisor *super)
{
    struct signalfd_siginfo info;

    while (read(super->signals.fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        take_signal(super, &info);
}

/* While the job runs, or the report is made, a sidecar has no deadline. */
static uint64_t sidecar_deadline_ns(const struct supervisor *super)
{
    bool waits_for_us = super->control_fd >= 0 && (super->job_pid || super->helper_pid);

    return super->sidecar_pid == 0 || waits_for_us ? NEVER : super->kill_sidecar_at_ns;
}

static void do_what_is_due(struct supervisor *super)
{
    uint64_t now = now_ns();

    if (now >= super->mpi_watch.next_ns)
        look_for_mpi(super);

    if (super->job_pid && now >= super->kill_job_at_ns) {
        rkt_log(RKT_LOG_WARN, COMP, "the job did not end on SIGTERM: killed", "%s", "");
        super->kill_job_at_ns = NEVER;
        (void)kill(whole_job(super), SIGKILL);
    }
    if (super->helper_pid && now >= super->kill_helper_at_ns) {
        rkt_log(RKT_LOG_WARN, COMP, "a helper took too long: killed", "helper=%s",
                super->helper_kind == HELPER_REPORT ? "report" : "leave");
        super->kill_helper_at_ns = NEVER;
        (void)kill(super->helper_pid, SIGKILL);
    }
    if (now >= sidecar_deadline_ns(super)) {
        rkt_log(RKT_LOG_WARN, COMP, "the sidecar does not answer: killed", "%s", "");
        super->kill_sidecar_at_ns = NEVER;
        super->was_killed = true;
        (void)kill(super->sidecar_pid, SIGKILL);
    }
}

static int poll_timeout_ms(const struct supervisor *super)
{
    const uint64_t deadlines_ns[] = {sidecar_deadline_ns(super), super->mpi_watch.next_ns,
                                     super->kill_job_at_ns, super->kill_helper_at_ns,
                                     super->exit_at_ns};
    uint64_t next_ns = NEVER, now = now_ns();

    for (size_t i = 0; i < sizeof(deadlines_ns) / sizeof(deadlines_ns[0]); i++)
        next_ns = sooner(next_ns, deadlines_ns[i]);
    if (next_ns <= now)
        return 0;
    next_ns = (next_ns - now) / NS_PER_MS + 1;
    return (int)(next_ns < POLL_MS_MAX ? next_ns : POLL_MS_MAX);
}

/* --- life cycle ---------------------------------------------------------------------------- */

static int result_of(const struct supervisor *super)
{
    int job_code = exit_code_of(super->job_status);

    /* A job that we ended because another rank failed returns what that rank returned. */
    if (job_code != 0 && !(super->is_aborting && super->is_done && super->done_value != 0))
        return job_code;
    return super->is_done ? super->done_value : 0;
}

/*
 * A launcher kills all other ranks when one that has started MPI exits without having
 * finished it: the jobs of healthy ranks would pay for a dead sidecar.
 */
static bool must_say_goodbye(const struct supervisor *super)
{
    return super->job_config.plan.has_mpi_sidecar && !super->has_left &&
           super->config->leave_program && result_of(super) == 0;
}

static bool is_finished(struct supervisor *super)
{
    if (super->job_pid || super->sidecar_pid || super->helper_pid)
        return false;
    if (must_say_goodbye(super)) {
        super->has_left = true;
        start_helper(super, HELPER_LEAVE, super->config->leave_program, NULL, LEAVE_NS);
        return super->helper_pid == 0;
    }
    if (super->exit_at_ns == NEVER)
        super->exit_at_ns = now_ns() + (super->is_aborting ? AFTER_YOU_NS : 0);
    return now_ns() >= super->exit_at_ns;
}

static void run_loop(struct supervisor *super)
{
    while (!is_finished(super)) {
        struct pollfd items[] = {
            {.fd = super->signals.fd, .events = POLLIN},
            {.fd = super->control_fd, .events = POLLIN},
            {.fd = super->hold_fd, .events = POLLIN},
        };

        (void)poll(items, sizeof(items) / sizeof(items[0]), poll_timeout_ms(super));
        if (items[2].revents && super->hold_fd >= 0)
            read_hold(super);
        if (items[1].revents)
            read_control(super);
        if (items[0].revents)
            read_signals(super);
        do_what_is_due(super);
    }
}

static enum rkt_status start_processes(struct supervisor *super, struct rkt_error *err)
{
    struct rkt_sidecar_config sidecar = super->config->sidecar;
    enum rkt_status status;
    struct rkt_error sidecar_err;

    super->job_config.guard_fd = super->guard.fd;
    super->job_config.signal_mask = super->signals.mask;
    super->job_config.sigchld = super->signals.child;
    super->job_config.plan.socket_path = super->dir.socket_path;
    status = rkt_job_start(&super->job_config, &super->job_pid, &super->hold_fd, err);
    if (status != RKT_OK)
        return status;
    rkt_guard_aim(&super->guard, whole_job(super));
    sidecar.socket_path = super->dir.socket_path;
    if (rkt_sidecar_start(&sidecar, &super->sidecar_pid, &super->control_fd, &sidecar_err) !=
        RKT_OK) {
        rkt_log(RKT_LOG_WARN, COMP, "no sidecar: the job runs untraced", "reason=\"%s\"",
                sidecar_err.text);
        super->sidecar_pid = 0;
        release_job(super, &(struct rkt_hold_order){.is_traced = false});
    }
    return RKT_OK;
}

enum rkt_status rkt_supervise(const struct rkt_supervisor_config *config, const char *runtime_dir,
                              int *exit_code_out, struct rkt_error *err)
{
    struct supervisor super = {
        .config = config,
        .job_config = config->job,
        .hold_fd = -1,
        .control_fd = -1,
        .mpi_watch.next_ns = RKT_MPI_WATCH_NEVER,
        .kill_job_at_ns = NEVER,
        .kill_sidecar_at_ns = NEVER,
        .kill_helper_at_ns = NEVER,
        .exit_at_ns = NEVER,
    };
    enum rkt_status status = rkt_run_dir_create(runtime_dir, &super.dir, err);

    if (status != RKT_OK)
        return status;
    status = rkt_guard_start(&super.dir, &super.guard, err);
    if (status != RKT_OK)
        goto remove_dir;
    status = rkt_signals_open(&super.signals, err);
    if (status == RKT_OK)
        status = start_processes(&super, err);
    if (status != RKT_OK)
        goto end_guard;
    run_loop(&super);
    *exit_code_out = result_of(&super);
end_guard:
    rkt_guard_end(&super.guard);
remove_dir:
    rkt_run_dir_remove(&super.dir);
    return status;
}
