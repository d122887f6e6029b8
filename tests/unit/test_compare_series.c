/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare_series.h"
#include "analysis/report/compare_report.h"
#include "fake_report.h"
#include "rkt_test.h"

#define RUNS 4
#define assert_near(is, should) assert_true(fabs((is) - (should)) < 1e-6)

/* Numbers of one run of a series. */
struct point {
    uint32_t rank_count;
    int64_t step_ns;
    int64_t useful_ns;
    int64_t transfer_ns;
};

static void read_run(const struct point *point, const char *kernel, struct rkt_compare_run *run)
{
    struct fake_report report = {.rank_count = point->rank_count,
                                 .step_count = 6,
                                 .comm_ns = 84,
                                 .kernels = {{kernel, 1, 9}},
                                 .collectives = {{"AllReduce", 1000, point->transfer_ns}}};
    struct rkt_error err;
    char *json;

    for (size_t i = 0; i < 6; i++)
        report.step_ns[i] = point->step_ns;
    for (size_t r = 0; r < FAKE_RANKS_MAX; r++)
        report.useful_ns[r] = point->useful_ns;
    json = fake_report_json(&report);
    assert_rkt_ok(rkt_compare_run_read(json, "fake", run, &err), err);
    free(json);
}

struct made {
    struct rkt_compare_run runs[RUNS];
    struct rkt_series series;
};

static void make_of(const struct point points[RUNS], const char *const kernels[RUNS],
                    enum rkt_scaling told, struct made *made)
{
    struct rkt_error err;

    for (size_t i = 0; i < RUNS; i++)
        read_run(&points[i], kernels[i], &made->runs[i]);
    assert_rkt_ok(rkt_series_create(made->runs, RUNS, told, &made->series, &err), err);
}

static void make(const struct point points[RUNS], enum rkt_scaling told, struct made *made)
{
    static const char *const SAME[RUNS] = {"gemm", "gemm", "gemm", "gemm"};

    make_of(points, SAME, told, made);
}

static void release(struct made *made)
{
    rkt_series_release(&made->series);
    for (size_t i = 0; i < RUNS; i++)
        rkt_compare_run_release(&made->runs[i]);
}

static const struct point WEAK[RUNS] = {
    {8, 1250, 500, 105}, {1, 1000, 500, 1}, {4, 1200, 500, 60}, {2, 1100, 500, 30}};
static const struct point STRONG[RUNS] = {
    {1, 1000, 800, 1}, {2, 600, 400, 30}, {4, 400, 200, 60}, {8, 250, 100, 105}};

static void a_weak_series_is_found_and_ordered(void **state)
{
    struct made made;

    (void)state;
    make(WEAK, RKT_SCALING_UNKNOWN, &made);
    assert_int_equal(made.series.scaling, RKT_SCALING_WEAK);
    assert_false(made.series.is_told);
    assert_near(made.series.work_slope, 0);
    for (size_t i = 0; i < RUNS; i++)
        assert_int_equal(made.series.rows[i].run->rank_count, 1 << i);
    assert_near(made.series.rows[0].efficiency.value, 1);
    assert_near(made.series.rows[3].efficiency.value, 0.8);
    assert_near(made.series.rows[3].efficiency.low, 0.8);
    assert_near(made.series.rows[3].speedup.value, 6.4);
    assert_near(made.series.rows[3].parallel, 0.4);
    release(&made);
}

static void a_strong_series_is_found(void **state)
{
    struct made made;

    (void)state;
    make(STRONG, RKT_SCALING_UNKNOWN, &made);
    assert_int_equal(made.series.scaling, RKT_SCALING_STRONG);
    assert_near(made.series.work_slope, -1);
    assert_near(made.series.rows[3].efficiency.value, 0.5);
    assert_near(made.series.rows[3].speedup.value, 4);
    release(&made);
    make(STRONG, RKT_SCALING_WEAK, &made);
    assert_true(made.series.is_told);
    assert_near(made.series.rows[3].efficiency.value, 4);
    release(&made);
}

static void neither_is_claimed_where_work_does_something_else(void **state)
{
    static const struct point HALF[RUNS] = {
        {1, 1000, 800, 1}, {2, 700, 566, 30}, {4, 500, 400, 60}, {8, 400, 283, 105}};
    struct made made;

    (void)state;
    make(HALF, RKT_SCALING_UNKNOWN, &made);
    assert_int_equal(made.series.scaling, RKT_SCALING_UNKNOWN);
    assert_non_null(strstr(made.series.why_unknown, "--weak"));
    assert_true(isnan(made.series.rows[3].efficiency.value));
    assert_near(made.series.rows[3].step_ns.value, 400);
    assert_string_not_equal(made.series.fit.why_not, "");
    release(&made);
}

static void the_same_number_of_ranks_may_come_twice(void **state)
{
    static const struct point TWICE[RUNS] = {
        {2, 1000, 500, 30}, {4, 1250, 500, 60}, {2, 800, 500, 30}, {4, 1000, 500, 60}};
    struct made made;

    (void)state;
    make(TWICE, RKT_SCALING_UNKNOWN, &made);
    assert_int_equal(made.series.twice_count, 2);
    assert_ptr_equal(made.series.rows[0].run, &made.runs[0]);
    assert_near(made.series.rows[1].efficiency.value, 1.25);
    assert_near(made.series.rows[2].efficiency.value, 0.8);
    assert_near(made.series.rows[3].efficiency.value, 1);
    assert_string_equal(made.series.fit.why_not,
                        "runs of three numbers of ranks above 1 are needed");
    release(&made);
}

static void a_series_of_different_models_is_said(void **state)
{
    static const char *const OTHERS[RUNS] = {"another", "gemm", "another", "gemm"}; /* 8 and 4 */
    struct rkt_caution caution;
    struct made made;

    (void)state;
    make(WEAK, RKT_SCALING_UNKNOWN, &made);
    assert_false(rkt_series_caution(&made.series, 0, &caution));
    release(&made);
    make_of(WEAK, OTHERS, RKT_SCALING_UNKNOWN, &made);
    assert_true(rkt_series_caution(&made.series, 0, &caution));
    assert_non_null(strstr(caution.text, "only 0 % of the kernels' time"));
    assert_false(rkt_series_caution(&made.series, 1, &caution));
    release(&made);
}

/* metrics.md: alpha 5, beta 0.02 of one AllReduce of 1000 bytes: 10 (N - 1) + 40 (N - 1) / N
 * are 30, 60 and 105; 187.5 with 16 ranks, 82.5 more than with 8, of which 42 / 105 are exposed. */
static void a_ring_is_recovered_and_looked_ahead_with(void **state)
{
    struct made made;

    (void)state;
    make(WEAK, RKT_SCALING_UNKNOWN, &made);
    assert_string_equal(made.series.fit.why_not, "");
    assert_string_equal(made.series.fit.model, "ring");
    assert_near(made.series.fit.alpha_ns, 5);
    assert_near(made.series.fit.beta_ns_per_byte, 0.02);
    assert_int_equal(made.series.fit.point_count, 3);
    assert_near(made.series.fit.miss, 0);
    assert_int_equal(made.series.outlook[0].rank_count, 16);
    assert_near(made.series.outlook[0].step_low_ns, 1250 + 33);
    assert_near(made.series.outlook[0].step_high_ns, 1250 + 82.5);
    assert_near(made.series.outlook[0].efficiency_low, 1000 / 1332.5);
    assert_near(made.series.outlook[0].efficiency_high, 1000 / 1283.0);
    assert_int_equal(made.series.outlook[1].rank_count, 32);
    release(&made);

    /* Half of all but 42 is gone at best, half of the computing at worst, and 63 are hidden now. */
    make(STRONG, RKT_SCALING_UNKNOWN, &made);
    assert_near(made.series.outlook[0].step_low_ns, 250 - 104 + 33);
    assert_near(made.series.outlook[0].step_high_ns, 250 - 50 + 82.5 + 63);
    assert_near(made.series.outlook[0].efficiency_high, 1000 / 16.0 / 179);
    release(&made);
}

static void a_tree_is_recovered(void **state)
{
    static const struct point TREE[RUNS] = {
        {1, 1000, 500, 1}, {2, 1000, 500, 50}, {4, 1000, 500, 60}, {8, 1000, 500, 70}};
    struct made made;

    (void)state;
    make(TREE, RKT_SCALING_UNKNOWN, &made);
    assert_string_equal(made.series.fit.model, "tree");
    assert_near(made.series.fit.alpha_ns, 5);
    assert_near(made.series.fit.beta_ns_per_byte, 0.02);
    release(&made);
}

static void a_poor_fit_gives_no_outlook(void **state)
{
    static const struct point ODD[RUNS] = {
        {1, 1000, 500, 1}, {2, 1000, 500, 30}, {4, 1000, 500, 200}, {8, 1000, 500, 40}};
    struct made made;

    (void)state;
    make(ODD, RKT_SCALING_UNKNOWN, &made);
    assert_non_null(strstr(made.series.fit.why_not, "no model fits"));
    assert_true(made.series.fit.miss > RKT_FIT_MISS_MAX);
    assert_true(isnan(made.series.outlook[0].step_high_ns));
    release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_weak_series_is_found_and_ordered),
        cmocka_unit_test(a_strong_series_is_found),
        cmocka_unit_test(neither_is_claimed_where_work_does_something_else),
        cmocka_unit_test(the_same_number_of_ranks_may_come_twice),
        cmocka_unit_test(a_series_of_different_models_is_said),
        cmocka_unit_test(a_ring_is_recovered_and_looked_ahead_with),
        cmocka_unit_test(a_tree_is_recovered),
        cmocka_unit_test(a_poor_fit_gives_no_outlook),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
