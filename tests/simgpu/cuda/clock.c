/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cuda/clock.h"

#include <time.h>

#include "tests/simgpu/clock/shift.h"

#define TRIES 16

static uint64_t offset_ns; /* true REALTIME - MONOTONIC; written once, before any thread of ours */

void sim_clock_init(void)
{
    uint64_t best_ns = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        uint64_t before = sim_shift_monotonic_ns();
        uint64_t real = sim_shift_true_realtime_ns();
        uint64_t after = sim_shift_monotonic_ns();

        if (after - before < best_ns) {
            best_ns = after - before;
            offset_ns = real - (before + (after - before) / 2);
        }
    }
}

uint64_t sim_clock_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts); /* without a system call, unlike shift.h's */
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t sim_clock_to_realtime_ns(uint64_t monotonic_ns)
{
    return monotonic_ns + offset_ns + (uint64_t)sim_shift_ns(monotonic_ns);
}
