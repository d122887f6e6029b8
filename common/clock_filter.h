/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_FILTER_H
#define RKT_COMMON_CLOCK_FILTER_H

/*
 * clock_filter - the offset and the rate of a clock, from offsets measured with errors.
 *
 * The model of an oscillator is that of two states (Zucca, Tavella, IEEE Trans. UFFC 52, 2005):
 *
 *     d offset = rate dt + s dW1        s = 2 ns/sqrt(s)      white noise of the rate
 *     d rate   =          q dW2         q = noise             random walk of the rate
 *
 * so that over d seconds, with x = (offset, rate):
 *
 *     x <- F x,  P <- F P F' + Q,   F = [1 d; 0 1],   Q = q^2 [d^3/3 d^2/2; d^2/2 d] + s^2 [d 0; 0
 *     0]
 *
 * and a measurement z of variance r changes it as Kalman's filter does: K = P H' / (H P H' + r).
 *
 * Units: ns, s, and ns/s for rates, which is ppb. Doubles: all are relative to a first offset, so
 * that they are exact far below a nanosecond. Threads: any; no state.
 */

struct rkt_clock_filter {
    double offset_ns;
    double rate_ppb;
    /* covariance of the two */
    double var_offset;
    double cov;
    double var_rate;
};

/* Nothing is known but one measurement: sigma of the rate. Two quartzes differ by less than twice
 * this. */
#define RKT_CLOCK_RATE_UNKNOWN_PPB 100000.0

void rkt_clock_filter_init(struct rkt_clock_filter *filter, double measured_ns, double variance);

/* `noise`: q, in ppb per square root of a second. */
void rkt_clock_filter_predict(struct rkt_clock_filter *filter, double seconds, double noise);

/* Returns the log-likelihood of the measurement, without its constant. */
double rkt_clock_filter_update(struct rkt_clock_filter *filter, double measured_ns,
                               double variance);

#endif
