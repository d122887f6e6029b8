/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_CLOCKSIM_RUN_H
#define RKT_TESTS_CLOCKSIM_RUN_H

/*
 * run - a simulated run of many nodes: who measures when, and what rank 0 keeps of it.
 *
 * Node 0 is the reference. Who measures against whom is as clock_tree.h says, when is as
 * clock_schedule does it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock_tree.h"
#include "common/event.h"
#include "tests/clocksim/claim.h"
#include "tests/clocksim/clock.h"
#include "tests/clocksim/net.h"

struct sim_run_model {
    struct sim_clock_model clock;
    struct sim_clock_model odd_clock; /* of node 1; duration_s 0: as the others */
    struct sim_net_model net;
    struct sim_claim_model claim; /* of true time; of all nodes */
    size_t node_count;            /* with the reference */
    double period_s;
    double direct_period_s; /* of a child with the reference */
    double lost_ratio;      /* bursts of which nothing comes */
    double silent_s[2];     /* from, to: nobody measures */
    bool keeps_all;         /* exchanges; else those that decide */
};

struct sim_node {
    struct sim_clock *clock;
    struct rkt_event *kept; /* the two exchanges that decide each burst, and then claims */
    size_t kept_count;
    size_t kept_cap;
    struct rkt_event *all; /* as the sidecar stores them; none unless the model says so */
    size_t all_count;
    size_t all_cap;
    uint64_t burst_count;
    uint64_t exchange_count;
    double busy_s; /* that it spun for others */
};

struct sim_run {
    struct sim_run_model model;
    struct sim_node *nodes;
};

/* A star of so many nodes for an hour, 10 s apart. */
struct sim_run_model sim_run_model_star(size_t node_count, struct sim_net_model net);

void sim_run_make(struct sim_run *run, const struct sim_run_model *model, uint64_t seed);
void sim_run_release(struct sim_run *run);

/* All nodes, by number, each with a clock of its own; to be destroyed before the run. */
struct rkt_clock_tree *sim_run_tree(const struct sim_run *run,
                                    const struct rkt_clock_params *params);

/* What a node's clock lacks to the reference's at a true time, in ns. */
double sim_run_truth_ns(const struct sim_run *run, size_t node, double true_s);

#endif
