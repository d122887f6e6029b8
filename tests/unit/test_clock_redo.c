/* SPDX-License-Identifier: Apache-2.0 */
/* Alignments made from a store's own records, beside those that rank 0 makes of what it kept. */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/clock_burst.h"
#include "common/clock_redo.h"
#include "common/clock_tree.h"
#include "tests/clocksim/run.h"
#include "tests/unit/store_maker.h"

#define NODES 4

static const struct rkt_clock_params USUAL = RKT_CLOCK_PARAMS_USUAL;

struct fixture {
    struct store_maker maker;
    struct sim_clock *clocks[NODES];
    uint32_t ranks[NODES];         /* sources */
    struct rkt_event *kept[NODES]; /* as rank 0 keeps them */
    size_t kept_count[NODES];
    struct rkt_clock_redo *redo;
};

/* A sidecar per node, which comes first, as rkt_source_number says. */
static int make_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct sim_clock_model model = sim_clock_model_usual();

    store_maker_init(&f->maker, RKT_PRODUCER_CAPTURE);
    for (uint32_t n = 0; n < NODES; n++) {
        struct rkt_source_info info = {.producer = RKT_PRODUCER_CAPTURE,
                                       .role = RKT_ROLE_SIDECAR,
                                       .node = n,
                                       .time_namespace = 7};

        (void)snprintf(info.boot_id, sizeof(info.boot_id), "boot %u", n);
        assert_int_equal(store_add_source(&f->maker, info), n);
        f->clocks[n] = sim_clock_create(&model, 5, n);
        f->kept[n] = calloc(4096, sizeof(*f->kept[n]));
    }
    for (uint32_t n = 0; n < NODES; n++)
        f->ranks[n] =
            store_add_source(&f->maker, (struct rkt_source_info){.producer = RKT_PRODUCER_CAPTURE,
                                                                 .role = RKT_ROLE_RANK,
                                                                 .rank_known = true,
                                                                 .rank = n,
                                                                 .node = n});
    *state = f;
    return 0;
}

static int drop_fixture(void **state)
{
    struct fixture *f = *state;

    rkt_clock_redo_destroy(f->redo);
    store_maker_release(&f->maker);
    for (uint32_t n = 0; n < NODES; n++) {
        sim_clock_destroy(f->clocks[n]);
        free(f->kept[n]);
    }
    free(f);
    return 0;
}

/* All exchanges go into the store, the two that decide are kept. */
static void measure(struct fixture *f, uint32_t node, uint32_t peer)
{
    struct sim_net_model net = sim_net_model_tcp(0.05);
    struct sim_edge edge;
    struct sim_burst burst;

    sim_edge_init(&edge, &net, 5, node);
    for (int k = 0; k < 33; k++) {
        size_t lower = 0, upper = 0;

        sim_edge_burst(&edge, f->clocks[node], f->clocks[peer], 1 + 9.0 * k, 17000, &burst);
        for (uint32_t i = 0; i < burst.count; i++) {
            burst.exchanges[i].clock_exchange.peer_source = peer;
            store_add(&f->maker, node, burst.exchanges[i]);
        }
        if (!rkt_clock_burst_keep(burst.exchanges, burst.count, &lower, &upper))
            continue;
        f->kept[node][f->kept_count[node]++] = burst.exchanges[lower];
        f->kept[node][f->kept_count[node]++] = burst.exchanges[upper];
    }
}

/* The node's host is steered by PTP to 200 ns. */
static void claim(struct fixture *f, uint32_t node)
{
    struct sim_claim_model model = sim_claim_model_ptp(200);
    struct sim_claimant claimant;
    struct rkt_event event;

    sim_claimant_init(&claimant, &model, f->clocks[node], 5, node);
    for (int k = 2; k < 300; k++) {
        assert_true(sim_claimant_claim(&claimant, k, &event));
        store_add(&f->maker, node, event);
        f->kept[node][f->kept_count[node]++] = event;
    }
}

static void open_redo(struct fixture *f, const struct rkt_clock_params *params)
{
    struct rkt_error err;

    if (!f->maker.reader)
        store_open(&f->maker);
    assert_rkt_ok(rkt_clock_redo_create(f->maker.reader, params, &f->redo, &err), err);
}

static struct rkt_align_info redone(struct fixture *f, uint32_t source)
{
    struct rkt_align_info align;
    struct rkt_error err;

    assert_rkt_ok(rkt_clock_redo_align(f->redo,
                                       &rkt_store_reader_source(f->maker.reader, source)->info,
                                       &align, &err),
                  err);
    assert_int_equal(align.source, source);
    return align;
}

static struct rkt_clock_tree *tree_of_kept(struct fixture *f, const struct rkt_clock_params *params)
{
    struct rkt_clock_node nodes[NODES];
    struct rkt_clock_tree *tree;
    struct rkt_error err;

    for (uint32_t n = 0; n < NODES; n++)
        nodes[n] = (struct rkt_clock_node){n, n, f->kept[n], f->kept_count[n]};
    assert_rkt_ok(rkt_clock_tree_create(nodes, NODES, 0, params, &tree, &err), err);
    return tree;
}

/* To the last bit. */
static void check_same(const struct rkt_align_info *a, const struct rkt_align_info *b)
{
    uint8_t *bytes[2];
    size_t lens[2], cap = rkt_align_bytes_max(a->knot_count);
    struct rkt_align_info copies[2] = {*a, *b};
    struct rkt_error err;

    assert_int_equal(a->knot_count, b->knot_count);
    for (int i = 0; i < 2; i++) {
        copies[i].source = 0;
        bytes[i] = malloc(cap);
        assert_rkt_ok(rkt_align_info_encode(&copies[i], bytes[i], cap, &lens[i], &err), err);
    }
    assert_int_equal(lens[0], lens[1]);
    assert_memory_equal(bytes[0], bytes[1], lens[0]);
    free(bytes[0]);
    free(bytes[1]);
}

static void check_redone(struct fixture *f)
{
    static const struct rkt_clock_params PARAMS[] = {RKT_CLOCK_PARAMS_USUAL, {700, 100}, {5, 999}};

    for (size_t p = 0; p < sizeof(PARAMS) / sizeof(PARAMS[0]); p++) {
        struct rkt_clock_tree *tree;

        rkt_clock_redo_destroy(f->redo);
        open_redo(f, &PARAMS[p]);
        tree = tree_of_kept(f, &PARAMS[p]);
        for (uint32_t n = 0; n < NODES; n++) {
            const struct rkt_align_info *want;
            struct rkt_align_info own = redone(f, n), rank = redone(f, f->ranks[n]);
            struct rkt_error err;

            assert_rkt_ok(rkt_clock_tree_align(tree, n, &want, &err), err);
            check_same(&own, want);
            check_same(&rank, want);
        }
        rkt_clock_tree_destroy(tree);
    }
}

static void redone_is_what_rank_0_made_to_the_last_bit(void **state)
{
    struct fixture *f = *state;

    measure(f, 1, 0);
    measure(f, 2, 1);
    measure(f, 2, 0);
    check_redone(f);
}

static void so_it_is_with_claims_of_true_time(void **state)
{
    struct fixture *f = *state;

    measure(f, 1, 0);
    measure(f, 2, 1);
    measure(f, 2, 0);
    for (uint32_t n = 0; n < 3; n++)
        claim(f, n);
    check_redone(f);
    rkt_clock_redo_destroy(f->redo);
    open_redo(f, &USUAL);
    for (uint32_t n = 1; n < 3; n++) {
        struct rkt_align_info align = redone(f, n);

        assert_int_equal(align.flags, RKT_CLOCK_CLAIM_USED);
        assert_true(align.knots[21].bound_ns < 2000);
    }
}

static void other_parameters_give_other_bounds(void **state)
{
    static const struct rkt_clock_params WIDE = {5000, 300};
    struct fixture *f = *state;
    struct rkt_align_info usual, wide;

    measure(f, 1, 0);
    open_redo(f, &USUAL);
    usual = redone(f, 1);
    assert_int_equal(usual.rho_ppb, 300);
    assert_true(usual.knots[21].bound_ns < 15000);
    rkt_clock_redo_destroy(f->redo);
    open_redo(f, &WIDE);
    wide = redone(f, 1);
    assert_int_equal(wide.rho_ppb, 5000);
    assert_int_equal(wide.flags, RKT_CLOCK_RHO_GIVEN);
    assert_true(wide.knots[21].bound_ns > 20000);
}

static void a_store_without_its_alignments_gets_them(void **state)
{
    struct fixture *f = *state;
    struct rkt_store_reader *reader;
    struct rkt_error err;

    measure(f, 1, 0);
    reader = store_open(&f->maker);
    assert_rkt_ok(rkt_clock_redo_missing(reader, &err), err);
    assert_int_equal(rkt_store_reader_source(reader, 0)->align.state, RKT_ALIGN_REFERENCE);
    assert_int_equal(rkt_store_reader_source(reader, f->ranks[1])->align.state, RKT_ALIGN_MEASURED);
    assert_int_equal(rkt_store_reader_source(reader, f->ranks[1])->align.source, f->ranks[1]);
    assert_int_equal(rkt_store_reader_source(reader, f->ranks[2])->align.state,
                     RKT_ALIGN_UNALIGNED);
}

static void a_store_without_the_references_sidecar_is_aligned_to_it(void **state)
{
    struct store_maker maker;
    struct rkt_clock_redo *redo;
    struct rkt_align_info align;
    struct rkt_store_reader *reader;
    struct rkt_error err;
    uint32_t rank, sidecar;

    (void)state;
    store_maker_init(&maker, RKT_PRODUCER_CAPTURE);
    rank = store_add_source(&maker,
                            (struct rkt_source_info){.producer = RKT_PRODUCER_CAPTURE, .node = 1});
    sidecar = store_add_source(&maker, (struct rkt_source_info){.producer = RKT_PRODUCER_CAPTURE,
                                                                .role = RKT_ROLE_SIDECAR,
                                                                .node = 1});
    for (uint32_t k = 0; k < 5; k++) {
        struct rkt_event event = {.kind = RKT_EVENT_CLOCK_EXCHANGE,
                                  .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                  .start_ns = UINT64_C(1000000000) * (k + 1),
                                  .end_ns = UINT64_C(1000000000) * (k + 1) + 2000};

        event.clock_exchange.t2_ns = event.clock_exchange.t3_ns = event.start_ns + 501000;
        event.clock_exchange.burst = k;
        store_add(&maker, sidecar, event);
    }
    reader = store_open(&maker);
    assert_rkt_ok(rkt_clock_redo_create(reader, &USUAL, &redo, &err), err);
    assert_rkt_ok(
        rkt_clock_redo_align(redo, &rkt_store_reader_source(reader, rank)->info, &align, &err),
        err);
    assert_int_equal(align.state, RKT_ALIGN_MEASURED);
    assert_int_equal(align.knots[0].offset_ns, 500000);
    rkt_clock_redo_destroy(redo);
    store_maker_release(&maker);
}

static void what_no_sidecar_stands_beside_is_left_as_it_is(void **state)
{
    struct store_maker maker;
    struct rkt_clock_redo *redo;
    struct rkt_align_info align;
    struct rkt_error err;

    (void)state;
    store_maker_init(&maker, RKT_PRODUCER_KINETO);
    store_add_source(&maker, (struct rkt_source_info){.producer = RKT_PRODUCER_KINETO});
    assert_rkt_ok(rkt_clock_redo_create(store_open(&maker), &USUAL, &redo, &err), err);
    assert_int_equal(
        rkt_clock_redo_align(redo, &rkt_store_reader_source(maker.reader, 0)->info, &align, &err),
        RKT_AGAIN);
    rkt_clock_redo_destroy(redo);
    assert_rkt_ok(rkt_clock_redo_missing(maker.reader, &err), err);
    assert_false(rkt_store_reader_source(maker.reader, 0)->has_align);
    store_maker_release(&maker);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_fixture, drop_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(redone_is_what_rank_0_made_to_the_last_bit),
        CASE(so_it_is_with_claims_of_true_time),
        CASE(other_parameters_give_other_bounds),
        CASE(a_store_without_its_alignments_gets_them),
        cmocka_unit_test(a_store_without_the_references_sidecar_is_aligned_to_it),
        cmocka_unit_test(what_no_sidecar_stands_beside_is_left_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
