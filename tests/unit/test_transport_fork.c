/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/transport.h"
#include "rkt_test.h"

#define MESSAGES 300u
#define LONGEST_BYTES 200000u
#define FLOOD_BYTES 200u /* of each frame of a flood: it would take millions of empty ones */

/* Message `number` of process `rank`: its length and its bytes follow from both. */
static size_t fill(unsigned char *bytes, int rank, uint32_t number)
{
    size_t len_bytes = number % 7 == 0 ? 0 : number * 7919u % LONGEST_BYTES;

    memset(bytes, (int)(number + (uint32_t)rank * 31), len_bytes);
    return len_bytes;
}

static void pause_a_little(void)
{
    (void)poll(NULL, 0, 1);
}

/* For a child: no assert of its own. */
static void require(bool is_true)
{
    if (!is_true)
        _exit(1);
}

static void send_all(struct rkt_transport *t, int to, enum rkt_tag tag, const void *bytes,
                     size_t len_bytes)
{
    enum rkt_status status;

    while ((status = rkt_transport_send(t, to, tag, bytes, len_bytes, NULL)) == RKT_AGAIN) {
        (void)rkt_transport_progress(t);
        pause_a_little();
    }
    require(status == RKT_OK);
}

static enum rkt_status wait_for(struct rkt_transport *t, enum rkt_tag tag, void *buf,
                                size_t buf_bytes, struct rkt_arrival *arrival,
                                struct rkt_error *err)
{
    enum rkt_status status;

    while ((status = rkt_transport_receive(t, tag, buf, buf_bytes, arrival, err)) == RKT_AGAIN)
        pause_a_little();
    return status;
}

static void talk_as_child(struct rkt_transport *t, unsigned char *bytes)
{
    struct rkt_arrival arrival;
    int rank = rkt_transport_rank(t);

    for (uint32_t i = 0; i < MESSAGES; i++) {
        size_t len_bytes = fill(bytes, rank, i);

        send_all(t, 0, RKT_TAG_FRAME, bytes, len_bytes);
    }
    while (rkt_transport_progress(t))
        pause_a_little();
    require(wait_for(t, RKT_TAG_CONTROL_DOWN, bytes, 1, &arrival, NULL) == RKT_OK);
    require(arrival.from == 0 && arrival.len_bytes == 1 && bytes[0] == rank);
    send_all(t, 0, RKT_TAG_CONTROL_UP, "done", 4);
    require(wait_for(t, RKT_TAG_CONTROL_DOWN, bytes, 1, &arrival, NULL) == RKT_OK);
    _exit(0);
}

static void messages_of_children_come_whole_and_in_order(void **state)
{
    unsigned char *bytes = malloc(LONGEST_BYTES);
    unsigned char *want = malloc(LONGEST_BYTES);
    struct rkt_transport *t = NULL;
    struct rkt_error err = {0};
    struct rkt_arrival arrival;
    uint32_t next[4] = {0};

    (void)state;
    assert_true(bytes && want);
    assert_rkt_ok(rkt_transport_fork_create(4, &t, &err), err);
    if (rkt_transport_rank(t) > 0)
        talk_as_child(t, bytes);
    assert_int_equal(rkt_transport_size(t), 4);
    for (uint32_t i = 0; i < 3 * MESSAGES; i++) {
        assert_rkt_ok(wait_for(t, RKT_TAG_FRAME, bytes, LONGEST_BYTES, &arrival, &err), err);
        assert_in_range(arrival.from, 1, 3);
        assert_int_equal(arrival.len_bytes, fill(want, arrival.from, next[arrival.from]++));
        assert_memory_equal(bytes, want, arrival.len_bytes);
    }
    for (int i = 1; i < 4; i++) {
        unsigned char rank = (unsigned char)i;

        assert_rkt_ok(rkt_transport_send(t, i, RKT_TAG_CONTROL_DOWN, &rank, 1, &err), err);
    }
    for (int i = 1; i < 4; i++)
        assert_rkt_ok(wait_for(t, RKT_TAG_CONTROL_UP, bytes, 4, &arrival, &err), err);
    for (int i = 1; i < 4; i++)
        assert_rkt_ok(rkt_transport_send(t, i, RKT_TAG_CONTROL_DOWN, "x", 1, &err), err);
    rkt_transport_destroy(t, true);
    free(bytes);
    free(want);
}

static void a_child_that_dies_is_an_error_after_what_it_said(void **state)
{
    struct rkt_transport *t = NULL;
    struct rkt_error err = {0};
    struct rkt_arrival arrival;
    char buf[8];

    (void)state;
    assert_rkt_ok(rkt_transport_fork_create(3, &t, &err), err);
    if (rkt_transport_rank(t) == 2) {
        send_all(t, 0, RKT_TAG_FRAME, "last", 4);
        (void)raise(SIGKILL);
    }
    if (rkt_transport_rank(t) == 1) {
        pause();
        _exit(1);
    }
    assert_rkt_ok(wait_for(t, RKT_TAG_FRAME, buf, sizeof(buf), &arrival, &err), err);
    assert_int_equal(arrival.from, 2);
    assert_rkt_status(wait_for(t, RKT_TAG_FRAME, buf, sizeof(buf), &arrival, &err), RKT_ERR_IO);
    assert_non_null(strstr(err.text, "process 2 of 3 was ended by signal 9"));
    rkt_transport_destroy(t, false); /* ends the other */
}

static void children_end_with_their_parent(void **state)
{
    int fds[2];
    struct pollfd end;
    pid_t parent;
    char byte;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    parent = fork();
    if (parent == 0) {
        struct rkt_transport *t = NULL;

        require(rkt_transport_fork_create(3, &t, NULL) == RKT_OK);
        if (rkt_transport_rank(t) > 0)
            require(write(fds[1], "x", 1) == 1);
        for (;;)
            pause();
    }
    (void)close(fds[1]);
    assert_int_equal(read(fds[0], &byte, 1), 1); /* both children are there */
    assert_int_equal(read(fds[0], &byte, 1), 1);
    assert_int_equal(kill(parent, SIGKILL), 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    end = (struct pollfd){.fd = fds[0], .events = POLLIN};
    assert_int_equal(poll(&end, 1, 20000), 1);
    assert_int_equal(read(fds[0], &byte, 1), 0); /* nobody has the other end */
    (void)close(fds[0]);
}

static void frames_that_nobody_takes_are_held_back_but_never_control(void **state)
{
    static char frame[1 << 20];
    struct rkt_transport *t = NULL;
    struct rkt_error err = {0};
    enum rkt_status status = RKT_OK;
    int sent = 0;

    (void)state;
    assert_rkt_ok(rkt_transport_fork_create(2, &t, &err), err);
    if (rkt_transport_rank(t) == 1) {
        pause();
        _exit(1);
    }
    while (status == RKT_OK && sent < 1000) {
        status = rkt_transport_send(t, 1, RKT_TAG_FRAME, frame, sizeof(frame), &err);
        sent += status == RKT_OK;
    }
    assert_rkt_status(status, RKT_AGAIN);
    assert_in_range(sent, 2, 64);
    assert_rkt_ok(rkt_transport_send(t, 1, RKT_TAG_CONTROL_DOWN, "x", 1, &err), err);
    assert_true(rkt_transport_progress(t));
    assert_rkt_status(rkt_transport_send(t, 2, RKT_TAG_CONTROL_DOWN, "x", 1, &err),
                      RKT_ERR_INVALID);
    rkt_transport_destroy(t, false);
}

/* A child's only word is that it was held back. */
static void flood(struct rkt_transport *t, volatile bool *is_held_back)
{
    static const char FRAME[FLOOD_BYTES];

    while (rkt_transport_send(t, 0, RKT_TAG_FRAME, FRAME, sizeof(FRAME), NULL) == RKT_OK)
        continue;
    *is_held_back = true;
    pause();
    _exit(1);
}

static void who_sends_faster_than_is_taken_is_held_back(void **state)
{
    volatile bool *is_held_back;
    struct rkt_transport *t = NULL;
    struct rkt_arrival arrival;
    struct rkt_error err = {0};
    char frame[FLOOD_BYTES];

    (void)state;
    is_held_back = mmap(NULL, sizeof(*is_held_back), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(is_held_back != MAP_FAILED);
    assert_rkt_ok(rkt_transport_fork_create(2, &t, &err), err);
    if (rkt_transport_rank(t) == 1)
        flood(t, is_held_back);
    (void)alarm(60);
    while (!*is_held_back)
        assert_rkt_status(rkt_transport_receive(t, RKT_TAG_CONTROL_UP, NULL, 0, &arrival, &err),
                          RKT_AGAIN);
    (void)alarm(0);
    assert_rkt_ok(rkt_transport_receive(t, RKT_TAG_FRAME, frame, sizeof(frame), &arrival, &err),
                  err);
    rkt_transport_destroy(t, false);
    munmap((void *)is_held_back, sizeof(*is_held_back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_children_come_whole_and_in_order),
        cmocka_unit_test(a_child_that_dies_is_an_error_after_what_it_said),
        cmocka_unit_test(children_end_with_their_parent),
        cmocka_unit_test(frames_that_nobody_takes_are_held_back_but_never_control),
        cmocka_unit_test(who_sends_faster_than_is_taken_is_held_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
