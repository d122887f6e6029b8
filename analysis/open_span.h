/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_OPEN_SPAN_H
#define RKT_ANALYSIS_OPEN_SPAN_H

/*
 * open_span - the times in which a rank's capture was open, made of its WINDOW events.
 *
 * Threads: any; no state.
 */

#include <stddef.h>
#include <stdint.h>

struct rkt_open_span {
    int64_t start_ns;       /* INT64_MIN: from the beginning */
    int64_t end_ns;         /* INT64_MAX: to the end */
    int64_t traced_from_ns; /* start_ns, or when the warm-up before it began */
};

/* The span that holds all of [start_ns, end_ns]; NULL: none. */
const struct rkt_open_span *rkt_open_span_find(const struct rkt_open_span *spans, size_t count,
                                               int64_t start_ns, int64_t end_ns);

#endif
