/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_CLOCKSIM_GOAL_H
#define RKT_TESTS_CLOCKSIM_GOAL_H

/*
 * goal - what alignments shall reach on simulated clocks: figures beside their limits.
 *
 * One list for the test, which holds every figure to its limits, and for the bench, which prints
 * them beside what two simple ways make of the same data. Marks 11 to 14 need real MPI: rows of the
 * same table by tests/mpi/clock_exchange.c. 17 needs a GPU (tests/gpu).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/clocksim/marks.h"

struct sim_figure {
    unsigned mark;    /* its number in common/doc/clocks.md */
    const char *of;   /* which run: "64 nodes"; good for the call */
    const char *what; /* with its unit: "error p99, us" */
    double value;     /* 0 or more */
    double least;
    double most;
    /* the same of a line from the start to the end, and of a constant offset from the start; NAN:
     * they have no such figure */
    double line;
    double constant;
    bool is_of_machine; /* a time: no test judges it */
};

bool sim_figure_is_good(const struct sim_figure *figure);

/* The head of a table in Markdown, and a row of it on stdout. */
void sim_figure_print_head(void);
void sim_figure_print(const struct sim_figure *figure);

/* By a quantile of errors, beside which the simple ways' stand. */
void sim_figure_set_errors(struct sim_figure *figure, double share, struct sim_marks *marks);

/* What a goal is tried on, and who gets its figures. */
struct sim_trial {
    uint64_t first_seed;
    uint64_t seed_count;
    bool is_short; /* fewer nodes */
    void (*on_figure)(void *ctx, const struct sim_figure *figure);
    void *ctx;
};

struct sim_goal {
    const char *name;
    void (*reach)(const struct sim_trial *trial);
};

#define SIM_GOAL_COUNT 16u
extern const struct sim_goal sim_goals[SIM_GOAL_COUNT];

/* ---- for goals ---- */

extern const struct rkt_clock_params sim_usual_params;

static inline void sim_trial_tell(const struct sim_trial *trial, struct sim_figure figure)
{
    trial->on_figure(trial->ctx, &figure);
}

/* Adds a run of each seed. */
void sim_trial_run(const struct sim_trial *trial, const struct sim_run_model *model,
                   struct sim_marks *marks);

/* A figure which the simple ways do not have. */
void sim_trial_at_most(const struct sim_trial *trial, unsigned mark, const char *of,
                       const char *what, double value, double most);

void sim_goal_tcp(const struct sim_trial *trial);         /* marks 1, 5, 7 */
void sim_goal_asymmetry(const struct sim_trial *trial);   /* 2 */
void sim_goal_slow(const struct sim_trial *trial);        /* 2 */
void sim_goal_queue(const struct sim_trial *trial);       /* 4 */
void sim_goal_infiniband(const struct sim_trial *trial);  /* 3, 5 */
void sim_goal_wander(const struct sim_trial *trial);      /* 4 */
void sim_goal_levels(const struct sim_trial *trial);      /* 6 */
void sim_goal_live(const struct sim_trial *trial);        /* 8 */
void sim_goal_few_bursts(const struct sim_trial *trial);  /* 9 */
void sim_goal_realtime(const struct sim_trial *trial);    /* 10 */
void sim_goal_suspend(const struct sim_trial *trial);     /* 10 */
void sim_goal_collectives(const struct sim_trial *trial); /* 15 */
void sim_goal_imports(const struct sim_trial *trial);     /* 15 */
void sim_goal_narrow(const struct sim_trial *trial);      /* 15 */
void sim_goal_redo(const struct sim_trial *trial);        /* 16 */
void sim_goal_claims(const struct sim_trial *trial);      /* 18 */

#endif
