/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hello.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rkt_test.h"

static const struct rkt_region_config SMALL = {
    .ring_count = 2, .ring_capacity = 64, .heap_bytes = 64u << 10};

/* One exchange of the sidecar's side, on its own thread. */
struct sidecar {
    char folder[64];
    char path[96];
    int listen_fd;
    pthread_t thread;

    enum rkt_status status;
    struct rkt_error err;
    struct rkt_hello_peer peer;
};

static int start_listening(void **state)
{
    static struct sidecar sidecar;

    memset(&sidecar, 0, sizeof(sidecar));
    sidecar.peer.fd = -1;
    snprintf(sidecar.folder, sizeof(sidecar.folder), "/tmp/ranktrace-hello-XXXXXX");
    if (!mkdtemp(sidecar.folder))
        return -1;
    snprintf(sidecar.path, sizeof(sidecar.path), "%s/socket", sidecar.folder);
    if (rkt_hello_listen(sidecar.path, &sidecar.listen_fd, NULL) != RKT_OK)
        return -1;
    *state = &sidecar;
    return 0;
}

static int stop_listening(void **state)
{
    struct sidecar *sidecar = *state;

    if (sidecar->peer.fd >= 0)
        close(sidecar->peer.fd);
    rkt_region_destroy(sidecar->peer.region);
    close(sidecar->listen_fd);
    unlink(sidecar->path);
    rmdir(sidecar->folder);
    return 0;
}

static const struct rkt_capture_config NCCL_ONLY = {.mask = RKT_CAPTURE_NCCL,
                                                    .step_range = "train_step"};

static void *accept_one(void *arg)
{
    struct sidecar *sidecar = arg;
    struct pollfd waiter = {.fd = sidecar->listen_fd, .events = POLLIN};

    (void)poll(&waiter, 1, 10000);
    sidecar->status =
        rkt_hello_accept(sidecar->listen_fd, &SMALL, &NCCL_ONLY, &sidecar->peer, &sidecar->err);
    return NULL;
}

static void start_accepting(struct sidecar *sidecar)
{
    assert_int_equal(pthread_create(&sidecar->thread, NULL, accept_one, sidecar), 0);
}

static int connect_raw(const struct sidecar *sidecar)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, sidecar->path, strlen(sidecar->path));
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void both_sides_share_memory_after_the_exchange(void **state)
{
    struct sidecar *sidecar = *state;
    struct rkt_hello hello;
    struct rkt_welcome welcome = {0};
    struct rkt_region *region = NULL;
    struct rkt_error err = {0};
    struct rkt_event event = {.kind = RKT_EVENT_RANGE, .start_ns = 77};
    struct rkt_event out[1];
    bool was_broken;
    int fd = -1;

    rkt_hello_fill(&hello);
    start_accepting(sidecar);
    assert_rkt_ok(rkt_hello_connect(sidecar->path, &hello, &welcome, &region, &fd, &err), err);
    pthread_join(sidecar->thread, NULL);
    assert_rkt_ok(sidecar->status, sidecar->err);
    assert_int_equal(welcome.config.mask, RKT_CAPTURE_NCCL);
    assert_string_equal(welcome.config.step_range, "train_step");
    assert_int_equal(sidecar->peer.hello.pid, getpid());
    assert_string_equal(sidecar->peer.hello.host, hello.host);

    assert_true(rkt_ring_push(rkt_region_claim(region, 1), &event));
    assert_int_equal(rkt_ring_pop(rkt_region_ring(sidecar->peer.region, 0), SMALL.ring_capacity,
                                  out, 1, &was_broken),
                     1);
    assert_int_equal(out[0].start_ns, 77);

    rkt_region_destroy(region);
    close(fd);
    assert_int_equal(recv(sidecar->peer.fd, out, 1, 0), 0); /* the hang-up */
}

static void unfitting_hello_is_refused_with_the_reason(void **state)
{
    static const struct {
        const char *what;
        uint32_t abi;
        uint32_t record_bytes;
        const char *reason;
    } cases[] = {
        {"newer ABI", RKT_REGION_ABI + 1, sizeof(struct rkt_event), "ABI"},
        {"record of another size", RKT_REGION_ABI, 72, "72"},
    };
    struct sidecar *sidecar = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rkt_hello hello;
        struct rkt_welcome welcome;
        struct rkt_region *region = NULL;
        struct rkt_error err = {0};
        int fd = -1;

        rkt_hello_fill(&hello);
        hello.abi = cases[i].abi;
        hello.record_bytes = cases[i].record_bytes;
        start_accepting(sidecar);
        if (rkt_hello_connect(sidecar->path, &hello, &welcome, &region, &fd, &err) !=
            RKT_ERR_VERSION)
            fail_msg("%s was taken", cases[i].what);
        assert_non_null(strstr(err.text, cases[i].reason));
        pthread_join(sidecar->thread, NULL);
        assert_rkt_status(sidecar->status, RKT_ERR_VERSION);
        assert_null(region);
        assert_int_equal(fd, -1);
        assert_null(sidecar->peer.region);
    }
}

static void foreign_bytes_are_refused_and_the_next_process_is_served(void **state)
{
    struct sidecar *sidecar = *state;
    int stranger = connect_raw(sidecar);

    assert_int_equal(send(stranger, "GET / HTTP/1.1", 14, 0), 14);
    accept_one(sidecar);
    assert_rkt_status(sidecar->status, RKT_ERR_FORMAT);
    close(stranger);
    both_sides_share_memory_after_the_exchange(state);
}

static void silent_process_does_not_hold_the_sidecar(void **state)
{
    struct sidecar *sidecar = *state;
    int silent = connect_raw(sidecar);

    accept_one(sidecar); /* would never return if it waited for the hello */
    assert_rkt_status(sidecar->status, RKT_ERR_IO);
    close(silent);
}

static void silent_sidecar_does_not_hold_the_job(void **state)
{
    struct sidecar *sidecar = *state;
    struct rkt_hello hello;
    struct rkt_welcome welcome;
    struct rkt_region *region = NULL;
    struct rkt_error err = {0};
    int fd = -1;

    rkt_hello_fill(&hello); /* the connection is made by the kernel, nobody accepts */
    assert_rkt_status(rkt_hello_connect(sidecar->path, &hello, &welcome, &region, &fd, &err),
                      RKT_ERR_IO);
    assert_non_null(strstr(err.text, "no answer"));
}

struct answer {
    const char *what;
    bool has_region;
    struct rkt_welcome welcome;
    enum rkt_status want;
};

static void send_answer(int fd, const struct answer *answer, int memory_fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } room = {0};
    struct rkt_welcome welcome = answer->welcome;
    struct iovec part = {.iov_base = &welcome, .iov_len = sizeof(welcome)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (answer->has_region) {
        message.msg_control = &room;
        message.msg_controllen = sizeof(room.bytes);
        room.head.cmsg_level = SOL_SOCKET;
        room.head.cmsg_type = SCM_RIGHTS;
        room.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&room.head), &memory_fd, sizeof(int));
    }
    assert_true(sendmsg(fd, &message, 0) > 0);
}

static void *connect_thread(void *arg)
{
    struct sidecar *sidecar = arg;
    struct rkt_hello hello;
    struct rkt_welcome welcome;
    int fd;

    rkt_hello_fill(&hello);
    sidecar->status = rkt_hello_connect(sidecar->path, &hello, &welcome, &sidecar->peer.region, &fd,
                                        &sidecar->err);
    return NULL;
}

static void wrong_answer_leaves_capture_off(void **state)
{
    static const struct answer cases[] = {
        {"foreign magic", true, {1, RKT_REGION_ABI, 1, 7, "", {0}}, RKT_ERR_FORMAT},
        {"other ABI", true, {RKT_HELLO_MAGIC, RKT_REGION_ABI + 1, 1, 7, "", {0}}, RKT_ERR_VERSION},
        {"no memory", false, {RKT_HELLO_MAGIC, RKT_REGION_ABI, 1, 7, "", {0}}, RKT_ERR_FORMAT},
        {"not a region", true, {RKT_HELLO_MAGIC, RKT_REGION_ABI, 1, 7, "", {0}}, RKT_ERR_FORMAT},
    };
    struct sidecar *sidecar = *state;
    FILE *other = tmpfile();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pollfd waiter = {.fd = sidecar->listen_fd, .events = POLLIN};

        assert_int_equal(pthread_create(&sidecar->thread, NULL, connect_thread, sidecar), 0);
        assert_int_equal(poll(&waiter, 1, 10000), 1);
        int fd = accept4(sidecar->listen_fd, NULL, NULL, SOCK_CLOEXEC);

        send_answer(fd, &cases[i], fileno(other));
        pthread_join(sidecar->thread, NULL);
        close(fd);
        if (sidecar->status != cases[i].want)
            fail_msg("%s gave %s", cases[i].what, rkt_status_name(sidecar->status));
        assert_null(sidecar->peer.region);
    }
    fclose(other);
}

static void nobody_there_is_an_error_at_once(void **state)
{
    struct rkt_hello hello;
    struct rkt_welcome welcome;
    struct rkt_region *region;
    struct rkt_error err = {0};
    char path[200];
    int fd;

    (void)state;
    rkt_hello_fill(&hello);
    assert_rkt_status(
        rkt_hello_connect("/nonexistent/socket", &hello, &welcome, &region, &fd, &err), RKT_ERR_IO);
    assert_non_null(strstr(err.text, "/nonexistent/socket"));
    memset(path, 'a', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_rkt_status(rkt_hello_connect(path, &hello, &welcome, &region, &fd, &err),
                      RKT_ERR_INVALID);
}

static void nobody_waiting_is_no_error(void **state)
{
    struct sidecar *sidecar = *state;

    assert_rkt_status(
        rkt_hello_accept(sidecar->listen_fd, &SMALL, &NCCL_ONLY, &sidecar->peer, &sidecar->err),
        RKT_AGAIN);
}

static void rank_is_looked_up_from_the_nearest_launcher(void **state)
{
    static const struct {
        const char *name;
        const char *value;
        int32_t want;
    } steps[] = {
        /* each is set on top of those before */
        {"SLURM_PROCID", "5", 5},  {"PMIX_RANK", "4", 4},      {"OMPI_COMM_WORLD_RANK", "3", 3},
        {"RANK", "2", 2},          {"RANKTRACE_RANK", "1", 1}, {"RANKTRACE_RANK", "-1", 2},
        {"RANKTRACE_RANK", "", 2}, {"RANK", "2x", 3},          {"RANK", "99999999999", 3},
    };
    struct rkt_hello hello;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        unsetenv(steps[i].name);
    rkt_hello_fill(&hello);
    assert_int_equal(hello.rank, -1);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        setenv(steps[i].name, steps[i].value, 1);
        rkt_hello_fill(&hello);
        if (hello.rank != steps[i].want)
            fail_msg("after %s=%s the rank is %d, not %d", steps[i].name, steps[i].value,
                     hello.rank, steps[i].want);
    }
    for (size_t i = 0; i < 5; i++)
        unsetenv(steps[i].name);
}

static void hello_says_what_the_process_runs(void **state)
{
    struct rkt_hello hello;

    (void)state;
    rkt_hello_fill(&hello);
    assert_int_equal(strncmp(hello.program, "unit_hello", 10), 0);
    assert_int_equal(hello.record_bytes, 64);
    assert_true(hello.start_raw_ns > 0);
}

#define LISTENING(test) cmocka_unit_test_setup_teardown(test, start_listening, stop_listening)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LISTENING(both_sides_share_memory_after_the_exchange),
        LISTENING(unfitting_hello_is_refused_with_the_reason),
        LISTENING(foreign_bytes_are_refused_and_the_next_process_is_served),
        LISTENING(silent_process_does_not_hold_the_sidecar),
        LISTENING(silent_sidecar_does_not_hold_the_job),
        LISTENING(wrong_answer_leaves_capture_off),
        LISTENING(nobody_waiting_is_no_error),
        cmocka_unit_test(nobody_there_is_an_error_at_once),
        cmocka_unit_test(rank_is_looked_up_from_the_nearest_launcher),
        cmocka_unit_test(hello_says_what_the_process_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
