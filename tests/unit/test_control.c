/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/control.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rkt_test.h"

struct ends {
    int supervisor;
    int sidecar;
};

static int make_ends(void **state)
{
    static struct ends ends;
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
        return -1;
    ends.supervisor = fds[0];
    ends.sidecar = fds[1];
    *state = &ends;
    return 0;
}

static int close_ends(void **state)
{
    struct ends *ends = *state;

    if (ends->supervisor >= 0)
        close(ends->supervisor);
    close(ends->sidecar);
    return 0;
}

static void messages_arrive_whole_and_in_order(void **state)
{
    struct ends *ends = *state;
    struct rkt_control_message message;
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_control_send(ends->sidecar, RKT_CONTROL_READY, 3, "node7 29500", &err), err);
    assert_rkt_ok(rkt_control_send(ends->sidecar, RKT_CONTROL_ABORT_JOB, -1, NULL, &err), err);
    assert_rkt_ok(rkt_control_receive(ends->supervisor, &message, &err), err);
    assert_int_equal(message.type, RKT_CONTROL_READY);
    assert_int_equal(message.value, 3);
    assert_string_equal(message.text, "node7 29500");
    assert_rkt_ok(rkt_control_receive(ends->supervisor, &message, &err), err);
    assert_int_equal(message.type, RKT_CONTROL_ABORT_JOB);
    assert_int_equal(message.value, -1);
    assert_string_equal(message.text, "");
    assert_rkt_status(rkt_control_receive(ends->supervisor, &message, &err), RKT_AGAIN);
}

static void longest_text_fits_and_one_more_byte_is_refused(void **state)
{
    struct ends *ends = *state;
    struct rkt_control_message message;
    struct rkt_error err = {0};
    char text[sizeof(message.text) + 1];

    memset(text, 'p', sizeof(text));
    text[sizeof(message.text)] = '\0';
    assert_rkt_status(rkt_control_send(ends->sidecar, RKT_CONTROL_STORE_CLOSED, 0, text, &err),
                      RKT_ERR_RANGE);
    text[sizeof(message.text) - 1] = '\0';
    assert_rkt_ok(rkt_control_send(ends->sidecar, RKT_CONTROL_STORE_CLOSED, 0, text, &err), err);
    assert_rkt_ok(rkt_control_receive(ends->supervisor, &message, &err), err);
    assert_string_equal(message.text, text);
}

static void death_of_the_other_end_is_told_after_its_last_message(void **state)
{
    struct ends *ends = *state;
    struct rkt_control_message message;
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_control_send(ends->supervisor, RKT_CONTROL_STOP, 15, "", &err), err);
    close(ends->supervisor);
    ends->supervisor = -1;
    assert_rkt_ok(rkt_control_receive(ends->sidecar, &message, &err), err);
    assert_int_equal(message.value, 15);
    assert_rkt_status(rkt_control_receive(ends->sidecar, &message, &err), RKT_END);
    assert_rkt_status(rkt_control_send(ends->sidecar, RKT_CONTROL_DONE, 0, "", &err), RKT_ERR_IO);
}

static void message_without_an_end_is_refused_and_the_next_is_read(void **state)
{
    static const struct {
        const char *what;
        size_t len;
    } cases[] = {{"only a type", 4}, {"head without text", 8}, {"text without NUL", 12}};
    struct ends *ends = *state;
    struct rkt_control_message message;
    struct rkt_error err = {0};
    char bytes[16];

    memset(bytes, 1, sizeof(bytes));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(send(ends->sidecar, bytes, cases[i].len, 0), (int)cases[i].len);
        assert_rkt_ok(rkt_control_send(ends->sidecar, RKT_CONTROL_DONE, 0, "", &err), err);
        if (rkt_control_receive(ends->supervisor, &message, &err) != RKT_ERR_FORMAT)
            fail_msg("%s was taken", cases[i].what);
        assert_rkt_ok(rkt_control_receive(ends->supervisor, &message, &err), err);
    }
}

#define WITH_ENDS(test) cmocka_unit_test_setup_teardown(test, make_ends, close_ends)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ENDS(messages_arrive_whole_and_in_order),
        WITH_ENDS(longest_text_fits_and_one_more_byte_is_refused),
        WITH_ENDS(death_of_the_other_end_is_told_after_its_last_message),
        WITH_ENDS(message_without_an_end_is_refused_and_the_next_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
