/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mark, a range and an NVTX range cost the thread that sets them, beside clock_gettime,
 * which each of them calls, in the same run. All on one core: where the sidecar has the other, what
 * it takes out of the ring costs up to 20 ns a mark more while it does so.
 */
#include "agent/include/ranktrace.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "tests/bench/bench_job.h"
#include "tests/unit/nvtx_host.h"

#define SLEEPS 101
#define SLEEP_DEPTH 32 /* phases that end after each */

static struct nvtx_host host;
static const void *domain;
static struct rkt_nvtx_attributes registered;

static void set_mark(void)
{
    ranktrace_mark("forward of layer 12");
}

/* Every second call ends what the one before began. */
static bool is_begin(void)
{
    static bool is_open;

    is_open = !is_open;
    return is_open;
}

static void range_edge(void)
{
    if (is_begin())
        ranktrace_range_push("forward of layer 12");
    else
        ranktrace_range_pop();
}

static void phase_edge(void)
{
    if (is_begin())
        ranktrace_phase_begin(RANKTRACE_FORWARD);
    else
        ranktrace_phase_end(RANKTRACE_FORWARD);
}

static void begin_step(void)
{
    static uint64_t step;

    ranktrace_step(step++);
}

static void bucket_edge(void)
{
    static uint64_t handle;

    if (is_begin())
        handle = ranktrace_bucket_begin(0, 25u << 20, 7);
    else
        ranktrace_bucket_end(handle);
}

static void nvtx_edge(void)
{
    if (is_begin())
        (void)host.push_a("forward of layer 12");
    else
        (void)host.pop();
}

static void nvtx_registered_edge(void)
{
    if (is_begin())
        (void)host.domain_push(domain, &registered);
    else
        (void)host.domain_pop(domain);
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* What the end of a phase costs that finds its thread to have slept: it looks why. */
static double median_end_of_sleep_ns(void)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    double costs_ns[SLEEPS];

    for (size_t i = 0; i < SLEEPS; i++) {
        uint64_t start_ns;

        for (int depth = 0; depth < SLEEP_DEPTH; depth++)
            ranktrace_phase_begin(RANKTRACE_FORWARD);
        (void)nanosleep(&pause, NULL);
        start_ns = rkt_now_raw_ns();
        for (int depth = 0; depth < SLEEP_DEPTH; depth++)
            ranktrace_phase_end(RANKTRACE_FORWARD);
        costs_ns[i] = (double)(rkt_now_raw_ns() - start_ns) / SLEEP_DEPTH;
    }
    qsort(costs_ns, SLEEPS, sizeof(costs_ns[0]), compare_double);
    return costs_ns[SLEEPS / 2];
}

static void job(void)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } CALLS[] = {{"mark", set_mark},
                 {"range_edge", range_edge},
                 {"phase_edge", phase_edge},
                 {"step", begin_step},
                 {"bucket_edge", bucket_edge},
                 {"nvtx_edge", nvtx_edge},
                 {"nvtx_registered_edge", nvtx_registered_edge}};

    if (!ranktrace_is_active() || nvtx_host_load(&host) != 1)
        return;
    domain = host.domain_create_a("bench");
    registered = nvtx_registered(host.register_string_a(domain, "forward of layer 12"));
    for (size_t i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++) {
        struct bench_pair pair = bench_median(CALLS[i].call);

        (void)printf("bench=capture_marks call=%s median_ns=%.1f clock_ns=%.1f "
                     "above_clock_ns=%.1f\n",
                     CALLS[i].name, pair.call_ns, pair.clock_ns, pair.call_ns - pair.clock_ns);
    }
    (void)printf("bench=capture_marks call=phase_end_after_sleep median_ns=%.1f\n",
                 median_end_of_sleep_ns());
    (void)fflush(stdout);
}

int main(void)
{
    const struct rkt_capture_config config = {.mask = RKT_CAPTURE_MARKS | RKT_CAPTURE_NVTX};
    int core = sched_getcpu();
    cpu_set_t cores;

    CPU_ZERO(&cores);
    CPU_SET((size_t)(core < 0 ? 0 : core), &cores);
    (void)sched_setaffinity(0, sizeof(cores), &cores);
    return bench_run_job(&config, job);
}
