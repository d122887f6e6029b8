/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_probe - a tool in the place of the capture library (CUDA_INJECTION64_PATH), which tells how
 * it was loaded and what CUPTI said, as lines in the file GPU_PROBE_OUT when the process ends.
 *
 *   GPU_PROBE_CALLS   none, driver-launches or all: which calls CUPTI should record
 *   GPU_PROBE_FLUSH_MS  ask for complete buffers so often, as the capture library does (1000)
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"
#include "tests/gpu/client.h"

__attribute__((visibility("default"))) int InitializeInjection(void);

static struct {
    struct gpu_client *client;
    const char *why;
    uint64_t loaded_ns; /* since the process started */
    pid_t thread_id;    /* that called InitializeInjection */
    uint64_t took_ns;   /* our part of cuInit */
    _Atomic uint64_t flush_count;
    _Atomic uint64_t flush_longest_ns;
} probe;

static enum gpu_client_calls wanted_calls(void)
{
    const char *text = getenv("GPU_PROBE_CALLS");

    if (text && strcmp(text, "none") == 0)
        return GPU_CALLS_NONE;
    return text && strcmp(text, "driver-launches") == 0 ? GPU_CALLS_DRIVER_LAUNCHES : GPU_CALLS_ALL;
}

static void *flush_for_ever(void *arg)
{
    const char *text = getenv("GPU_PROBE_FLUSH_MS");
    uint64_t ms = 1000;
    struct timespec pause;

    (void)arg;
    if (text)
        (void)rkt_parse_u64(text, &ms);
    pause =
        (struct timespec){.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    for (;;) {
        uint64_t start_ns, took_ns;

        nanosleep(&pause, NULL);
        start_ns = rkt_now_raw_ns();
        gpu_client_flush();
        took_ns = rkt_now_raw_ns() - start_ns;
        atomic_fetch_add(&probe.flush_count, 1);
        if (took_ns > atomic_load(&probe.flush_longest_ns))
            atomic_store(&probe.flush_longest_ns, took_ns);
    }
    return NULL;
}

/* From the record's end to when its buffer came. */
static void tell_latency(FILE *out)
{
    const struct gpu_client *client = probe.client;
    size_t count = client->kernel_count < GPU_KERNELS_MAX ? client->kernel_count : GPU_KERNELS_MAX;
    uint64_t *latency = calloc(count + 1, sizeof(*latency));
    size_t kept = 0;

    for (size_t i = 0; latency && i < count; i++) {
        const struct gpu_kernel *kernel = &client->kernels[i];

        if (kernel->end_ns != 0 && kernel->seen_ns > kernel->end_ns)
            latency[kept++] = kernel->seen_ns - kernel->end_ns;
    }
    (void)fprintf(
        out, "latency_p50_ms=%" PRIu64 " latency_p99_ms=%" PRIu64 " latency_max_ms=%" PRIu64 "\n",
        gpu_percentile(latency, kept, 50) / 1000000, gpu_percentile(latency, kept, 99) / 1000000,
        gpu_percentile(latency, kept, 100) / 1000000);
    free(latency);
}

static void tell(void)
{
    const char *path = getenv("GPU_PROBE_OUT");
    FILE *out = path ? fopen(path, "w") : NULL;

    if (!out)
        return;
    (void)fprintf(out, "loaded_after_ms=%" PRIu64 " on_main_thread=%d took_ms=%.3f\n",
                  probe.loaded_ns / 1000000, probe.thread_id == getpid(),
                  (double)probe.took_ns / 1e6);
    if (!probe.client) {
        (void)fprintf(out, "why=\"%s\"\n", probe.why);
        (void)fclose(out);
        return;
    }
    gpu_client_stop();
    (void)fprintf(out,
                  "kernels=%" PRIu64 " calls=%" PRIu64 " matched=%" PRIu64 " zero=%" PRIu64
                  " garbage=%" PRIu64 " first_bad=%" PRIu64 " dropped=%" PRIu64 "\n",
                  probe.client->kernel_count, probe.client->call_count, probe.client->matched_count,
                  probe.client->zero_count, probe.client->garbage_count, probe.client->first_bad,
                  probe.client->dropped_count);
    tell_latency(out);
    (void)fprintf(out, "flushes=%" PRIu64 " flush_longest_ms=%.3f\n",
                  atomic_load(&probe.flush_count),
                  (double)atomic_load(&probe.flush_longest_ns) / 1e6);
    (void)fclose(out);
}

static uint64_t since_process_start_ns(void)
{
    char line[1024] = {0};
    unsigned long long ticks = 0;
    FILE *stat = fopen("/proc/self/stat", "re");
    const char *at = NULL;
    struct timespec now;

    if (stat && fgets(line, sizeof(line), stat))
        at = strrchr(line, ')');
    for (int field = 2; at && field < 22; field++) /* starttime is the 22nd */
        at = strchr(at + 1, ' ');
    if (at)
        ticks = strtoull(at, NULL, 10);
    if (stat)
        (void)fclose(stat);
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec -
           ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

int InitializeInjection(void)
{
    uint64_t start_ns = rkt_now_raw_ns();
    pthread_t thread;

    probe.loaded_ns = since_process_start_ns();
    probe.thread_id = gettid();
    probe.client = gpu_client_start(wanted_calls(), &probe.why);
    if (probe.client && pthread_create(&thread, NULL, flush_for_ever, NULL) == 0)
        (void)pthread_detach(thread);
    (void)atexit(tell);
    probe.took_ns = rkt_now_raw_ns() - start_ns;
    return 1;
}
