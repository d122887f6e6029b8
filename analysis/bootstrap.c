/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/bootstrap.h"

#include <math.h>
#include <stdlib.h>

#define TAIL 0.025
#define ROUNDING 1e-9     /* of a sum of probabilities: 0.025 is not missed by an ulp */
#define PLACES_PER_ROOT 3 /* 6 standard deviations of the median's place, sqrt(n) / 2 each */

static const struct rkt_estimate NOT_KNOWN = {(double)NAN, (double)NAN, (double)NAN};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

void rkt_sample_sort(double *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof(*values), compare_doubles);
}

static double median_of(struct rkt_sample sample)
{
    return sample.sorted[(sample.count - 1) / 2];
}

static double log_factorial(size_t n)
{
    int sign;

    return lgamma_r((double)n + 1, &sign);
}

/* P(Binomial(n, k/n) >= m): the terms from m on, until they no longer matter. */
static double binomial_tail(size_t n, size_t k, size_t m)
{
    double p = (double)k / (double)n;
    double term;
    double sum = 0;

    if (k == 0 || k >= n)
        return k == 0 ? 0 : 1;
    term = exp(log_factorial(n) - log_factorial(m) - log_factorial(n - m) + (double)m * log(p) +
               (double)(n - m) * log1p(-p));
    for (size_t i = m; i <= n; i++) {
        sum += term;
        if ((double)i > (double)n * p && term < sum * 1e-15)
            break;
        term *= (double)(n - i) / (double)(i + 1) * p / (1 - p);
    }
    return sum < 1 ? sum : 1;
}

/* Places k of [first, first + count) and how likely the median is there. */
struct places {
    size_t first; /* from 0 */
    size_t count;
};

static struct places likely_places(size_t n)
{
    size_t reach = (size_t)(PLACES_PER_ROOT * sqrt((double)n)) + 1;
    size_t middle = (n - 1) / 2;
    struct places places = {.first = middle > reach ? middle - reach : 0};
    size_t end = middle + reach + 1 < n ? middle + reach + 1 : n;

    places.count = end - places.first;
    return places;
}

static double place_probability(size_t n, size_t place)
{
    size_t m = (n - 1) / 2 + 1;

    return binomial_tail(n, place + 1, m) - binomial_tail(n, place, m);
}

struct rkt_estimate rkt_bootstrap_median(struct rkt_sample sample)
{
    struct rkt_estimate estimate = NOT_KNOWN;
    struct places places;
    double below = 0;

    if (sample.count == 0)
        return estimate;
    estimate.value = median_of(sample);
    if (sample.count < RKT_BOOTSTRAP_MIN)
        return estimate;
    places = likely_places(sample.count);
    for (size_t i = 0; i < places.count; i++) {
        double value = sample.sorted[places.first + i];

        below += place_probability(sample.count, places.first + i);
        if (isnan(estimate.low) && below >= TAIL - ROUNDING)
            estimate.low = value;
        if (isnan(estimate.high) && below >= 1 - TAIL - ROUNDING)
            estimate.high = value;
    }
    return estimate;
}

/* ---- two samples ---- */

struct pair {
    double value;
    double probability;
};

static int compare_pairs(const void *a, const void *b)
{
    double x = ((const struct pair *)a)->value;
    double y = ((const struct pair *)b)->value;

    return (x > y) - (x < y);
}

static double contrast_of(double a, double b, enum rkt_contrast contrast)
{
    if (contrast == RKT_CONTRAST_DIFFERENCE)
        return b - a;
    return a > 0 ? b / a : (double)NAN;
}

static void take_quantiles(struct pair *pairs, size_t count, struct rkt_estimate *estimate)
{
    double below = 0;

    qsort(pairs, count, sizeof(*pairs), compare_pairs);
    for (size_t i = 0; i < count; i++) {
        below += pairs[i].probability;
        if (isnan(estimate->low) && below >= TAIL - ROUNDING)
            estimate->low = pairs[i].value;
        if (isnan(estimate->high) && below >= 1 - TAIL - ROUNDING)
            estimate->high = pairs[i].value;
    }
}

static void fill_pairs(struct rkt_sample a, struct rkt_sample b, enum rkt_contrast contrast,
                       struct pair *pairs)
{
    struct places of_a = likely_places(a.count);
    struct places of_b = likely_places(b.count);

    for (size_t j = 0; j < of_b.count; j++)
        pairs[j].probability = place_probability(b.count, of_b.first + j);
    for (size_t i = of_a.count; i-- > 0;) { /* the first row, which the others need, last */
        double probability = place_probability(a.count, of_a.first + i);

        for (size_t j = 0; j < of_b.count; j++)
            pairs[i * of_b.count + j] = (struct pair){
                contrast_of(a.sorted[of_a.first + i], b.sorted[of_b.first + j], contrast),
                probability * pairs[j].probability};
    }
}

enum rkt_status rkt_bootstrap_contrast(struct rkt_sample a, struct rkt_sample b,
                                       enum rkt_contrast contrast, struct rkt_estimate *out,
                                       struct rkt_error *err)
{
    struct rkt_estimate estimate = NOT_KNOWN;
    struct pair *pairs;
    size_t count;

    *out = estimate;
    if (a.count == 0 || b.count == 0)
        return RKT_OK;
    estimate.value = contrast_of(median_of(a), median_of(b), contrast);
    *out = estimate;
    if (a.count < RKT_BOOTSTRAP_MIN || b.count < RKT_BOOTSTRAP_MIN ||
        (contrast == RKT_CONTRAST_RATIO && !(a.sorted[0] > 0)))
        return RKT_OK;
    count = likely_places(a.count).count * likely_places(b.count).count;
    pairs = calloc(count, sizeof(*pairs));
    if (!pairs)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to compare %zu values with %zu", a.count,
                        b.count);
    fill_pairs(a, b, contrast, pairs);
    take_quantiles(pairs, count, &estimate);
    free(pairs);
    *out = estimate;
    return RKT_OK;
}
