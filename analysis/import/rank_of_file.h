/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IMPORT_RANK_OF_FILE_H
#define RKT_ANALYSIS_IMPORT_RANK_OF_FILE_H

/*
 * rank_of_file - the rank that a trace file's name gives.
 *
 * "rank3", "rank-3", "rank_3", "worker3" and the like as a word of the file's name, else of its
 * folder's: "worker3_step_12.1694128201557.pt.trace.json", "rank0/trace.json". Also
 * "rank_HOST_3": the number at the end of the name.
 *
 * Threads: any, once made.
 */

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/import/import_paths.h"
#include "common/status.h"

/* The user's own rules. */
struct rkt_rank_names {
    bool has_regex;
    regex_t regex; /* extended; its first group, else all of it, holds the rank */
    const char *const *file_ranks;
    size_t file_rank_count;
};

/* RKT_ERR_INVALID: the expression, or a FILE=N, is none. The texts are on loan until release. */
enum rkt_status rkt_rank_names_init(struct rkt_rank_names *names, const char *regex,
                                    const char *const *file_ranks, size_t file_rank_count,
                                    struct rkt_error *err);
void rkt_rank_names_release(struct rkt_rank_names *names);

/*
 * RKT_ERR_INVALID: a FILE=N is of none of these files, or two of them give one file two ranks. A
 * FILE is the path, with or without "./" and the like, or else the last part of it.
 */
enum rkt_status rkt_rank_names_check(const struct rkt_rank_names *names,
                                     const struct rkt_import_paths *paths, struct rkt_error *err);

/* What FILE=N says of this path. */
bool rkt_rank_names_given(const struct rkt_rank_names *names, const char *path, uint32_t *rank_out);
/* By the expression if there is one, else by the usual names. */
bool rkt_rank_names_find(const struct rkt_rank_names *names, const char *path, uint32_t *rank_out);

/* What the expression takes for the rank, on loan from the path; NULL: none, or no match. */
const char *rkt_rank_names_match(const struct rkt_rank_names *names, const char *path,
                                 size_t *bytes_out);

/* By the usual names. */
bool rkt_rank_of_file(const char *path, uint32_t *rank_out);

/*
 * The host in "HOST_PID.TIME.pt.trace.json", as PyTorch's handler for TensorBoard names files;
 * false where the number before the first dot is not this process.
 */
bool rkt_host_of_file(const char *path, uint64_t pid, char *host_out, size_t host_bytes);

#endif
