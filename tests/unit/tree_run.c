/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_run.h"

#include <stdlib.h>

#include "agent/ring.h"
#include "common/clock.h"
#include "rkt_test.h"

static const int LEADERS[TREE_RANKS] = {0, 0, TREE_LEADER, TREE_LEADER, TREE_LEADER};

struct tree *tree_create(bool is_sharded)
{
    struct tree *tree = calloc(1, sizeof(*tree));

    assert_non_null(tree);
    tree->run = run_create(TREE_RANKS, LEADERS, is_sharded);
    tree->run->round_ns = 5 * MS;
    return tree;
}

void tree_destroy(struct tree *tree)
{
    run_destroy(tree->run);
    free(tree);
}

void tree_connect_jobs(struct tree *tree)
{
    run_start_jobs(tree->run);
    for (int rank = 0; rank < TREE_RANKS; rank++) {
        run_connect_job(tree->run, rank, &tree->captures[rank]);
        tree->rings[rank] = rkt_region_claim(tree->captures[rank].region, 1);
        assert_non_null(tree->rings[rank]);
    }
}

void tree_record(struct tree *tree, uint64_t seconds)
{
    for (uint64_t s = 0; s < seconds; s++) {
        for (uint32_t i = 0; i < TREE_EVENTS; i++) {
            for (int rank = 0; rank < TREE_RANKS; rank++) {
                const struct rkt_event event = {.kind = RKT_EVENT_KERNEL,
                                                .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                                .start_ns = tree->pushed[rank] * 10,
                                                .end_ns = tree->pushed[rank] * 10 + 5};

                if (!tree->run->ranks[rank].is_dead && rkt_ring_push(tree->rings[rank], &event))
                    tree->pushed[rank]++;
            }
        }
        run_for(tree->run, S);
    }
}

void tree_end_jobs(struct tree *tree)
{
    for (int rank = 0; rank < TREE_RANKS; rank++) {
        rkt_region_set_closed(tree->captures[rank].region);
        run_leave_job(&tree->captures[rank]);
        if (!tree->run->ranks[rank].is_dead)
            run_end_job(tree->run, rank, 0);
    }
}

struct count {
    uint64_t kernels;
    bool is_in_order;
};

static enum rkt_status count_events(void *ctx, const struct rkt_event *events, size_t count,
                                    struct rkt_error *err)
{
    struct count *total = ctx;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind != RKT_EVENT_KERNEL)
            continue;
        total->is_in_order = total->is_in_order && events[i].start_ns == total->kernels * 10;
        total->kernels++;
    }
    return RKT_OK;
}

uint64_t tree_kernels(struct tree *tree, int rank)
{
    struct count total = {.is_in_order = true};
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_store_reader_walk(tree->run->reader, (uint32_t)(TREE_RANKS + rank), NULL,
                                        count_events, &total, &err),
                  err);
    if (!total.is_in_order)
        fail_msg("rank %d: records are missing or there twice", rank);
    return total.kernels;
}

void tree_all_is_stored(struct tree *tree, int first_rank, int last_rank)
{
    for (int rank = first_rank; rank <= last_rank; rank++) {
        assert_true(tree->pushed[rank] >= TREE_EVENTS);
        assert_int_equal(tree_kernels(tree, rank), tree->pushed[rank]);
        assert_false(run_source(tree->run, (uint32_t)(TREE_RANKS + rank))->end.cut_short);
    }
}

void tree_all_have_left(const struct tree *tree, bool is_clean)
{
    for (int rank = 0; rank < TREE_RANKS; rank++) {
        const struct run_rank *of = &tree->run->ranks[rank];

        if (!of->is_dead && (!of->has_left || of->leave.is_clean != is_clean))
            fail_msg("rank %d: left=%d clean=%d", rank, of->has_left, of->leave.is_clean);
    }
}

void tree_store_is_good(struct tree *tree)
{
    const struct rkt_store_health *health;

    run_open_store(tree->run);
    health = rkt_store_reader_health(tree->run->reader);
    assert_int_equal(health->damaged_frames, 0);
    assert_int_equal(health->seq_gap_count, 0);
}

void tree_store_is_whole(struct tree *tree)
{
    tree_store_is_good(tree);
    assert_true(rkt_store_reader_health(tree->run->reader)->has_trailer);
}

void tree_stand_still(struct tree *tree, int first_rank, int last_rank, uint64_t seconds)
{
    for (int rank = first_rank; rank <= last_rank; rank++)
        tree->run->ranks[rank].is_stopped = true;
    tree_record(tree, seconds);
    for (int rank = first_rank; rank <= last_rank; rank++)
        tree->run->ranks[rank].is_stopped = false;
}

void tree_must_end_whole(struct tree *tree)
{
    tree_end_jobs(tree);
    run_for(tree->run, 8 * S);
    tree_all_have_left(tree, true);
    tree_store_is_whole(tree);
    tree_all_is_stored(tree, 0, TREE_RANKS - 1);
}
