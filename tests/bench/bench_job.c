/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/hello.h"
#include "common/clock.h"

#define PAUSE_NS 300000
#define EVENTS 4096

static const struct rkt_region_config REGION = {
    .ring_count = 8, .ring_capacity = 65536, .heap_bytes = 1u << 20};

/* ---- timing ---- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t time_batch(void (*call)(void))
{
    uint64_t start_ns = rkt_now_raw_ns();

    for (int i = 0; i < BENCH_CALLS; i++)
        call();
    return rkt_now_raw_ns() - start_ns;
}

static void read_clock(void)
{
    (void)rkt_now_raw_ns();
}

static double median_ns(uint64_t batch_ns[BENCH_BATCHES])
{
    uint64_t batch;

    qsort(batch_ns, BENCH_BATCHES, sizeof(batch_ns[0]), compare);
    batch = batch_ns[BENCH_BATCHES / 2];
    return (double)batch / BENCH_CALLS;
}

struct bench_pair bench_median(void (*call)(void))
{
    static uint64_t calls_ns[BENCH_BATCHES];
    static uint64_t clocks_ns[BENCH_BATCHES];
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    for (int i = 0; i < BENCH_BATCHES; i++) {
        (void)nanosleep(&pause, NULL);
        clocks_ns[i] = time_batch(read_clock);
        calls_ns[i] = time_batch(call);
    }
    return (struct bench_pair){median_ns(calls_ns), median_ns(clocks_ns)};
}

/* ---- the sidecar ---- */

static void drain(struct rkt_region *region)
{
    static struct rkt_event events[EVENTS];
    bool was_broken;

    for (size_t i = 0; i < rkt_region_ring_count(region); i++) {
        while (rkt_ring_pop(rkt_region_ring(region, i), REGION.ring_capacity, events, EVENTS,
                            &was_broken) > 0)
            continue;
    }
}

static uint64_t count_dropped(struct rkt_region *region)
{
    struct rkt_region_losses losses;
    uint64_t count;

    rkt_region_losses(region, &losses);
    count = losses.no_ring_count;
    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++)
        count += losses.ring_full[kind];
    return count;
}

static int serve(pid_t pid, int listen_fd, const struct rkt_capture_config *config)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS / 3};
    struct rkt_hello_peer peer = {0};
    int wait_status = 0;

    while (waitpid(pid, &wait_status, WNOHANG) == 0) {
        if (peer.region)
            drain(peer.region);
        else
            (void)rkt_hello_accept(listen_fd, &REGION, config, &peer, NULL);
        (void)nanosleep(&pause, NULL);
    }
    if (!peer.region || wait_status != 0) {
        (void)fprintf(stderr, "bench: the job was %s\n",
                      peer.region ? "not brought to its end" : "not traced");
        return 1;
    }
    if (count_dropped(peer.region) > 0) {
        (void)fprintf(stderr,
                      "bench: %llu events were dropped, which costs less than to keep them\n",
                      (unsigned long long)count_dropped(peer.region));
        return 1;
    }
    return 0;
}

int bench_run_job(const struct rkt_capture_config *config, void (*job)(void))
{
    char folder[] = "/tmp/ranktrace-bench-XXXXXX";
    char path[sizeof(folder) + 8];
    int listen_fd;
    int result;
    pid_t pid;

    if (!mkdtemp(folder))
        return 1;
    (void)snprintf(path, sizeof(path), "%s/socket", folder);
    if (rkt_hello_listen(path, &listen_fd, NULL) != RKT_OK)
        return 1;
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        (void)close(listen_fd);
        (void)setenv(RKT_ENV_SOCKET, path, 1);
        job();
        exit(0);
    }
    result = pid < 0 ? 1 : serve(pid, listen_fd, config);
    (void)unlink(path);
    (void)rmdir(folder);
    return result;
}
