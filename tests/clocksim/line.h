/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_CLOCKSIM_LINE_H
#define RKT_TESTS_CLOCKSIM_LINE_H

/*
 * line - how others align: a straight line through the best measurement at the start and the best
 * at the end; or the former alone, for a constant offset.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/event.h"

struct sim_line {
    double local_ns[2]; /* at the start and at the end */
    double offset_ns[2];
};

/* Of the exchanges with source 0. False: fewer than six bursts. */
bool sim_line_make(const struct rkt_event *exchanges, size_t exchange_count,
                   struct sim_line *line_out);

static inline double sim_line_at(const struct sim_line *line, double local_ns)
{
    double slope =
        (line->offset_ns[1] - line->offset_ns[0]) / (line->local_ns[1] - line->local_ns[0]);

    return line->offset_ns[0] + slope * (local_ns - line->local_ns[0]);
}

#endif
