/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_KINETO_H
#define RKT_ANALYSIS_IMPORT_KINETO_H

/*
 * kineto - the events of traces of PyTorch's profiler as events of a source; traces of other tools
 * in Chrome's format as plain slices.
 *
 * Place:   json_reader -> [kineto] -> source_writer.
 * Windows: one source may be made of several files of one rank, read in order of time. Threads,
 *          names and communicators are shared by them, correlation ids are not.
 * Time:    stamps are the file's own ts in ns (RKT_CLOCK_TRACE), cut below the ns, plus the
 *          caller's shift, without baseTimeNanoseconds: writers put that behind the events as often
 *          as before them. It is the offset of the source's alignment, so that job time = ts +
 *          base, exactly.
 * Counted: every event has a fate (trace_facts.h), and their sum is what the file holds. What is
 *          rejected is also a loss in the store, by kind.
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/import/text_source.h"
#include "analysis/import/trace_facts.h"
#include "common/source_writer.h"
#include "common/status.h"

struct rkt_kineto_options {
    size_t window_bytes; /* of the JSON reader; 0: the usual */
    bool keeps_python;   /* frames of Python stacks as ranges */
    bool parses_all;     /* as in json_reader.h */
    bool is_peek;        /* stop at the first event with a time: kineto_peek.h */
};

struct rkt_kineto;

/* The writer is the caller's and outlives it. */
enum rkt_status rkt_kineto_create(const struct rkt_kineto_options *options,
                                  struct rkt_source_writer *writer, struct rkt_kineto **kineto_out,
                                  struct rkt_error *err);
void rkt_kineto_destroy(struct rkt_kineto *kineto); /* NULL is fine */

/*
 * Adds the events of one file, each `shift_ns` later than it says. An error text of RKT_ERR_FORMAT
 * has no file name yet.
 */
enum rkt_status rkt_kineto_read(struct rkt_kineto *kineto, struct rkt_text_source *source,
                                int64_t shift_ns, struct rkt_trace_facts *facts_out,
                                struct rkt_error *err);

/* After the last file: names, collectives and communicators. */
enum rkt_status rkt_kineto_end(struct rkt_kineto *kineto, struct rkt_error *err);

#endif
