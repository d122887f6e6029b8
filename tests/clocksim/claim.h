/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_CLOCKSIM_CLAIM_H
#define RKT_TESTS_CLOCKSIM_CLAIM_H

/*
 * claim - what a simulated host claims of true time, as one that a PTP daemon steers does.
 *
 * A claim is half_ns wide to either side of what the host takes for true time, which is off by up
 * to nearly that: of half the hosts along a sine of some seconds to an hour, of the others to one
 * end or the other for some seconds to minutes on end, as a servo or a slow way to the grandmaster
 * does it. A host may lie.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"
#include "tests/clocksim/clock.h"
#include "tests/clocksim/random.h"

struct sim_claim_model {
    double half_ns; /* 0: nobody claims anything */
    double period_s;
    double gone_s[2]; /* from, to: no host claims anything */
    size_t liar;      /* this node's claims are off by as much more */
    double lie_ns;
    double lie_s[2]; /* from, to */
};

/* As far apart as a sidecar looks. */
struct sim_claim_model sim_claim_model_ptp(double half_ns);

struct sim_claimant {
    const struct sim_claim_model *model; /* on loan */
    const struct sim_clock *clock;       /* likewise */
    size_t node;
    struct sim_random random;
    double sine_s; /* its period; 0: off to one end or the other */
    double sine_phase;
    double end_mean_s; /* for how long to one end */
    double end_until_s;
    double end; /* 1 or -1 */
};

void sim_claimant_init(struct sim_claimant *claimant, const struct sim_claim_model *model,
                       const struct sim_clock *clock, uint64_t seed, size_t node);

/* The claim at a true time; times may only rise. False: none. */
bool sim_claimant_claim(struct sim_claimant *claimant, double true_s, struct rkt_event *claim_out);

#endif
