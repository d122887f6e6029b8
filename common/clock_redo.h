/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_REDO_H
#define RKT_COMMON_CLOCK_REDO_H

/*
 * clock_redo - a store's alignments, made again from its raw clock records.
 *
 * Place:   store_reader -> [clock_redo] -> clock_tree -> what the store would say of each source.
 *
 * The sidecars of a run stored every exchange; the two that decide each burst are what rank 0
 * aligned by. So with the same parameters each number is the same as in the store, if the store has
 * all records of its sidecars. Imports have no sidecars: nothing is made of them here.
 *
 * Threads: one at a time. Memory: 128 bytes per burst, 64 per claim of true time, and the tree's.
 */

#include <stddef.h>

#include "common/clock_curve.h"
#include "common/descriptor.h"
#include "common/status.h"
#include "common/store_reader.h"

struct rkt_clock_redo;

/* The reader is on loan for the call only. */
enum rkt_status rkt_clock_redo_create(struct rkt_store_reader *reader,
                                      const struct rkt_clock_params *params,
                                      struct rkt_clock_redo **redo_out, struct rkt_error *err);
void rkt_clock_redo_destroy(struct rkt_clock_redo *redo); /* NULL is fine */

/*
 * The alignment of a source of the store, its `source` set; the knots are on loan until destroy.
 * RKT_AGAIN: a source whose node has no clock records, as in an import; nothing is written.
 */
enum rkt_status rkt_clock_redo_align(struct rkt_clock_redo *redo,
                                     const struct rkt_source_info *source,
                                     struct rkt_align_info *align_out, struct rkt_error *err);

/* Makes the alignments that the store lacks (a run that was cut) known to its reader. */
enum rkt_status rkt_clock_redo_missing(struct rkt_store_reader *reader, struct rkt_error *err);

#endif
