/* SPDX-License-Identifier: Apache-2.0 */
#include "capture_job.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rkt_test.h"

#define POLL_MS 1

struct meeting {
    char folder[64];
    char path[96];
    int listen_fd;
    int stderr_fd;
    pid_t pid;
    bool has_ended;
    bool is_up; /* peer is valid */
    struct rkt_hello_peer peer;
};

void job_init(struct job *job)
{
    memset(job, 0, sizeof(*job));
    job->config =
        (struct rkt_region_config){.ring_count = 8, .ring_capacity = 4096, .heap_bytes = 1u << 20};
    job->capture.mask = RKT_CAPTURE_USUAL;
    job->events = calloc(JOB_EVENTS_MAX, sizeof(job->events[0]));
    job->names = calloc(JOB_NAMES_MAX, sizeof(job->names[0]));
    assert_non_null(job->events);
    assert_non_null(job->names);
}

void job_free(struct job *job)
{
    for (uint32_t id = 0; id < JOB_NAMES_MAX; id++)
        free(job->names[id]);
    free(job->names);
    free(job->events);
}

int job_set_up(void **state)
{
    static struct job job;

    job_init(&job);
    *state = &job;
    return 0;
}

int job_tear_down(void **state)
{
    job_free(*state);
    return 0;
}

void assert_job_good(const struct job *job)
{
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_true(job->was_closed);
    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++)
        assert_int_equal(job->losses.ring_full[kind], 0);
    assert_int_equal(job->losses.no_ring_count, 0);
}

static void run_child(const struct job *job, struct meeting *meeting, void (*function)(void))
{
    if (job->has_no_variable)
        unsetenv(RKT_ENV_SOCKET);
    else
        setenv(RKT_ENV_SOCKET, meeting->path, 1);
    dup2(meeting->stderr_fd, STDERR_FILENO);
    close(meeting->listen_fd);
    function();
    exit(0);
}

static void start(struct job *job, struct meeting *meeting, void (*function)(void))
{
    struct rkt_error err = {0};
    FILE *text = tmpfile();

    memset(meeting, 0, sizeof(*meeting));
    snprintf(meeting->folder, sizeof(meeting->folder), "/tmp/ranktrace-job-XXXXXX");
    assert_non_null(mkdtemp(meeting->folder));
    snprintf(meeting->path, sizeof(meeting->path), "%s/socket", meeting->folder);
    assert_rkt_ok(rkt_hello_listen(meeting->path, &meeting->listen_fd, &err), err);
    if (job->has_no_sidecar)
        unlink(meeting->path);
    meeting->stderr_fd = dup(fileno(text));
    fclose(text);
    fflush(NULL);
    meeting->pid = fork();
    assert_true(meeting->pid >= 0);
    if (meeting->pid == 0)
        run_child(job, meeting, function);
}

/* One behind the other, each a word, its text, and zeros up to the next unit. */
static void take_names(struct job *job, const struct rkt_region *region)
{
    const char *text;
    size_t len;

    for (uint32_t id = 1; rkt_region_name(region, id, &text, &len);
         id +=
         (uint32_t)((sizeof(uint32_t) + len + RKT_NAME_UNIT_BYTES - 1) / RKT_NAME_UNIT_BYTES)) {
        assert_true(id < JOB_NAMES_MAX);
        if (!job->names[id])
            job->names[id] = strndup(text, len);
    }
}

static size_t take_events(struct job *job, struct rkt_region *region)
{
    size_t before = job->event_count;

    for (size_t i = 0; i < rkt_region_ring_count(region); i++) {
        bool was_broken;

        job->event_count += rkt_ring_pop(
            rkt_region_ring(region, i), rkt_region_ring_capacity(region),
            job->events + job->event_count, JOB_EVENTS_MAX - job->event_count, &was_broken);
        assert_false(was_broken);
        assert_true(job->event_count < JOB_EVENTS_MAX); /* or events are lost here, not there */
        rkt_region_recycle(region, i);
    }
    return job->event_count - before;
}

/* Whether there was anything. */
static bool drain(struct job *job, struct meeting *meeting)
{
    size_t before = job->event_count;

    if (!meeting->is_up || (job->does_not_drain && !meeting->has_ended))
        return false;
    while (take_events(job, meeting->peer.region) > 0)
        ;
    take_names(job, meeting->peer.region);
    rkt_region_losses(meeting->peer.region, &job->losses);
    return job->event_count > before;
}

static void meet(struct job *job, struct meeting *meeting)
{
    struct rkt_error err;
    enum rkt_status status =
        rkt_hello_accept(meeting->listen_fd, &job->config, &job->capture, &meeting->peer, &err);

    if (status != RKT_OK)
        return;
    assert_false(job->was_connected); /* one connection per process */
    meeting->is_up = true;
    job->was_connected = true;
    job->hello = meeting->peer.hello;
    if (job->does_hang_up) {
        close(meeting->peer.fd);
        meeting->peer.fd = -1;
    }
}

static void finish(struct job *job, struct meeting *meeting)
{
    ssize_t got = pread(meeting->stderr_fd, job->stderr_text, sizeof(job->stderr_text) - 1, 0);

    assert_true(got >= 0);
    job->last_step = UINT64_MAX;
    if (meeting->is_up) {
        (void)rkt_region_step(meeting->peer.region, &job->last_step);
        job->was_closed = rkt_region_is_closed(meeting->peer.region);
        rkt_region_losses(meeting->peer.region, &job->losses);
        rkt_region_destroy(meeting->peer.region);
        if (meeting->peer.fd >= 0)
            close(meeting->peer.fd);
    }
    close(meeting->stderr_fd);
    close(meeting->listen_fd);
    unlink(meeting->path);
    rmdir(meeting->folder);
}

void job_run(struct job *job, void (*function)(void))
{
    struct meeting meeting;
    bool is_busy = false;

    start(job, &meeting, function);
    while (!meeting.has_ended) {
        struct pollfd waiter = {.fd = meeting.listen_fd, .events = POLLIN};

        if (poll(&waiter, 1, is_busy ? 0 : POLL_MS) == 1)
            meet(job, &meeting);
        meeting.has_ended = waitpid(meeting.pid, &job->wait_status, WNOHANG) == meeting.pid;
        is_busy = drain(job, &meeting);
        if (meeting.is_up && job->tend)
            job->tend(job, meeting.peer.region);
        if (!meeting.has_ended && job->should_kill && job->should_kill(job))
            kill(meeting.pid, SIGKILL);
    }
    finish(job, &meeting);
}

size_t job_count(const struct job *job, enum rkt_event_kind kind, int type,
                 const struct rkt_event **first_out)
{
    size_t count = 0;

    for (size_t i = 0; i < job->event_count; i++) {
        if (job->events[i].kind != kind || (type >= 0 && job->events[i].type != type))
            continue;
        if (count++ == 0 && first_out)
            *first_out = &job->events[i];
    }
    return count;
}

const char *job_name(const struct job *job, uint32_t id)
{
    return id < JOB_NAMES_MAX && job->names[id] ? job->names[id] : "";
}

const struct rkt_event *job_find(const struct job *job, enum rkt_event_kind kind, const char *name)
{
    for (size_t i = 0; i < job->event_count; i++) {
        if (job->events[i].kind == kind && strcmp(job_name(job, job->events[i].name_id), name) == 0)
            return &job->events[i];
    }
    return NULL;
}
