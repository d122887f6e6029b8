/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_CLOCKSIM_NET_H
#define RKT_TESTS_CLOCKSIM_NET_H

/*
 * net - ping-pongs between two simulated clocks over a simulated network.
 *
 * One way takes half the round trip, more or less by a fixed asymmetry of the pair; exponential
 * jitter; one message in twenty meets a queue with a heavy tail (Pareto, shape 1.5), one in 500 a
 * process that is off its core for 0.2 to 8 ms; and for 30 % of the time one direction, mostly the
 * same, is congested. Both ways may be slow alike, for minutes and by another share each time. A
 * queue of one way may build up and drain within minutes, after each of which come ten of calm. A
 * peer may lie.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"
#include "tests/clocksim/clock.h"
#include "tests/clocksim/random.h"

struct sim_net_model {
    double round_trip_us;
    double asymmetry; /* largest share of the half round trip */
    double slow;      /* largest share of it by which both ways take longer at a time */
    double queue_us;  /* of one way, that builds up and drains within queue_s; 0: none */
    double queue_s;
    bool is_free;     /* of congestion */
    double lie_ratio; /* bursts whose t2 and t3 are off by up to lie_ns, together */
    double lie_ns;
    double poll_s; /* a responder that sleeps so long between polls; 0 spins */
};

struct sim_net_model sim_net_model_tcp(double asymmetry);        /* 16 us */
struct sim_net_model sim_net_model_infiniband(double asymmetry); /* 2.4 us */

/* The way between a child and its parent. */
struct sim_edge {
    struct sim_net_model model;
    struct sim_random random;
    double asymmetry;      /* of this pair, -model to +model */
    double congested_s[2]; /* of the last congestion that was drawn: from, to */
    int congested_way;
    int usual_way;
    double slow_share; /* at the moment, */
    double slow_end_s; /* until then */
    double queue_end_s;
    uint32_t burst;
    uint64_t exchange_count; /* of all bursts */
};

void sim_edge_init(struct sim_edge *edge, const struct sim_net_model *model, uint64_t seed,
                   uint64_t number);

#define SIM_BURST_MAX 64

struct sim_burst {
    struct rkt_event exchanges[SIM_BURST_MAX];
    uint32_t count;
    int64_t width_ns;
    double end_s;  /* true time */
    double busy_s; /* that the parent spun */
};

/* As clock_probe does it: until the interval is near best_width_ns, for 2 ms at most. */
void sim_edge_burst(struct sim_edge *edge, const struct sim_clock *child,
                    const struct sim_clock *parent, double true_s, int64_t best_width_ns,
                    struct sim_burst *burst_out);

#endif
