/* SPDX-License-Identifier: Apache-2.0 */
/* Whom each sidecar of a run is told to measure its clock against. */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "aggregator/clock_places.h"

#define RANKS 12

static struct rkt_node_id machine(int number)
{
    struct rkt_node_id node = {.time_namespace = 4026531834};

    snprintf(node.host, sizeof(node.host), "node%d", number);
    snprintf(node.boot_id, sizeof(node.boot_id), "boot-%d", number);
    return node;
}

static struct rkt_clock_places *places_of(uint32_t star_max)
{
    struct rkt_node_id reference = machine(0);
    struct rkt_clock_places *places = rkt_clock_places_create(RANKS, star_max, &reference);

    assert_non_null(places);
    return places;
}

static void check_join(struct rkt_clock_places *places, int rank, int on,
                       struct rkt_clock_place want)
{
    struct rkt_node_id node = machine(on);
    struct rkt_clock_place got = rkt_clock_places_join(places, rank, &node);

    if (got.is_leader != want.is_leader || got.parent != want.parent ||
        got.may_be_parent != want.may_be_parent)
        fail_msg("rank %d: leads %d, parent %d, may be one %d", rank, got.is_leader, got.parent,
                 got.may_be_parent);
}

static const struct rkt_clock_place NOTHING = {0};

static struct rkt_clock_place leads(int parent, bool may_be_parent)
{
    return (struct rkt_clock_place){
        .is_leader = true, .parent = parent, .may_be_parent = may_be_parent};
}

static void the_first_of_each_clock_leads(void **state)
{
    struct rkt_clock_places *places = places_of(64);

    (void)state;
    check_join(places, 3, 1, leads(0, false)); /* before rank 0, and before rank 2 */
    check_join(places, 0, 0, NOTHING);
    check_join(places, 1, 0, NOTHING); /* on rank 0's machine */
    check_join(places, 2, 1, NOTHING);
    check_join(places, 4, 2, leads(0, false));
    rkt_clock_places_destroy(places);
}

static void who_asks_again_is_told_the_same(void **state)
{
    struct rkt_clock_places *places = places_of(1);

    (void)state;
    for (int times = 0; times < 2; times++) {
        check_join(places, 2, 1, leads(0, true));
        check_join(places, 3, 1, NOTHING);
        check_join(places, 4, 2, leads(2, false));
        check_join(places, 5, 3, leads(2, false));
    }
    rkt_clock_places_destroy(places);
}

/* Ranks join in another order than they are numbered in: parents are leaders, in turn. */
static void beyond_the_star_leaders_are_parents_in_turn(void **state)
{
    struct rkt_clock_places *places = places_of(3);
    static const int STAR[] = {9, 4, 7};

    (void)state;
    for (int i = 0; i < 3; i++)
        check_join(places, STAR[i], STAR[i], leads(0, true));
    check_join(places, 1, 1, leads(4, false)); /* number 4: 1 + 4 % 3 */
    check_join(places, 2, 2, leads(7, false));
    check_join(places, 3, 3, leads(9, false));
    check_join(places, 11, 11, leads(4, false));
    rkt_clock_places_destroy(places);
}

static void who_cannot_tell_its_clock_measures_it(void **state)
{
    struct rkt_clock_places *places = places_of(64);
    const struct rkt_node_id unknown = {.host = "node0"};

    (void)state;
    for (int rank = 1; rank < 4; rank++)
        assert_true(rkt_clock_places_join(places, rank, &unknown).is_leader);
    rkt_clock_places_destroy(places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_each_clock_leads),
        cmocka_unit_test(who_asks_again_is_told_the_same),
        cmocka_unit_test(beyond_the_star_leaders_are_parents_in_turn),
        cmocka_unit_test(who_cannot_tell_its_clock_measures_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
