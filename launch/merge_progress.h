/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_MERGE_PROGRESS_H
#define RKT_LAUNCH_MERGE_PROGRESS_H

/*
 * merge_progress - one line on a terminal: how far an import is, how fast, how long still.
 *
 * Nothing is printed where stderr is no terminal. Threads: one caller; a thread of its own prints.
 */

#include "analysis/import/import.h"

struct rkt_merge_progress;

/* NULL where nobody would see it, or where no thread can be had. `progress` outlives stop. */
struct rkt_merge_progress *rkt_merge_progress_start(struct rkt_import_progress *progress);
/* Clears the line. NULL is fine. */
void rkt_merge_progress_stop(struct rkt_merge_progress *shown);

/* " 42 %  310.2 MiB/s  3 s left"; without a total "12.00 MiB  310.2 MiB/s": up to buf_bytes. */
void rkt_merge_progress_text(uint64_t done_bytes, uint64_t total_bytes, int64_t elapsed_ns,
                             char *buf, size_t buf_bytes);

#endif
