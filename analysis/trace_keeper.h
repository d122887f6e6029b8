/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_TRACE_KEEPER_H
#define RKT_ANALYSIS_TRACE_KEEPER_H

/*
 * trace_keeper - the whole traces of ranks after the analysis, for those who show records.
 *
 *     rank's work is done      ->  whole, while all that are kept fit into the limit; else thin
 *     look into one rank       ->  open: a thin one is loaded and prepared again, one at a time
 *
 * A report shows no records: it keeps none, and every rank is read once.
 *
 * Threads: one at a time.
 */

#include "analysis/analysis.h"
#include "analysis/rank_trace.h"
#include "analysis/result.h"

struct rkt_trace_keeper;

/* The reader is on loan until destroy, and so are the texts of the options. */
enum rkt_status rkt_trace_keeper_create(struct rkt_store_reader *reader,
                                        const struct rkt_analysis_options *options,
                                        struct rkt_trace_keeper **keeper_out,
                                        struct rkt_error *err);
void rkt_trace_keeper_destroy(struct rkt_trace_keeper *keeper); /* NULL is fine */

/* A rank's work is done: its trace stays whole or becomes thin. `source` is its position in the
 * reader. */
enum rkt_status rkt_trace_keeper_add(struct rkt_trace_keeper *keeper, size_t source,
                                     struct rkt_rank_trace *trace, struct rkt_error *err);

/*
 * The whole trace of a rank, with the collective of each of its works; on loan until the next call.
 * That of the result itself where it is whole, or where the result has no keeper.
 */
enum rkt_status rkt_trace_open(const struct rkt_result *result, size_t position,
                               const struct rkt_rank_trace **trace_out, struct rkt_error *err);

#endif
