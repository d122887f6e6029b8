/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_STEP_MARKS_H
#define RKT_ANALYSIS_STEP_MARKS_H

/*
 * step_marks - where the host's steps begin and end, before any GPU work is looked at.
 *
 * Place: ranges or collectives -> [step_marks] -> step. Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/rank_trace.h"
#include "analysis/result.h"

struct rkt_step_mark {
    int64_t start_ns; /* start_ns and end_ns lead: time_sort */
    int64_t end_ns;
    uint64_t number;
    bool is_cut; /* ran into the next one and was cut there */
};

/* By start, disjoint. Free the items with free(). */
struct rkt_step_marks {
    struct rkt_step_mark *items;
    size_t count;
    size_t cap;
};

/*
 * Marks of the job; else ranges whose name begins with step_range (NULL: ProfilerStep#); else
 * the repeats of the collectives; else none, and *source_out is RKT_STEPS_WINDOW.
 * RKT_ERR_NOMEM only; what was found so far is then still the caller's to free.
 */
enum rkt_status rkt_step_marks_find(const struct rkt_rank_trace *trace, const char *step_range,
                                    struct rkt_step_marks *marks, enum rkt_step_source *source_out);

/* Whether a range may be a step by its name, which begins with `prefix`. */
bool rkt_step_marks_has_range(const struct rkt_rank_trace *trace, const char *prefix);

/* step_repeat.c: the shortest sequence of collectives that repeats at least 3 times in a row over
 * at least half of all; a step ends where the wait for the next collective is longest. */
enum rkt_status rkt_step_marks_of_repeats(const struct rkt_rank_trace *trace,
                                          struct rkt_step_marks *marks);

enum rkt_status rkt_step_marks_add(struct rkt_step_marks *marks, struct rkt_step_mark mark);

#endif
