/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/gain_stats.h"

#include <math.h>

#include "analysis/steady.h"

/* 1.4826 MAD is the standard deviation of normal noise, and 1.2533 / sqrt(n) of it that of the
 * median of n steps. */
#define SIGMA_OF_MAD 1.4826
#define MEDIAN_FACTOR 1.2533
#define SIGMAS 3
#define STEPS_MIN 5 /* fewer do not say how large the noise is */
#define CHANCE_MAX 0.01

struct rkt_gain_stats rkt_gain_stats_of(int64_t *gains_ns, size_t count)
{
    struct rkt_gain_stats stats = {.step_count = count};
    int64_t sum_ns = 0;
    double sigma_ns;

    if (count == 0)
        return stats;
    for (size_t i = 0; i < count; i++)
        sum_ns += gains_ns[i];
    stats.mean_ns = sum_ns / (int64_t)count;
    stats.median_ns = rkt_median_i64(gains_ns, count);
    sigma_ns = SIGMA_OF_MAD * (double)rkt_mad_i64(gains_ns, count, stats.median_ns);
    if (count >= STEPS_MIN)
        stats.noise_ns = SIGMAS * sigma_ns;
    stats.is_more_than_noise =
        (double)stats.median_ns > SIGMAS * MEDIAN_FACTOR * sigma_ns / sqrt((double)count);
    return stats;
}

bool rkt_gain_stands_out(const struct rkt_gain_stats *stats, int64_t gain_ns, int64_t step_ns)
{
    return (double)gain_ns > RKT_GAIN_SHARE_MIN * (double)step_ns &&
           (double)gain_ns > stats->noise_ns;
}

/* P(T > t) of Student's t with so many degrees of freedom, by the finite sums for whole numbers. */
static double student_tail(double t, size_t freedom)
{
    double angle = atan2(t, sqrt((double)freedom));
    double cosine = cos(angle);
    double term = freedom % 2 == 0 ? 1 : cosine;
    double sum = freedom == 1 ? 0 : term;

    for (size_t i = freedom % 2 + 2; i < freedom; i += 2) {
        term *= cosine * cosine * (double)(i - 1) / (double)i;
        sum += term;
    }
    sum *= sin(angle);
    if (freedom % 2 == 1)
        sum = (angle + sum) * M_2_PI;
    return (1 - sum) / 2;
}

bool rkt_is_beyond_chance(int64_t *values, size_t count, size_t candidate_count)
{
    int64_t median_ns = count == 0 ? 0 : rkt_median_i64(values, count);
    double error_ns;

    if (count < 2 || median_ns <= 0)
        return false;
    error_ns = MEDIAN_FACTOR * SIGMA_OF_MAD * (double)rkt_mad_i64(values, count, median_ns) /
               sqrt((double)count);
    return error_ns == 0 ||
           (double)candidate_count * student_tail((double)median_ns / error_ns, count - 1) <
               CHANCE_MAX;
}

/* P(X >= k) of n throws that hit with chance p. */
static double binomial_tail(size_t n, size_t k, double p)
{
    double log_term = (double)n * log1p(-p); /* of no hit */
    double sum = k == 0 ? exp(log_term) : 0;

    for (size_t i = 1; i <= n; i++) {
        log_term += log((double)(n - i + 1)) - log((double)i) + log(p) - log1p(-p);
        sum += i >= k ? exp(log_term) : 0;
    }
    return sum;
}

bool rkt_is_persistent(size_t named_count, size_t step_count, size_t candidate_count)
{
    if (step_count < STEPS_MIN || named_count * 2 <= step_count || candidate_count < 2)
        return false;
    return (double)candidate_count *
               binomial_tail(step_count, named_count, 1 / (double)candidate_count) <
           CHANCE_MAX;
}
