/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"

/* What `call` writes to stderr, into `out`. */
#define CAPTURE(call, out)                             \
    do {                                               \
        int saved_ = dup(STDERR_FILENO), pipe_[2];     \
        ssize_t got_;                                  \
        assert_int_equal(pipe(pipe_), 0);              \
        dup2(pipe_[1], STDERR_FILENO);                 \
        close(pipe_[1]);                               \
        call;                                          \
        dup2(saved_, STDERR_FILENO);                   \
        close(saved_);                                 \
        got_ = read(pipe_[0], (out), sizeof(out) - 1); \
        (out)[got_ > 0 ? got_ : 0] = '\0';             \
        close(pipe_[0]);                               \
    } while (0)

static void a_line_is_logfmt_with_escaped_text(void **state)
{
    char out[4096];

    (void)state;
    unsetenv("RANKTRACE_LOG");
    rkt_log_init(3);
    CAPTURE(rkt_log(RKT_LOG_WARN, "sender", "ring \"full\"\n", "dropped=%d", 128), out);
    assert_non_null(strstr(out, " level=warn comp=sender rank=3 msg=\"ring \\\"full\\\" \" "
                                "dropped=128\n"));
    assert_int_equal(strncmp(out, "ts=", 3), 0);
}

static void levels_are_kept_apart_by_component(void **state)
{
    (void)state;
    setenv("RANKTRACE_LOG", "error,aggregator:debug", 1);
    rkt_log_init(-1);
    assert_true(rkt_log_is_on("aggregator", RKT_LOG_DEBUG));
    assert_false(rkt_log_is_on("sender", RKT_LOG_WARN));
    assert_true(rkt_log_is_on("sender", RKT_LOG_ERROR));
}

static void a_bad_setting_is_said_and_the_rest_holds(void **state)
{
    char out[4096];

    (void)state;
    setenv("RANKTRACE_LOG", "loud,aggregator:info", 1);
    CAPTURE(rkt_log_init(-1), out);
    assert_non_null(strstr(out, "part=\"loud\""));
    assert_true(rkt_log_is_on("aggregator", RKT_LOG_INFO));
    assert_false(rkt_log_is_on("sender", RKT_LOG_INFO));
}

static void a_long_line_is_cut_and_stays_one_line(void **state)
{
    char out[4096];
    char text[3000];

    (void)state;
    unsetenv("RANKTRACE_LOG");
    rkt_log_init(0);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    CAPTURE(rkt_log(RKT_LOG_ERROR, "c", text, "a=%s", text), out);
    assert_true(strlen(out) <= 2048);
    assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_logfmt_with_escaped_text),
        cmocka_unit_test(levels_are_kept_apart_by_component),
        cmocka_unit_test(a_bad_setting_is_said_and_the_rest_holds),
        cmocka_unit_test(a_long_line_is_cut_and_stays_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
