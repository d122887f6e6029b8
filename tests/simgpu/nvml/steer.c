/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nvml/steer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static _Atomic uint64_t start_ns; /* set when the library is loaded, then read only */

uint64_t sim_nvml_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((constructor)) static void note_start(void)
{
    start_ns = sim_nvml_now_ns();
}

int sim_nvml_device_count(void)
{
    const char *text = getenv("SIMGPU_DEVICE_COUNT");

    return text ? (int)strtol(text, NULL, 10) : 8;
}

/* "NAME[:VALUE[:AFTER]]", one after the other with commas; the value of the first that counts by
 * now. */
static const char *asked(const char *variable, const char *name, char *value, size_t value_bytes)
{
    const char *at = getenv(variable);
    uint64_t now_ms = (sim_nvml_now_ns() - start_ns) / 1000000;
    size_t name_len = strlen(name);

    for (; at && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t len = strcspn(at, ":,");
        const char *given = at + len + (at[len] == ':');
        size_t given_len = strcspn(given, ":,");

        if (len != name_len || memcmp(at, name, len) != 0 ||
            (given[given_len] == ':' && now_ms < strtoull(given + given_len + 1, NULL, 10)))
            continue;
        snprintf(value, value_bytes, "%.*s", (int)given_len, given);
        return value;
    }
    return NULL;
}

nvmlReturn_t sim_nvml_enter(const char *call)
{
    const char *slow = getenv("SIMGPU_NVML_SLOW_US");
    char value[64];

    if (slow)
        usleep((useconds_t)strtoul(slow, NULL, 10));
    if (asked("SIMGPU_NVML_HANG", call, value, sizeof(value))) {
        for (;;) /* and looks at the environment no more: a test may change it */
            pause();
    }
    if (asked("SIMGPU_NVML_FAIL", call, value, sizeof(value)))
        return (nvmlReturn_t)strtol(value, NULL, 10);
    return NVML_SUCCESS;
}

unsigned long long sim_nvml_throttle(int device)
{
    static const struct {
        const char *name;
        unsigned long long bit;
    } REASONS[] = {
        {"idle", nvmlClocksThrottleReasonGpuIdle},
        {"clocks-setting", nvmlClocksThrottleReasonApplicationsClocksSetting},
        {"power-cap", nvmlClocksThrottleReasonSwPowerCap},
        {"hw-slowdown", nvmlClocksThrottleReasonHwSlowdown},
        {"sync-boost", nvmlClocksThrottleReasonSyncBoost},
        {"sw-thermal", nvmlClocksThrottleReasonSwThermalSlowdown},
        {"hw-thermal", nvmlClocksThrottleReasonHwThermalSlowdown},
        {"power-brake", nvmlClocksThrottleReasonHwPowerBrakeSlowdown},
    };
    char name[16];
    char value[64];

    snprintf(name, sizeof(name), "%d", device);
    if (!asked("SIMGPU_NVML_THROTTLE", name, value, sizeof(value)) &&
        !asked("SIMGPU_NVML_THROTTLE", "all", value, sizeof(value)))
        return 0;
    for (size_t i = 0; i < COUNT(REASONS); i++) {
        if (strcmp(value, REASONS[i].name) == 0)
            return REASONS[i].bit;
    }
    fprintf(stderr, "simgpu: SIMGPU_NVML_THROTTLE: there is no reason %s\n", value);
    abort();
}

unsigned int sim_nvml_has_gpm(void)
{
    const char *text = getenv("SIMGPU_NVML_GPM");

    return !text || strcmp(text, "off") != 0;
}

nvmlReturn_t sim_nvml_metric_code(unsigned int metric)
{
    char name[16];
    char value[64];

    snprintf(name, sizeof(name), "%u", metric);
    if (asked("SIMGPU_NVML_FAIL", name, value, sizeof(value)))
        return (nvmlReturn_t)strtol(value, NULL, 10);
    return NVML_SUCCESS;
}
