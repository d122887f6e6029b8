/* SPDX-License-Identifier: Apache-2.0 */

/* Preloaded, it gives a wrong CLOCK_REALTIME (shift.h) to a whole process, and a kernel that says
 * that it is steered. */

#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "tests/simgpu/clock/shift.h"

static uint64_t wrong_realtime_ns(void)
{
    uint64_t steered_ns = sim_shift_steered_ns();
    uint64_t monotonic_ns = sim_shift_monotonic_ns();

    if (steered_ns > 0)
        return steered_ns;
    return sim_shift_true_realtime_ns() + (uint64_t)sim_shift_ns(monotonic_ns);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    uint64_t now_ns;

    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, clock, ts);
    now_ns = wrong_realtime_ns();
    ts->tv_sec = (time_t)(now_ns / 1000000000u);
    ts->tv_nsec = (long)(now_ns % 1000000000u);
    return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    uint64_t now_ns = wrong_realtime_ns();

    (void)zone;
    tv->tv_sec = (time_t)(now_ns / 1000000000u);
    tv->tv_usec = (suseconds_t)(now_ns % 1000000000u / 1000u);
    return 0;
}

time_t time(time_t *out)
{
    time_t now = (time_t)(wrong_realtime_ns() / 1000000000u);

    if (out)
        *out = now;
    return now;
}

/* As phc2sys leaves it. */
static int steered(struct timex *state)
{
    memset(state, 0, sizeof(*state));
    state->tick = 10000;
    state->status = STA_NANO;
    return TIME_OK;
}

int adjtimex(struct timex *state)
{
    return sim_shift_steered_ns() > 0 ? steered(state) : (int)syscall(SYS_adjtimex, state);
}
