/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "analysis/bootstrap.h"
#include "rkt_test.h"

#define PAIRS 1000
#define assert_near(is, should) assert_true(fabs((is) - (should)) < 1e-9)

static const double FIVE[] = {1, 2, 3, 4, 5};
static const double TENS[] = {10, 10, 10, 10, 10};
static const double SEVEN[] = {1, 2, 4, 8, 16, 32, 64};

static struct rkt_sample sample(const double *values, size_t count)
{
    return (struct rkt_sample){values, count};
}

/* metrics.md, "Comparing runs": of 5 values the median of a draw is the least one with 5.8 %, over
 * 2.5 %; of 7 with 1.0 %, and the second with 8.1 %. */
static void intervals_of_the_worked_example(void **state)
{
    struct rkt_estimate five = rkt_bootstrap_median(sample(FIVE, 5));
    struct rkt_estimate seven = rkt_bootstrap_median(sample(SEVEN, 7));
    struct rkt_estimate change;
    struct rkt_error err;

    (void)state;
    assert_near(five.value, 3);
    assert_near(five.low, 1);
    assert_near(five.high, 5);
    assert_near(seven.value, 8);
    assert_near(seven.low, 2);
    assert_near(seven.high, 32);
    assert_rkt_ok(rkt_bootstrap_contrast(sample(TENS, 5), sample(SEVEN, 7), RKT_CONTRAST_DIFFERENCE,
                                         &change, &err),
                  err);
    assert_near(change.value, -2);
    assert_near(change.low, -8);
    assert_near(change.high, 22);
    assert_rkt_ok(rkt_bootstrap_contrast(sample(TENS, 5), sample(SEVEN, 7), RKT_CONTRAST_RATIO,
                                         &change, &err),
                  err);
    assert_near(change.value, 0.8);
    assert_near(change.low, 0.2);
    assert_near(change.high, 3.2);
}

/* The median of every one of the 5^5 draws, by place. */
static void count_all_draws(size_t counts[5])
{
    for (size_t draw = 0; draw < 3125; draw++) {
        size_t below[5] = {0};
        size_t rest = draw;

        for (int i = 0; i < 5; i++, rest /= 5) {
            for (size_t place = rest % 5; place < 5; place++)
                below[place]++;
        }
        for (size_t place = 0; place < 5; place++) {
            if (below[place] >= 3) {
                counts[place]++;
                break;
            }
        }
    }
}

struct weighted {
    double value;
    double weight;
};

static int compare_weighted(const void *a, const void *b)
{
    double x = ((const struct weighted *)a)->value;
    double y = ((const struct weighted *)b)->value;

    return (x > y) - (x < y);
}

/* All pairs of draws of five and five values, which no formula of ours counts. */
static void intervals_equal_those_of_all_draws(void **state)
{
    struct weighted pairs[25];
    size_t counts[5] = {0};
    double low = (double)NAN;
    double high = (double)NAN;
    double below = 0;

    (void)state;
    count_all_draws(counts);
    for (unsigned seed = 0; seed < 200; seed++) {
        double a[5], b[5];
        struct rkt_estimate change;

        srand(seed);
        for (int i = 0; i < 5; i++) {
            a[i] = rand() % 100;
            b[i] = rand() % 100 + (int)(seed % 3) * 30;
        }
        rkt_sample_sort(a, 5);
        rkt_sample_sort(b, 5);
        for (size_t i = 0; i < 25; i++) {
            size_t draws = counts[i / 5] * counts[i % 5];

            pairs[i] = (struct weighted){b[i % 5] - a[i / 5], (double)draws / 3125 / 3125};
        }
        qsort(pairs, 25, sizeof(pairs[0]), compare_weighted);
        low = (double)NAN;
        high = (double)NAN;
        below = 0;
        for (size_t i = 0; i < 25; i++) {
            below += pairs[i].weight;
            low = isnan(low) && below >= 0.025 - 1e-9 ? pairs[i].value : low;
            high = isnan(high) && below >= 0.975 - 1e-9 ? pairs[i].value : high;
        }
        assert_int_equal(rkt_bootstrap_contrast(sample(a, 5), sample(b, 5), RKT_CONTRAST_DIFFERENCE,
                                                &change, NULL),
                         RKT_OK);
        assert_near(change.value, b[2] - a[2]);
        assert_near(change.low, low);
        assert_near(change.high, high);
    }
}

/* The place of a median of n has a standard deviation of sqrt(n) / 2: 1.96 of them to either
 * side. */
static void many_values_are_as_the_normal_distribution_says(void **state)
{
    static const size_t COUNTS[] = {100, 1001, 20000, 200000};

    (void)state;
    for (size_t i = 0; i < sizeof(COUNTS) / sizeof(COUNTS[0]); i++) {
        size_t count = COUNTS[i];
        size_t middle = (count - 1) / 2;
        double *values = calloc(count, sizeof(*values));
        double reach = 0.98 * sqrt((double)count);
        struct rkt_estimate estimate;

        assert_non_null(values);
        for (size_t j = 0; j < count; j++)
            values[j] = (double)j;
        estimate = rkt_bootstrap_median(sample(values, count));
        assert_near(estimate.value, (double)middle);
        assert_true(fabs(estimate.value - estimate.low - reach) < 2 + 0.01 * reach);
        assert_true(fabs(estimate.high - estimate.value - reach) < 2 + 0.01 * reach);
        free(values);
    }
}

/* Near enough to normal: the sum of twelve even numbers. The same ones on any machine. */
static double next_normal(uint64_t *state)
{
    double sum = -6;

    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 33) / 2147483648.0;
    }
    return sum;
}

static struct rkt_sample draw(double *values, size_t count, double mean, uint64_t *state)
{
    for (size_t i = 0; i < count; i++)
        values[i] = mean + next_normal(state);
    rkt_sample_sort(values, count);
    return sample(values, count);
}

/* Of PAIRS pairs of runs how many changes are called real. */
static int count_real(size_t steps, double change, uint64_t *state)
{
    double a[50], b[50];
    int real = 0;

    for (int i = 0; i < PAIRS; i++) {
        struct rkt_sample before = draw(a, steps, 100, state);
        struct rkt_sample after = draw(b, steps, 100 + change, state);
        struct rkt_estimate estimate;

        assert_int_equal(
            rkt_bootstrap_contrast(before, after, RKT_CONTRAST_DIFFERENCE, &estimate, NULL),
            RKT_OK);
        real += estimate.low > 0 || estimate.high < 0;
    }
    return real;
}

/* The table of metrics.md. */
static void equal_runs_are_rarely_different(void **state)
{
    static const struct {
        size_t steps;
        int alarms_most; /* 5 % of PAIRS, and what chance adds */
        int seen_least;  /* a change of two standard deviations of a step */
    } CASES[] = {{5, 60, 600}, {7, 60, 800}, {10, 60, 900}, {20, 60, 980}, {50, 60, 1000}};
    uint64_t random = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        int alarms = count_real(CASES[i].steps, 0, &random);
        int seen = count_real(CASES[i].steps, 2, &random);

        print_message("%zu steps: %.1f %% of equal runs, %.1f %% of changes\n", CASES[i].steps,
                      alarms * 100.0 / PAIRS, seen * 100.0 / PAIRS);
        assert_true(alarms <= CASES[i].alarms_most);
        assert_true(seen >= CASES[i].seen_least);
    }
}

static void what_is_not_known_is_no_number(void **state)
{
    static const double ZEROS[] = {0, 0, 0, 0, 0};
    struct rkt_estimate estimate = rkt_bootstrap_median(sample(NULL, 0));
    struct rkt_error err;

    (void)state;
    assert_true(isnan(estimate.value) && isnan(estimate.low) && isnan(estimate.high));
    estimate = rkt_bootstrap_median(sample(FIVE, 4));
    assert_near(estimate.value, 2);
    assert_true(isnan(estimate.low) && isnan(estimate.high));
    assert_rkt_ok(rkt_bootstrap_contrast(sample(FIVE, 4), sample(SEVEN, 7), RKT_CONTRAST_DIFFERENCE,
                                         &estimate, &err),
                  err);
    assert_near(estimate.value, 6);
    assert_true(isnan(estimate.low) && isnan(estimate.high));
    assert_rkt_ok(rkt_bootstrap_contrast(sample(NULL, 0), sample(SEVEN, 7), RKT_CONTRAST_DIFFERENCE,
                                         &estimate, &err),
                  err);
    assert_true(isnan(estimate.value));
    assert_rkt_ok(rkt_bootstrap_contrast(sample(ZEROS, 5), sample(SEVEN, 7), RKT_CONTRAST_RATIO,
                                         &estimate, &err),
                  err);
    assert_true(isnan(estimate.value) && isnan(estimate.low));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_of_the_worked_example),
        cmocka_unit_test(intervals_equal_those_of_all_draws),
        cmocka_unit_test(many_values_are_as_the_normal_distribution_says),
        cmocka_unit_test(equal_runs_are_rarely_different),
        cmocka_unit_test(what_is_not_known_is_no_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
