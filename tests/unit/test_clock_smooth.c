/* SPDX-License-Identifier: Apache-2.0 */
/* The filter by hand, and the smoother beside a least-squares solution of all points at once. */
#include "tests/unit/rkt_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/clock_filter.h"
#include "common/clock_smooth.h"

#define POINTS 6u
#define UNKNOWNS ((size_t)2 * POINTS)
#define WHITE_NS 2.0 /* per square root of a second, as clock_filter.h says */

static void check_near(double got, double want, double within)
{
    if (!(fabs(got - want) <= within))
        fail_msg("%.9g, shall be %.9g", got, want);
}

static void a_step_of_the_filter_is_that_of_the_page(void **state)
{
    struct rkt_clock_filter filter;

    (void)state;
    rkt_clock_filter_init(&filter, 100, 9);
    check_near(filter.var_rate, 1e10, 0);
    filter.rate_ppb = 5;
    filter.cov = 2;
    filter.var_rate = 4;
    rkt_clock_filter_predict(&filter, 3, 2);
    check_near(filter.offset_ns, 115, 1e-12);
    /* 9 + 2*3*2 + 9*4 + 4*27/3 + 4*3; 2 + 3*4 + 4*9/2; 4 + 4*3 */
    check_near(filter.var_offset, 105, 1e-12);
    check_near(filter.cov, 32, 1e-12);
    check_near(filter.var_rate, 16, 1e-12);
    /* 7 more than expected, of variance 35: K = (105, 32) / 140 */
    check_near(rkt_clock_filter_update(&filter, 122, 35), -(49.0 / 140 + log(140)) / 2, 1e-12);
    check_near(filter.offset_ns, 115 + 7 * 0.75, 1e-12);
    check_near(filter.rate_ppb, 5 + 7 * 32.0 / 140, 1e-12);
    check_near(filter.var_offset, 105 * 0.25, 1e-12);
    check_near(filter.cov, 32 * 0.25, 1e-12);
    check_near(filter.var_rate, 16 - 32.0 * 32 / 140, 1e-12);
}

/* ---- all at once ---- */

struct equations {
    double matrix[UNKNOWNS][UNKNOWNS + 1];
};

static void add_measured(struct equations *equations, size_t unknown, double value, double variance)
{
    equations->matrix[unknown][unknown] += 1 / variance;
    equations->matrix[unknown][UNKNOWNS] += value / variance;
}

/* (offset' - offset - d rate, rate' - rate) of covariance Q, as a weighted square. */
static void add_process(struct equations *equations, size_t k, double d, double noise)
{
    double q = noise * noise;
    double oo = q * d * d * d / 3 + WHITE_NS * WHITE_NS * d, or = q * d * d / 2, rr = q * d;
    double determinant = oo * rr - or * or ;
    double inverse[2][2] = {{rr / determinant, - or / determinant},
                            {- or / determinant, oo / determinant}};
    const size_t at[4] = {2 * k, 2 * k + 1, 2 * k + 2, 2 * k + 3};
    const double rows[2][4] = {{-1, -d, 1, 0}, {0, -1, 0, 1}};

    for (size_t a = 0; a < 2; a++) {
        for (size_t b = 0; b < 2; b++) {
            for (size_t i = 0; i < 4; i++) {
                for (size_t j = 0; j < 4; j++)
                    equations->matrix[at[i]][at[j]] += inverse[a][b] * rows[a][i] * rows[b][j];
            }
        }
    }
}

static void solve(struct equations *equations, double *unknowns)
{
    for (size_t k = 0; k < UNKNOWNS; k++) {
        for (size_t row = k + 1; row < UNKNOWNS; row++) {
            double factor = equations->matrix[row][k] / equations->matrix[k][k];

            for (size_t column = k; column <= UNKNOWNS; column++)
                equations->matrix[row][column] -= factor * equations->matrix[k][column];
        }
    }
    for (size_t k = UNKNOWNS; k-- > 0;) {
        unknowns[k] = equations->matrix[k][UNKNOWNS];
        for (size_t j = k + 1; j < UNKNOWNS; j++)
            unknowns[k] -= equations->matrix[k][j] * unknowns[j];
        unknowns[k] /= equations->matrix[k][k];
    }
}

static void smoothing_is_the_least_squares_solution(void **state)
{
    static const double TIMES[POINTS] = {0, 1, 2.5, 12, 20, 31};
    static const double NOISE_NS[POINTS] = {30, -80, 55, 10, -60, 45};
    double best_width_ns = 5000,
           variance = 50.0 * 50.0 + 1; /* 0.01 of the width; the clocks' step */
    struct rkt_smooth_point points[POINTS];
    struct equations equations = {{{0}}};
    double unknowns[UNKNOWNS];
    struct rkt_arena arena;
    struct rkt_error err;
    uint32_t noise_index;

    (void)state;
    for (size_t k = 0; k < POINTS; k++)
        points[k] = (struct rkt_smooth_point){.time_s = TIMES[k],
                                              .middle_ns = 15000 * TIMES[k] + NOISE_NS[k]};
    rkt_arena_init(&arena, 1 << 20);
    assert_rkt_ok(rkt_clock_smooth(points, POINTS, best_width_ns, &arena, &noise_index, &err), err);
    rkt_arena_release(&arena);
    for (size_t k = 0; k < POINTS; k++)
        add_measured(&equations, 2 * k, points[k].middle_ns, variance);
    add_measured(&equations, 1, 0, 1e10);
    for (size_t k = 0; k + 1 < POINTS; k++)
        add_process(&equations, k, TIMES[k + 1] - TIMES[k], rkt_clock_noises[noise_index]);
    solve(&equations, unknowns);
    for (size_t k = 0; k < POINTS; k++) {
        check_near(points[k].offset_ns, unknowns[2 * k], 0.01);
        check_near(points[k].rate_ppb, unknowns[2 * k + 1], 0.01);
    }
}

static void the_noise_is_chosen_that_made_the_points(void **state)
{
    enum {
        COUNT = 400
    };
    static struct rkt_smooth_point points[COUNT];
    struct rkt_arena arena;
    struct rkt_error err;

    (void)state;
    rkt_arena_init(&arena, 1 << 24);
    for (uint32_t made = 0; made < RKT_CLOCK_NOISE_COUNT; made++) {
        double rate_ppb = 12000, offset_ns = 0;
        uint64_t random = 7 + made;
        uint32_t noise_index;

        for (size_t k = 0; k < COUNT; k++) {
            double steps = 0;

            for (int i = 0; i < 12; i++) { /* of variance 1 */
                random = random * 6364136223846793005u + 1442695040888963407u;
                steps += (double)(random >> 40) / 16777216.0 - 0.5;
            }
            points[k] =
                (struct rkt_smooth_point){.time_s = 10.0 * (double)k, .middle_ns = offset_ns};
            offset_ns += rate_ppb * 10;
            rate_ppb += rkt_clock_noises[made] * sqrt(10) * steps;
        }
        assert_rkt_ok(rkt_clock_smooth(points, COUNT, 100, &arena, &noise_index, &err), err);
        assert_int_equal(noise_index, made);
        rkt_arena_reset(&arena);
    }
    rkt_arena_release(&arena);
}

/*
 * For ten bursts one way is slow, and all their middles are off by a microsecond to the same side.
 */
static void a_spell_of_congestion_is_bridged(void **state)
{
    enum {
        COUNT = 60
    };
    struct rkt_smooth_point points[COUNT];
    struct rkt_arena arena;
    struct rkt_error err;
    uint32_t noise_index;

    (void)state;
    for (size_t k = 0; k < COUNT; k++) {
        bool is_congested = k >= 25 && k < 35;

        points[k] =
            (struct rkt_smooth_point){.time_s = 10.0 * (double)k,
                                      .middle_ns = (k % 2 ? 30 : -30) + (is_congested ? 1000 : 0),
                                      .half_ns = is_congested ? 1050 : 60};
    }
    rkt_arena_init(&arena, 1 << 20);
    assert_rkt_ok(rkt_clock_smooth(points, COUNT, 16000, &arena, &noise_index, &err), err);
    rkt_arena_release(&arena);
    for (size_t k = 0; k < COUNT; k++)
        check_near(points[k].offset_ns, 0, 250);
}

#define SLOW_COUNT 60u
#define SLOW_JITTER_NS 200.0

/*
 * A clock whose rate swings by 0.2 ppm in 200 s, over a network that is slow both ways, 2 to 4 us
 * each, for 160 of 200 s; and now and then, `rare` of these, one way alone.
 */
static void make_slow(struct rkt_smooth_point *points, double *truth_ns, size_t rare_every)
{
    for (size_t k = 0; k < SLOW_COUNT; k++) {
        bool is_slow = k % 20 >= 4;
        double half_ns = is_slow ? 2000 + 400 * (double)(k % 6) : 60;
        bool is_rare = is_slow && rare_every > 0 && k % rare_every == 0;

        truth_ns[k] = 200.0 * 200 / 6.283185 * sin(6.283185 * (double)k / 20);
        points[k] = (struct rkt_smooth_point){
            .time_s = 10.0 * (double)k,
            .middle_ns = truth_ns[k] - truth_ns[0] +
                         SLOW_JITTER_NS * ((double)(k * 7 % 11) / 5 - 1) + (is_rare ? half_ns : 0),
            .half_ns = half_ns};
    }
}

/* The largest error of the course that was made of them. */
static double error_of_slow(size_t rare_every, double best_width_ns)
{
    struct rkt_smooth_point points[SLOW_COUNT];
    double truth_ns[SLOW_COUNT];
    struct rkt_arena arena;
    struct rkt_error err;
    uint32_t noise_index;
    double worst_ns = 0;

    make_slow(points, truth_ns, rare_every);
    rkt_arena_init(&arena, 1 << 20);
    assert_rkt_ok(rkt_clock_smooth(points, SLOW_COUNT, best_width_ns, &arena, &noise_index, &err),
                  err);
    rkt_arena_release(&arena);
    for (size_t k = 0; k < SLOW_COUNT; k++)
        worst_ns = fmax(worst_ns, fabs(points[k].likeliest_ns - (truth_ns[k] - truth_ns[0])));
    return worst_ns;
}

static void what_is_slow_both_ways_is_measured_all_the_same(void **state)
{
    (void)state;
    assert_in_range(error_of_slow(0, 20000), 0, 600);
    assert_in_range(error_of_slow(13, 20000), 0, 1500);
    assert_in_range(error_of_slow(7, 20000), 0, 1300);
    assert_in_range(error_of_slow(5, 20000), 0, 1300);
}

/* In claims nothing says that the middle is likelier. */
static void claims_are_not_taken_for_slow_ways(void **state)
{
    (void)state;
    assert_in_range(error_of_slow(0, 0), 1000, 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_of_the_filter_is_that_of_the_page),
        cmocka_unit_test(smoothing_is_the_least_squares_solution),
        cmocka_unit_test(the_noise_is_chosen_that_made_the_points),
        cmocka_unit_test(a_spell_of_congestion_is_bridged),
        cmocka_unit_test(what_is_slow_both_ways_is_measured_all_the_same),
        cmocka_unit_test(claims_are_not_taken_for_slow_ways),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
