/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How good alignments are on simulated hours, beside what they shall be.
 *
 *   unit_clock_marks          one seed, fewer nodes
 *   unit_clock_marks all      ten seeds each, as tests/run.sh --all does
 */
#include "tests/unit/rkt_test.h"

#include <stdio.h>

#include "tests/clocksim/marks.h"

#define FIRST_SEED 1001 /* none that the estimator was made with */

static bool is_long;

static const struct rkt_clock_params USUAL = RKT_CLOCK_PARAMS_USUAL;

static uint64_t seed_count(void)
{
    return is_long ? 10 : 1;
}

static void run_all(struct sim_marks *marks, const struct sim_run_model *model)
{
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + seed_count(); seed++) {
        struct sim_run run;

        sim_run_make(&run, model, seed);
        sim_marks_add(marks, &run, &USUAL);
        sim_run_release(&run);
    }
}

static void check_below(const char *what, double value, double limit)
{
    print_message("          %-24s %10.3f, shall be at most %.3f\n", what, value, limit);
    if (value > limit)
        fail_msg("%s: %.3f, shall be at most %.3f", what, value, limit);
}

static void check_error(struct sim_marks *marks, double p99_us, double max_us)
{
    check_below("error p99, us", sim_series_quantile(&marks->ours, 0.99), p99_us);
    check_below("error max, us", sim_series_quantile(&marks->ours, 1), max_us);
    assert_int_equal(marks->outside_count, 0);
    assert_int_equal(marks->unaligned_count, 0);
}

static void check_width(struct sim_marks *marks, double round_trip_us)
{
    check_below("bound median, us", sim_series_quantile(&marks->guaranteed, 0.5),
                0.65 * round_trip_us + 1.5);
    check_below("bound p99, us", sim_series_quantile(&marks->guaranteed, 0.99),
                round_trip_us + 1.5);
}

/* Marks 1, 5 and 7. */
static void check_tcp(size_t node_count)
{
    struct sim_run_model model = sim_run_model_star(node_count + 1, sim_net_model_tcp(0.05));
    struct sim_marks marks = {0};
    double linear_us;

    run_all(&marks, &model);
    check_error(&marks, 1, 5);
    check_width(&marks, 16);
    linear_us = sim_series_quantile(&marks.start_end, 0.99);
    check_below("ours / start+end linear", sim_series_quantile(&marks.ours, 0.99) / linear_us,
                0.01);
    check_below("exchanges per burst", (double)marks.exchange_count / (double)marks.burst_count,
                25);
    check_below("exchanges per hour", (double)marks.exchange_count / (double)marks.node_count,
                9000);
    check_below("parent's core, %", marks.busy_ratio * 100, 0.5);
    sim_marks_release(&marks);
}

static void tcp_with_8_nodes(void **state)
{
    (void)state;
    check_tcp(8);
}

static void tcp_with_64_nodes(void **state)
{
    (void)state;
    check_tcp(is_long ? 64 : 16);
}

/* Mark 2 */
static void one_way_a_quarter_slower(void **state)
{
    struct sim_run_model model = sim_run_model_star(is_long ? 65 : 9, sim_net_model_tcp(0.25));
    struct sim_marks marks = {0};

    (void)state;
    run_all(&marks, &model);
    check_error(&marks, 3, 5);
    sim_marks_release(&marks);
}

/* Mark 3 */
static void infiniband(void **state)
{
    struct sim_run_model model =
        sim_run_model_star(is_long ? 65 : 9, sim_net_model_infiniband(0.05));
    struct sim_marks marks = {0};

    (void)state;
    run_all(&marks, &model);
    check_error(&marks, 0.3, 1);
    check_width(&marks, 2.4);
    sim_marks_release(&marks);
}

/* Mark 4 */
static void truth_is_inside_the_bound_of_clocks_that_wander(void **state)
{
    static const double WANDERS[] = {1, 5, 20};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct sim_run_model model = sim_run_model_star(is_long ? 65 : 17, sim_net_model_tcp(0.05));
        struct sim_marks marks = {0};

        model.clock.wander = WANDERS[i];
        run_all(&marks, &model);
        print_message("          wander x %.0f: %llu of %llu points outside\n", WANDERS[i],
                      (unsigned long long)marks.outside_count,
                      (unsigned long long)marks.point_count);
        check_below("share outside", (double)marks.outside_count / (double)marks.point_count,
                    WANDERS[i] > 5 ? 1e-5 : 0);
        assert_int_equal(marks.unaligned_count, 0);
        sim_marks_release(&marks);
    }
}

/* Mark 6 */
static void two_levels(void **state)
{
    struct sim_run_model model = sim_run_model_star(is_long ? 1251 : 101, sim_net_model_tcp(0.05));
    struct sim_marks marks = {0};
    struct sim_run run;

    (void)state;
    sim_run_make(&run, &model, FIRST_SEED);
    sim_marks_add(&marks, &run, &USUAL);
    sim_run_release(&run);
    check_error(&marks, 1.5, 10);
    check_below("parent's core, %", marks.busy_ratio * 100, 0.5);
    print_message("          solved in %.2f s\n", marks.solve_s);
    sim_marks_release(&marks);
}

/* Mark 8 */
static void live(void **state)
{
    struct sim_run_model model = sim_run_model_star(9, sim_net_model_tcp(0.05));
    struct sim_marks marks = {0};

    (void)state;
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + seed_count(); seed++) {
        struct sim_run run;

        sim_run_make(&run, &model, seed);
        sim_marks_add_live(&marks, &run, is_long ? 2 : 10);
        sim_run_release(&run);
    }
    check_below("error p99, us", sim_series_quantile(&marks.live, 0.99), 3);
    assert_int_equal(marks.live_outside_count, 0);
    sim_marks_release(&marks);
}

/* Mark 9 */
static void few_bursts(void **state)
{
    struct sim_run_model model = sim_run_model_star(is_long ? 65 : 9, sim_net_model_tcp(0.05));
    struct sim_run_model lossy = model;
    struct sim_run_model silent = model;
    struct sim_marks marks = {0};

    (void)state;
    model.period_s = 60;
    run_all(&marks, &model);
    check_error(&marks, 3, 20);
    sim_marks_release(&marks);

    lossy.lost_ratio = 0.5;
    run_all(&marks, &lossy);
    check_error(&marks, 1.5, 20);
    sim_marks_release(&marks);

    silent.silent_s[0] = 1500;
    silent.silent_s[1] = 1800;
    run_all(&marks, &silent);
    assert_int_equal(marks.outside_count, 0);
    assert_true(marks.flags & RKT_CLOCK_SILENT);
    assert_true(sim_series_quantile(&marks.guaranteed, 1) > 40); /* 150 s x 300 ppb */
    sim_marks_release(&marks);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tcp_with_8_nodes),
        cmocka_unit_test(tcp_with_64_nodes),
        cmocka_unit_test(one_way_a_quarter_slower),
        cmocka_unit_test(infiniband),
        cmocka_unit_test(truth_is_inside_the_bound_of_clocks_that_wander),
        cmocka_unit_test(two_levels),
        cmocka_unit_test(live),
        cmocka_unit_test(few_bursts),
    };

    is_long = argc > 1 && strcmp(argv[1], "all") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
