/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_CLOCKSIM_MARKS_H
#define RKT_TESTS_CLOCKSIM_MARKS_H

/*
 * marks - how far from the truth alignments are, by way of what an analysis does: clock_tree,
 * and then clock_map. All in us, over true times half a second apart and all nodes.
 */

#include <stdint.h>

#include "common/clock_curve.h"
#include "common/clock_map.h"
#include "tests/clocksim/line.h"
#include "tests/clocksim/run.h"
#include "tests/clocksim/series.h"

struct sim_marks {
    struct sim_series ours;       /* |error| of the estimate */
    struct sim_series guaranteed; /* bounds */
    struct sim_series likely;
    struct sim_series live;          /* |error| where nothing later than the last burst is known */
    struct sim_series live_constant; /* as start_only, at the same moments */
    struct sim_series
        start_only;              /* on the same bursts: a constant offset from those at the start */
    struct sim_series start_end; /* a line through those at the start and at the end */
    uint64_t point_count;
    uint64_t outside_count; /* truth outside the guaranteed bound */
    uint64_t unlikely_count;
    uint64_t live_outside_count;
    uint64_t exchange_count;
    uint64_t burst_count;
    uint64_t node_count;
    double busy_ratio;        /* of a core: of the node that spins most */
    uint64_t unaligned_count; /* nodes; likewise those of these flags */
    uint64_t silent_count;
    uint64_t stepped_count;
    uint64_t claim_used_count;
    uint64_t claim_wrong_count;
    double solve_s; /* of a core */
};

/* The columns of a table in Markdown that stand for every run: errors and bounds in us. */
#define SIM_MARKS_COLUMNS                                                             \
    "| run | error: median / p99 / max | guaranteed +- | likely +- | points outside " \
    "| line from start to end | constant from the start |"
#define SIM_MARKS_COLUMN_COUNT 7

/* Adds a point: `truth_ns` is what the clock lacks to the reference's. `line`: NULL, there is
 * none. */
void sim_marks_add_point(struct sim_marks *marks, const struct rkt_clock_map *map,
                         const struct sim_line *line, double local_ns, double truth_ns);
/* A row of these columns, without the line's end. Sorts the series. */
void sim_marks_print(struct sim_marks *marks, const char *name);

/* Adds a run. */
void sim_marks_add(struct sim_marks *marks, const struct sim_run *run,
                   const struct rkt_clock_params *params);
/* The live series: of one run in so many bursts. Takes longer. */
void sim_marks_add_live(struct sim_marks *marks, const struct sim_run *run, size_t every);
void sim_marks_release(struct sim_marks *marks);

#endif
