/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_MATCH_P2P_H
#define RKT_ANALYSIS_MATCH_P2P_H

/*
 * match_p2p - kernels that send to, or receive from, each other.
 *
 * The n-th send of a communicator from one rank to another is the n-th receive there (shifted
 * where captures began at different moments: match_align). Kernels that such pairs join, one
 * pipeline hop or a whole ring, are one collective.
 *
 * Threads: any; no state.
 */

#include "analysis/match_unit.h"
#include "common/status.h"

/*
 * Gives every unit of RKT_MATCH_KIND_P2P the number of its group; RKT_NUMBER_NONE without a
 * partner. `units` of a rank stand together, by start. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_match_p2p(const struct rkt_result *result, struct rkt_match_unit *units,
                              size_t unit_count, struct rkt_error *err);

#endif
