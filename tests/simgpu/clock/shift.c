/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/clock/shift.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_once_t once;
    /* set in the once function, then read only */
    uint64_t at_ns;
    int64_t step_ns;
    int64_t drift_ppb;
    int64_t steered_ns;
} shift = {.once = PTHREAD_ONCE_INIT};

static uint64_t read_ns(clockid_t clock)
{
    struct timespec ts;

    syscall(SYS_clock_gettime, clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t sim_shift_true_realtime_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

uint64_t sim_shift_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

static int64_t env_number(const char *name)
{
    const char *text = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets it later */

    return text ? strtoll(text, NULL, 10) : 0;
}

static void read_environment(void)
{
    shift.at_ns = (uint64_t)env_number("SIMGPU_REALTIME_AT_NS");
    shift.step_ns = env_number("SIMGPU_REALTIME_STEP_NS");
    shift.drift_ppb = env_number("SIMGPU_REALTIME_DRIFT_PPB");
    shift.steered_ns = env_number("SIMGPU_REALTIME_STEERED");
}

int64_t sim_shift_ns(uint64_t monotonic_ns)
{
    pthread_once(&shift.once, read_environment);
    if (shift.at_ns == 0 || monotonic_ns < shift.at_ns)
        return 0;
    return shift.step_ns +
           (int64_t)((double)(monotonic_ns - shift.at_ns) * 1e-9 * (double)shift.drift_ppb);
}

uint64_t sim_shift_steered_ns(void)
{
    pthread_once(&shift.once, read_environment);
    return shift.steered_ns == 0 ? 0 : read_ns(CLOCK_MONOTONIC_RAW) + (uint64_t)shift.steered_ns;
}
