/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_NARROW_READER_H
#define RKT_ANALYSIS_NARROW_READER_H

/*
 * narrow_reader - what collectives say of clocks that nobody measured for a while, made known to a
 * store's reader.
 *
 * As `ranktrace align` does it for a file (narrow_clocks.h), but in memory: the timeline stays as
 * it is, and whoever reads it narrows alike. It takes the collectives of all ranks, matched, which
 * is a further reading of the store, about half of what a report takes; so it is done only where
 * the bound of some clock, at a time at which its node recorded, is so wide that collectives may
 * narrow it. Of runs whose clocks were measured all along that is none, and then this costs a look
 * at each alignment.
 *
 * Place:   store_reader -> [narrow_reader] -> load and all that follows.
 * Threads: one at a time. Memory: for the call, that of an analysis up to the matched collectives.
 */

#include "analysis/result.h"
#include "common/status.h"
#include "common/store_reader.h"

/*
 * Alignments that the store lacks (a run that was cut) are made known, too. `comm_kernel`: as of
 * the analysis; NULL. A store that is narrowed already, by align or an earlier call, stays as it
 * is.
 */
enum rkt_status rkt_narrow_reader(struct rkt_store_reader *reader, const char *comm_kernel,
                                  struct rkt_narrowing *narrowing_out, struct rkt_error *err);

#endif
