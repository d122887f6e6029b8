/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_sum.h"

#include <math.h>

#define CHANCE 0.05
#define WAYS_MAX (RKT_RANK_SUM_MAX * RKT_RANK_SUM_MAX / 2 + 1)

/* Twice U: pairs in which a's value is the smaller, and half of those that are equal. */
static size_t twice_u(struct rkt_sample a, struct rkt_sample b)
{
    size_t below = 0; /* values of b below a's, then also those that are equal */
    size_t beside = 0;
    size_t sum = 0;

    for (size_t i = 0; i < a.count; i++) {
        while (below < b.count && b.sorted[below] < a.sorted[i])
            below++;
        while (beside < b.count && b.sorted[beside] <= a.sorted[i])
            beside++;
        sum += 2 * (b.count - beside) + (beside - below);
    }
    return sum;
}

/*
 * ways[u] for u up to `most`: in how many orders of n and m values U is u. They are the
 * coefficients of (1 - q^(n+1)) ... (1 - q^(n+m)) / ((1 - q) ... (1 - q^m)). Those below have been
 * made when one is, so that small ones are exact.
 */
static void count_ways(size_t n, size_t m, size_t most, double *ways)
{
    for (size_t u = 0; u <= most; u++)
        ways[u] = u == 0;
    for (size_t i = 1; i <= m; i++) {
        for (size_t u = most; u >= n + i && u <= most; u--)
            ways[u] -= ways[u - (n + i)];
        for (size_t u = i; u <= most; u++)
            ways[u] += ways[u - i];
    }
}

/* Of all orders of n and m values. */
static double log_orders(size_t n, size_t m)
{
    int sign;

    return lgamma_r((double)(n + m) + 1, &sign) - lgamma_r((double)n + 1, &sign) -
           lgamma_r((double)m + 1, &sign);
}

double rkt_rank_sum_p(struct rkt_sample a, struct rkt_sample b)
{
    double ways[WAYS_MAX];
    size_t pairs = a.count * b.count;
    size_t twice;
    double sum = 0;
    double p;

    if (a.count == 0 || b.count == 0 || a.count > RKT_RANK_SUM_MAX || b.count > RKT_RANK_SUM_MAX)
        return 1;
    twice = twice_u(a, b);
    if (twice > pairs)
        twice = 2 * pairs - twice;
    count_ways(a.count, b.count, (twice + 1) / 2, ways);
    for (size_t u = 0; u <= (twice + 1) / 2; u++)
        sum += ways[u];
    p = 2 * sum * exp(-log_orders(a.count, b.count));
    return p < 1 ? p : 1;
}

double rkt_holm_limit(double *p, size_t count)
{
    double limit = -1;

    rkt_sample_sort(p, count);
    for (size_t i = 0; i < count && p[i] <= CHANCE / (double)(count - i); i++)
        limit = p[i];
    return limit;
}
