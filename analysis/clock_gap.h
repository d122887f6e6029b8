/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_CLOCK_GAP_H
#define RKT_ANALYSIS_CLOCK_GAP_H

/*
 * clock_gap - what the clocks of ranks can tell apart: the one place that decides it.
 *
 * The gap of two ranks is what their clocks may be off from each other: both guaranteed bounds
 * together; of two that read one clock, what mapping their stamps to it may be off, since what that
 * clock is off from the reference's is the same for both. A difference in job time that is not
 * larger is "not distinguishable", in each report and export (metrics.md, "What clocks can tell
 * apart"). Of a collective the largest gap of two of its ranks counts, which is what is printed
 * beside its numbers.
 *
 * Threads: any; no state.
 */

#include "analysis/result.h"
#include "common/arena.h"
#include "common/status.h"

/* result->clocks; before all that follows. */
enum rkt_status rkt_clock_gap_find_clocks(struct rkt_result *result, struct rkt_arena *arena,
                                          struct rkt_error *err);

/* RKT_NA: one of the clocks has no bound. 0 of a rank and itself. */
int64_t rkt_clock_gap_ns(const struct rkt_result *result, uint32_t a, uint32_t b);

/* Whether a difference of two ranks is more than their clocks may be off; false where that is not
 * known. */
bool rkt_clock_gap_tells(int64_t difference_ns, int64_t gap_ns);

/* Whether clocks alone may have made a difference that is given: "not distinguishable". One clock
 * is exact. */
bool rkt_clock_gap_blurs(int64_t difference_ns, int64_t gap_ns);

/* The same of who came last: all members are here, and nobody leads by more than the clocks may be
 * off. */
bool rkt_clock_gap_blurs_last(const struct rkt_collective *collective);

/* Nobody's part ends before everybody's began. */
bool rkt_clock_gap_all_wait(const struct rkt_collective *collective);

/*
 * Of a collective whose times are measured: its gap, whether its last rank is distinguishable, and
 * by what its waits are told. Unaligned clocks tell nothing.
 */
void rkt_clock_gap_judge(const struct rkt_result *result, struct rkt_collective *collective);

/*
 * The wait that counts: by the clock, or the one that needs none where that is off by less. A wait
 * by the clock is off by the gap at most. The other takes all ends to be one moment: it is off by
 * as much as they are apart, which is known only beyond the gap; and of a collective in which not
 * all wait for all, by its transfer. RKT_NA only where a participant has neither.
 */
int64_t rkt_clock_gap_wait_ns(const struct rkt_collective *collective,
                              const struct rkt_participant *participant);

/* result->clock; the steps are marked. */
void rkt_summarise_clocks(struct rkt_result *result);

#endif
