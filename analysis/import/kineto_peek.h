/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_KINETO_PEEK_H
#define RKT_ANALYSIS_IMPORT_KINETO_PEEK_H

/*
 * kineto_peek - what a JSON trace says before its first event with a time, and of that event.
 *
 * Threads: one at a time.
 */

#include "analysis/import/text_source.h"
#include "analysis/import/trace_facts.h"
#include "common/status.h"

/*
 * Of the facts rank, world size, base, first_ns and first_mark are set, as far as the beginning
 * tells; first_ns is UINT64_MAX where no event has a time. RKT_ERR_FORMAT: this is no JSON.
 */
enum rkt_status rkt_kineto_peek(struct rkt_text_source *source, struct rkt_trace_facts *facts_out,
                                struct rkt_error *err);

/* Reads on to the end for a baseTimeNanoseconds that stands behind the events. */
enum rkt_status rkt_kineto_find_base(struct rkt_text_source *source, int64_t *base_ns_out,
                                     bool *has_base_out, struct rkt_error *err);

#endif
