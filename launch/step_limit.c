/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/step_limit.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u
#define NS_PER_US 1000u

static void end(int signal_number)
{
    static const char LINE[] =
        "ranktrace: a sidecar is stuck, most likely inside MPI, and ends itself: "
        "the job goes on\n";

    (void)signal_number;
    /* There is nobody to tell of a failure. */
    if (write(STDERR_FILENO, LINE, sizeof(LINE) - 1) < 0)
        _exit(RKT_STEP_LIMIT_EXIT_CODE);
    _exit(RKT_STEP_LIMIT_EXIT_CODE);
}

enum rkt_status rkt_step_limit_open(struct rkt_error *err)
{
    struct sigaction action = {.sa_handler = end};

    if (sigaction(SIGPROF, &action, NULL) != 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot handle SIGPROF");
    return RKT_OK;
}

void rkt_step_limit_begin(uint64_t cpu_ns)
{
    struct itimerval limit = {
        .it_value = {.tv_sec = (time_t)(cpu_ns / NS_PER_S),
                     .tv_usec = (suseconds_t)(cpu_ns % NS_PER_S / NS_PER_US)}};

    (void)setitimer(ITIMER_PROF, &limit, NULL);
}
