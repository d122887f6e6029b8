/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/clock_places.h"

#include <stdlib.h>

#include "common/clock_tree.h"

struct leader {
    int rank;
    struct rkt_node_id node;
};

struct rkt_clock_places {
    int rank_count;
    uint32_t star_max;
    struct leader *leaders; /* by number; [0] is rank 0 */
    uint32_t leader_count;
};

struct rkt_clock_places *rkt_clock_places_create(int rank_count, uint32_t star_max,
                                                 const struct rkt_node_id *reference)
{
    struct rkt_clock_places *places = calloc(1, sizeof(*places));

    if (!places)
        return NULL;
    places->rank_count = rank_count;
    places->star_max = star_max;
    places->leaders = calloc((size_t)rank_count + 1, sizeof(*places->leaders));
    if (!places->leaders) {
        rkt_clock_places_destroy(places);
        return NULL;
    }
    places->leaders[0].node = *reference;
    places->leader_count = 1;
    return places;
}

void rkt_clock_places_destroy(struct rkt_clock_places *places)
{
    if (!places)
        return;
    free(places->leaders);
    free(places);
}

/* The number of the leader of this clock; a rank without one becomes it. */
static uint32_t number_of(struct rkt_clock_places *places, int rank, const struct rkt_node_id *node)
{
    uint32_t number = 0;

    while (number < places->leader_count && places->leaders[number].rank != rank &&
           !rkt_node_id_shares_clock(&places->leaders[number].node, node))
        number++;
    if (number == places->leader_count)
        places->leaders[places->leader_count++] = (struct leader){.rank = rank, .node = *node};
    return number;
}

struct rkt_clock_place rkt_clock_places_join(struct rkt_clock_places *places, int rank,
                                             const struct rkt_node_id *node)
{
    struct rkt_clock_place place = {0};
    uint32_t number = number_of(places, rank, node), parent;

    if (number == 0 || places->leaders[number].rank != rank)
        return place;
    parent = rkt_clock_parent(number, places->star_max);
    place.is_leader = true;
    place.parent = places->leaders[parent].rank;
    place.may_be_parent = parent == 0 && (uint32_t)places->rank_count > places->star_max + 1;
    return place;
}
