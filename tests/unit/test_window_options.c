/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/window_options.h"

#include <stdlib.h>

#include "rkt_test.h"

static const struct rkt_capture_config USUAL = {.mask = RKT_CAPTURE_USUAL};

static struct rkt_window_plan plan_of(const struct rkt_window_options *when)
{
    struct rkt_window_plan plan;
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_window_options_read(when, &USUAL, &plan, &err), err);
    return plan;
}

static void without_options_all_is_recorded(void **state)
{
    struct rkt_window_plan plan = plan_of(&(struct rkt_window_options){.steps = "", .delay = ""});
    struct rkt_window_plan none = {0};

    (void)state;
    assert_memory_equal(&plan, &none, sizeof(none));
}

static void steps_are_a_range_whose_end_is_not_in_it(void **state)
{
    static const struct {
        const char *steps;
        struct rkt_schedule schedule;
    } cases[] = {
        {"10:20", {9, 0, 1, 10, 1, 1, 0}}, {"0:3", {0, 0, 0, 3, 1, 1, 0}},
        {":3", {0, 0, 0, 3, 1, 1, 0}},     {"5:", {4, 0, 1, UINT32_MAX, 1, 1, 0}},
        {"1:2", {0, 0, 1, 1, 1, 1, 0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rkt_window_plan plan =
            plan_of(&(struct rkt_window_options){.steps = cases[i].steps});

        assert_memory_equal(&plan.schedule, &cases[i].schedule, sizeof(plan.schedule));
        assert_false(plan.is_closed);
    }
}

static void a_schedule_is_in_pytorch_s_words(void **state)
{
    const struct rkt_schedule expected = {10, 2, 1, 3, 4, 0, 0};
    const struct rkt_schedule shortest = {.active = 1};
    struct rkt_window_plan plan = plan_of(&(struct rkt_window_options){
        .schedule = "wait=2,warmup=1,active=3,repeat=4,skip_first=10"});

    (void)state;
    assert_memory_equal(&plan.schedule, &expected, sizeof(expected));
    plan = plan_of(&(struct rkt_window_options){.schedule = "active=1"});
    assert_memory_equal(&plan.schedule, &shortest, sizeof(shortest));
}

static void a_delay_starts_closed_and_a_duration_alone_does_not(void **state)
{
    struct rkt_window_plan plan =
        plan_of(&(struct rkt_window_options){.delay = "2min", .duration = "1.5s"});

    (void)state;
    assert_true(plan.is_closed);
    assert_int_equal(plan.delay_ns, UINT64_C(120000000000));
    assert_int_equal(plan.duration_ns, 1500000000);
    plan = plan_of(&(struct rkt_window_options){.duration = "3s"});
    assert_false(plan.is_closed);
    assert_true(plan_of(&(struct rkt_window_options){.starts_closed = true}).is_closed);
}

static void wrong_values_are_named_with_what_would_be_right(void **state)
{
    static const struct {
        struct rkt_window_options when;
        const char *said[2];
    } cases[] = {
        {{.steps = "20:10"}, {"--steps", "20:10"}},
        {{.steps = "10:10"}, {"--steps", "holds no step"}},
        {{.steps = "10"}, {"--steps", "10:20"}},
        {{.steps = ":"}, {"--steps", "':'"}},
        {{.steps = "a:b"}, {"--steps", "a:b"}},
        {{.steps = "1:2:3"}, {"--steps", "1:2:3"}},
        {{.steps = "-1:2"}, {"--steps", "-1:2"}},
        {{.steps = "1:99999999999999999999999999"}, {"--steps", "FROM:TO"}},
        {{.schedule = "wait=2,warmup=2"}, {"--schedule", "active=N"}},
        {{.schedule = "active=0"}, {"--schedule", "active=N"}},
        {{.schedule = "wiat=2,active=1"}, {"wiat", "'wait'"}},
        {{.schedule = "xxxxxxxx=2"}, {"xxxxxxxx", "skip_first"}},
        {{.schedule = "active"}, {"'active'", "active=N"}},
        {{.schedule = "active="}, {"'active='", "active=N"}},
        {{.schedule = "active=two"}, {"active=two", "active=N"}},
        {{.schedule = "active=1,active=2"}, {"active", "twice"}},
        {{.schedule = ","}, {"--schedule", "unknown word ''"}},
        {{.schedule = "active=4294967296"}, {"4294967296", "active=N"}},
        {{.delay = "90"}, {"--delay", "with a unit"}},
        {{.duration = "0"}, {"--duration", "above 0"}},
        {{.steps = "1:2", .schedule = "active=1"}, {"--steps", "--schedule"}},
        {{.steps = "1:2", .delay = "1s"}, {"--steps", "--delay"}},
        {{.schedule = "active=1", .duration = "1s"}, {"--schedule", "--duration"}},
        {{.steps = "1:2", .starts_closed = true}, {"--steps", "--start-closed"}},
        {{.duration = "1s", .starts_closed = true}, {"--duration", "--start-closed"}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rkt_window_plan plan = {.delay_ns = 77};
        struct rkt_error err = {0};

        assert_rkt_status(rkt_window_options_read(&cases[i].when, &USUAL, &plan, &err),
                          RKT_ERR_INVALID);
        assert_int_equal(plan.delay_ns, 77);
        for (size_t k = 0; k < 2; k++) {
            if (!strstr(err.text, cases[i].said[k]))
                fail_msg("\"%s\" does not name \"%s\"", err.text, cases[i].said[k]);
        }
    }
}

static void windows_by_steps_need_what_marks_steps(void **state)
{
    const struct rkt_window_options by_steps = {.steps = "1:2"}, by_time = {.delay = "1s"};
    struct rkt_capture_config capture = {.mask = RKT_CAPTURE_CUPTI | RKT_CAPTURE_NVTX};
    struct rkt_window_plan plan;
    struct rkt_error err = {0};

    (void)state;
    assert_rkt_status(rkt_window_options_read(&by_steps, &capture, &plan, &err), RKT_ERR_INVALID);
    assert_non_null(strstr(err.text, "needs marks"));
    assert_rkt_ok(rkt_window_options_read(&by_time, &capture, &plan, &err), err);
    strcpy(capture.step_range, "step");
    assert_rkt_ok(rkt_window_options_read(&by_steps, &capture, &plan, &err), err);
}

static void what_was_said_reaches_the_sidecar_and_no_more(void **state)
{
    const struct rkt_window_options when = {.steps = "1:2", .starts_closed = true};

    (void)state;
    setenv("RANKTRACE_DELAY", "5s", 1);
    assert_true(rkt_window_options_export(&when));
    assert_string_equal(getenv("RANKTRACE_STEPS"), "1:2");
    assert_string_equal(getenv("RANKTRACE_START_CLOSED"), "1");
    assert_null(getenv("RANKTRACE_DELAY"));
    assert_null(getenv("RANKTRACE_SCHEDULE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_all_is_recorded),
        cmocka_unit_test(steps_are_a_range_whose_end_is_not_in_it),
        cmocka_unit_test(a_schedule_is_in_pytorch_s_words),
        cmocka_unit_test(a_delay_starts_closed_and_a_duration_alone_does_not),
        cmocka_unit_test(wrong_values_are_named_with_what_would_be_right),
        cmocka_unit_test(windows_by_steps_need_what_marks_steps),
        cmocka_unit_test(what_was_said_reaches_the_sidecar_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
