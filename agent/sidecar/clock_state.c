/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/clock_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "common/clock.h"

#define PATH_BYTES 4096u
#define CLOCKSOURCE_FILE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define CPU_FILE "/proc/cpuinfo"

#define FREQUENCY_ONE_PPM 65536 /* adjtimex(2) */
#define PPB_PER_PPM 1000
#define PPB_PER_TICK_US 100000 /* a tick of 10,000 us that is 1 us longer */
#define TICKS_PER_S_USUAL 100

static uint64_t us_to_ns(long us)
{
    return us > 0 ? (uint64_t)us * 1000u : 0;
}

/* Daemons steer by the frequency, by the length of a tick, or by both. */
static int32_t frequency_ppb(const struct timex *state)
{
    long ticks_per_s = sysconf(_SC_CLK_TCK);
    long usual_us = 1000000 / (ticks_per_s > 0 ? ticks_per_s : TICKS_PER_S_USUAL);

    return (int32_t)(state->freq * PPB_PER_PPM / FREQUENCY_ONE_PPM +
                     (state->tick - usual_us) * PPB_PER_TICK_US);
}

bool rkt_clock_state_take(struct rkt_event *state_out)
{
    struct timex state = {.modes = 0}; /* to ask, not to set */
    struct rkt_event event = {.kind = RKT_EVENT_CLOCK_STATE, .clock_id = RKT_CLOCK_MONOTONIC_RAW};
    uint64_t now_ns = rkt_now_raw_ns();

    if (adjtimex(&state) < 0)
        return false;
    event.start_ns = now_ns;
    event.end_ns = now_ns;
    event.clock_state.offset_ns = state.status & STA_NANO ? state.offset : state.offset * 1000;
    event.clock_state.max_error_ns = us_to_ns(state.maxerror);
    event.clock_state.est_error_ns = us_to_ns(state.esterror);
    event.clock_state.frequency_ppb = frequency_ppb(&state);
    event.clock_state.status = (uint32_t)state.status;
    *state_out = event;
    return true;
}

static FILE *open_below(const char *root, const char *file)
{
    char path[PATH_BYTES];
    int written = snprintf(path, sizeof(path), "%s%s", root, file);

    return written > 0 && (size_t)written < sizeof(path) ? fopen(path, "re") : NULL;
}

/* One that is longer than there is room for is none that we know. */
static void read_clocksource(const char *root, char *name, size_t name_bytes)
{
    FILE *file = open_below(root, CLOCKSOURCE_FILE);
    char line[64] = "";

    if (!file)
        return;
    if (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strlen(line) < name_bytes)
            (void)snprintf(name, name_bytes, "%s", line);
    }
    (void)fclose(file);
}

static uint32_t flags_of(char *words)
{
    uint32_t flags = 0;
    char *rest = NULL;

    for (char *word = strtok_r(words, " \t\n", &rest); word;
         word = strtok_r(NULL, " \t\n", &rest)) {
        if (strcmp(word, "constant_tsc") == 0)
            flags |= RKT_TSC_CONSTANT;
        else if (strcmp(word, "nonstop_tsc") == 0)
            flags |= RKT_TSC_NONSTOP;
    }
    return flags;
}

/* Of the first core, for all: the kernel would not take the TSC for its clock if they differed. */
static uint32_t read_tsc_flags(const char *root)
{
    FILE *file = open_below(root, CPU_FILE);
    uint32_t flags = 0;
    bool is_found = false;
    size_t line_bytes = 0;
    char *line = NULL;

    if (!file)
        return 0;
    while (!is_found && getline(&line, &line_bytes, file) >= 0) {
        is_found = strncmp(line, "flags", 5) == 0 && strchr(line, ':');
        if (is_found)
            flags = flags_of(strchr(line, ':') + 1);
    }
    free(line);
    (void)fclose(file);
    return flags;
}

void rkt_clock_facts_read(const char *root, struct rkt_source_info *info)
{
    read_clocksource(root, info->clocksource, sizeof(info->clocksource));
    info->tsc_flags = read_tsc_flags(root);
}
