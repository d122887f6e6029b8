/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clocksim/claim.h"

#include <math.h>
#include <string.h>

#include "agent/sidecar/clock_claim.h"
#include "common/clock.h"

#define TWO_PI 6.283185307179586
#define EPOCH_NS UINT64_C(1700000000000000000)
#define READING_NS 80 /* two system calls */
#define NEARLY 0.97
#define LEAST_S 2.0
#define MOST_S 3600.0
#define MOST_END_S 300.0

struct sim_claim_model sim_claim_model_ptp(double half_ns)
{
    return (struct sim_claim_model){.half_ns = half_ns,
                                    .period_s = (double)RKT_CLOCK_CLAIM_EVERY_NS / 1e9};
}

static double log_uniform(struct sim_random *random, double low, double high)
{
    return exp(sim_random_uniform(random, log(low), log(high)));
}

void sim_claimant_init(struct sim_claimant *claimant, const struct sim_claim_model *model,
                       const struct sim_clock *clock, uint64_t seed, size_t node)
{
    *claimant = (struct sim_claimant){.model = model,
                                      .clock = clock,
                                      .node = node,
                                      .random = sim_random_of(seed, (1u << 30) + node),
                                      .end = 1};
    if (sim_random_next(&claimant->random) & 1) {
        claimant->sine_s = log_uniform(&claimant->random, LEAST_S, MOST_S);
        claimant->sine_phase = sim_random_uniform(&claimant->random, 0, TWO_PI);
    } else {
        claimant->end_mean_s = log_uniform(&claimant->random, LEAST_S, MOST_END_S);
    }
}

/* By how much the host is off, as a share of what it allows for. */
static double off(struct sim_claimant *claimant, double true_s)
{
    if (claimant->sine_s > 0)
        return NEARLY * sin(TWO_PI * true_s / claimant->sine_s + claimant->sine_phase);
    while (claimant->end_until_s <= true_s) {
        claimant->end = -claimant->end;
        claimant->end_until_s += sim_random_exponential(&claimant->random, claimant->end_mean_s);
    }
    return NEARLY * claimant->end;
}

bool sim_claimant_claim(struct sim_claimant *claimant, double true_s, struct rkt_event *claim_out)
{
    const struct sim_claim_model *model = claimant->model;
    double off_ns = off(claimant, true_s) * model->half_ns;
    uint64_t start_ns = sim_clock_raw_ns(claimant->clock, true_s);

    if (true_s >= model->gone_s[0] && true_s < model->gone_s[1])
        return false;
    if (claimant->node == model->liar && true_s >= model->lie_s[0] && true_s < model->lie_s[1])
        off_ns += model->lie_ns;
    memset(claim_out, 0, sizeof(*claim_out));
    claim_out->kind = RKT_EVENT_CLOCK_TRUE;
    claim_out->clock_id = RKT_CLOCK_MONOTONIC_RAW;
    claim_out->start_ns = start_ns;
    claim_out->end_ns = start_ns + READING_NS;
    claim_out->clock_true.earliest_ns =
        EPOCH_NS + (uint64_t)(true_s * 1e9 + READING_NS / 2.0 + off_ns - model->half_ns);
    claim_out->clock_true.latest_ns =
        EPOCH_NS + (uint64_t)ceil(true_s * 1e9 + READING_NS / 2.0 + off_ns + model->half_ns);
    return true;
}
