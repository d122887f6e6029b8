/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_TRACE_KEEPER_H
#define RKT_ANALYSIS_TRACE_KEEPER_H

/*
 * trace_keeper - the traces of all ranks within a limit of memory.
 *
 *     load rank 0, prepare     ->  whole, while all that are kept fit into the limit
 *     load rank 1, prepare     ->  thin (rank_trace.h) from then on
 *     compare all ranks        ->  needs no more than thin ones
 *     look into one rank       ->  open: a thin one is loaded and prepared again, one at a time
 *
 * So memory is that of the limit, of one whole rank, and of all collectives; a store is read
 * twice where it is larger than that, and every number is the same.
 *
 * Threads: one at a time.
 */

#include "analysis/analysis.h"
#include "analysis/rank_trace.h"
#include "analysis/result.h"

#define RKT_MEMORY_BYTES_USUAL (UINT64_C(512) << 20)

struct rkt_trace_keeper;

/* The reader is on loan until destroy, and so are the texts of the options. */
enum rkt_status rkt_trace_keeper_create(struct rkt_store_reader *reader,
                                        const struct rkt_analysis_options *options,
                                        struct rkt_trace_keeper **keeper_out,
                                        struct rkt_error *err);
void rkt_trace_keeper_destroy(struct rkt_trace_keeper *keeper); /* NULL is fine */

/*
 * The next rank, by position in the result: steps, phases and arrivals are found, then the trace is
 * kept whole or made thin. `source` is its position in the reader.
 */
enum rkt_status rkt_trace_keeper_add(struct rkt_trace_keeper *keeper, size_t source,
                                     struct rkt_rank_trace *trace, struct rkt_arena *arena,
                                     struct rkt_rank_result *rank, struct rkt_error *err);

/*
 * The whole trace of a rank, with the collective of each of its works; on loan until the next call.
 * That of the result itself where it is whole, or where the result has no keeper.
 */
enum rkt_status rkt_trace_open(const struct rkt_result *result, size_t position,
                               const struct rkt_rank_trace **trace_out, struct rkt_error *err);

#endif
