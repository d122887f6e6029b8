/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_COLLECTIVE_LINK_H
#define RKT_ANALYSIS_COLLECTIVE_LINK_H

/*
 * collective_link - over what collectives went: how many hosts, by which algorithm and protocol.
 *
 * Place:   match -> [collective_link] -> report. Threads: any; no state.
 */

#include "analysis/result.h"
#include "common/status.h"

/*
 * Fills host_count, algo and proto of every collective. Hosts are those that the ranks' sources
 * tell. Algorithm and protocol are NCCL's own word (its profiler's): names of kernels say what was
 * compiled, not what ran. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_find_links(struct rkt_result *result, struct rkt_error *err);

#endif
