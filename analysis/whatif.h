/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_WHATIF_H
#define RKT_ANALYSIS_WHATIF_H

/*
 * whatif - what the steps would have taken with another rank, other ranks, or no transfers
 * (metrics.md, "Replay"); plain data, part of the result.
 *
 * All of it is of the steady steps that every compared rank has. The ranks' own clocks are enough.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A step, and whom it hung on most. */
struct rkt_step_whatif {
    uint64_t number;
    int64_t step_ns;   /* T: the longest window of the ranks */
    int64_t replay_ns; /* the same of the replay */
    uint32_t rank;     /* with the largest gain, position in ranks; RKT_INDEX_NONE */
    int64_t gain_ns;   /* of it; RKT_NA */
    bool is_named;     /* it is the straggler of this step */
};

enum rkt_group_kind {
    RKT_GROUP_HOST,
    RKT_GROUP_COMM, /* the members of a communicator */
};

/* Ranks of which one alone is not worth fixing. */
struct rkt_group_gain {
    bool is_found;
    enum rkt_group_kind kind;
    const char *name;      /* the host; the communicator's name, "" unknown */
    const uint32_t *ranks; /* positions */
    size_t rank_count;
    int64_t gain_ns;     /* mean over the steps */
    uint32_t step_count; /* in which it is above the noise */
};

struct rkt_critical_path;

struct rkt_whatif {
    const char *why_not; /* "": what follows holds; else why it does not */
    bool is_weak;        /* most collectives are: nothing is claimed of who holds up whom */
    double miss;         /* share of the steps' time by which the replay misses them; NAN */
    struct rkt_step_whatif *steps;
    size_t step_count;
    int64_t steps_ns; /* sum of T; likewise the following, with ... */
    int64_t inst_ns;  /* ... transfers of 0; RKT_NA, as the following */
    int64_t ideal_ns; /* ... own work at the mean, transfers at the median of their like */
    double slowdown;  /* steps_ns / ideal_ns; NAN, as the following */
    double waste;     /* 1 - 1 / slowdown */
    struct rkt_group_gain group;
    const struct rkt_critical_path *path; /* critical_path.h; NULL, as the numbers above */
};

#define RKT_REPLAY_MISS_MAX 0.02 /* a replay that misses more is not believed */

#endif
