/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_filter.h"

#include <math.h>

#define RATE_WHITE_NOISE_NS 2.0

void rkt_clock_filter_init(struct rkt_clock_filter *filter, double measured_ns, double variance)
{
    *filter = (struct rkt_clock_filter){.offset_ns = measured_ns,
                                        .var_offset = variance,
                                        .var_rate = RKT_CLOCK_RATE_UNKNOWN_PPB *
                                                    RKT_CLOCK_RATE_UNKNOWN_PPB};
}

void rkt_clock_filter_predict(struct rkt_clock_filter *filter, double seconds, double noise)
{
    double d = seconds;
    double q = noise * noise;

    filter->offset_ns += filter->rate_ppb * d;
    filter->var_offset += 2 * d * filter->cov + d * d * filter->var_rate + q * d * d * d / 3 +
                          RATE_WHITE_NOISE_NS * RATE_WHITE_NOISE_NS * d;
    filter->cov += d * filter->var_rate + q * d * d / 2;
    filter->var_rate += q * d;
}

double rkt_clock_filter_update(struct rkt_clock_filter *filter, double measured_ns, double variance)
{
    double surprise = measured_ns - filter->offset_ns;
    double expected = filter->var_offset + variance;
    double gain_offset = filter->var_offset / expected;
    double gain_rate = filter->cov / expected;

    filter->offset_ns += gain_offset * surprise;
    filter->rate_ppb += gain_rate * surprise;
    filter->var_rate -= gain_rate * filter->cov;
    filter->cov *= 1 - gain_offset;
    filter->var_offset *= 1 - gain_offset;
    return -(surprise * surprise / expected + log(expected)) / 2;
}
