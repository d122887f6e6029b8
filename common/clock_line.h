/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_LINE_H
#define RKT_COMMON_CLOCK_LINE_H

/*
 * clock_line - readings of REALTIME or MONOTONIC to MONOTONIC_RAW, or back, by recorded pairs.
 *
 * Linear between neighbouring pairs. The error is their bracket and what readings in between that
 * were left out show; where there were none, what two changes of a slew of up to 500 ppm, or a step
 * and one, may have done there unseen, if not in three gaps between readings in a row
 * (common/doc/clocks.md).
 *
 * Threads: read only after init. Memory: its own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/event.h"
#include "common/status.h"

/*
 * So often a sidecar reads its clocks. Readings that it leaves out are no further than that off the
 * line between the pairs that it keeps; where more than the gap lies between two, it keeps both.
 */
#define RKT_CLOCK_PAIR_EVERY_NS INT64_C(100000000)
#define RKT_CLOCK_PAIR_GAP_NS (RKT_CLOCK_PAIR_EVERY_NS / 2 * 3)
#define RKT_CLOCK_PAIR_LINE_NS 50

struct rkt_clock_line {
    bool is_from_raw;                    /* else x is the other clock's */
    struct rkt_clock_line_point *points; /* by x_ns, which are all different */
    size_t count;                        /* 0: no pairs, nothing can be mapped */
    struct rkt_clock_line_twice *twices; /* two beside each step back */
    size_t twice_count;
};

/* `pairs`: CLOCK_PAIR events by start_ns. Release it after a failure, too. */
enum rkt_status rkt_clock_line_init(struct rkt_clock_line *line, enum rkt_clock_id clock_id,
                                    bool is_from_raw, const struct rkt_event *pairs,
                                    size_t pair_count);
void rkt_clock_line_release(struct rkt_clock_line *line);

/* False: there are no pairs, or y does not fit. *error_ns_out: what y may be off by. */
bool rkt_clock_line_at(const struct rkt_clock_line *line, int64_t x_ns, int64_t *y_ns_out,
                       int64_t *error_ns_out);

/* The largest error over [start, end] of x; 0 without pairs. */
int64_t rkt_clock_line_worst_error(const struct rkt_clock_line *line, int64_t start_ns,
                                   int64_t end_ns);

#endif
