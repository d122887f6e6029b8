/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_PEERS_H
#define RKT_ANALYSIS_PEERS_H

/*
 * peers - what own work a rank would have, were it like the others (metrics.md, "Replay").
 *
 * A stretch is the own work up to the next collective that other ranks post, too, or up to the end
 * of the step. Ranks whose steps consist of the same collectives in the same order (and that send
 * and receive alike) are peers there, and their n-th stretches are compared. A rank without peers
 * (a stage of a pipeline) is compared by the own work of the whole step: all its stretches become
 * longer or shorter alike.
 *
 *     rank 0   |--10--|P allreduce|--30--|P allreduce|-5-|E|     stretches 10 30 5
 *     rank 1   |--12--|P allreduce|--70--|P allreduce|-5-|E|               12 70 5
 *
 * A rank varies from step to step, the others at other times: one that is put at their median does
 * not, and would wait for them more often than it does in truth. So it may keep that (vary).
 *
 * Within a stretch the items keep their shares. The work is that of the lane, or of its host.
 *
 * Threads: one at a time. Memory: its own, 24 bytes for a stretch.
 */

#include "analysis/replay_graph.h"

#define RKT_NO_GROUP UINT32_MAX

struct rkt_peers;

/* own_ns: by item. It and the graph stay as long. RKT_ERR_NOMEM only. */
enum rkt_status rkt_peers_create(const struct rkt_result *result,
                                 const struct rkt_replay_graph_of_steps *graph,
                                 const int64_t *own_ns, struct rkt_peers **peers_out,
                                 struct rkt_error *err);
void rkt_peers_destroy(struct rkt_peers *peers); /* NULL is fine */

/*
 * Fills own_out, by item, with what a rank of group g would have, were each stretch as long as the
 * lower median of the peers outside g. group_of: by rank of the graph, below its rank count, or
 * RKT_NO_GROUP: such a rank is only compared with. Whose group leaves no other keeps its own work.
 */
void rkt_peers_others(struct rkt_peers *peers, const uint32_t *group_of, int64_t *own_out);

/* Likewise, but that of two peers in the middle it is their mean: the lower one is below what ranks
 * that are alike have. */
void rkt_peers_middle(struct rkt_peers *peers, const uint32_t *group_of, int64_t *own_out);

/*
 * Then, for the ranks of is_other: own_out is as long as the peers' that was, and what the rank's
 * own stretch, in this step, is above or below what it usually is above theirs; but where it is off
 * by over twice the farthest that any peer is, from its own and against the others. Thus a rank
 * that is as fast as the others still varies as they do. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_peers_vary(struct rkt_peers *peers, const bool *is_other, int64_t *own_out);

/* As rkt_peers_others with the mean of all peers; a rank without keeps its own work. */
void rkt_peers_mean(struct rkt_peers *peers, int64_t *own_out);

#endif
