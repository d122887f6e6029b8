/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/settings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SIM_CUPTI_VERSION_DEFAULT
#error "the build says which version each library emulates"
#endif

static struct {
    pthread_once_t once;
    /* set in the once function, then read only */
    uint32_t version;
    uint32_t zero_every;
    uint32_t garbage_every;
    uint32_t pool;
    bool modes[SIM_MODE_COUNT];
} settings = {.once = PTHREAD_ONCE_INIT};

static const char *const WORDS[SIM_MODE_COUNT] = {
    [SIM_MODE_NO_GPU] = "no-gpu",
    [SIM_MODE_NOT_INIT] = "not-initialized",
    [SIM_MODE_BROKEN] = "errors",
    [SIM_MODE_BUSY] = "busy",
    [SIM_MODE_FIRST_CALLS] = "first-context",
    [SIM_MODE_NULL_ABORTS] = "null-aborts",
    [SIM_MODE_LATE] = "late",
    [SIM_MODE_UNORDERED] = "unordered",
    [SIM_MODE_EMPTY] = "empty",
    [SIM_MODE_STUCK] = "stuck",
    [SIM_MODE_STALE_NAMES] = "stale-names",
    [SIM_MODE_ENDLESS] = "endless",
    [SIM_MODE_MISALIGNED] = "misaligned",
    [SIM_MODE_BEYOND] = "beyond",
    [SIM_MODE_NO_RECORD] = "no-record",
    [SIM_MODE_TOO_VALID] = "too-valid",
};

static uint32_t env_number(const char *name, uint32_t fallback)
{
    const char *text = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets it later */
    char *end;
    unsigned long value;

    if (!text || !*text)
        return fallback;
    value = strtoul(text, &end, 10);
    if (*end || value > UINT32_MAX) {
        fprintf(stderr, "simgpu: %s=%s is not a number; %u is used\n", name, text, fallback);
        return fallback;
    }
    return (uint32_t)value;
}

static void set_mode(const char *word, size_t length)
{
    for (int i = 0; i < SIM_MODE_COUNT; i++) {
        if (strlen(WORDS[i]) == length && memcmp(WORDS[i], word, length) == 0) {
            settings.modes[i] = true;
            return;
        }
    }
    fprintf(stderr, "simgpu: SIMGPU_CUPTI_MODE: there is no %.*s\n", (int)length, word);
}

static void read_modes(void)
{
    const char *word = getenv("SIMGPU_CUPTI_MODE"); /* NOLINT(concurrency-mt-unsafe): as above */

    while (word && *word) {
        size_t length = strcspn(word, ",");

        if (length > 0)
            set_mode(word, length);
        word += length;
        word += *word == ',';
    }
}

static void read_environment(void)
{
    settings.version = env_number("SIMGPU_CUPTI_VERSION", SIM_CUPTI_VERSION_DEFAULT);
    settings.zero_every = env_number("SIMGPU_CUPTI_ZERO_EVERY", 0);
    settings.garbage_every = env_number("SIMGPU_CUPTI_GARBAGE_EVERY", 0);
    settings.pool = env_number("SIMGPU_CUPTI_POOL", 0);
    read_modes();
}

uint32_t sim_settings_version(void)
{
    pthread_once(&settings.once, read_environment);
    return settings.version;
}

bool sim_settings_has(enum sim_mode mode)
{
    pthread_once(&settings.once, read_environment);
    return settings.modes[mode];
}

uint32_t sim_settings_zero_every(void)
{
    pthread_once(&settings.once, read_environment);
    return settings.zero_every;
}

uint32_t sim_settings_garbage_every(void)
{
    pthread_once(&settings.once, read_environment);
    return settings.garbage_every;
}

uint32_t sim_settings_pool(void)
{
    pthread_once(&settings.once, read_environment);
    return settings.pool;
}
