/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/fan_in.h"

#include <string.h>

#include "common/run_message.h"
#include "common/units.h"

#define TREE_OF "tree:"

enum rkt_status rkt_fan_in_read(const char *text, struct rkt_fan_in *fan_in_out,
                                struct rkt_error *err)
{
    static const struct {
        const char *text;
        enum rkt_fan_in_kind kind;
    } WORDS[] = {
        {"auto", RKT_FAN_IN_AUTO},
        {"star", RKT_FAN_IN_STAR},
        {"tree", RKT_FAN_IN_NODES},
    };
    size_t prefix_len = strlen(TREE_OF);
    uint64_t ranks = 0;

    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        if (strcmp(text, WORDS[i].text) == 0) {
            *fan_in_out = (struct rkt_fan_in){.kind = WORDS[i].kind};
            return RKT_OK;
        }
    }
    if (strncmp(text, TREE_OF, prefix_len) != 0)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "option '--fan-in': '%s' is not star, tree, tree:K or auto", text);
    if (!rkt_parse_u64(text + prefix_len, &ranks) || ranks < 2 || ranks > RKT_SOURCE_COUNT_MAX)
        return rkt_fail(err, RKT_ERR_INVALID, "option '--fan-in': '%s' has no group of 2 to %u",
                        text, RKT_SOURCE_COUNT_MAX);
    *fan_in_out = (struct rkt_fan_in){.kind = RKT_FAN_IN_ROWS, .group_ranks = (int)ranks};
    return RKT_OK;
}

/* The first rank of each node; returns how many nodes there are. */
static int lead_nodes(struct rkt_transport *transport, int *leaders)
{
    int node_count = 0;

    for (int rank = 0; rank < rkt_transport_size(transport); rank++) {
        uint64_t node = rkt_transport_node(transport, rank);
        int first = 0;

        while (first < rank &&
               (leaders[first] != first || rkt_transport_node(transport, first) != node))
            first++;
        leaders[rank] = first;
        node_count += first == rank;
    }
    return node_count;
}

static void lead_rows(int group_ranks, int *leaders, int rank_count)
{
    for (int rank = 0; rank < rank_count; rank++)
        leaders[rank] = rank - rank % group_ranks;
}

/* The smallest number of ranks in a group with which there are no more groups than that. */
static int square_group(int rank_count)
{
    int ranks = 1;

    while (ranks * ranks < rank_count)
        ranks++;
    return ranks;
}

/* False: none is left. */
static bool drop_groups_of_one(int *leaders, int rank_count)
{
    bool has_group = false;

    for (int rank = 0; rank < rank_count; rank++) {
        bool is_led = leaders[rank] != rank;

        for (int other = rank + 1; other < rank_count && !is_led; other++)
            is_led = leaders[other] == rank;
        if (!is_led)
            leaders[rank] = 0;
        has_group |= leaders[rank] != 0;
    }
    return has_group;
}

bool rkt_fan_in_groups(const struct rkt_fan_in *fan_in, struct rkt_transport *transport,
                       int *leaders)
{
    int rank_count = rkt_transport_size(transport);
    int node_count;

    switch (fan_in->kind) {
    case RKT_FAN_IN_STAR:
        return false;
    case RKT_FAN_IN_ROWS:
        lead_rows(fan_in->group_ranks, leaders, rank_count);
        break;
    case RKT_FAN_IN_NODES:
        (void)lead_nodes(transport, leaders);
        break;
    case RKT_FAN_IN_AUTO:
        node_count = lead_nodes(transport, leaders);
        if (node_count <= RKT_FAN_IN_STAR_NODES_MAX)
            return false;
        if (node_count == rank_count)
            lead_rows(square_group(rank_count), leaders, rank_count);
        break;
    }
    return drop_groups_of_one(leaders, rank_count);
}
