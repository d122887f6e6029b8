/* SPDX-License-Identifier: Apache-2.0 */
/* Everything but rkt_job_start runs in the job's process, before it becomes the job. */
#include "launch/job.h"

#include <errno.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "launch/hold.h"

#define EXIT_FAILED 1
#define ENV_BYTES_MAX (64u << 20)
#define LOCAL_HOST "127.0.0.1"

/* Wait for the order; without one in time, the job starts untraced. */
static void await_order(const struct rkt_job_config *config, int hold_fd,
                        struct rkt_hold_order *order)
{
    struct rkt_error err;
    enum rkt_status status = rkt_hold_wait(hold_fd, config->hold_ns, order, &err);
    char hold_text[32];

    if (status == RKT_OK)
        return;
    *order = (struct rkt_hold_order){.is_traced = false};
    if (status == RKT_END) /* the launcher has killed the supervisor */
        _exit(EXIT_FAILED);
    if (status == RKT_AGAIN)
        rkt_log(RKT_LOG_WARN, "run", "the sidecar was not ready in time: the job runs untraced",
                "hold=\"%s\"",
                rkt_format_duration((int64_t)config->hold_ns, hold_text, sizeof(hold_text)));
    else
        rkt_log(RKT_LOG_WARN, "run", "the supervisor cannot be heard: the job runs untraced",
                "reason=\"%s\"", err.text);
}

/* Looked up here: the job would wait as long for the name, and nobody else waits for this
 * process. */
static const char *host_to_use(const struct rkt_hold_master *master)
{
    return master->address[0] && !rkt_host_is_known(master->host) ? master->address : master->host;
}

static void follow_order(struct rkt_job_env_plan *plan, char *const *env,
                         const struct rkt_hold_order *order, char port[RKT_MASTER_PORT_BYTES])
{
    if (!order->is_traced) {
        plan->socket_path = NULL;
        plan->capture_library = NULL;
        plan->torch_hook_dir = NULL;
    }
    if (order->master.host[0]) {
        plan->master_host = host_to_use(&order->master);
        plan->master_port = order->master.port;
    } else if (plan->ranks->rank_count > 0 &&
               plan->ranks->rank_count == plan->ranks->local_rank_count &&
               rkt_job_env_guess_port(env, port)) {
        plan->master_host = LOCAL_HOST; /* all ranks are on this node */
        plan->master_port = port;
    }
}

static _Noreturn void give_up(int hold_fd, int sys_errno)
{
    rkt_hold_say(hold_fd, RKT_HOLD_FAILED, sys_errno);
    _exit(EXIT_FAILED);
}

static _Noreturn void become_job(const struct rkt_job_config *config, int hold_fd)
{
    struct rkt_job_env_plan plan = config->plan;
    struct rkt_hold_order order;
    struct rkt_arena arena;
    char port[RKT_MASTER_PORT_BYTES];
    char **env;

    await_order(config, hold_fd, &order);
    follow_order(&plan, config->env, &order, port);
    rkt_arena_init(&arena, ENV_BYTES_MAX);
    if (rkt_job_env_build(config->env, &plan, &arena, &env, NULL) != RKT_OK)
        give_up(hold_fd, ENOMEM);
    rkt_hold_say(hold_fd, order.is_traced ? RKT_HOLD_STARTS_TRACED : RKT_HOLD_STARTS_UNTRACED, 0);
    execvpe(config->command[0], config->command, env);
    give_up(hold_fd, errno);
}

enum rkt_status rkt_job_start(const struct rkt_job_config *config, pid_t *pid_out, int *hold_fd_out,
                              struct rkt_error *err)
{
    int supervisor_fd, job_fd;
    enum rkt_status status = rkt_hold_create(&supervisor_fd, &job_fd, err);
    pid_t pid;

    if (status != RKT_OK)
        return status;
    pid = fork();
    if (pid == 0) {
        if (config->has_own_group)
            (void)setpgid(0, 0);
        (void)close(supervisor_fd);
        (void)close(config->guard_fd);
        (void)sigaction(SIGCHLD, &config->sigchld, NULL);
        (void)pthread_sigmask(SIG_SETMASK, &config->signal_mask, NULL);
        become_job(config, job_fd);
    }
    (void)close(job_fd);
    if (pid < 0) {
        status = rkt_fail_errno(err, RKT_ERR_IO, "cannot fork the job");
        (void)close(supervisor_fd);
        return status;
    }
    if (config->has_own_group)
        (void)setpgid(pid, pid); /* whoever is first */
    *pid_out = pid;
    *hold_fd_out = supervisor_fd;
    return RKT_OK;
}
