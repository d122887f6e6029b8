/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/mode.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENV_MODE "SIMGPU_NCCL_MODE"

static bool modes[SIM_MODE_COUNT]; /* written once, in read_modes */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_modes(void)
{
    static const char *const NAMES[SIM_MODE_COUNT] = {"net", "early-stop", "zero-stop", "pxn"};
    const char *at = getenv(ENV_MODE); /* NOLINT(concurrency-mt-unsafe): as NCCL does */

    while (at && *at) {
        size_t len = strcspn(at, ",");
        size_t mode = 0;

        while (mode < SIM_MODE_COUNT &&
               (strlen(NAMES[mode]) != len || memcmp(NAMES[mode], at, len) != 0))
            mode++;
        if (mode < SIM_MODE_COUNT)
            modes[mode] = true;
        else
            fprintf(stderr, "simgpu: %s: '%.*s' is no mode\n", ENV_MODE, (int)len, at);
        at += len + (at[len] == ',');
    }
}

bool sim_mode_is(enum sim_mode mode)
{
    pthread_once(&once, read_modes);
    return modes[mode];
}
