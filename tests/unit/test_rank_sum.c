/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/rank_sum.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define MOST 7 /* values of a side, by brute force */
#define NAMES 500
#define PAIRS 200
#define VALUES 10

static double p_of(const double *a, size_t n, const double *b, size_t m)
{
    return rkt_rank_sum_p((struct rkt_sample){a, n}, (struct rkt_sample){b, m});
}

static void the_example_of_the_header(void **state)
{
    static const double a[] = {1, 2, 4}, b[] = {3, 5, 6};

    (void)state;
    assert_true(fabs(p_of(a, 3, b, 3) - 0.2) < 1e-12);
    assert_true(fabs(p_of(b, 3, a, 3) - 0.2) < 1e-12);
    assert_true(p_of(a, 3, b, 0) >= 1); /* nothing to compare with */
}

/* Of values 0, 1, 2, ... those whose bit is set are a's. */
static size_t split(unsigned bits, size_t count, double *a, double *b)
{
    size_t in_a = 0;

    for (size_t i = 0; i < count; i++) {
        if (bits >> i & 1)
            a[in_a++] = (double)i;
        else
            b[i - in_a] = (double)i;
    }
    return in_a;
}

/* How far U is from the middle, twice. */
static long distance(const double *a, size_t n, const double *b, size_t m)
{
    long u = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < m; k++)
            u += a[i] < b[k];
    }
    return labs(2 * u - (long)(n * m));
}

/* Every order of n and m values; p is the share of those that are as far from the middle. */
static void p_is_what_all_orders_say(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MOST; n++) {
        for (size_t m = 1; m <= MOST; m++) {
            double a[2 * MOST], b[2 * MOST];
            size_t far[MOST * MOST + 1] = {0};
            size_t orders = 0;

            for (unsigned bits = 0; bits < 1u << (n + m); bits++) {
                if (split(bits, n + m, a, b) != n)
                    continue;
                far[distance(a, n, b, m)]++;
                orders++;
            }
            for (unsigned bits = 0; bits < 1u << (n + m); bits++) {
                size_t as_far = 0;

                if (split(bits, n + m, a, b) != n)
                    continue;
                for (size_t d = (size_t)distance(a, n, b, m); d <= n * m; d++)
                    as_far += far[d];
                assert_true(fabs(p_of(a, n, b, m) - (double)as_far / (double)orders) < 1e-12);
            }
        }
    }
}

/* Equal values count as half above: what is found is no more than without ties. */
static void ties_never_make_a_difference_larger(void **state)
{
    static const double same[] = {5, 5, 5, 5, 5};
    static const double low[] = {1, 2, 3, 4, 5}, high[] = {5, 6, 7, 8, 9};

    (void)state;
    assert_true(p_of(same, 5, same, 5) >= 1);
    assert_true(p_of(low, 5, high, 5) > 2.0 / 252);
}

static void the_smallest_p_of_32_and_32_is_exact(void **state)
{
    double a[32], b[32];
    double orders = 1;

    (void)state;
    for (int i = 0; i < 32; i++) {
        a[i] = i;
        b[i] = 100 + i;
        orders *= (33. + i) / (1 + i);
    }
    assert_true(fabs(p_of(a, 32, b, 32) * orders / 2 - 1) < 1e-9);
}

/* 0.01 counts of 4 (0.0125), then 0.016 of 3 (0.0167), not 0.03 of 2 (0.025), and so not 0.04. */
static void holms_rule_ends_at_the_first_that_may_be_chance(void **state)
{
    double p[] = {0.04, 0.016, 0.01, 0.03};
    double chance[] = {0.02, 0.5, 0.6};

    (void)state;
    assert_true(fabs(rkt_holm_limit(p, 4) - 0.016) < 1e-12);
    assert_true(rkt_holm_limit(chance, 3) < 0);
    assert_true(rkt_holm_limit(chance, 0) < 0);
}

/* The sum of four is bell-shaped enough; now and then one is far out. */
static void draw(struct rkt_random *random, double shift, double *values)
{
    for (int i = 0; i < VALUES; i++) {
        values[i] = shift;
        for (int k = 0; k < 4; k++)
            values[i] += (double)rkt_random_below(random, 1000000);
        if (rkt_random_below(random, 20) == 0)
            values[i] *= 2;
    }
    rkt_sample_sort(values, VALUES);
}

/* How many of 500 kernels are found different; those after the first only by chance. */
static size_t count_found(struct rkt_random *random, double shift_of_first, bool *has_first)
{
    double p[NAMES], first = 1, limit;
    size_t found = 0;

    for (int i = 0; i < NAMES; i++) {
        double a[VALUES], b[VALUES];

        draw(random, 0, a);
        draw(random, i == 0 ? shift_of_first : 0, b);
        p[i] = p_of(a, VALUES, b, VALUES);
        first = i == 0 ? p[i] : first;
    }
    limit = rkt_holm_limit(p, NAMES);
    *has_first = first <= limit;
    for (int i = 0; i < NAMES; i++)
        found += p[i] <= limit;
    return found;
}

static void of_500_kernels_that_are_equal_none_is_different(void **state)
{
    struct rkt_random random = {1};
    size_t pairs_with_one = 0, firsts = 0;

    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        bool has_first;

        pairs_with_one += count_found(&random, 0, &has_first) > 0;
        (void)count_found(&random, 4e6, &has_first); /* 7 standard deviations */
        firsts += has_first;
    }
    assert_true(pairs_with_one <= PAIRS / 20);
    assert_true(firsts >= PAIRS * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_header),
        cmocka_unit_test(p_is_what_all_orders_say),
        cmocka_unit_test(ties_never_make_a_difference_larger),
        cmocka_unit_test(the_smallest_p_of_32_and_32_is_exact),
        cmocka_unit_test(holms_rule_ends_at_the_first_that_may_be_chance),
        cmocka_unit_test(of_500_kernels_that_are_equal_none_is_different),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
