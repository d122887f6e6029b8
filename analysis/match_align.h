/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_MATCH_ALIGN_H
#define RKT_ANALYSIS_MATCH_ALIGN_H

/*
 * match_align - which unit of one rank is the same collective as which unit of another, where
 * no sequence number says so.
 *
 * Captures begin and end at different collectives, so order from the front is wrong. The ends
 * of one collective agree across ranks, up to a constant that is the offset of the clocks: of
 * the shifts under which the operations fit, the right one has the tightest differences of
 * ends. That needs no aligned clock. Records lost in the middle break a common shift; then
 * units are paired by their ends, each with the nearest that fits.
 *
 * Threads: any; no state. Cost: linear, but for the search over at most RKT_SHIFT_MAX shifts
 * to either side on at most RKT_SHIFT_SAMPLE units.
 */

#include <stdbool.h>
#include <stddef.h>

#include "analysis/match_unit.h"
#include "common/status.h"

#define RKT_SHIFT_MAX 1024
#define RKT_SHIFT_SAMPLE 1024

struct rkt_unit_list {
    struct rkt_match_unit *items; /* by start */
    size_t count;
};

/*
 * Numbers the units of `list` as their partners in `ref`, whose numbers are set here to 0, 1,
 * ...; a unit before the first of `ref` gets a negative number, one without a partner
 * RKT_NUMBER_NONE. `clocks_known`: both are in job time, however good.
 * RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_match_align(struct rkt_unit_list ref, struct rkt_unit_list list,
                                bool clocks_known, struct rkt_error *err);

#endif
