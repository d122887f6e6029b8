/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/version.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ENV_VERSION "SIMGPU_NCCL_VERSION"
#define DEFAULT_VERSION 22809
#define OLDEST_MINOR 23
#define NEWEST_MINOR 99

static int version = DEFAULT_VERSION; /* written once, in read_version */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_version(void)
{
    const char *text = getenv(ENV_VERSION); /* NOLINT(concurrency-mt-unsafe): as NCCL does */
    char *end;
    long minor;
    long patch = 0;

    if (!text || !*text)
        return;
    if (text[0] == '2' && text[1] == '.') {
        minor = strtol(text + 2, &end, 10);
        if (*end == '.')
            patch = strtol(end + 1, &end, 10);
        if (!*end && minor >= OLDEST_MINOR && minor <= NEWEST_MINOR && patch >= 0 && patch < 100) {
            version = (int)(20000 + minor * 100 + patch);
            return;
        }
    }
    fprintf(stderr, "simgpu: %s=%s is not 2.23 or later; 2.28.9 is used\n", ENV_VERSION, text);
}

int sim_nccl_version(void)
{
    pthread_once(&once, read_version);
    return version;
}

int sim_nccl_profiler_version(void)
{
    int minor = sim_nccl_version() / 100 % 100;

    if (minor >= 31)
        return 7;
    if (minor >= 29)
        return 6;
    if (minor >= 25)
        return minor - 23; /* 2.28: 5, 2.27: 4, 2.26: 3, 2.25: 2 */
    return minor - 22;     /* 2.24: 2, 2.23: 1 */
}
