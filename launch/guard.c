/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_TRIES 200
#define END_TRY_MS 5

/* It must hold open neither the launcher's pipes nor a folder that someone wants to unmount. */
static void let_go_of_everything(void)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; null_fd >= 0 && fd <= STDERR_FILENO; fd++)
        (void)dup2(null_fd, fd);
    if (chdir("/") < 0)
        return; /* then it holds a folder for as long as the run lasts */
}

static _Noreturn void be_guard(int fd, const struct rkt_run_dir *dir)
{
    sigset_t all;
    pid_t target = 0, told;
    ssize_t got;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, NULL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "ranktrace-guard");
    let_go_of_everything();
    while ((got = read(fd, &told, sizeof(told))) != 0) {
        if (got == (ssize_t)sizeof(told))
            target = told;
        else if (errno != EINTR)
            break;
    }
    if (target != 0)
        (void)kill(target, SIGKILL);
    rkt_run_dir_remove(dir);
    _exit(0);
}

enum rkt_status rkt_guard_start(const struct rkt_run_dir *dir, struct rkt_guard *guard_out,
                                struct rkt_error *err)
{
    int fds[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot make the guard's socket pair");
    pid = fork();
    if (pid == 0) {
        (void)close(fds[1]);
        be_guard(fds[0], dir);
    }
    (void)close(fds[0]);
    if (pid < 0) {
        enum rkt_status status = rkt_fail_errno(err, RKT_ERR_IO, "cannot start the guard");

        (void)close(fds[1]);
        return status;
    }
    guard_out->fd = fds[1];
    guard_out->pid = pid;
    return RKT_OK;
}

void rkt_guard_aim(const struct rkt_guard *guard, pid_t target)
{
    /* A guard that is gone cannot be helped. */
    (void)send(guard->fd, &target, sizeof(target), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void rkt_guard_end(struct rkt_guard *guard)
{
    (void)close(guard->fd);
    guard->fd = -1;
    /* It ends at once, unless someone has stopped it. */
    for (int i = 0; i < END_TRIES && waitpid(guard->pid, NULL, WNOHANG) == 0; i++)
        (void)poll(NULL, 0, END_TRY_MS);
}
