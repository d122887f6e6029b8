/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_H
#define RKT_COMMON_CLOCK_H

/*
 * clock - which clock a stamp is of, and the two kinds of time.
 *
 * Local time: one source's stamp of one clock; comparable within that source and
 * clock only. Job time: the reference clock after alignment; the only time that may
 * be compared between ranks. Only clock_map makes a job time; only a capture source
 * or an importer makes a local time. All are integer nanoseconds, never a double.
 */

#include <stdint.h>
#include <time.h>

/* Stored in files: never renumber. */
enum rkt_clock_id {
    RKT_CLOCK_UNKNOWN = 0,
    RKT_CLOCK_REALTIME = 1,      /* CUPTI's default; steps and slews with NTP */
    RKT_CLOCK_MONOTONIC_RAW = 2, /* every stamp of our own; not steered */
    RKT_CLOCK_MONOTONIC = 3,
    RKT_CLOCK_TSC = 4,         /* ticks, not ns */
    RKT_CLOCK_GLOBALTIMER = 5, /* the GPU's own %globaltimer */
    RKT_CLOCK_TRACE = 6,       /* an imported file's own: ns since the Unix epoch as it claims */
    RKT_CLOCK_COUNT
};

/* The latest time that is taken for one: the year 2116 in REALTIME. Differences of two times,
 * and sums of two differences, fit in int64_t. */
#define RKT_TIME_MAX_NS (1ull << 62)

struct rkt_local_time {
    uint64_t ns;
};

struct rkt_job_time {
    int64_t ns;
};

static inline int64_t rkt_job_time_diff_ns(struct rkt_job_time later, struct rkt_job_time earlier)
{
    return later.ns - earlier.ns;
}

/* Now, in ns. Async-signal-safe, about 35 ns. */
static inline uint64_t rkt_clock_read_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t rkt_now_raw_ns(void)
{
    return rkt_clock_read_ns(CLOCK_MONOTONIC_RAW);
}

static inline uint64_t rkt_now_real_ns(void)
{
    return rkt_clock_read_ns(CLOCK_REALTIME);
}

/* "monotonic_raw"; "unknown" for a number that is no clock. */
const char *rkt_clock_name(enum rkt_clock_id id);

#endif
