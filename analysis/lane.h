/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_LANE_H
#define RKT_ANALYSIS_LANE_H

/*
 * lane - a rank's steps as work of its own between what it posts and what it waits for
 * (metrics.md, "Own work"): what of a rank the replay needs.
 *
 *     compute    |==k1==|=k2=|                    |==optimizer==|
 *     comm              |-----c1-----|-----c2-----|
 *     lane       |  own P own P   (waits for c2)  J     own     E
 *
 * Needs no other rank: that c1 waited for one shows in the replay, when all ranks' lanes are there.
 *
 * Place:   rank_trace, step, phase, arrival -> [lane] -> match -> replay_graph. Idle time that ends
 * when the host launches at last is own work by its cause; what the host did meanwhile is told
 * beside it, so that a replay can let the lane wait for as long as that takes there.
 *
 * Threads: any, for different ranks. Memory: 88 bytes for a post, a join and the end of a step; the
 *          trace's.
 */

#include "analysis/replay.h"
#include "analysis/result.h"

/* enum rkt_cause but for NONE */
#define RKT_LANE_CAUSE_COUNT RKT_CAUSE_OTHER

/* Own work, by cause, and what comes after it. */
struct rkt_lane_item {
    uint32_t own[RKT_LANE_CAUSE_COUNT]; /* [cause - 1]; ns, and 2^32 ns in a coarse item */
    uint32_t
        work;     /* of a post or a join: index in the whole trace's works; host view: in buckets */
    uint8_t kind; /* enum rkt_replay_kind */
    bool is_coarse;              /* work too long for one item, of which the next has the rest */
    struct rkt_replay_host host; /* where launches are known */
    int64_t host_idle_ns;        /* of own work: what host.bound_ns stands for as well */
};

/*
 * Makes trace->lane of a whole trace with steps, and with rank->activity where it has GPU work: one
 * STEP_END for each step of `rank`, and sets the steps' own work. Neither posts nor joins outside
 * the steps are in it. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_lane_find(struct rkt_rank_trace *trace, struct rkt_rank_result *rank,
                              struct rkt_error *err);

/* The own work of an item by a cause, which is not NONE. */
static inline int64_t rkt_lane_own_by_ns(const struct rkt_lane_item *item, int cause)
{
    return (int64_t)((uint64_t)item->own[cause - 1] << (item->is_coarse ? 32 : 0));
}

/* The same by all causes. */
int64_t rkt_lane_own_ns(const struct rkt_lane_item *item);

#endif
