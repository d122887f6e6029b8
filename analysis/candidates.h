/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_CANDIDATES_H
#define RKT_ANALYSIS_CANDIDATES_H

/*
 * candidates - the ranks of a store, and the processes that may be each one's main process.
 *
 * Only records tell which of several it is (load.h). Helpers, and all attempts of a restarted job
 * but the last, are none. Every process that reads the same store finds the same.
 *
 * Threads: any; no state.
 */

#include <stddef.h>
#include <stdint.h>

#include "analysis/selection.h"
#include "common/status.h"
#include "common/store_reader.h"

struct rkt_candidate {
    uint32_t rank;
    size_t position; /* in the reader */
};

struct rkt_candidate_rank {
    uint32_t rank;
    size_t first; /* its candidates: items[first ... end) */
    size_t end;
    uint64_t bytes; /* that they take in the store */
};

struct rkt_candidates {
    struct rkt_candidate *items; /* by rank, then in order of source */
    size_t count;
    struct rkt_candidate_rank *ranks; /* by rank */
    size_t rank_count;
    uint32_t attempt; /* restart count whose processes are taken */
    size_t other_attempt_count;
};

/* Release also after a failure. RKT_ERR_NOMEM only. */
enum rkt_status rkt_candidates_find(const struct rkt_store_reader *reader,
                                    struct rkt_candidates *candidates, struct rkt_error *err);
/*
 * Leaves those of the selected ranks. RKT_ERR_INVALID, and says which ranks there are, where one
 * that was asked for by its number is not there.
 */
enum rkt_status rkt_candidates_select(struct rkt_candidates *candidates,
                                      const struct rkt_selection *selection, struct rkt_error *err);
void rkt_candidates_release(struct rkt_candidates *candidates);

#endif
