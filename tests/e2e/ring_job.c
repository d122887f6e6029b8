/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_job - a job that a test knows everything about: it connects as the capture library does
 * and fills rings with counted events, without GPU, CUPTI or NCCL.
 *
 *   ring_job [events N] [threads N] [until FILE] [step-us N] [helpers N] [no-comm] [no-close]
 *            [flood] [silent] [kill-sidecar] [sleep-ms N] [exit CODE | kill]
 *
 * Each thread pushes N kernels with 10 names; the first thread also a communicator and a step mark
 * per 100 kernels. A full ring is waited for, unless flood. silent: it does not connect at all.
 * until: the first thread goes on, past its N, in whole steps until FILE is there, and says
 * "rank R pushed N".
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/hello.h"
#include "common/clock.h"
#include "common/units.h"

#define THREADS_MAX 32

struct job {
    uint64_t events, threads, step_us, helpers, sleep_ms, exit_code;
    bool has_no_comm, does_not_close, floods, is_silent, is_killed, kills_sidecar;
    const char *until; /* NULL: not asked for */

    struct rkt_region *region;
    int fd;
    uint32_t names[10];
    uint32_t comm_name;
};

struct worker {
    pthread_t thread;
    struct job *job;
    uint32_t number;
};

static bool take_word(struct job *job, const char *word)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"no-comm", &job->has_no_comm},
                 {"no-close", &job->does_not_close},
                 {"flood", &job->floods},
                 {"silent", &job->is_silent},
                 {"kill-sidecar", &job->kills_sidecar},
                 {"kill", &job->is_killed}};

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strcmp(flags[i].name, word) == 0)
            return *flags[i].flag = true;
    }
    return false;
}

static bool take_number(struct job *job, const char *word, const char *value)
{
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"events", &job->events},     {"threads", &job->threads},
                   {"step-us", &job->step_us},   {"helpers", &job->helpers},
                   {"sleep-ms", &job->sleep_ms}, {"exit", &job->exit_code}};

    for (size_t i = 0; value && i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(numbers[i].name, word) == 0)
            return rkt_parse_u64(value, numbers[i].number);
    }
    return false;
}

static void push(struct job *job, struct rkt_ring *ring, const struct rkt_event *event)
{
    while (!rkt_ring_push(ring, event) && !job->floods)
        usleep(200); /* for the reader to make room; the count of drops is not what is tested */
}

static struct rkt_event make_event(uint8_t kind, uint32_t name_id)
{
    uint64_t now = rkt_now_raw_ns();

    return (struct rkt_event){.kind = kind,
                              .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                              .name_id = name_id,
                              .start_ns = now,
                              .end_ns = now + 1000};
}

static void push_comm(struct job *job, struct rkt_ring *ring)
{
    struct rkt_event event = make_event(RKT_EVENT_COMM, job->comm_name);

    event.comm.comm_id = 42;
    event.comm.rank_count = 4;
    push(job, ring, &event);
}

static void push_step(struct job *job, struct rkt_ring *ring, uint64_t number)
{
    struct rkt_event event = make_event(RKT_EVENT_RANGE, 0);

    event.type = RKT_RANGE_STEP;
    event.range.value = number;
    push(job, ring, &event);
}

static bool goes_on(const struct worker *worker, uint64_t pushed)
{
    const struct job *job = worker->job;

    if (pushed < job->events)
        return true;
    return worker->number == 0 && job->until &&
           (pushed % 100 != 0 || access(job->until, F_OK) != 0);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct job *job = worker->job;
    struct rkt_ring *ring = rkt_region_claim(job->region, worker->number + 1);
    uint64_t i;

    if (!ring)
        return NULL;
    if (worker->number == 0 && !job->has_no_comm)
        push_comm(job, ring);
    for (i = 0; goes_on(worker, i); i++) {
        struct rkt_event event = make_event(RKT_EVENT_KERNEL, job->names[i % 10]);

        event.correlation_id = (uint32_t)i;
        push(job, ring, &event);
        if (worker->number == 0 && i % 100 == 99) {
            push_step(job, ring, i / 100);
            usleep((useconds_t)job->step_us);
        }
    }
    rkt_region_release(ring);
    if (worker->number == 0 && job->until)
        (void)printf("rank %s pushed %llu\n", getenv("RANK"), (unsigned long long)i);
    return NULL;
}

static int connect_and_work(struct job *job)
{
    struct worker workers[THREADS_MAX];
    struct rkt_hello hello;
    struct rkt_welcome welcome;
    struct rkt_error err = {0};
    const char *socket = getenv(RKT_ENV_SOCKET);

    rkt_hello_fill(&hello);
    if (!socket ||
        rkt_hello_connect(socket, &hello, &welcome, &job->region, &job->fd, &err) != RKT_OK) {
        (void)fprintf(stderr, "ring_job: %s\n", socket ? err.text : "RANKTRACE_SOCKET is not set");
        return 0; /* an untraced job does its work all the same */
    }
    for (uint32_t i = 0; i < 10; i++) {
        char text[32];
        int len = snprintf(text, sizeof(text), "kernel_%u", i);

        job->names[i] = rkt_region_append_name(job->region, text, (size_t)len);
    }
    job->comm_name = rkt_region_append_name(job->region, "world", 5);
    for (uint32_t i = 0; i < job->threads; i++) {
        workers[i] = (struct worker){.job = job, .number = i};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 98;
    }
    for (uint32_t i = 0; i < job->threads; i++)
        (void)pthread_join(workers[i].thread, NULL);
    return 0;
}

/* A process of the same rank that makes no communicator: it must not be taken for the rank. */
static void run_helpers(const struct job *job)
{
    for (uint64_t i = 0; i < job->helpers; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            struct job helper = {.events = 50, .threads = 1, .has_no_comm = true};
            int code = connect_and_work(&helper);

            if (helper.region)
                rkt_region_set_closed(helper.region);
            _exit(code);
        }
        (void)waitpid(pid, NULL, 0);
    }
}

/* Who listened on our socket; waits until it is gone. */
static void kill_sidecar(const struct job *job)
{
    struct ucred peer = {0};
    socklen_t peer_bytes = sizeof(peer);
    char byte;

    if (getsockopt(job->fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) == 0 && peer.pid > 0)
        (void)kill(peer.pid, SIGKILL);
    (void)!read(job->fd, &byte, sizeof(byte));
}

int main(int argc, char **argv)
{
    struct job job = {.events = 1000, .threads = 1};
    int code = 0;

    for (int i = 1; i < argc; i++) {
        if (take_word(&job, argv[i]))
            continue;
        if (strcmp(argv[i], "until") == 0 && argv[i + 1]) {
            job.until = argv[++i];
            continue;
        }
        if (!take_number(&job, argv[i], argv[i + 1])) {
            (void)fprintf(stderr, "ring_job: not understood: %s\n", argv[i]);
            return 99;
        }
        i++;
    }
    if (job.threads > THREADS_MAX)
        return 99;
    run_helpers(&job);
    if (!job.is_silent)
        code = connect_and_work(&job);
    if (job.region && job.kills_sidecar)
        kill_sidecar(&job);
    usleep((useconds_t)job.sleep_ms * 1000);
    if (job.is_killed)
        (void)raise(SIGKILL);
    if (job.region && !job.does_not_close)
        rkt_region_set_closed(job.region);
    rkt_region_destroy(job.region); /* no thread pushes any more */
    return code != 0 ? code : (int)job.exit_code;
}
