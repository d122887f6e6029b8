/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_FAN_IN_H
#define RKT_LAUNCH_FAN_IN_H

/*
 * fan_in - which sidecars send their frames to rank 0, and which to the leader of a group.
 *
 *     star      everyone to rank 0
 *     tree      one leader per node: its lowest rank
 *     tree:K    groups of K ranks in a row, led by the first
 *     auto      star up to RKT_FAN_IN_STAR_NODES_MAX nodes; then tree, or where each node has but one
 *               sidecar, as many groups as each has ranks
 *
 * Rank 0 leads its own group. A group of one has nothing to gather: it sends to rank 0. Rank 0 alone
 * decides; the others hear of it in WELCOME.
 *
 * Threads: main.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/transport.h"

#define RKT_FAN_IN_STAR_NODES_MAX 64

enum rkt_fan_in_kind {
    RKT_FAN_IN_AUTO,
    RKT_FAN_IN_STAR,
    RKT_FAN_IN_NODES,
    RKT_FAN_IN_ROWS,
};

struct rkt_fan_in {
    enum rkt_fan_in_kind kind;
    int group_ranks; /* ROWS: how many are a group */
};

/* The option's text; RKT_ERR_INVALID says what it may be. */
enum rkt_status rkt_fan_in_read(const char *text, struct rkt_fan_in *fan_in_out,
                                struct rkt_error *err);

/* On rank 0. leaders[] of each rank of the run; false: rank 0 leads all of them. */
bool rkt_fan_in_groups(const struct rkt_fan_in *fan_in, struct rkt_transport *transport,
                       int *leaders);

#endif
