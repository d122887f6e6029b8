/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/fan_in.h"

#include <string.h>

#include "common/options.h"
#include "common/run_message.h"
#include "common/units.h"

#define TREE_OF "tree:"

struct word {
    const char *text;
    int value;
};

/* False: it is none of them. */
static bool find_word(const struct word *words, size_t count, const char *text, int *value_out)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i].text) == 0) {
            *value_out = words[i].value;
            return true;
        }
    }
    return false;
}

static enum rkt_status read_store(const char *text, enum rkt_fan_in_store *store_out,
                                  struct rkt_error *err)
{
    static const struct word WORDS[] = {{"auto", RKT_FAN_IN_STORE_AUTO},
                                        {"single", RKT_FAN_IN_STORE_SINGLE},
                                        {"sharded", RKT_FAN_IN_STORE_SHARDED}};
    int value;

    if (!find_word(WORDS, sizeof(WORDS) / sizeof(WORDS[0]), text, &value))
        return rkt_fail_value(err, "store", text, "'%s' is not single, sharded or auto", text);
    *store_out = (enum rkt_fan_in_store)value;
    return RKT_OK;
}

static enum rkt_status read_kind(const char *text, struct rkt_fan_in *fan_in, struct rkt_error *err)
{
    static const struct word WORDS[] = {
        {"auto", RKT_FAN_IN_AUTO}, {"star", RKT_FAN_IN_STAR}, {"tree", RKT_FAN_IN_NODES}};
    size_t prefix_len = strlen(TREE_OF);
    uint64_t ranks = 0;
    int value = RKT_FAN_IN_ROWS;

    if (strncmp(text, TREE_OF, prefix_len) == 0) {
        if (!rkt_parse_u64(text + prefix_len, &ranks) || ranks < 2 || ranks > RKT_SOURCE_COUNT_MAX)
            return rkt_fail_value(err, "fan-in", text, "'%s' has no group of 2 to %u", text,
                                  RKT_SOURCE_COUNT_MAX);
    } else if (!find_word(WORDS, sizeof(WORDS) / sizeof(WORDS[0]), text, &value)) {
        return rkt_fail_value(err, "fan-in", text, "'%s' is not star, tree, tree:K or auto", text);
    }
    fan_in->kind = (enum rkt_fan_in_kind)value;
    fan_in->group_ranks = (int)ranks;
    return RKT_OK;
}

enum rkt_status rkt_fan_in_read(const char *fan_in_text, const char *store_text,
                                struct rkt_fan_in *fan_in_out, struct rkt_error *err)
{
    struct rkt_fan_in fan_in = {0};
    enum rkt_status status = read_kind(fan_in_text, &fan_in, err);

    if (status == RKT_OK)
        status = read_store(store_text, &fan_in.store, err);
    if (status != RKT_OK)
        return status;
    if (fan_in.kind == RKT_FAN_IN_STAR && fan_in.store == RKT_FAN_IN_STORE_SHARDED)
        return rkt_fail_value(err, "store", store_text,
                              "sharded needs leaders, and '--fan-in star' has none");
    *fan_in_out = fan_in;
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

static void drop_groups_of_one(int *leaders, int rank_count)
{
    for (int rank = 0; rank < rank_count; rank++) {
        bool is_led = leaders[rank] != rank;

        for (int other = rank + 1; other < rank_count && !is_led; other++)
            is_led = leaders[other] == rank;
        if (!is_led)
            leaders[rank] = 0;
    }
}

static bool has_group(const int *leaders, int rank_count)
{
    for (int rank = 0; rank < rank_count; rank++) {
        if (leaders[rank] != 0)
            return true;
    }
    return false;
}

bool rkt_fan_in_groups(const struct rkt_fan_in *fan_in, struct rkt_transport *transport,
                       int *leaders, bool *is_sharded_out)
{
    int rank_count = rkt_transport_size(transport);
    int node_count = lead_nodes(transport, leaders);
    bool is_large = node_count > RKT_FAN_IN_FEW_NODES;
    bool is_sharded = fan_in->store == RKT_FAN_IN_STORE_SHARDED ||
                      (fan_in->store == RKT_FAN_IN_STORE_AUTO && is_large);

    *is_sharded_out = is_sharded;
    switch (fan_in->kind) {
    case RKT_FAN_IN_STAR:
        return false;
    case RKT_FAN_IN_ROWS:
        lead_rows(fan_in->group_ranks, leaders, rank_count);
        break;
    case RKT_FAN_IN_NODES:
        break;
    case RKT_FAN_IN_AUTO:
        if (!is_large && !is_sharded)
            return false;
        if (node_count == rank_count && !is_sharded)
            lead_rows(square_group(rank_count), leaders, rank_count);
        break;
    }
    if (!is_sharded)
        drop_groups_of_one(leaders, rank_count);
    return has_group(leaders, rank_count);
}
