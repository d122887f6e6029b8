/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/fan_in.h"

#include <stdio.h>

#include "rkt_test.h"

#define RANKS_MAX 1100

/* A transport that knows on which node each rank is, and nothing else. */
struct nodes {
    struct rkt_transport base; /* first: a transport is cast to its kind */
    int rank_count;
    uint64_t of[RANKS_MAX];
};

static int size_of_run(struct rkt_transport *t)
{
    return ((struct nodes *)t)->rank_count;
}

static uint64_t node_of(struct rkt_transport *t, int rank)
{
    return ((struct nodes *)t)->of[rank];
}

static const struct rkt_transport_ops OPS = {.size = size_of_run, .node = node_of};

/* Nodes have `per_node` ranks; in a row, or dealt out like cards. */
static struct nodes make_nodes(int rank_count, int per_node, bool is_dealt)
{
    struct nodes nodes = {.base = {&OPS}, .rank_count = rank_count};
    int node_count = (rank_count + per_node - 1) / per_node;

    for (int rank = 0; rank < rank_count; rank++)
        nodes.of[rank] = 0xfeed00u + (unsigned)(is_dealt ? rank % node_count : rank / per_node);
    return nodes;
}

static bool group_and_store(const char *how, const char *store, struct nodes *nodes, int *leaders,
                            bool *is_sharded)
{
    struct rkt_fan_in fan_in;
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_fan_in_read(how, store, &fan_in, &err), err);
    return rkt_fan_in_groups(&fan_in, &nodes->base, leaders, is_sharded);
}

/* Into one file. */
static bool group(const char *how, struct nodes *nodes, int *leaders)
{
    bool is_sharded = true;
    bool has_leaders = group_and_store(how, "single", nodes, leaders, &is_sharded);

    assert_false(is_sharded);
    return has_leaders;
}

static int count_leaders(const int *leaders, int rank_count)
{
    int count = 0;

    for (int rank = 0; rank < rank_count; rank++) {
        assert_int_equal(leaders[leaders[rank]], leaders[rank]); /* who leads is not led */
        count += leaders[rank] == rank;
    }
    return count;
}

static void star_has_no_leaders(void **state)
{
    struct nodes nodes = make_nodes(1000, 1, false);
    int leaders[RANKS_MAX] = {0};

    (void)state;
    assert_false(group("star", &nodes, leaders));
}

static void tree_is_led_by_the_first_of_each_node(void **state)
{
    struct nodes nodes = make_nodes(8, 4, true); /* even ranks on one node, odd ones on the other */
    int leaders[RANKS_MAX] = {0};

    (void)state;
    assert_true(group("tree", &nodes, leaders));
    for (int rank = 0; rank < 8; rank++)
        assert_int_equal(leaders[rank], rank % 2);
}

static void rows_are_led_by_their_first_and_one_alone_by_rank_0(void **state)
{
    static const int WANT[] = {0, 0, 0, 3, 3, 3, 0};
    struct nodes nodes = make_nodes(7, 7, false);
    int leaders[RANKS_MAX] = {0};

    (void)state;
    assert_true(group("tree:3", &nodes, leaders));
    assert_memory_equal(leaders, WANT, sizeof(WANT));
}

static void one_group_is_rank_0s_own(void **state)
{
    struct nodes nodes = make_nodes(8, 8, false);
    int leaders[RANKS_MAX] = {0};

    (void)state;
    assert_false(group("tree", &nodes, leaders));
    assert_false(group("tree:8", &nodes, leaders));
    assert_true(group("tree:4", &nodes, leaders));
}

static void auto_is_a_star_up_to_its_limit(void **state)
{
    static const struct {
        const char *what;
        int rank_count, per_node, leader_count; /* 0: star */
    } CASES[] = {
        {"one node", 8, 8, 0},
        {"as many nodes as a star has", 512, 8, 0},
        {"a node more", 520, 8, 65},
        {"one sidecar a node", 64, 1, 0},
        {"one sidecar a node, more of them", 65, 1, 8}, /* 7 groups of 9, and 2 ranks */
        {"one sidecar a node, a thousand", 1024, 1, 32},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct nodes nodes = make_nodes(CASES[i].rank_count, CASES[i].per_node, false);
        int leaders[RANKS_MAX] = {0};
        int got = 0;

        if (group("auto", &nodes, leaders))
            got = count_leaders(leaders, CASES[i].rank_count);
        if (got != CASES[i].leader_count)
            fail_msg("%s: %d leaders, not %d", CASES[i].what, got, CASES[i].leader_count);
    }
}

static void files_of_leaders_are_asked_for_or_for_many_nodes(void **state)
{
    static const struct {
        const char *what, *how, *store;
        int rank_count, per_node, leader_count; /* 0: one file */
    } CASES[] = {
        {"one node", "auto", "sharded", 8, 8, 0},
        {"two nodes that ask for it", "auto", "sharded", 16, 8, 2},
        {"nodes of one sidecar, each with a file", "tree", "sharded", 4, 1, 4},
        {"rows", "tree:2", "sharded", 5, 5, 3},
        {"as many nodes as one file has", "auto", "auto", 64, 1, 0},
        {"a node more", "auto", "auto", 65, 1, 65},
        {"a node more, and a star", "star", "auto", 65, 1, 0},
        {"a node more, and rows", "tree:8", "auto", 65, 1, 9},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct nodes nodes = make_nodes(CASES[i].rank_count, CASES[i].per_node, false);
        int leaders[RANKS_MAX] = {0};
        bool is_sharded = false;
        int got = 0;

        if (group_and_store(CASES[i].how, CASES[i].store, &nodes, leaders, &is_sharded) &&
            is_sharded)
            got = count_leaders(leaders, CASES[i].rank_count);
        if (got != CASES[i].leader_count)
            fail_msg("%s: %d leaders, not %d", CASES[i].what, got, CASES[i].leader_count);
    }
}

static void other_words_are_refused(void **state)
{
    static const char *const WORDS[] = {
        "",       "ring",    "trees",   "tree:",      "tree:1", "tree:0",
        "tree:x", "tree:2x", "tree:-2", "tree:65537", "star:2"};

    (void)state;
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        struct rkt_fan_in fan_in;
        struct rkt_error err = {0};

        if (rkt_fan_in_read(WORDS[i], "auto", &fan_in, &err) != RKT_ERR_INVALID ||
            !strstr(err.text, "--fan-in") || !strstr(err.text, WORDS[i]))
            fail_msg("'%s': %s", WORDS[i], err.text);
    }
}

static void what_cannot_be_together_is_refused(void **state)
{
    struct rkt_fan_in fan_in;
    struct rkt_error err = {0};

    (void)state;
    assert_rkt_status(rkt_fan_in_read("star", "sharded", &fan_in, &err), RKT_ERR_INVALID);
    assert_non_null(strstr(err.text, "--fan-in star"));
    assert_rkt_status(rkt_fan_in_read("tree", "sharded", &fan_in, &err), RKT_OK);
    assert_rkt_status(rkt_fan_in_read("tree", "many", &fan_in, &err), RKT_ERR_INVALID);
    assert_non_null(strstr(err.text, "'many'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(star_has_no_leaders),
        cmocka_unit_test(tree_is_led_by_the_first_of_each_node),
        cmocka_unit_test(rows_are_led_by_their_first_and_one_alone_by_rank_0),
        cmocka_unit_test(one_group_is_rank_0s_own),
        cmocka_unit_test(auto_is_a_star_up_to_its_limit),
        cmocka_unit_test(files_of_leaders_are_asked_for_or_for_many_nodes),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(what_cannot_be_together_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
