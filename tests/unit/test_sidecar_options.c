/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include "agent/hello.h"
#include "launch/sidecar_options.h"

#define ARGS_MAX 16

static enum rkt_status parse(const char *const *words, struct rkt_sidecar_options *out,
                             struct rkt_error *err)
{
    char *argv[ARGS_MAX + 2] = {(char *)"ranktrace-sidecar"};
    int argc = 1;

    while (words[argc - 1]) {
        argv[argc] = (char *)words[argc - 1];
        argc++;
    }
    return rkt_sidecar_options_parse(argc, argv, out, err);
}

static void defaults_are_those_of_the_region_and_the_design(void **state)
{
    struct rkt_sidecar_options options;
    struct rkt_region_config region = RKT_REGION_CONFIG_DEFAULT;
    struct rkt_error err = {0};

    (void)state;
    assert_rkt_ok(parse((const char *[]){"--socket", "/x", NULL}, &options, &err), err);
    assert_memory_equal(&options.region, &region, sizeof(region));
    assert_int_equal(options.capture_config.mask, RKT_CAPTURE_USUAL);
    assert_int_equal(options.capture_config.nccl_level, RKT_NCCL_LEVEL_BASIC);
    assert_true(options.is_abort_on_failure);
    assert_false(options.per_node);
    assert_int_equal(options.drain_timeout_ns, UINT64_C(60000000000));
    assert_int_equal(options.queue_bytes, 16u << 20);
    assert_int_equal(options.spool_bytes, 1u << 30);
    assert_string_equal(options.command, "");
    assert_int_equal(options.gpu_interval_ns, UINT64_C(1000000000));
    assert_int_equal(options.groups.kind, RKT_FAN_IN_AUTO);
    assert_int_equal(options.ptp_bound_ns, 0);
}

static void values_are_taken(void **state)
{
    struct rkt_sidecar_options options;
    struct rkt_error err = {0};

    (void)state;
    assert_rkt_ok(parse((const char *[]){"--socket", "/x", "--per-node", "--on-failure", "wait",
                                         "--capture=nccl,marks", "--graphs=launch", "--nccl=proxy",
                                         "--step-range=train_step", "--gpu-samples=off",
                                         "--fan-in=tree:16", "--ptp-bound=250ns", NULL},
                        &options, &err),
                  err);
    assert_true(options.per_node);
    assert_false(options.is_abort_on_failure);
    assert_int_equal(options.capture_config.mask, RKT_CAPTURE_NCCL | RKT_CAPTURE_MARKS);
    assert_int_equal(options.capture_config.graph_level, RKT_GRAPH_LEVEL_LAUNCH);
    assert_int_equal(options.capture_config.nccl_level, RKT_NCCL_LEVEL_PROXY);
    assert_int_equal(options.gpu_interval_ns, 0);
    assert_int_equal(options.ptp_bound_ns, 250);
    assert_int_equal(options.groups.kind, RKT_FAN_IN_ROWS);
    assert_int_equal(options.groups.group_ranks, 16);
    assert_string_equal(options.capture_config.step_range, "train_step");
}

static void values_without_sense_are_refused_by_name(void **state)
{
    static const struct {
        const char *what;
        const char *word;
        const char *said;
    } CASES[] = {
        {"ring capacity no power of two", "--ring-capacity=1000", "--ring-capacity"},
        {"ring capacity too small", "--ring-capacity=32", "--ring-capacity"},
        {"no rings", "--ring-count=0", "--ring-count"},
        {"too many rings", "--ring-count=5000", "--ring-count"},
        {"heap too small", "--heap-bytes=1KiB", "--heap-bytes"},
        {"heap no multiple of 64", "--heap-bytes=65537B", "--heap-bytes"},
        {"unknown capture", "--capture=cupti,hip", "hip"},
        {"no capture", "--capture=", "'' is not cupti"},
        {"a part of CUPTI alone", "--capture=nccl,overhead", "'overhead' comes from CUPTI"},
        {"another part of CUPTI alone", "--capture=memory", "'memory' comes from CUPTI"},
        {"unknown depth of graphs", "--graphs=edge", "edge"},
        {"unknown depth of NCCL", "--nccl=deep", "deep"},
        {"name of a step's range too long",
         "--step-range=0123456789012345678901234567890123456789012345678901234567890123",
         "--step-range"},
        {"samples of GPUs too often", "--gpu-samples=9ms", "--gpu-samples"},
        {"samples of GPUs too rarely", "--gpu-samples=2h", "--gpu-samples"},
        {"samples of GPUs without a unit", "--gpu-samples=100", "--gpu-samples"},
        {"unknown way to rank 0", "--fan-in=ring", "--fan-in"},
        {"unknown reaction", "--on-failure=panic", "panic"},
        {"nobody against rank 0", "--clock-star=0", "--clock-star"},
        {"a bound that says nothing", "--ptp-bound=101us", "--ptp-bound"},
        {"a bound without a unit", "--ptp-bound=100", "--ptp-bound"},
        {"queue too small", "--queue-bytes=1KiB", "--queue-bytes"},
        {"a word too many", "train.py", "train.py"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_sidecar_options options;
        struct rkt_error err = {0};

        if (parse((const char *[]){"--socket", "/x", CASES[i].word, NULL}, &options, &err) !=
            RKT_ERR_INVALID)
            fail_msg("%s: taken", CASES[i].what);
        if (!strstr(err.text, CASES[i].said))
            fail_msg("%s: said '%s'", CASES[i].what, err.text);
    }
}

static void socket_is_needed(void **state)
{
    struct rkt_sidecar_options options;
    struct rkt_error err = {0};

    (void)state;
    assert_rkt_status(parse((const char *[]){NULL}, &options, &err), RKT_ERR_INVALID);
    assert_non_null(strstr(err.text, "--socket"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_region_and_the_design),
        cmocka_unit_test(values_are_taken),
        cmocka_unit_test(values_without_sense_are_refused_by_name),
        cmocka_unit_test(socket_is_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
