/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_NODE_ID_H
#define RKT_COMMON_NODE_ID_H

/*
 * node_id - which host this is, and which kernel clock.
 *
 * Two processes read the same MONOTONIC_RAW when boot id and time namespace are equal: a
 * container may have a time namespace of its own, which shifts MONOTONIC and RAW.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stdint.h>

struct rkt_node_id {
    char host[128];
    char boot_id[40];        /* "" unknown */
    uint64_t time_namespace; /* inode of /proc/self/ns/time; 0: the kernel has none */
};

void rkt_node_id_read(struct rkt_node_id *id_out);

/* Of the host as its processes see it (a container is one); two hosts do not share it, by
 * chance. */
uint64_t rkt_node_id_number(const struct rkt_node_id *id);

/* An unknown boot id shares a clock with nobody. */
bool rkt_node_id_shares_clock(const struct rkt_node_id *a, const struct rkt_node_id *b);

#endif
