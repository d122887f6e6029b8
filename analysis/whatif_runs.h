/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_WHATIF_RUNS_H
#define RKT_ANALYSIS_WHATIF_RUNS_H

/*
 * whatif_runs - the replays behind rkt_whatif: a table of what each change would gain in each step.
 *
 * Place:   replay_graph, peers -> [whatif_runs] -> whatif. Of whom it may be that they hold the
 * others up the gain is found once more: as they would be if they varied from step to step as they
 * do (peers.h).
 *
 * Threads: one at a time. Memory: its own, 24 bytes x steps x (ranks + groups).
 */

#include "analysis/critical_path.h"
#include "analysis/result.h"
#include "analysis/step_table.h"

/* Candidates beside the single ranks. A grouping is a set of groups without a common rank. */
struct rkt_rank_group {
    enum rkt_group_kind kind;
    const char *name;
    uint32_t *ranks; /* positions in the result */
    size_t rank_count;
    size_t grouping;
};

struct rkt_rank_groups {
    struct rkt_rank_group *items;
    size_t count;
    size_t cap;
    size_t grouping_count;
};

/* Hosts and communicators of two ranks to half of those compared. */
enum rkt_status rkt_rank_groups_find(const struct rkt_result *result,
                                     struct rkt_rank_groups *groups, struct rkt_error *err);
void rkt_rank_groups_release(struct rkt_rank_groups *groups);

/* Rows as in the step table; RKT_NA where a row was not replayed, or a candidate not tried. */
struct rkt_whatif_runs {
    size_t row_count;
    size_t candidate_count; /* positions in the result, then groups */
    int64_t *replay_ns;     /* by row */
    int64_t *inst_ns;
    int64_t *ideal_ns;
    int64_t *gain_ns;              /* [row * candidate_count + candidate] */
    int64_t *own_excess_ns;        /* likewise: own work above that of its peers, ... */
    int64_t *host_excess_ns;       /* ... and that of its hosts */
    int64_t *varied_sum_ns;        /* by candidate: gains that leave its variation, ... */
    size_t *varied_count;          /* ... over so many steady rows */
    struct rkt_critical_path path; /* of the measured run, over steady rows */
    size_t shown_row;              /* whose pieces it has */
    size_t event_count;
    size_t weak_count;
    bool is_impossible; /* ranks would wait for each other: the matching is wrong */
};

/* Every compared rank has a lane. */
enum rkt_status rkt_whatif_runs_make(const struct rkt_result *result,
                                     const struct rkt_step_table *steps,
                                     const struct rkt_rank_groups *groups,
                                     struct rkt_whatif_runs *runs, struct rkt_error *err);
void rkt_whatif_runs_release(struct rkt_whatif_runs *runs);

#endif
