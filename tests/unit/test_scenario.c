/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include "analysis/simulate/scenario.h"
#include "analysis/simulate/sim_clock.h"

static void a_line_sets_its_key(void **state)
{
    struct rkt_scenario scenario;
    struct rkt_error err;

    (void)state;
    rkt_scenario_init(&scenario);
    assert_rkt_ok(rkt_scenario_line(&scenario, "ranks = 64   # many", &err), err);
    assert_rkt_ok(rkt_scenario_line(&scenario, "kernel=1.5us", &err), err);
    assert_rkt_ok(rkt_scenario_line(&scenario, "bucket-bytes = 1MiB\r", &err), err);
    assert_rkt_ok(rkt_scenario_line(&scenario, "  # nothing", &err), err);
    assert_rkt_ok(rkt_scenario_line(&scenario, "", &err), err);
    assert_int_equal(scenario.rank_count, 64);
    assert_int_equal(scenario.kernel_ns, 1500);
    assert_int_equal(scenario.bucket_bytes, 1 << 20);
}

static void a_fault_applies_to_its_ranks_and_steps(void **state)
{
    struct rkt_scenario scenario;
    const struct rkt_fault *fault = &scenario.faults[0];
    struct rkt_error err;

    (void)state;
    rkt_scenario_init(&scenario);
    assert_rkt_ok(
        rkt_scenario_line(&scenario, "fault = slow-compute rank=1:3 amount=2ms steps=5:7", &err),
        err);
    assert_rkt_ok(rkt_scenario_check(&scenario, &err), err);
    assert_int_equal(scenario.fault_count, 1);
    assert_int_equal(fault->kind, RKT_FAULT_SLOW_COMPUTE);
    assert_int_equal(fault->amount, 2000000);
    assert_true(rkt_fault_applies(fault, 1, 5));
    assert_true(rkt_fault_applies(fault, 2, 6));
    assert_false(rkt_fault_applies(fault, 0, 5));
    assert_false(rkt_fault_applies(fault, 3, 5));
    assert_false(rkt_fault_applies(fault, 1, 4));
    assert_false(rkt_fault_applies(fault, 1, 7));
}

static void what_makes_no_sense_is_refused_by_line_and_word(void **state)
{
    static const struct {
        const char *line;
        const char *said;
    } CASES[] = {
        {"rank = 4", "did you mean 'ranks'"},
        {"ranks = four", "four"},
        {"ranks = 5000000000", "5000000000"},
        {"kernel = 5", "5"}, /* no unit */
        {"ranks", "KEY = VALUE"},
        {"= 4", "no key"},
        {"ranks = 4 5", "one value"},
        {"fault = slow rank=1 amount=1ms", "slow"},
        {"fault = slow-compute rank=1", "amount"},
        {"fault = slow-compute rank=x amount=1ms", "rank"},
        {"fault = slow-compute rank=3:2 amount=1ms", "rank"},
        {"fault = slow-compute amount=1ms sometimes", "sometimes"},
        {"fault = hidden-sync amount=1ms", "amount"},     /* a number of calls */
        {"fault = throttled amount=1ms", "amount"},       /* ppm */
        {"fault = hot-expert amount=1ms", "amount"},      /* likewise */
        {"fault = changing-shapes amount=1ms", "amount"}, /* a number of shapes */
        {"fault =", "is no fault"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_scenario scenario;
        struct rkt_error err = {0};

        rkt_scenario_init(&scenario);
        if (rkt_scenario_line(&scenario, CASES[i].line, &err) != RKT_ERR_INVALID)
            fail_msg("'%s' was taken", CASES[i].line);
        if (!strstr(err.text, CASES[i].said))
            fail_msg("'%s': %s", CASES[i].line, err.text);
    }
}

static void numbers_that_do_not_fit_each_other_are_refused(void **state)
{
    static const char *const LINES[] = {
        "ranks = 0",
        "nodes = 3",
        "steps = 0",
        "buckets = 100",
        "bandwidth = 1B",
        "optimizer-kernels = 0",
        "queue = 0",
        "clock-drift-ppb = 600000",
        "ranks = 20000",
        "fault = slow-host rank=4 amount=1ms",
        "launch = 2h",
        "fault = slow-host steps=20:30 amount=1ms",
        "jitter-ppm=1000001",
        "fault = slow-host amount=100h",
        "tp = 3",
        "pp = 0",
        "micro-batches = 0",
        "micro-batches = 41",
        "micro-batches = 25",
        "cut = 2h",
        "stall = 2h",
        "step-jitter-ppm = 1000001",
        "tracer-ppm = 1000001",
        "1f1b = 2",
        "ep = 0",
        "ep = 3",
        "ep-kernels = 0",
        "ep-spread-ppm = 1000001",
        "ep-bytes = 2000GiB",
        "shapes = 65",
        "operators = 2",
        "allocator = 2GiB",
        "fault = changing-shapes amount=8",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++) {
        struct rkt_scenario scenario;
        struct rkt_error err = {0};

        rkt_scenario_init(&scenario);
        assert_rkt_ok(rkt_scenario_line(&scenario, LINES[i], &err), err);
        if (rkt_scenario_check(&scenario, &err) != RKT_ERR_INVALID)
            fail_msg("'%s' was taken", LINES[i]);
    }
}

static void clocks_of_nodes_differ_within_their_limits(void **state)
{
    struct rkt_scenario scenario;

    (void)state;
    rkt_scenario_init(&scenario);
    scenario.clock_offset_ns = 1000;
    scenario.clock_drift_ppb = 50;
    assert_int_equal(rkt_sim_clock_of(&scenario, 0).offset_ns, 0);
    for (uint32_t node = 1; node < 100; node++) {
        struct rkt_sim_clock clock = rkt_sim_clock_of(&scenario, node);
        int64_t second_ns = 1000000000;

        assert_true(clock.offset_ns >= -1000 && clock.offset_ns <= 1000);
        assert_true(clock.drift_ppb >= -50 && clock.drift_ppb <= 50);
        assert_int_equal(rkt_sim_clock_raw_ns(&clock, second_ns) - rkt_sim_clock_raw_ns(&clock, 0),
                         second_ns + clock.drift_ppb);
    }
    assert_int_not_equal(rkt_sim_clock_of(&scenario, 1).offset_ns,
                         rkt_sim_clock_of(&scenario, 2).offset_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_sets_its_key),
        cmocka_unit_test(a_fault_applies_to_its_ranks_and_steps),
        cmocka_unit_test(what_makes_no_sense_is_refused_by_line_and_word),
        cmocka_unit_test(numbers_that_do_not_fit_each_other_are_refused),
        cmocka_unit_test(clocks_of_nodes_differ_within_their_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
