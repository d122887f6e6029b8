/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SELECTION_H
#define RKT_ANALYSIS_SELECTION_H

/*
 * selection - the part of a run that is looked at: some ranks, some steps, some time.
 *
 *     --ranks 0-3,7        numbers of ranks
 *     --steps 10:20        the steps 10 to 19, by their numbers, as in 'ranktrace run'
 *     --since 1s --until 2s  from the run's start (run_start.h); of steps those whose windows lie in it
 *
 * All that are given hold together. Times are half open, [since, until).
 *
 * Threads: any; no state. Memory: plain data.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define RKT_RANK_SPANS_MAX 64u
#define RKT_SELECTION_TEXT_BYTES 1024u

/* As the user gave them; NULL: not. */
struct rkt_selection_texts {
    const char *ranks;
    const char *steps;
    const char *since;
    const char *until;
};

struct rkt_rank_span {
    uint32_t first;
    uint32_t last; /* one of them, too */
};

struct rkt_selection {
    struct rkt_rank_span ranks[RKT_RANK_SPANS_MAX]; /* by number, apart from each other */
    size_t rank_span_count;                         /* 0: all */
    bool has_steps;
    uint64_t first_step;
    uint64_t end_step; /* the first that is not one; UINT64_MAX: to the end */
    bool has_time;
    int64_t since_ns;
    int64_t until_ns;     /* INT64_MAX: to the end */
    int64_t job_start_ns; /* of the run (run_start.h), once ranks are loaded; only with has_time */
};

/* RKT_ERR_INVALID, with the option's name, for a text that makes no sense or selects nothing. */
enum rkt_status rkt_selection_parse(const struct rkt_selection_texts *texts,
                                    struct rkt_selection *selection_out, struct rkt_error *err);

/* Less than everything. */
bool rkt_selection_is_part(const struct rkt_selection *selection);

bool rkt_selection_has_rank(const struct rkt_selection *selection, uint32_t rank);
bool rkt_selection_has_step(const struct rkt_selection *selection, uint64_t number);

/* "ranks 0-3,7; steps 10 to 19; 1.000 s to 2.000 s". Returns text. */
const char *rkt_selection_describe(const struct rkt_selection *selection,
                                   char text[RKT_SELECTION_TEXT_BYTES]);

#endif
