/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_MATCH_LANE_H
#define RKT_ANALYSIS_MATCH_LANE_H

/*
 * match_lane - gives every unit the number of its collective.
 *
 * A lane is the set of units that may be matched with each other: those of one communicator
 * that are found in the same way; where the communicator is not known, those of one stream.
 *
 * Threads: any; no state.
 */

#include "analysis/match_align.h"

/* Order of what makes a collective: equal for the units of one. */
int rkt_match_compare_keys(const struct rkt_match_unit *a, const struct rkt_match_unit *b);

/*
 * `units` of all ranks, by rank and start. Numbers them and sorts them by key, then by rank; a
 * unit without a number (RKT_NUMBER_NONE) has no partner. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_match_number_units(const struct rkt_result *result, struct rkt_unit_list *units,
                                       struct rkt_error *err);

#endif
