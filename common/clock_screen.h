/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_SCREEN_H
#define RKT_COMMON_CLOCK_SCREEN_H

/*
 * clock_screen - bursts that no quartz can have made together, told apart.
 *
 * A filter goes along that trusts each burst no further than its interval, and lets the rate wander
 * more than any quartz does. A burst that it does not expect, by 4 sigma and 5 ppm more, is
 *
 *  - alone in its contradiction if the burst behind it is expected: it is taken out;
 *  - else the first of a new segment: the clock was stopped or set in between.
 *
 * The first bursts of a segment tell no rate, and so could be joined by a wrong one: a segment of
 * one or two bursts before a longer one is judged again, from that one back.
 *
 * Threads: any; no state.
 */

#include <stddef.h>

#include "common/clock_burst.h"

struct rkt_clock_run {
    size_t first;
    size_t count;
};

/*
 * `bursts`: by time; those that are taken out are overwritten. Fills `runs` (room for `count` of
 * them), each the bursts of one segment; returns how many. *left_out_out: bursts that are in none.
 */
size_t rkt_clock_screen(struct rkt_clock_burst *bursts, size_t count, struct rkt_clock_run *runs,
                        size_t *left_out_out);

#endif
