/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_CLOCKSIM_CLOCK_H
#define RKT_TESTS_CLOCKSIM_CLOCK_H

/*
 * clock - a simulated machine's clocks, whose truth is known.
 *
 * The quartz (MONOTONIC_RAW): offset, constant rate error, random walk of the rate, flicker (a sum
 * of relaxing noises an octave apart), warm-up towards the working temperature, a load cycle; and
 * suspends, in which it stands still. REALTIME runs on it as ntpd steers it: slews, and steps.
 *
 * True time is a double in seconds from 0 on; readings are whole ns.
 */

#include <stdbool.h>
#include <stdint.h>

#define SIM_JUMPS_MAX 8

/* What changes a clock at a moment. */
struct sim_jump {
    double at_s;
    double ns; /* REALTIME: a step; RAW: for how long it stands still */
};

struct sim_clock_model {
    double duration_s;
    double skew_ppm;                      /* standard deviation of the constant rate error */
    double wander;                        /* times what follows; 1 usual, 0 a perfect quartz */
    double walk_ppb;                      /* per square root of a second */
    double flicker_ppb;                   /* of each octave */
    double warm_up_ppm[2];                /* from, to; over 200 to 500 s */
    double load_ppm[2];                   /* amplitude from, to; periods of 300 to 1200 s */
    struct sim_jump jumps[SIM_JUMPS_MAX]; /* of RAW; at_s 0: no more */
    struct sim_jump steps[SIM_JUMPS_MAX]; /* of REALTIME */
    double slew_ppm; /* REALTIME: rate that ntpd changes by at most, for minutes on end; 0 none */
};

/* As CLOCKS of servers are; an hour. */
struct sim_clock_model sim_clock_model_usual(void);

struct sim_clock;

/* Aborts the test when memory is out. `number`: another clock of the same seed. */
struct sim_clock *sim_clock_create(const struct sim_clock_model *model, uint64_t seed,
                                   uint64_t number);
void sim_clock_destroy(struct sim_clock *clock); /* NULL is fine */

/* What the clock shows at a true time from 0 to the duration. */
double sim_clock_at(const struct sim_clock *clock, double true_s); /* not rounded, ns */
uint64_t sim_clock_raw_ns(const struct sim_clock *clock, double true_s);
uint64_t sim_clock_real_ns(const struct sim_clock *clock, double true_s);

#endif
