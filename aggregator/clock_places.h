/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_CLOCK_PLACES_H
#define RKT_AGGREGATOR_CLOCK_PLACES_H

/*
 * clock_places - which sidecar measures its machine's clock all along, and against whom.
 *
 * Place:   a sidecar's HELLO -> [clock_places] -> what its WELCOME tells it.
 *
 * Of each kernel clock the first sidecar that joins leads; of rank 0's, rank 0, which is the
 * reference. Leaders are numbered as they join, and common/clock_tree.h says whom each measures
 * against.
 *
 * Threads: one. Memory: 200 bytes per rank.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/node_id.h"

struct rkt_clock_places;

/* `reference`: where rank 0 runs. `star_max`: as many measure against it. NULL: no memory. */
struct rkt_clock_places *rkt_clock_places_create(int rank_count, uint32_t star_max,
                                                 const struct rkt_node_id *reference);
void rkt_clock_places_destroy(struct rkt_clock_places *places); /* NULL is fine */

struct rkt_clock_place {
    bool is_leader;     /* else nothing of what follows */
    int parent;         /* 0: the reference itself */
    bool may_be_parent; /* of those that join later */
};

/* Of a rank that joined; the same each time that it is asked for. */
struct rkt_clock_place rkt_clock_places_join(struct rkt_clock_places *places, int rank,
                                             const struct rkt_node_id *node);

#endif
