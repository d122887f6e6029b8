/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/stamps.h"

#include <time.h>

uint64_t sim_stamp_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
