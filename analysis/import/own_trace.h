/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_OWN_TRACE_H
#define RKT_ANALYSIS_IMPORT_OWN_TRACE_H

/*
 * own_trace - a Chrome trace that ranktrace exported, back into events of sources.
 *
 * Place:   json_reader -> [own_trace] -> source_writer.
 * Files:   such a trace holds many ranks: part 0 is the first of them. Each part reads the whole
 *          file and takes its own rank's events.
 * Kept:    GPU work with launch shape and operations, calls, ranges, marks, buckets, communicators,
 *          names, and the rank's own clock. What an export derived (steps, arrows), and samples,
 *          are left out; how much was lost is not in the file.
 * Threads: any, one call per source at a time.
 */

#include <stddef.h>

#include "analysis/import/text_source.h"
#include "analysis/import/trace_facts.h"
#include "common/source_writer.h"
#include "common/status.h"

/* Ranks in the file; 0: it is no trace of ours. */
size_t rkt_own_trace_count_parts(const char *path);

enum rkt_status rkt_own_trace_read(struct rkt_text_source *source, size_t part,
                                   struct rkt_source_writer *writer,
                                   struct rkt_trace_facts *facts_out, struct rkt_error *err);

#endif
