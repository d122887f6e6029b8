/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_NSYS_H
#define RKT_ANALYSIS_IMPORT_NSYS_H

/*
 * nsys - what Nsight Systems recorded of one process, from its SQLite export, as events of a
 * source.
 *
 * Place:   nsys_table -> [nsys] -> source_writer.
 * Files:   an export may hold several processes, each of which is a rank: part 0 is the one on the
 *          lowest device. Processes without GPU work count only where none has any.
 * Time:    stamps are the file's own, from the start of the session; its calendar time is the base.
 * Read:    kernels, copies, memsets, synchronisations, whole graphs, API calls, NVTX; names of
 *          threads, devices and the process. Calls into the operating system, samples, memory
 *          and metrics of the GPU are counted as left out.
 * Damage:  what can be read of a damaged file is kept.
 * Threads: any, one call per file at a time.
 */

#include <stddef.h>

#include "analysis/import/text_source.h"
#include "analysis/import/trace_facts.h"
#include "common/source_writer.h"
#include "common/status.h"

#define RKT_NSYS_PARTS_MAX 4096u

/* Does the file begin as an SQLite file? */
bool rkt_nsys_is_sqlite(const char *path);

/* Processes in the file. RKT_ERR_FORMAT, without the file's name: it is no export of Nsight
 * Systems. */
enum rkt_status rkt_nsys_count_parts(const char *path, size_t *count_out, struct rkt_error *err);

enum rkt_status rkt_nsys_read(const char *path, size_t part, struct rkt_source_writer *writer,
                              struct rkt_trace_facts *facts_out, struct rkt_text_damage *damage_out,
                              struct rkt_error *err);

#endif
