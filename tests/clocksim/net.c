/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clocksim/net.h"

#include <math.h>

#include "common/clock.h"
#include "common/clock_burst.h"

#define JITTER 0.15 /* mean, in round trips */
#define QUEUED_RATIO 0.05
#define OFF_CORE_RATIO 0.002
#define CONGESTED_MEAN_S 60.0
#define CALM_MEAN_S 140.0
#define SLOW_MEAN_S 90.0
#define QUEUE_CALM_MEAN_S 600.0
#define TWO_PI 6.283185307179586
#define ANSWER_S 0.3e-6
#define NEXT_S 0.4e-6
#define SPIN_S 2e-3

struct sim_net_model sim_net_model_tcp(double asymmetry)
{
    return (struct sim_net_model){.round_trip_us = 16, .asymmetry = asymmetry};
}

struct sim_net_model sim_net_model_infiniband(double asymmetry)
{
    return (struct sim_net_model){.round_trip_us = 2.4, .asymmetry = asymmetry};
}

void sim_edge_init(struct sim_edge *edge, const struct sim_net_model *model, uint64_t seed,
                   uint64_t number)
{
    *edge = (struct sim_edge){.model = *model, .random = sim_random_of(seed, 2 * number + 2)};
    edge->asymmetry = sim_random_uniform(&edge->random, -model->asymmetry, model->asymmetry);
    edge->usual_way = (int)(sim_random_next(&edge->random) & 1);
}

/* Draws spells of congestion up to this time. */
static void step_congestion(struct sim_edge *edge, double true_s)
{
    while (edge->congested_s[1] < true_s) {
        edge->congested_s[0] =
            edge->congested_s[1] + sim_random_exponential(&edge->random, CALM_MEAN_S);
        edge->congested_s[1] =
            edge->congested_s[0] + sim_random_exponential(&edge->random, CONGESTED_MEAN_S);
        edge->congested_way =
            sim_random_uniform(&edge->random, 0, 1) < 0.85 ? edge->usual_way : !edge->usual_way;
    }
}

/* Draws by how much both ways are slow, up to this time. */
static void step_slowness(struct sim_edge *edge, double true_s)
{
    while (edge->model.slow > 0 && edge->slow_end_s < true_s) {
        edge->slow_share = sim_random_uniform(&edge->random, 0, edge->model.slow);
        edge->slow_end_s += sim_random_exponential(&edge->random, SLOW_MEAN_S);
    }
}

static void step_queue(struct sim_edge *edge, double true_s)
{
    while (edge->model.queue_us > 0 && edge->queue_end_s < true_s)
        edge->queue_end_s +=
            sim_random_exponential(&edge->random, QUEUE_CALM_MEAN_S) + edge->model.queue_s;
}

/* None at its begin and end, all in the middle. */
static double queue_delay_s(const struct sim_edge *edge, int way, double true_s)
{
    double begin_s = edge->queue_end_s - edge->model.queue_s;

    if (edge->model.queue_us <= 0 || way != edge->usual_way || true_s < begin_s)
        return 0;
    return edge->model.queue_us * 1e-6 / 2 *
           (1 - cos(TWO_PI * (true_s - begin_s) / edge->model.queue_s));
}

/* `way`: 0 there, 1 back. */
static double delay_s(struct sim_edge *edge, int way, double true_s)
{
    double trip_s = edge->model.round_trip_us * 1e-6;
    double asymmetry = way == 0 ? edge->asymmetry : -edge->asymmetry;
    double delay =
        trip_s / 2 * (1 + asymmetry + edge->slow_share) + queue_delay_s(edge, way, true_s);

    delay += sim_random_exponential(&edge->random, JITTER * trip_s);
    if (sim_random_uniform(&edge->random, 0, 1) < QUEUED_RATIO)
        delay += sim_random_pareto(&edge->random, trip_s / 2, 1.5);
    if (sim_random_uniform(&edge->random, 0, 1) < OFF_CORE_RATIO)
        delay += sim_random_uniform(&edge->random, 0.2e-3, 8e-3);
    if (!edge->model.is_free && true_s >= edge->congested_s[0] && true_s < edge->congested_s[1] &&
        way == edge->congested_way)
        delay += sim_random_exponential(&edge->random, trip_s);
    return delay;
}

/* When a message that came is seen: at once, or at the responder's next look. */
static double seen_s(struct sim_edge *edge, double came_s)
{
    double poll_s = edge->model.poll_s;

    return poll_s > 0 ? ceil(came_s / poll_s) * poll_s : came_s;
}

static double exchange(struct sim_edge *edge, const struct sim_clock *child,
                       const struct sim_clock *parent, double true_s, struct rkt_event *event)
{
    double there_s = seen_s(edge, true_s + delay_s(edge, 0, true_s));
    double answered_s = there_s + ANSWER_S;
    double back_s = answered_s + delay_s(edge, 1, answered_s);

    *event = (struct rkt_event){.kind = RKT_EVENT_CLOCK_EXCHANGE,
                                .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                .start_ns = sim_clock_raw_ns(child, true_s),
                                .end_ns = sim_clock_raw_ns(child, back_s)};
    event->clock_exchange.t2_ns = sim_clock_raw_ns(parent, there_s);
    event->clock_exchange.t3_ns = sim_clock_raw_ns(parent, answered_s);
    event->clock_exchange.burst = edge->burst;
    return back_s;
}

static void lie(struct sim_edge *edge, struct sim_burst *burst)
{
    int64_t lie_ns =
        (int64_t)sim_random_uniform(&edge->random, -edge->model.lie_ns, edge->model.lie_ns);

    for (uint32_t i = 0; i < burst->count; i++) {
        burst->exchanges[i].clock_exchange.t2_ns += (uint64_t)lie_ns;
        burst->exchanges[i].clock_exchange.t3_ns += (uint64_t)lie_ns;
    }
}

void sim_edge_burst(struct sim_edge *edge, const struct sim_clock *child,
                    const struct sim_clock *parent, double true_s, int64_t best_width_ns,
                    struct sim_burst *burst_out)
{
    struct rkt_clock_limits limits = {0};
    double limit_s = true_s + SPIN_S;
    double patience_s = SPIN_S;

    burst_out->count = 0;
    burst_out->busy_s = 0;
    edge->burst++;
    step_congestion(edge, true_s);
    step_slowness(edge, true_s);
    step_queue(edge, true_s);
    while (burst_out->count < SIM_BURST_MAX && true_s < limit_s &&
           !rkt_clock_limits_are_enough(&limits, burst_out->count, best_width_ns)) {
        struct rkt_event *event = &burst_out->exchanges[burst_out->count];
        double took_s = exchange(edge, child, parent, true_s, event) + NEXT_S - true_s;

        true_s += took_s;
        burst_out->busy_s += fmin(took_s, patience_s);
        if (took_s > patience_s) /* nobody waits any more */
            break;
        if (burst_out->count == 0)
            patience_s = (double)rkt_burst_patience_ns((uint64_t)(took_s * 1e9)) / 1e9;
        rkt_clock_limits_add(&limits, event);
        burst_out->count++;
    }
    if (edge->model.lie_ratio > 0 &&
        sim_random_uniform(&edge->random, 0, 1) < edge->model.lie_ratio)
        lie(edge, burst_out);
    edge->exchange_count += burst_out->count;
    burst_out->width_ns = rkt_clock_limits_width_ns(&limits);
    burst_out->end_s = true_s;
}
