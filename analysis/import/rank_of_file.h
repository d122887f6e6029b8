/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_RANK_OF_FILE_H
#define RKT_ANALYSIS_IMPORT_RANK_OF_FILE_H

/*
 * rank_of_file - the rank that a trace file's name gives.
 *
 * "rank3", "rank-3", "rank_3", "worker3" and the like as a word of the file's name, else of its
 * folder's: "worker3_step_12.1694128201557.pt.trace.json", "rank0/trace.json".
 *
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stdint.h>

bool rkt_rank_of_file(const char *path, uint32_t *rank_out);

#endif
