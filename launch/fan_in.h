/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_FAN_IN_H
#define RKT_LAUNCH_FAN_IN_H

/*
 * fan_in - which sidecars send their frames to rank 0, and which to the leader of a group; and
 * whether leaders write files of their own.
 *
 *     --fan-in  star      everyone to rank 0
 *               tree      one leader per node: its lowest rank
 *               tree:K    groups of K ranks in a row, led by the first
 *               auto      star up to RKT_FAN_IN_FEW_NODES nodes; then tree, or where each node has
 *                         but one sidecar, as many groups as each has ranks
 *     --store   single    one file, written by rank 0
 *               sharded   a file per leader beside that of rank 0
 *               auto      single up to RKT_FAN_IN_FEW_NODES nodes
 *
 * Rank 0 leads its own group. A group of one has nothing to gather: it sends to rank 0, unless it
 * is to have a file of its own. Rank 0 alone decides; the others hear of it in WELCOME.
 *
 * Threads: main.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/transport.h"

#define RKT_FAN_IN_FEW_NODES 64

enum rkt_fan_in_kind {
    RKT_FAN_IN_AUTO,
    RKT_FAN_IN_STAR,
    RKT_FAN_IN_NODES,
    RKT_FAN_IN_ROWS,
};

enum rkt_fan_in_store {
    RKT_FAN_IN_STORE_AUTO,
    RKT_FAN_IN_STORE_SINGLE,
    RKT_FAN_IN_STORE_SHARDED,
};

struct rkt_fan_in {
    enum rkt_fan_in_kind kind;
    enum rkt_fan_in_store store;
    int group_ranks; /* ROWS: how many are a group */
};

/* The options' texts; RKT_ERR_INVALID says what they may be, also both together. */
enum rkt_status rkt_fan_in_read(const char *fan_in, const char *store,
                                struct rkt_fan_in *fan_in_out, struct rkt_error *err);

/*
 * On rank 0. leaders[] of each rank of the run, and whether they write; false: rank 0 leads all of
 * them.
 */
bool rkt_fan_in_groups(const struct rkt_fan_in *fan_in, struct rkt_transport *transport,
                       int *leaders, bool *is_sharded_out);

#endif
