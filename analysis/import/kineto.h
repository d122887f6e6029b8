/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_KINETO_H
#define RKT_ANALYSIS_IMPORT_KINETO_H

/*
 * kineto - the events of one trace of PyTorch's profiler as events of a source.
 *
 * Place:   json_reader -> [kineto] -> source_writer.
 * Time:    stamps are the file's own ts in ns (RKT_CLOCK_TRACE), cut below the ns, without
 *          baseTimeNanoseconds: writers put that behind the events as often as before them. It is
 *          the offset of the source's alignment, so that job time = ts + base, exactly.
 * Counted: a slice without a usable ts and dur is no event but a loss, by kind; what is kept
 *          out by design (Python frames, flow arrows, counters, memory samples) is counted too.
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/import/json_reader.h"
#include "analysis/import/text_source.h"
#include "common/source_writer.h"
#include "common/status.h"

/* What a file says of itself and its rank; and what became of its events. */
struct rkt_kineto_facts {
    struct rkt_json_stats json;
    bool has_rank;
    uint32_t rank;
    const char *rank_source; /* "distributedInfo" or "collective args" */
    uint32_t world_size;     /* 0 unknown */
    bool has_base;
    int64_t base_ns;
    bool is_kineto;          /* has members that only Kineto writes, or events of its categories */
    uint64_t first_ns;       /* of the events written; UINT64_MAX: none */
    uint64_t event_count;    /* slices written */
    uint64_t gpu_count;      /* of those, GPU work */
    uint64_t skipped_count;  /* slices with a bad stamp, or an end without a begin */
    uint64_t left_out_count; /* Python frames, flows, instants, counters */
    uint64_t pid;            /* of the training process; 0 unknown */
    char program[128];
    char host[128];
};

/*
 * Adds everything of `source` to the writer, with names, communicators and losses. An error
 * text of RKT_ERR_FORMAT has no file name yet.
 */
enum rkt_status rkt_kineto_read(struct rkt_text_source *source, size_t window_bytes,
                                struct rkt_source_writer *writer,
                                struct rkt_kineto_facts *facts_out, struct rkt_error *err);

#endif
