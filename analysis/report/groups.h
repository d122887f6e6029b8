/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPORT_GROUPS_H
#define RKT_ANALYSIS_REPORT_GROUPS_H

/*
 * groups - collectives of one func, size and number of ranks, within one host or between several,
 * taken together.
 *
 * Threads: any; no state.
 */

#include "analysis/result.h"
#include "common/status.h"

#define RKT_GROUP_LAST_COUNT 3

enum rkt_grouping {
    RKT_GROUP_KINDS, /* by func, size, number of ranks, within one host or not */
    RKT_GROUP_LINKS, /* also by communicator, number of hosts, algorithm and protocol */
};

struct rkt_collective_group {
    const struct rkt_collective *first; /* what they are grouped by is that of all */
    size_t count;
    int64_t transfer_ns; /* median */
    int64_t wait_ns; /* mean over collectives and ranks (one rank never waits); needs no clock */
    int64_t wait_max_ns;
    int64_t total_ns;         /* sum of durations over collectives and ranks */
    double busbw_bytes_per_s; /* median of those known */
    size_t told_count;        /* collectives whose last rank is known beyond the clocks */
    size_t blurred_count;     /* in which it leads by less than the clocks may be off */
    struct {
        uint32_t rank; /* position in ranks */
        size_t count;
    } last[RKT_GROUP_LAST_COUNT]; /* most often last, first; count 0: no more */
};

/* By total_ns, largest first; free() *groups_out. RKT_ERR_NOMEM only. */
enum rkt_status rkt_group_collectives(const struct rkt_result *result, enum rkt_grouping grouping,
                                      struct rkt_collective_group **groups_out, size_t *count_out,
                                      struct rkt_error *err);

#endif
