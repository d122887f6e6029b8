/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of several nodes: who measures for whom, and over whom. */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "common/clock_map.h"
#include "common/clock_tree.h"
#include "tests/unit/bad_clocks.h"

#define S INT64_C(1000000000)
#define NODES_MAX 8
#define BURSTS BAD_CLOCK_BURSTS
#define CLAIMS 190

struct fixture {
    struct rkt_clock_node nodes[NODES_MAX];
    struct rkt_event events[NODES_MAX][2 * BURSTS + CLAIMS];
    int64_t clocks_ns[NODES_MAX]; /* what each is ahead of true time */
    size_t count;
    struct rkt_clock_tree *tree;
};

static int make_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    for (size_t n = 0; n < NODES_MAX; n++) {
        f->nodes[n].source = (uint32_t)n;
        f->nodes[n].clock_group = (uint32_t)n;
        f->nodes[n].exchanges = f->events[n];
        f->clocks_ns[n] = (int64_t)n * 100 * S;
    }
    *state = f;
    return 0;
}

static int drop_fixture(void **state)
{
    struct fixture *f = *state;

    rkt_clock_tree_destroy(f->tree);
    free(f);
    return 0;
}

/* One exchange per burst, 8 us each way, ten seconds apart. */
static void measure(struct fixture *f, size_t node, size_t peer, size_t burst_count)
{
    struct rkt_clock_node *to = &f->nodes[node];

    for (size_t k = 0; k < burst_count; k++) {
        struct rkt_event *event = &f->events[node][to->exchange_count++];

        *event = bad_clock_exchange(k, (uint64_t)f->clocks_ns[node], (uint64_t)f->clocks_ns[peer],
                                    f->nodes[peer].source);
        event->clock_exchange.burst = (uint32_t)to->exchange_count;
    }
}

/* True time to +- 150 ns, from 10 s to 200 s, and so much more. */
static void claim(struct fixture *f, size_t node, int64_t lie_ns)
{
    struct rkt_clock_node *to = &f->nodes[node];

    for (size_t k = 0; k < CLAIMS; k++) {
        struct rkt_event *event = &f->events[node][to->exchange_count++];
        uint64_t true_ns = (uint64_t)((10 + (int64_t)k) * S);

        *event = (struct rkt_event){.kind = RKT_EVENT_CLOCK_TRUE,
                                    .start_ns = true_ns + (uint64_t)f->clocks_ns[node],
                                    .end_ns = true_ns + 80 + (uint64_t)f->clocks_ns[node]};
        event->clock_true.earliest_ns = (uint64_t)(S / 10) + true_ns - 110 + (uint64_t)lie_ns;
        event->clock_true.latest_ns = (uint64_t)(S / 10) + true_ns + 190 + (uint64_t)lie_ns;
    }
}

static void create(struct fixture *f, size_t count)
{
    static const struct rkt_clock_params PARAMS = RKT_CLOCK_PARAMS_USUAL;
    struct rkt_error err;

    f->count = count;
    assert_rkt_ok(rkt_clock_tree_create(f->nodes, count, 0, &PARAMS, &f->tree, &err), err);
}

static const struct rkt_align_info *align_of(struct fixture *f, size_t node)
{
    const struct rkt_align_info *align;
    struct rkt_error err;

    assert_rkt_ok(rkt_clock_tree_align(f->tree, node, &align, &err), err);
    return align;
}

static void check_offset(struct fixture *f, size_t node)
{
    const struct rkt_align_info *align = align_of(f, node);

    assert_int_equal(align->state, RKT_ALIGN_MEASURED);
    for (size_t k = 0; k < align->knot_count; k++) {
        int64_t off_ns = align->knots[k].offset_ns + f->clocks_ns[node] - f->clocks_ns[0];

        assert_in_range(llabs(off_ns), 0, 5);
        assert_in_range(align->knots[k].bound_ns, 8000, 40000);
    }
}

static int64_t worst_bound_ns(const struct rkt_align_info *align)
{
    int64_t worst_ns = 0;

    for (size_t k = 0; k < align->knot_count; k++)
        worst_ns = align->knots[k].bound_ns > worst_ns ? align->knots[k].bound_ns : worst_ns;
    return worst_ns;
}

static void nodes_that_claim_true_time_as_the_reference_does_are_bounded_by_that(void **state)
{
    struct fixture *f = *state;

    for (size_t n = 1; n < 6; n++)
        measure(f, n, n == 5 ? 1 : 0, BURSTS);
    claim(f, 0, 0);
    claim(f, 1, 0);
    claim(f, 2, 40000); /* wrong: the exchanges say +- 8 us */
    claim(f, 5, 0);     /* over node 1 */
    create(f, 6);
    assert_int_equal(align_of(f, 1)->flags, RKT_CLOCK_CLAIM_USED);
    assert_in_range(worst_bound_ns(align_of(f, 1)), 300, 1500);
    assert_int_equal(align_of(f, 2)->flags, RKT_CLOCK_CLAIM_WRONG);
    check_offset(f, 2);
    assert_int_equal(align_of(f, 3)->flags, 0); /* it claims nothing */
    check_offset(f, 3);
    assert_int_equal(align_of(f, 5)->flags, RKT_CLOCK_CLAIM_USED);
    assert_int_equal(align_of(f, 5)->hop_count, 2);
    assert_in_range(worst_bound_ns(align_of(f, 5)), 300, 1500);
}

static void without_a_claim_of_the_reference_there_is_nothing_to_join(void **state)
{
    struct fixture *f = *state;

    measure(f, 1, 0, BURSTS);
    claim(f, 1, 0);
    create(f, 2);
    assert_int_equal(align_of(f, 1)->flags, 0);
    check_offset(f, 1);
}

/* Of two nodes with one clock the one that measured more leads, however much the other claims. */
static void claims_are_no_bursts(void **state)
{
    struct fixture *f = *state;

    measure(f, 1, 0, BURSTS);
    f->clocks_ns[2] = f->clocks_ns[1];
    measure(f, 2, 0, 3);
    f->nodes[2].clock_group = 1;
    claim(f, 2, 0);
    create(f, 3);
    assert_int_equal(align_of(f, 2)->knot_count, align_of(f, 1)->knot_count);
    assert_int_equal(align_of(f, 1)->knot_count, 2 * BURSTS - 1);
}

static void a_star_is_measured_node_by_node(void **state)
{
    struct fixture *f = *state;

    measure(f, 1, 0, BURSTS);
    measure(f, 2, 0, BURSTS);
    create(f, 4);
    assert_int_equal(align_of(f, 0)->state, RKT_ALIGN_REFERENCE);
    check_offset(f, 1);
    check_offset(f, 2);
    assert_int_equal(align_of(f, 1)->hop_count, 1);
    assert_int_equal(align_of(f, 1)->hops[0], 0);
    assert_int_equal(align_of(f, 3)->state, RKT_ALIGN_UNALIGNED); /* it never measured */
    assert_int_equal(align_of(f, 3)->hop_count, 0);
}

static void nodes_of_one_clock_take_what_the_most_diligent_measured(void **state)
{
    struct fixture *f = *state;

    for (size_t n = 2; n < 4; n++) {
        f->nodes[n].clock_group = 1;
        f->clocks_ns[n] = f->clocks_ns[1];
    }
    measure(f, 1, 0, 3);
    measure(f, 2, 0, BURSTS);
    create(f, 4);
    assert_ptr_equal(align_of(f, 1), align_of(f, 2));
    assert_ptr_equal(align_of(f, 3), align_of(f, 2));
    assert_int_equal(align_of(f, 1)->knot_count, 2 * BURSTS - 1);
    assert_false(rkt_clock_tree_is_liar(f->tree, 1));
    check_offset(f, 3);
}

static void a_node_of_another_clock_than_it_claims_stands_for_itself(void **state)
{
    struct fixture *f = *state;

    f->nodes[2].clock_group = 1; /* 100 s apart from node 1 */
    measure(f, 1, 0, BURSTS);
    measure(f, 2, 0, 6);
    create(f, 3);
    check_offset(f, 1);
    check_offset(f, 2);
    assert_true(rkt_clock_tree_is_liar(f->tree, 2));
    assert_false(rkt_clock_tree_is_liar(f->tree, 1));
}

static void the_references_clock_needs_no_bound_where_exchanges_allow_it(void **state)
{
    struct fixture *f = *state;

    f->nodes[1].clock_group = f->nodes[2].clock_group = f->nodes[3].clock_group = 0;
    f->clocks_ns[1] = f->clocks_ns[2] = f->clocks_ns[0];
    measure(f, 1, 0, 3);
    measure(f, 3, 0, 3);
    create(f, 4);
    assert_int_equal(align_of(f, 1)->state, RKT_ALIGN_SAME_HOST);
    assert_int_equal(align_of(f, 1)->knot_count, 0);
    assert_int_equal(align_of(f, 2)->state, RKT_ALIGN_SAME_HOST); /* never measured: as claimed */
    check_offset(f, 3);
    assert_true(rkt_clock_tree_is_liar(f->tree, 3));
}

static void children_are_measured_over_their_parents(void **state)
{
    struct fixture *f = *state;

    measure(f, 1, 0, BURSTS);
    measure(f, 2, 1, BURSTS);
    measure(f, 2, 0, 3);
    measure(f, 3, 2, BURSTS);
    create(f, 4);
    check_offset(f, 2);
    assert_int_equal(align_of(f, 2)->hop_count, 2);
    assert_int_equal(align_of(f, 2)->hops[0], 1);
    assert_int_equal(align_of(f, 2)->hops[1], 0);
    /* what was measured directly, three times at the start, is better than two hops there */
    assert_in_range(align_of(f, 2)->knots[0].bound_ns, 8000, 8200);
    assert_in_range(align_of(f, 2)->knots[2 * BURSTS - 2].bound_ns, 16000, 16400);
    check_offset(f, 3);
    assert_int_equal(align_of(f, 3)->hop_count, 3);
}

static void a_parent_on_the_references_host_ends_the_way(void **state)
{
    struct fixture *f = *state;

    f->nodes[1].clock_group = 0;
    f->clocks_ns[1] = f->clocks_ns[0];
    measure(f, 2, 1, BURSTS);
    create(f, 3);
    check_offset(f, 2);
    assert_int_equal(align_of(f, 2)->hop_count, 1);
    assert_int_equal(align_of(f, 2)->hops[0], 1);
}

static void a_way_that_leads_nowhere_aligns_nothing(void **state)
{
    struct fixture *f = *state;

    measure(f, 1, 2, BURSTS); /* in a circle */
    measure(f, 2, 1, BURSTS);
    measure(f, 3, 4, BURSTS); /* over one that never measured */
    f->nodes[6].source = 77;
    measure(f, 5, 6, BURSTS); /* over one that is no node */
    create(f, 6);
    assert_int_equal(align_of(f, 1)->state, RKT_ALIGN_UNALIGNED);
    assert_int_equal(align_of(f, 3)->state, RKT_ALIGN_UNALIGNED);
    assert_int_equal(align_of(f, 5)->state, RKT_ALIGN_UNALIGNED);
}

static void where_the_way_is_lost_what_was_measured_directly_counts(void **state)
{
    struct fixture *f = *state;

    measure(f, 2, 1, BURSTS); /* node 1 never measured */
    measure(f, 2, 0, 3);
    create(f, 3);
    assert_int_equal(align_of(f, 2)->state, RKT_ALIGN_MEASURED);
    assert_int_equal(align_of(f, 2)->hop_count, 1);
    assert_int_equal(align_of(f, 2)->hops[0], 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_fixture, drop_fixture)

/* ---- what no clock can be known by, or by less ---- */

static void bad_measurements_give_no_bound_or_one_that_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < BAD_CLOCK_COUNT; i++) {
        const struct bad_clock *bad = &bad_clocks[i];
        const struct rkt_align_info *align;
        struct rkt_clock_map *map;
        struct rkt_error err;
        struct fixture *f;
        void *made = NULL;

        (void)make_fixture(&made);
        f = made;
        measure(f, 1, 0, bad->count);
        for (size_t k = 0; k < bad->count; k++)
            bad->spoil(&f->events[1][k], k);
        create(f, 2);
        align = align_of(f, 1);
        if (align->state != bad->state || align->flags != bad->flags)
            fail_msg("%s: state %d, flags %u", bad->what, align->state, align->flags);
        assert_rkt_ok(rkt_clock_map_create(RKT_CLOCK_MONOTONIC_RAW, NULL, 0, align, &map, &err),
                      err);
        for (int64_t true_ns = 0; true_ns < 400 * S; true_ns += S) {
            int64_t local_ns = true_ns + f->clocks_ns[1], bound_ns;
            int64_t job_ns = rkt_clock_map_to_job(map, local_ns, &bound_ns).ns;

            if (bad->state == RKT_ALIGN_UNALIGNED ? bound_ns != -1
                                                  : llabs(job_ns - true_ns) > bound_ns)
                fail_msg("%s: at %lld off by %lld, bound %lld", bad->what, (long long)(true_ns / S),
                         (long long)(job_ns - true_ns), (long long)bound_ns);
        }
        rkt_clock_map_destroy(map);
        (void)drop_fixture(&made);
    }
}

/* From the middle on, another machine answers: which of the two is the reference nobody can say. */
static void another_clock_that_answers_from_some_time_on_is_a_step(void **state)
{
    struct fixture *f = *state;
    const struct rkt_align_info *align;
    struct rkt_clock_map *map;
    struct rkt_error err;

    measure(f, 1, 0, BURSTS);
    for (size_t k = BURSTS / 2; k < BURSTS; k++)
        bad_clock_shift_answer(&f->events[1][k], 3 * S);
    create(f, 2);
    align = align_of(f, 1);
    assert_int_equal(align->state, RKT_ALIGN_MEASURED);
    assert_int_equal(align->flags, RKT_CLOCK_STEPPED);
    assert_rkt_ok(rkt_clock_map_create(RKT_CLOCK_MONOTONIC_RAW, NULL, 0, align, &map, &err), err);
    for (int64_t true_ns = 20 * S; true_ns < 190 * S; true_ns += S / 2) {
        int64_t bound_ns, job_ns;
        bool is_between = true_ns > 100 * S && true_ns < 110 * S;

        job_ns = rkt_clock_map_to_job(map, true_ns + f->clocks_ns[1], &bound_ns).ns;
        assert_true(true_ns >= 110 * S || llabs(job_ns - true_ns) <= bound_ns);
        assert_true(true_ns <= 100 * S || llabs(job_ns - true_ns - 3 * S) <= bound_ns);
        assert_true(is_between ? bound_ns > 2 * S
                               : true_ns == 100 * S || true_ns == 110 * S || bound_ns < 60000);
    }
    rkt_clock_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_star_is_measured_node_by_node),
        CASE(nodes_that_claim_true_time_as_the_reference_does_are_bounded_by_that),
        CASE(without_a_claim_of_the_reference_there_is_nothing_to_join),
        CASE(claims_are_no_bursts),
        CASE(nodes_of_one_clock_take_what_the_most_diligent_measured),
        CASE(a_node_of_another_clock_than_it_claims_stands_for_itself),
        CASE(the_references_clock_needs_no_bound_where_exchanges_allow_it),
        CASE(children_are_measured_over_their_parents),
        CASE(a_parent_on_the_references_host_ends_the_way),
        CASE(a_way_that_leads_nowhere_aligns_nothing),
        CASE(where_the_way_is_lost_what_was_measured_directly_counts),
        cmocka_unit_test(bad_measurements_give_no_bound_or_one_that_holds),
        CASE(another_clock_that_answers_from_some_time_on_is_a_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
