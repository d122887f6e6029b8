/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_sidecar - a sidecar that behaves, or misbehaves, as FAKE_SIDECAR says, so that each
 * promise of the supervisor can be tried. Every message it gets is a line in FAKE_LOG.
 *
 *     good         READY, and the whole order of messages to the end
 *     early-exit   exits before it is ready
 *     never-ready  connects, but is never ready
 *     dies         is killed by SIGKILL as soon as the job runs
 *     hangs        is ready, then never says anything again
 *     waits        after the job's end says WAITING for FAKE_WAIT_MS, then goes on as good
 *     aborts       says that rank 3 failed, once the job has made the file "ready"
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/control.h"
#include "common/clock.h"
#include "common/units.h"

#define NS_PER_MS 1000000u
#define WAITING_MS 500
#define LOOK_AGAIN_MS 10

static const char *mode(void)
{
    const char *text = getenv("FAKE_SIDECAR");

    return text ? text : "good";
}

static bool is_mode(const char *name)
{
    return strcmp(mode(), name) == 0;
}

static void note(const char *what, int value)
{
    const char *path = getenv("FAKE_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;

    if (!file)
        return;
    (void)fprintf(file, "%s %d\n", what, value);
    (void)fclose(file);
}

static void say(int fd, enum rkt_control_type type, int value, const char *text)
{
    struct rkt_error err;

    if (rkt_control_send(fd, type, value, text, &err) != RKT_OK)
        (void)fprintf(stderr, "fake_sidecar: %s\n", err.text);
}

/* The next message; exits when the supervisor hangs up. False when `wait_ms` are over. */
static bool hear(int fd, int wait_ms, struct rkt_control_message *message)
{
    struct pollfd item = {.fd = fd, .events = POLLIN};
    struct rkt_error err;
    enum rkt_status status;

    (void)poll(&item, 1, wait_ms);
    status = rkt_control_receive(fd, message, &err);
    if (status != RKT_OK && status != RKT_AGAIN) {
        note("hang-up", 0);
        exit(0);
    }
    return status == RKT_OK;
}

static void hear_until(int fd, enum rkt_control_type type)
{
    struct rkt_control_message message = {.type = 0};

    while (message.type != (uint32_t)type) {
        if (!hear(fd, -1, &message))
            continue;
        if (message.type == RKT_CONTROL_JOB_STARTED)
            note("started", 0);
        else if (message.type == RKT_CONTROL_JOB_ENDED)
            note("ended", message.value);
        else if (message.type == RKT_CONTROL_REPORT_DONE)
            note("report", message.value);
        else if (message.type == RKT_CONTROL_STOP)
            note("stop", message.value);
        else if (message.type == RKT_CONTROL_TOGGLE)
            note("toggle", 0);
    }
}

static void say_that_it_waits(int fd)
{
    const char *text = getenv("FAKE_WAIT_MS");
    uint64_t wait_ms = 0, start_ns = rkt_now_raw_ns();
    struct rkt_control_message message;

    if (!text || !rkt_parse_u64(text, &wait_ms))
        exit(2);
    while (rkt_now_raw_ns() - start_ns < wait_ms * NS_PER_MS) {
        say(fd, RKT_CONTROL_WAITING, 0, NULL);
        (void)hear(fd, WAITING_MS, &message);
    }
}

static void misbehave(int fd)
{
    if (is_mode("early-exit"))
        exit(3);
    if (is_mode("never-ready"))
        hear_until(fd, RKT_CONTROL_DONE); /* which never comes: until the hang-up */
    say(fd, RKT_CONTROL_READY, 0, "127.0.0.1 12345");
    while (is_mode("hangs"))
        (void)pause();
    hear_until(fd, RKT_CONTROL_JOB_STARTED);
    if (is_mode("dies"))
        (void)raise(SIGKILL);
    while (is_mode("aborts") && access("ready", F_OK) < 0)
        (void)poll(NULL, 0, LOOK_AGAIN_MS);
    if (is_mode("aborts"))
        say(fd, RKT_CONTROL_ABORT_JOB, 3, NULL);
    hear_until(fd, RKT_CONTROL_JOB_ENDED);
    if (is_mode("waits"))
        say_that_it_waits(fd);
}

int main(int argc, char **argv)
{
    uint64_t fd = 0;
    const char *value = getenv("FAKE_VALUE"), *output = "";

    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(argv[i], "--control-fd") == 0 && !rkt_parse_u64(next, &fd))
            return 2;
        if (strcmp(argv[i], "--output") == 0)
            output = next;
        if (strcmp(argv[i], "--per-node") == 0)
            note("per-node", 1);
        if (strcmp(argv[i], "--socket") == 0)
            (void)close(open(next, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    if (fd == 0)
        return 2;
    misbehave((int)fd);
    say((int)fd, RKT_CONTROL_STORE_CLOSED, 0, output);
    hear_until((int)fd, RKT_CONTROL_REPORT_DONE);
    say((int)fd, RKT_CONTROL_DONE, value ? (int)strtol(value, NULL, 10) : 0, NULL);
    return 0;
}
