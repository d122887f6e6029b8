/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clocksim/run.h"

#include <stdlib.h>

#include "agent/sidecar/clock_schedule.h"
#include "common/array.h"
#include "common/clock_burst.h"
#include "common/clock_tree.h"
#include "tests/clocksim/must.h"

#define FIRST_S 0.5
#define LAST_S 1.5      /* before the end: the last bursts */
#define NO_ANSWER_S 2.0 /* as clock_probe waits */
#define START_BURSTS 3
#define START_GAP_NS UINT64_C(300000000)
#define END_GAP_NS UINT64_C(50000000)

struct sim_run_model sim_run_model_star(size_t node_count, struct sim_net_model net)
{
    return (struct sim_run_model){.clock = sim_clock_model_usual(),
                                  .net = net,
                                  .node_count = node_count,
                                  .period_s = 10,
                                  .direct_period_s = 300};
}

/* One node's measuring against one peer, from the start to the end. */
struct measuring {
    struct sim_run *run;
    size_t node;
    size_t peer;
    struct sim_edge edge;
    struct sim_random random;
    struct rkt_clock_schedule schedule;
};

static void append(struct rkt_event **events, size_t *count, size_t *cap,
                   const struct rkt_event *event)
{
    if (!rkt_array_reserve((void **)events, cap, *count + 1, sizeof(**events)))
        abort();
    (*events)[(*count)++] = *event;
}

static void keep(struct sim_node *node, struct sim_burst *burst, uint32_t peer, bool keeps_all)
{
    size_t lower = 0, upper = 0;

    for (uint32_t i = 0; i < burst->count; i++) {
        burst->exchanges[i].clock_exchange.peer_source = peer;
        if (keeps_all)
            append(&node->all, &node->all_count, &node->all_cap, &burst->exchanges[i]);
    }
    if (!rkt_clock_burst_keep(burst->exchanges, burst->count, &lower, &upper))
        return;
    append(&node->kept, &node->kept_count, &node->kept_cap, &burst->exchanges[lower]);
    append(&node->kept, &node->kept_count, &node->kept_cap, &burst->exchanges[upper]);
}

/* Returns when it was over. */
static double measure(struct measuring *at, double true_s)
{
    const struct sim_run_model *model = &at->run->model;
    struct sim_node *node = &at->run->nodes[at->node];
    struct sim_burst burst = {.width_ns = INT64_MAX, .end_s = true_s};
    bool is_silent = true_s >= model->silent_s[0] && true_s < model->silent_s[1];

    if (!is_silent &&
        !(model->lost_ratio > 0 && sim_random_uniform(&at->random, 0, 1) < model->lost_ratio)) {
        sim_edge_burst(&at->edge, node->clock, at->run->nodes[at->peer].clock, true_s,
                       at->schedule.best_width_ns, &burst);
        keep(node, &burst, (uint32_t)at->peer, model->keeps_all);
        node->burst_count++;
        node->exchange_count += burst.count;
        at->run->nodes[at->peer].busy_s += burst.busy_s;
        rkt_clock_schedule_burst(&at->schedule, burst.width_ns, burst.count,
                                 (uint64_t)(burst.end_s * 1e9));
    } else {
        burst.end_s += NO_ANSWER_S;
        rkt_clock_schedule_burst(&at->schedule, INT64_MAX, 0, (uint64_t)(burst.end_s * 1e9));
    }
    return burst.end_s;
}

static void run_schedule(struct measuring *at, double from_s, double to_s)
{
    double true_s = from_s;

    while ((double)at->schedule.due_ns / 1e9 < to_s &&
           rkt_clock_schedule_is_due(&at->schedule, at->schedule.due_ns)) {
        double due_s = (double)at->schedule.due_ns / 1e9;

        true_s = measure(at, due_s > true_s ? due_s : true_s);
    }
}

static void measure_all(struct sim_run *run, size_t node, size_t peer, double period_s,
                        uint64_t seed)
{
    uint64_t number = node * 65536 + peer;
    double last_s = run->model.clock.duration_s - LAST_S;
    struct measuring at = {
        .run = run, .node = node, .peer = peer, .random = sim_random_of(seed, number * 4 + 3)};

    sim_edge_init(&at.edge, &run->model.net, seed, number);
    rkt_clock_schedule_init(&at.schedule, seed * 977 + number, (uint64_t)(period_s * 1e9));
    rkt_clock_schedule_start(&at.schedule, START_BURSTS, START_GAP_NS, true,
                             (uint64_t)(FIRST_S * 1e9));
    run_schedule(&at, FIRST_S, last_s);
    rkt_clock_schedule_start(&at.schedule, START_BURSTS, END_GAP_NS, false,
                             (uint64_t)(last_s * 1e9));
    run_schedule(&at, last_s, run->model.clock.duration_s);
}

static void claim_all(struct sim_run *run, size_t n, uint64_t seed)
{
    const struct sim_claim_model *model = &run->model.claim;
    struct sim_node *node = &run->nodes[n];
    struct sim_claimant claimant;
    struct rkt_event claim;

    sim_claimant_init(&claimant, model, node->clock, seed, n);
    for (size_t k = 0; (double)k * model->period_s < run->model.clock.duration_s - FIRST_S; k++) {
        double true_s = FIRST_S + (double)k * model->period_s;

        if (!sim_claimant_claim(&claimant, true_s + (double)n / (double)run->model.node_count,
                                &claim))
            continue;
        append(&node->kept, &node->kept_count, &node->kept_cap, &claim);
        if (run->model.keeps_all)
            append(&node->all, &node->all_count, &node->all_cap, &claim);
    }
}

void sim_run_make(struct sim_run *run, const struct sim_run_model *model, uint64_t seed)
{
    *run =
        (struct sim_run){.model = *model, .nodes = calloc(model->node_count, sizeof(*run->nodes))};
    if (!run->nodes)
        abort();
    for (size_t n = 0; n < model->node_count; n++) {
        bool is_odd = n == 1 && model->odd_clock.duration_s > 0;

        run->nodes[n].clock = sim_clock_create(is_odd ? &model->odd_clock : &model->clock, seed, n);
    }
    for (size_t n = 1; n < model->node_count; n++) {
        uint32_t parent = rkt_clock_parent((uint32_t)n, RKT_CLOCK_STAR_MAX);

        measure_all(run, n, parent, model->period_s, seed);
        if (parent != 0)
            measure_all(run, n, 0, model->direct_period_s, seed);
    }
    for (size_t n = 0; n < model->node_count && model->claim.half_ns > 0; n++)
        claim_all(run, n, seed);
}

void sim_run_release(struct sim_run *run)
{
    for (size_t n = 0; n < run->model.node_count; n++) {
        sim_clock_destroy(run->nodes[n].clock);
        free(run->nodes[n].kept);
        free(run->nodes[n].all);
    }
    free(run->nodes);
}

struct rkt_clock_tree *sim_run_tree(const struct sim_run *run,
                                    const struct rkt_clock_params *params)
{
    size_t count = run->model.node_count;
    struct rkt_clock_node *nodes = calloc(count, sizeof(*nodes));
    struct rkt_clock_tree *tree;
    struct rkt_error err;

    if (!nodes)
        abort();
    for (size_t n = 0; n < count; n++)
        nodes[n] = (struct rkt_clock_node){.source = (uint32_t)n,
                                           .clock_group = (uint32_t)n,
                                           .exchanges = run->nodes[n].kept,
                                           .exchange_count = run->nodes[n].kept_count};
    sim_must(rkt_clock_tree_create(nodes, count, 0, params, &tree, &err), &err);
    free(nodes);
    return tree;
}

double sim_run_truth_ns(const struct sim_run *run, size_t node, double true_s)
{
    return sim_clock_at(run->nodes[0].clock, true_s) - sim_clock_at(run->nodes[node].clock, true_s);
}
