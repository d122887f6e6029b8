/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_job - a job that marks at a given rate and keeps its own account of it, so that a test can
 * say afterwards what must have arrived, however the job ended.
 *
 *   mark_job [threads N] [rate N] [ms N] [account FILE] [files N] [names N] [exit CODE]
 *
 * `threads` threads make `rate` marks a second between them, for `ms` milliseconds or until the
 * job is killed (0). After each mark the thread's count in FILE, which is mapped, grows by one:
 * a SIGKILL can come between the two, so that each thread may have one mark more than it counts.
 * names: so many different ones, in turn; 0: the same for all.
 * files: it may have no more than N descriptors from its start on.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "agent/include/ranktrace.h"
#include "common/units.h"

#define THREADS_MAX 64
#define TICK_NS 1000000u
#define S_NS 1000000000u

struct options {
    uint64_t threads, rate, ms, files, names, exit_code;
    const char *account;
};

struct worker {
    pthread_t thread;
    const struct options *options;
    _Atomic uint64_t *count;
};

static bool parse(int argc, char **argv, struct options *options)
{
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"threads", &options->threads}, {"rate", &options->rate},
                   {"ms", &options->ms},           {"files", &options->files},
                   {"names", &options->names},     {"exit", &options->exit_code}};

    for (int i = 1; i + 1 < argc; i += 2) {
        bool is_known = strcmp(argv[i], "account") == 0;

        if (is_known)
            options->account = argv[i + 1];
        for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
            is_known |= strcmp(argv[i], numbers[n].name) == 0 &&
                        rkt_parse_u64(argv[i + 1], numbers[n].number);
        if (!is_known)
            return false;
    }
    return argc % 2 == 1 && options->threads >= 1 && options->threads <= THREADS_MAX;
}

static _Atomic uint64_t *map_account(const char *path)
{
    size_t bytes = THREADS_MAX * sizeof(_Atomic uint64_t);
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    void *memory;

    if (path && (fd < 0 || ftruncate(fd, (off_t)bytes) != 0))
        return NULL;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                  path ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void mark(const struct options *options, uint64_t number)
{
    char name[32] = "mark";

    if (options->names > 0)
        (void)snprintf(name, sizeof(name), "mark %" PRIu64, number % options->names);
    ranktrace_mark(name);
}

/* By the clock: a tick that comes late has so much more to do. */
static void *work(void *arg)
{
    struct worker *worker = arg;
    const struct options *options = worker->options;
    uint64_t done = 0, elapsed_ns = 0, limit_ns = options->ms * TICK_NS;
    struct timespec start, next;

    clock_gettime(CLOCK_MONOTONIC, &start);
    while (options->ms == 0 || elapsed_ns < limit_ns) {
        elapsed_ns += TICK_NS;
        next.tv_sec = start.tv_sec + (time_t)(((uint64_t)start.tv_nsec + elapsed_ns) / S_NS);
        next.tv_nsec = (long)(((uint64_t)start.tv_nsec + elapsed_ns) % S_NS);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        for (; done < elapsed_ns * options->rate / options->threads / S_NS; done++) {
            mark(options, done);
            atomic_fetch_add_explicit(worker->count, 1, memory_order_release);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct options options = {.threads = 8, .rate = 10000};
    struct worker workers[THREADS_MAX];
    _Atomic uint64_t *account;

    if (!parse(argc, argv, &options)) {
        (void)fprintf(stderr, "mark_job: not understood\n");
        return 99;
    }
    if (options.files > 0 &&
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){options.files, options.files}) != 0)
        return 98;
    account = map_account(options.account);
    if (!account)
        return 98;
    (void)ranktrace_is_active(); /* connects: while it does, the marks of others are not taken */
    for (size_t i = 0; i < options.threads; i++) {
        workers[i] = (struct worker){.options = &options, .count = &account[i]};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 98;
    }
    for (size_t i = 0; i < options.threads; i++)
        (void)pthread_join(workers[i].thread, NULL);
    return (int)options.exit_code;
}
