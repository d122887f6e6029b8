/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_TREE_H
#define RKT_COMMON_CLOCK_TREE_H

/*
 * clock_tree - all nodes of a run, each against the reference.
 *
 * Place:   exchanges of all sidecars -> [clock_tree] -> an alignment per node. Rank 0 at the end
 *          of a run and whoever reads a store do the same with the same exchanges, and get the
 *          same numbers.
 *
 * Nodes that claim to share a kernel clock (node_id.h) are measured once, by the one that has most
 * bursts. The claim is tested: the bursts of each of the others must allow what that one says
 * (copies of a virtual machine may share a boot id); a node that fails stands for itself. Those
 * that share the reference's clock must allow 0.
 *
 * A node's way to the reference is over the peer with which it has most bursts, and so on from
 * there; bursts with the reference itself, beside that, are intersected.
 *
 * What a node claims of true time narrows its alignment where the reference claims it too
 * (clock_path.h).
 *
 * Threads: one at a time.
 * Memory:  its own: the curves of nodes that others lead over (some 25 kB per hour each), and the
 *          alignments that were asked for.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock_curve.h"
#include "common/descriptor.h"
#include "common/event.h"
#include "common/status.h"

/*
 * Who measures against whom. Nodes are numbered as they join; 0 is the reference. The first
 * `star_max` (RKT_CLOCK_STAR_MAX, unless the user says otherwise) measure against it, those that
 * follow against one of these, and all along, but rarely, against the reference too. A parent then
 * spins 0.3 % of a core (common/doc/clocks.md).
 */
#define RKT_CLOCK_STAR_MAX 64u

static inline uint32_t rkt_clock_parent(uint32_t node, uint32_t star_max)
{
    return node <= star_max || star_max == 0 ? 0 : 1 + node % star_max;
}

struct rkt_clock_node {
    uint32_t source;                   /* its sidecar's: what peers call it */
    uint32_t clock_group;              /* the first node that claims the same clock, or itself */
    const struct rkt_event *exchanges; /* and claims of true time; on loan until destroy */
    size_t exchange_count;
};

struct rkt_clock_tree;

/* `reference`: index of a node. The nodes are copied. */
enum rkt_status rkt_clock_tree_create(const struct rkt_clock_node *nodes, size_t node_count,
                                      size_t reference, const struct rkt_clock_params *params,
                                      struct rkt_clock_tree **tree_out, struct rkt_error *err);
void rkt_clock_tree_destroy(struct rkt_clock_tree *tree); /* NULL is fine */

/* The alignment of the node at `index`, on loan until destroy; its `source` is 0. */
enum rkt_status rkt_clock_tree_align(struct rkt_clock_tree *tree, size_t index,
                                     const struct rkt_align_info **align_out,
                                     struct rkt_error *err);

/* True once the node was aligned: it claims a clock that it does not have. */
bool rkt_clock_tree_is_liar(const struct rkt_clock_tree *tree, size_t node);

#endif
