/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cuda/clock.h"

#include <time.h>

#define TRIES 16

static uint64_t offset_ns; /* REALTIME - MONOTONIC; written once, before any thread of ours */

static uint64_t read_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void sim_clock_init(void)
{
    uint64_t best_ns = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        uint64_t before = read_ns(CLOCK_MONOTONIC);
        uint64_t real = read_ns(CLOCK_REALTIME);
        uint64_t after = read_ns(CLOCK_MONOTONIC);

        if (after - before < best_ns) {
            best_ns = after - before;
            offset_ns = real - (before + (after - before) / 2);
        }
    }
}

uint64_t sim_clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t sim_clock_to_realtime_ns(uint64_t monotonic_ns)
{
    return monotonic_ns + offset_ns;
}
