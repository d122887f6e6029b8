/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "analysis/report/compare_report.h"
#include "analysis/result.h"
#include "fake_report.h"
#include "rkt_test.h"

#define assert_near(is, should) assert_true(fabs((is) - (should)) < 1e-9)

/* Of metrics.md: two ranks, the first step is warm-up, five steady ones. */
static const struct fake_report BEFORE = {
    .rank_count = 2,
    .step_count = 6,
    .warmup_count = 1,
    .step_ns = {900, 100, 100, 101, 99, 100},
    .useful_ns = {60, 40},
    .comm_ns = 20,
    .gain_ns = 10,
    .serial = 0.9,
    .kernels = {{"gemm", 100, 4000}, {"old", 10, 500}},
    .collectives = {{"AllReduce", 1024, 8}, {"AllReduce", 2048, 30}},
};
static const struct fake_report AFTER = {
    .rank_count = 2,
    .step_count = 6,
    .warmup_count = 1,
    .step_ns = {900, 90, 91, 89, 92, 90},
    .useful_ns = {60, 40},
    .comm_ns = 20,
    .serial = 0.8,
    .kernels = {{"gemm", 100, 3000}, {"new", 20, 200}},
    .collectives = {{"AllReduce", 1024, 8}, {"AllReduce", 2048, 25}},
};

static void read_run(const struct fake_report *report, struct rkt_compare_run *run)
{
    char *json = fake_report_json(report);
    struct rkt_error err;

    assert_rkt_ok(rkt_compare_run_read(json, "fake", run, &err), err);
    free(json);
}

static double median_of(const struct rkt_compare_run *run, enum rkt_metric metric)
{
    return rkt_bootstrap_median(run->metrics[metric]).value;
}

static void a_step_has_one_number_of_each_metric(void **state)
{
    struct rkt_compare_run run;

    (void)state;
    read_run(&BEFORE, &run);
    assert_int_equal(run.rank_count, 2);
    assert_int_equal(run.step_count, 5);
    assert_int_equal(run.recorded_count, 6);
    assert_string_equal(run.step_source, "marks");
    assert_near(median_of(&run, RKT_METRIC_STEP), 100);
    assert_near(median_of(&run, RKT_METRIC_COMPUTE), 50);
    assert_near(median_of(&run, RKT_METRIC_COMM_TRANSFER), 10);
    assert_near(median_of(&run, RKT_METRIC_COPY), 5);
    assert_near(median_of(&run, RKT_METRIC_IDLE_SYNC), 7);
    assert_near(median_of(&run, RKT_METRIC_IDLE), 7 + 100 - 50 - 10 - 12);
    assert_near(median_of(&run, RKT_METRIC_COMM_SHARE), 0.2);
    assert_near(median_of(&run, RKT_METRIC_EXPOSED_SHARE), 0.1);
    assert_near(median_of(&run, RKT_METRIC_OVERLAP), 0.5);
    assert_near(median_of(&run, RKT_METRIC_BACKWARD_OVERLAP), 0.25);
    assert_near(median_of(&run, RKT_METRIC_STRAGGLER), 0.1);
    assert_near(median_of(&run, RKT_METRIC_PARALLEL), 0.5);
    assert_near(median_of(&run, RKT_METRIC_BALANCE), 50.0 / 60);
    assert_near(median_of(&run, RKT_METRIC_COMM_EFFICIENCY), 0.6);
    assert_near(run.serial, 0.9);
    assert_true(isnan(run.transfer));
    rkt_compare_run_release(&run);
}

static void only_steps_that_all_ranks_have_count(void **state)
{
    struct fake_report report = BEFORE;
    struct rkt_compare_run run;

    (void)state;
    report.last_rank_lacks = 2;
    read_run(&report, &run);
    assert_int_equal(run.step_count, 3);
    rkt_compare_run_release(&run);
}

static void ranks_in_host_view_count_where_there_are_no_others(void **state)
{
    struct fake_report report = BEFORE;
    struct rkt_compare_run run;

    (void)state;
    report.host_ranks = 1;
    read_run(&report, &run);
    assert_int_equal(run.rank_count, 3);
    assert_int_equal(run.compared_count, 2);
    assert_int_equal(run.step_count, 5);
    assert_near(median_of(&run, RKT_METRIC_BALANCE), 50.0 / 60);
    rkt_compare_run_release(&run);

    report.rank_count = 0;
    report.host_ranks = 2;
    read_run(&report, &run);
    assert_true(run.is_host_view);
    assert_int_equal(run.step_count, 5);
    assert_near(median_of(&run, RKT_METRIC_COMM_TRANSFER), 10);
    assert_near(median_of(&run, RKT_METRIC_IDLE_INPUT), 1);
    assert_int_equal(run.metrics[RKT_METRIC_COPY].count, 0); /* host view has no word for it */
    rkt_compare_run_release(&run);
}

struct pair {
    struct rkt_compare_run runs[2];
    struct rkt_comparison comparison;
};

static void compare(const struct fake_report *before, const struct fake_report *after,
                    struct pair *pair)
{
    struct rkt_error err;

    read_run(before, &pair->runs[0]);
    read_run(after, &pair->runs[1]);
    assert_rkt_ok(rkt_compare(&pair->runs[0], &pair->runs[1], &pair->comparison, &err), err);
}

static void release(struct pair *pair)
{
    rkt_comparison_release(&pair->comparison);
    rkt_compare_run_release(&pair->runs[0]);
    rkt_compare_run_release(&pair->runs[1]);
}

static const struct rkt_name_change *name_of(const struct pair *pair, const char *name,
                                             int64_t bytes)
{
    for (size_t i = 0; i < pair->comparison.name_count; i++) {
        if (strcmp(pair->comparison.names[i].name, name) == 0 &&
            pair->comparison.names[i].bytes == bytes)
            return &pair->comparison.names[i];
    }
    fail_msg("no change of %s", name);
    return NULL;
}

/* The draws of five have all of their range in their interval: 89 - 101 to 92 - 99 at the
 * widest. */
static void what_changed_has_an_interval(void **state)
{
    const struct rkt_metric_change *step;
    struct pair pair;

    (void)state;
    compare(&BEFORE, &AFTER, &pair);
    step = &pair.comparison.metrics[RKT_METRIC_STEP];
    assert_near(step->difference.value, -10);
    assert_near(step->difference.low, -11);
    assert_near(step->difference.high, -8);
    assert_near(rkt_metric_change_share(step), -0.1);
    assert_true(step->is_real);
    assert_string_equal(step->why_not, "");
    assert_false(pair.comparison.metrics[RKT_METRIC_COMPUTE].is_real);
    assert_near(pair.comparison.metrics[RKT_METRIC_COMPUTE].difference.low, 0);
    assert_true(pair.comparison.metrics[RKT_METRIC_STRAGGLER].is_real);
    release(&pair);
}

/* Transfers of 10 and 15 ns a step: a wait that is wrong by 5 may have moved the line between
 * them. */
static void what_clocks_may_have_made_is_no_change(void **state)
{
    static const int64_t GAPS_NS[][2] = {{0, 0}, {2, 2}, {2, 3}};
    struct fake_report before = BEFORE, after = AFTER;

    (void)state;
    after.comm_ns = 30;
    for (size_t i = 0; i < sizeof(GAPS_NS) / sizeof(GAPS_NS[0]); i++) {
        bool is_blurred = GAPS_NS[i][0] + GAPS_NS[i][1] >= 5;
        const struct rkt_metric_change *change;
        struct pair pair;

        before.wait_gap_ns = GAPS_NS[i][0];
        after.wait_gap_ns = GAPS_NS[i][1];
        compare(&before, &after, &pair);
        change = &pair.comparison.metrics[RKT_METRIC_COMM_TRANSFER];
        assert_near(change->difference.value, 5);
        assert_int_equal(change->is_real, !is_blurred);
        assert_int_equal(strncmp(change->why_not, "not distinguishable", 19) == 0, is_blurred);
        assert_true(pair.comparison.metrics[RKT_METRIC_STEP].is_real); /* takes no clocks */
        release(&pair);
    }
}

static void names_are_joined_and_the_largest_change_is_first(void **state)
{
    const struct rkt_name_change *change;
    struct pair pair;

    (void)state;
    compare(&BEFORE, &AFTER, &pair);
    assert_string_equal(pair.comparison.names[0].name, "gemm");
    assert_near(pair.comparison.names[0].difference_ns, -100); /* 1000 of 5 steps and 2 ranks */
    assert_near(pair.comparison.names[0].of_one.value, -10);
    assert_string_equal(pair.comparison.names[1].name, "old");
    assert_near(pair.comparison.names[1].difference_ns, -50);
    assert_false(pair.comparison.names[1].sides[1].is_there);
    assert_near(name_of(&pair, "new", RKT_NA)->difference_ns, 20);
    change = name_of(&pair, "AllReduce", 2048);
    assert_near(change->sides[0].count, 1);
    assert_near(change->of_one.value, -5);
    assert_near(change->of_one.high, -5);
    assert_true(change->is_real);
    assert_false(name_of(&pair, "AllReduce", 1024)->is_real);
    assert_near(pair.comparison.common_share, 700.0 / 770);
    release(&pair);
}

/* Seven steps of two ranks. gemm got faster by 20 each, of add the interval is
 * without 0, but a value of each is among the other's, tiny is 0.05 % of the time,
 * and of `few` the second run has no batches. */
static void kernels_are_judged_by_their_batches_all_together(void **state)
{
    struct fake_report before = BEFORE, after = AFTER;
    static const struct fake_kernel KERNELS[2][4] = {
        {{"gemm", 14, 1442, 7, {200, 202, 204, 206, 208, 210, 212}},
         {"add", 14, 70000, 7, {9000, 10010, 10020, 10030, 10040, 10050, 10060}},
         {"tiny", 14, 70, 7, {10, 10, 10, 10, 10, 10, 10}},
         {"few", 14, 700, 7, {100, 100, 100, 100, 100, 100, 100}}},
        {{"gemm", 14, 1162, 7, {172, 160, 164, 166, 168, 170, 162}},
         {"add", 14, 70000, 7, {9900, 9910, 9920, 9930, 9940, 9950, 11000}},
         {"tiny", 14, 0, 7, {5, 5, 5, 5, 5, 5, 5}},
         {"few", 14, 700, 0, {0}}},
    };
    const struct rkt_name_change *gemm, *add;
    struct pair pair;

    (void)state;
    memcpy(before.kernels, KERNELS[0], sizeof(before.kernels));
    memcpy(after.kernels, KERNELS[1], sizeof(after.kernels));
    before.batch_count = after.batch_count = 7;
    compare(&before, &after, &pair);
    gemm = name_of(&pair, "gemm", RKT_NA);
    assert_int_equal(pair.comparison.judged_counts[0], 2);
    assert_near(gemm->sides[0].median_ns, 103);
    assert_near(gemm->of_step.value, -20);
    assert_true(gemm->of_step.low < -20 && gemm->of_step.high < 0);
    assert_near(gemm->p, 2.0 / 3432);
    assert_true(gemm->is_real);
    assert_string_equal(gemm->why_not, "");
    add = name_of(&pair, "add", RKT_NA);
    assert_true(add->of_step.high < 0);
    assert_true(add->p > 0.1);
    assert_false(add->is_real);
    assert_non_null(strstr(add->why_not, "by chance"));
    assert_false(name_of(&pair, "tiny", RKT_NA)->is_real);
    assert_non_null(strstr(name_of(&pair, "tiny", RKT_NA)->why_not, "under 0.1 %"));
    assert_non_null(strstr(name_of(&pair, "few", RKT_NA)->why_not, "fewer than 5"));
    assert_true(isnan(name_of(&pair, "few", RKT_NA)->of_step.value));
    release(&pair);

    after.producer = "kineto";
    compare(&before, &after, &pair);
    assert_false(name_of(&pair, "gemm", RKT_NA)->is_real);
    assert_non_null(strstr(name_of(&pair, "gemm", RKT_NA)->why_not, "different tools"));
    release(&pair);
}

static const struct rkt_name_change *operator_of(const struct pair *pair, enum rkt_use_kind kind)
{
    for (size_t i = 0; i < pair->comparison.name_count; i++) {
        if (pair->comparison.names[i].kind == kind)
            return &pair->comparison.names[i];
    }
    fail_msg("no operator of kind %d", (int)kind);
    return NULL;
}

/* As kernels, but apart from them: on the device it got slower, of the host there are no
 * batches. */
static void operators_are_compared_by_their_self_times(void **state)
{
    struct fake_report before = BEFORE, after = AFTER;
    const struct rkt_name_change *device, *host;
    struct pair pair;

    (void)state;
    before.operators[0] = (struct fake_kernel){"mm", 7, 700, 7, {92, 94, 96, 98, 100, 102, 104}};
    after.operators[0] = (struct fake_kernel){"mm", 7, 910, 7, {120, 122, 124, 126, 128, 130, 132}};
    before.batch_count = after.batch_count = 7;
    compare(&before, &after, &pair);
    device = operator_of(&pair, RKT_USE_OPERATOR_DEVICE);
    host = operator_of(&pair, RKT_USE_OPERATOR_HOST);
    assert_string_equal(device->name, "mm");
    assert_int_equal(rkt_name_list_of(device), RKT_LIST_OPERATORS);
    assert_near(device->of_step.value, 14);
    assert_true(device->is_real);
    assert_false(host->is_real);
    assert_non_null(strstr(host->why_not, "fewer than 5"));
    assert_int_equal(pair.comparison.judged_counts[0], 0);
    assert_int_equal(pair.comparison.judged_counts[1], 1);
    assert_near(pair.comparison.common_share, 700.0 / 770); /* of kernels, as without operators */
    release(&pair);
}

static void cautions_are_said(const struct pair *pair, const char *first, size_t count)
{
    struct rkt_caution caution;
    size_t found = 0;

    while (rkt_comparison_caution(&pair->comparison, found, &caution))
        found++;
    assert_int_equal(found, count);
    if (count == 0)
        return;
    assert_true(rkt_comparison_caution(&pair->comparison, 0, &caution));
    assert_non_null(strstr(caution.text, first));
}

static void runs_that_differ_in_kind_have_no_real_change(void **state)
{
    struct fake_report other = AFTER;
    struct pair pair;

    (void)state;
    compare(&BEFORE, &AFTER, &pair);
    cautions_are_said(&pair, "", 0);
    release(&pair);

    other.producer = "kineto";
    compare(&BEFORE, &other, &pair);
    assert_false(pair.comparison.metrics[RKT_METRIC_STEP].is_real);
    assert_near(pair.comparison.metrics[RKT_METRIC_STEP].difference.high, -8);
    cautions_are_said(&pair, "recorded by different tools", 1);
    release(&pair);

    other = AFTER;
    other.kernels[0].name = "another";
    compare(&BEFORE, &other, &pair);
    assert_near(pair.comparison.common_share, 0);
    cautions_are_said(&pair, "fake and fake: only 0 % of the kernels' time", 1);
    release(&pair);

    other = AFTER;
    other.is_cut = true;
    compare(&BEFORE, &other, &pair);
    cautions_are_said(&pair, "fake is incomplete", 1);
    release(&pair);
}

static void runs_without_steps_say_so(void **state)
{
    struct fake_report none = AFTER;
    struct pair pair;

    (void)state;
    none.step_source = "window";
    compare(&BEFORE, &none, &pair);
    assert_true(isnan(pair.comparison.metrics[RKT_METRIC_STEP].difference.value));
    assert_false(pair.comparison.metrics[RKT_METRIC_STEP].is_real);
    assert_string_equal(pair.comparison.metrics[RKT_METRIC_STEP].why_not, "no steps were found");
    release(&pair);

    none = AFTER;
    none.last_rank_lacks = 6;
    compare(&none, &none, &pair);
    assert_string_equal(pair.comparison.metrics[RKT_METRIC_STEP].why_not,
                        "no steady step that all ranks have");
    cautions_are_said(&pair, "no steady step", 2);
    release(&pair);

    none = AFTER;
    none.step_count = 5; /* four steady ones */
    compare(&BEFORE, &none, &pair);
    assert_near(pair.comparison.metrics[RKT_METRIC_STEP].difference.value, -10);
    assert_true(isnan(pair.comparison.metrics[RKT_METRIC_STEP].difference.low));
    assert_string_equal(pair.comparison.metrics[RKT_METRIC_STEP].why_not,
                        "fewer than 5 steady steps have it");
    release(&pair);
}

static void times_beyond_an_integer_are_not_rounded_into_one(void **state)
{
    struct fake_report report = BEFORE;
    struct rkt_compare_report page = {.run_count = 2, .comparison_count = 1};
    struct pair pair;
    struct rkt_error err;
    size_t len_bytes = 0;
    char *text = NULL;
    FILE *out;

    (void)state;
    report.rank_count = 1;
    report.step_count = 2; /* one steady step */
    report.kernels[0].total_ns = INT64_MAX;
    compare(&report, &report, &pair);
    page.runs = pair.runs;
    page.comparisons = &pair.comparison;
    out = open_memstream(&text, &len_bytes);
    assert_rkt_ok(rkt_compare_write_json(&page, out, &err), err);
    (void)fclose(out);
    assert_non_null(strstr(text, "\"step_ns\": 9.22337e+18"));
    assert_non_null(strstr(text, "\"one_ns\": 92233720368547760")); /* of 100 calls */
    free(text);
    release(&pair);
}

static void what_is_no_report_is_refused(void **state)
{
    static const struct {
        const char *json;
        enum rkt_status status;
        const char *error;
    } CASES[] = {
        {"{}", RKT_ERR_FORMAT, "x.json: it is no report of 'ranktrace report'"},
        {"{\"schema\": 7}", RKT_ERR_FORMAT, "x.json: it is no report of 'ranktrace report'"},
        {"{\"schema\": \"ranktrace-report\", \"schema_version\": 2}", RKT_ERR_VERSION,
         "x.json: a report of version 2; this ranktrace reads version 1"},
        {"{\"schema\": \"ranktrace-report\", \"schema_version\": 1}", RKT_ERR_FORMAT,
         "x.json: its number of ranks is not known"},
        {"{\"schema\": ", RKT_ERR_FORMAT, "x.json: byte 11 is no JSON: a value expected"},
        {"{\"ranks\": [{\"steps\": [{\"window\": {\"window_ns\": -1}}]}]}", RKT_ERR_FORMAT,
         "x.json: ranks[0].steps[0].window.window_ns is out of range"},
        {"{\"ranks\": [{\"steps\": [{\"window\": {\"comm_ns\": 9223372036854775807}}]}]}",
         RKT_ERR_FORMAT, "x.json: ranks[0].steps[0].window.comm_ns is out of range"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char *json = strdup(CASES[i].json);
        struct rkt_compare_run run;
        struct rkt_error err;

        assert_int_equal(rkt_compare_run_read(json, "x.json", &run, &err), CASES[i].status);
        assert_string_equal(err.text, CASES[i].error);
        assert_null(run.arena.blocks);
        free(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_one_number_of_each_metric),
        cmocka_unit_test(only_steps_that_all_ranks_have_count),
        cmocka_unit_test(ranks_in_host_view_count_where_there_are_no_others),
        cmocka_unit_test(what_changed_has_an_interval),
        cmocka_unit_test(what_clocks_may_have_made_is_no_change),
        cmocka_unit_test(names_are_joined_and_the_largest_change_is_first),
        cmocka_unit_test(kernels_are_judged_by_their_batches_all_together),
        cmocka_unit_test(operators_are_compared_by_their_self_times),
        cmocka_unit_test(runs_that_differ_in_kind_have_no_real_change),
        cmocka_unit_test(runs_without_steps_say_so),
        cmocka_unit_test(times_beyond_an_integer_are_not_rounded_into_one),
        cmocka_unit_test(what_is_no_report_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
