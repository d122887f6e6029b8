/* SPDX-License-Identifier: Apache-2.0 */
/* Which collectives say something of clocks, and what is made of it. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/rkt_test.h"

#include "analysis/collective_clocks.h"
#include "analysis/rank_trace_parts.h"
#include "tests/unit/fake_run.h"

#define US INT64_C(1000)
#define RHO_PPB 1u

struct fixture {
    struct fake_run run;
    struct rkt_collective_clocks *clocks;
};

static void begin(struct fixture *f, size_t rank_count)
{
    *f = (struct fixture){.clocks = NULL};
    fake_run_init(&f->run, rank_count);
    for (size_t r = 0; r < rank_count; r++) {
        f->run.traces[r].source.info.source = 10 + (uint32_t)r;
        fake_add_comm(&f->run, r, 7, (int32_t)r, (uint32_t)rank_count);
    }
}

static void add(struct fixture *f, size_t rank, struct fake_op op, int64_t start_ns, int64_t end_ns)
{
    op.comm_id = 7;
    fake_add_collective(&f->run, rank, op, start_ns, end_ns);
}

static void solve(struct fixture *f)
{
    struct rkt_error err;

    fake_match(&f->run);
    assert_rkt_ok(rkt_collective_clocks_create(&f->run.result, RHO_PPB, &f->clocks, &err), err);
}

static void end(struct fixture *f)
{
    rkt_collective_clocks_destroy(f->clocks);
    fake_run_release(&f->run);
}

/* To 2 us, which stamps of whole microseconds may hide, and some ns. */
static void assert_offset(const struct fixture *f, uint32_t source, int64_t lower_ns,
                          int64_t upper_ns)
{
    const struct rkt_clock_tie *tie = rkt_collective_clocks_find(f->clocks, source);

    assert_non_null(tie);
    assert_int_equal(tie->align.state, RKT_ALIGN_COLLECTIVES);
    assert_int_equal(tie->align.source, source);
    assert_in_range(tie->align.knots[0].offset_ns - (lower_ns + upper_ns) / 2 + 20, 0, 40);
    assert_in_range(tie->align.knots[0].bound_ns - (upper_ns - lower_ns) / 2, 0, 20);
}

static void an_all_reduce_ties_all_to_the_lowest_rank(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 3);
    for (size_t r = 0; r < 3; r++)
        add(&f, r, (struct fake_op){.func = RKT_NCCL_FUNC_ALLREDUCE, .count = 4},
            (int64_t)(r + 1) * 1000 * US, (int64_t)(r + 1) * 1000 * US + 50 * US);
    solve(&f);
    assert_int_equal(rkt_collective_clocks_find(f.clocks, 10)->align.state, RKT_ALIGN_REFERENCE);
    assert_offset(&f, 11, -1052 * US, -948 * US);
    assert_offset(&f, 12, -2052 * US, -1948 * US);
    assert_null(rkt_collective_clocks_find(f.clocks, 13));
    end(&f);
}

/* One stamp with a fraction, and the rank's others are taken at their word. */
static void only_stamps_of_whole_microseconds_are_taken_for_cut(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 2);
    for (size_t r = 0; r < 2; r++)
        add(&f, r, (struct fake_op){.func = RKT_NCCL_FUNC_ALLREDUCE, .count = 4},
            (int64_t)(r + 1) * 1000 * US + 1, (int64_t)(r + 1) * 1000 * US + 50 * US);
    solve(&f);
    assert_offset(&f, 11, -1050 * US, -950 * US);
    end(&f);
}

/* The root of a Broadcast may leave before the others come, the others of a Reduce likewise. */
static void roots_bound_one_side_each(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 2);
    for (size_t r = 0; r < 2; r++)
        add(&f, r, (struct fake_op){.func = RKT_NCCL_FUNC_BROADCAST, .count = 4, .seq = 0},
            (int64_t)(r + 1) * 1000 * US, (int64_t)(r + 1) * 1000 * US + 50 * US);
    solve(&f);
    assert_null(rkt_collective_clocks_find(f.clocks, 11));
    rkt_collective_clocks_destroy(f.clocks);
    for (size_t r = 0; r < 2; r++)
        add(&f, r, (struct fake_op){.func = RKT_NCCL_FUNC_REDUCE, .count = 4, .seq = 1},
            (int64_t)(r + 1) * 1000 * US + 100 * US, (int64_t)(r + 1) * 1000 * US + 110 * US);
    solve(&f);
    assert_offset(&f, 11, -1052 * US, -988 * US);
    end(&f);
}

/* It may be a hop of a pipeline, unless the program says that it is an all_to_all. */
static void a_send_recv_of_unknown_peers_says_nothing(void **state)
{
    struct fixture f;

    (void)state;
    for (int is_named = 0; is_named < 2; is_named++) {
        begin(&f, 2);
        for (size_t r = 0; r < 2; r++) {
            int64_t start_ns = (int64_t)(r + 1) * 1000 * US;
            struct rkt_error err;

            fake_add_work(&f.run, r,
                          (struct fake_work){.work_class = RKT_WORK_COMM,
                                             .name = "ncclKernel_SendRecv_RING(int)",
                                             .stream_id = 20,
                                             .start_ns = start_ns,
                                             .end_ns = start_ns + 50 * US,
                                             .launch_ns = start_ns - 20 * US,
                                             .thread_id = 1});
            fake_add_range(&f.run, r, RKT_RANGE_ANNOTATION,
                           is_named ? "nccl:all_to_all" : "nccl:send", start_ns - 30 * US,
                           start_ns - 10 * US);
            f.run.traces[r].ranges[0].thread_id = 1;
            assert_rkt_ok(rkt_rank_trace_find_all_to_alls(&f.run.traces[r], &err), err);
        }
        solve(&f);
        assert_int_equal(f.run.result.collective_count, 1);
        assert_string_equal(f.run.result.collectives[0].func_name,
                            is_named ? "AllToAll" : "SendRecv");
        if (is_named)
            assert_offset(&f, 11, -1052 * US, -948 * US);
        else
            assert_null(rkt_collective_clocks_find(f.clocks, 11));
        end(&f);
    }
}

/* A range of another thread, or one that ends before the launch does, is not around it. */
static void only_the_range_around_the_launch_names_it(void **state)
{
    static const struct {
        uint32_t thread_id;
        int64_t start_ns, end_ns;
        bool is_around;
    } CASES[] = {
        {1, 90 * US, 120 * US, true},
        {2, 90 * US, 120 * US, false},
        {1, 50 * US, 100 * US, false},
        {1, 101 * US, 120 * US, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct fake_run run;
        struct rkt_error err;

        fake_run_init(&run, 1);
        fake_add_work(&run, 0,
                      (struct fake_work){.work_class = RKT_WORK_COMM,
                                         .name = "ncclKernel_SendRecv_RING(int)",
                                         .stream_id = 20,
                                         .start_ns = 200 * US,
                                         .end_ns = 250 * US,
                                         .launch_ns = 100 * US,
                                         .thread_id = 1});
        fake_add_range(&run, 0, RKT_RANGE_ANNOTATION, "nccl:all_to_all", CASES[i].start_ns,
                       CASES[i].end_ns);
        run.traces[0].ranges[0].thread_id = CASES[i].thread_id;
        assert_rkt_ok(rkt_rank_trace_find_all_to_alls(&run.traces[0], &err), err);
        assert_int_equal(run.traces[0].works[0].is_all_to_all, CASES[i].is_around);
        fake_run_release(&run);
    }
}

/* A kernel that matches nothing says that others may be their neighbours. */
static void weak_matches_count_only_where_nothing_is_left_over(void **state)
{
    (void)state;
    for (int is_one_left = 0; is_one_left < 2; is_one_left++) {
        struct fixture f;

        begin(&f, 2);
        for (size_t r = 0; r < 2; r++)
            fake_add_comm_work(&f.run, r, "ncclKernel_AllReduce_RING(float)",
                               (int64_t)(r + 1) * 1000 * US,
                               (int64_t)(r + 1) * 1000 * US + 50 * US);
        if (is_one_left)
            fake_add_comm_work(&f.run, 1, "ncclKernel_Reduce_RING(float)", 3000 * US, 3010 * US);
        solve(&f);
        assert_int_equal(f.run.result.collectives[0].confidence, RKT_MATCH_WEAK);
        assert_int_equal(f.run.result.unmatched_count, is_one_left);
        if (is_one_left)
            assert_null(rkt_collective_clocks_find(f.clocks, 11));
        else
            assert_offset(&f, 11, -1052 * US, -948 * US);
        end(&f);
    }
}

static void job_time_stays_that_of_the_references_file(void **state)
{
    struct rkt_align_knot base = {.offset_ns = 1000000 * US};
    struct fixture f;

    (void)state;
    begin(&f, 2);
    f.run.traces[0].source.align = (struct rkt_align_info){.knots = &base, .knot_count = 1};
    for (size_t r = 0; r < 2; r++)
        add(&f, r, (struct fake_op){.func = RKT_NCCL_FUNC_ALLREDUCE, .count = 4},
            (int64_t)(r + 1) * 1000 * US, (int64_t)(r + 1) * 1000 * US + 50 * US);
    solve(&f);
    assert_int_equal(rkt_collective_clocks_find(f.clocks, 10)->align.knots[0].offset_ns,
                     base.offset_ns);
    assert_offset(&f, 11, base.offset_ns - 1052 * US, base.offset_ns - 948 * US);
    end(&f);
}

/* What is added to the rank's stamps is -1000 +- 52 us. */
static void a_claim_is_disproved_beyond_the_bound_only(void **state)
{
    static const struct {
        int64_t claimed_ns;
        bool is_off;
    } CASES[] = {
        {-1000 * US, false}, {-1051 * US, false}, {-1053 * US, true}, {-947 * US, true}, {0, true}};
    struct fixture f;

    (void)state;
    begin(&f, 2);
    for (size_t r = 0; r < 2; r++)
        add(&f, r, (struct fake_op){.func = RKT_NCCL_FUNC_ALLREDUCE, .count = 4},
            (int64_t)(r + 1) * 1000 * US, (int64_t)(r + 1) * 1000 * US + 50 * US);
    solve(&f);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_store_source source = f.run.traces[1].source;
        int64_t off_ns, bound_ns;

        source.info.base_ns = CASES[i].claimed_ns;
        assert_int_equal(rkt_collective_clocks_claim(
                             &source, rkt_collective_clocks_find(f.clocks, 11), &off_ns, &bound_ns),
                         CASES[i].is_off);
        assert_in_range(off_ns - CASES[i].claimed_ns - 1000 * US + 20, 0, 40);
        assert_in_range(bound_ns, 52 * US, 52 * US + 20);
    }
    end(&f);
}

/* Of one host, or out of one file: as the stamps say, where that is possible; the bound knows no
 * hosts. */
static void a_claim_of_the_references_host_is_kept_where_it_is_possible(void **state)
{
    static const struct {
        const char *what, *host, *file;
        int64_t claimed_ns, offset_ns, bound_ns;
    } CASES[] = {
        {"another host", "node1", "b.json", -990 * US, -1000 * US, 52 * US},
        {"the same host", "node0", "b.json", -990 * US, -990 * US, 62 * US},
        {"the same file", "node1", "a.json", -1010 * US, -1010 * US, 62 * US},
        {"the same host, which is not possible", "node0", "b.json", -900 * US, -1000 * US, 52 * US},
        {"hosts that nobody knows", "", "b.json", -990 * US, -1000 * US, 52 * US},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct rkt_align_knot *knot;
        struct fixture f;

        begin(&f, 2);
        for (size_t r = 0; r < 2; r++) {
            struct rkt_source_info *info = &f.run.traces[r].source.info;

            (void)snprintf(info->host, sizeof(info->host), "%s",
                           r == 1 || !CASES[i].host[0] ? CASES[i].host : "node0");
            (void)snprintf(info->file, sizeof(info->file), "%s", r == 1 ? CASES[i].file : "a.json");
            info->base_ns = r == 1 ? CASES[i].claimed_ns : 0;
            add(&f, r, (struct fake_op){.func = RKT_NCCL_FUNC_ALLREDUCE, .count = 4},
                (int64_t)(r + 1) * 1000 * US, (int64_t)(r + 1) * 1000 * US + 50 * US);
        }
        solve(&f);
        knot = &rkt_collective_clocks_find(f.clocks, 11)->align.knots[0];
        if (llabs(knot->offset_ns - CASES[i].offset_ns) > 40 ||
            llabs(knot->bound_ns - CASES[i].bound_ns) > 40)
            fail_msg("%s: %lld +- %lld", CASES[i].what, (long long)knot->offset_ns,
                     (long long)knot->bound_ns);
        end(&f);
    }
}

static void impossible_collectives_tie_nobody(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 2);
    for (size_t r = 0; r < 2; r++) {
        for (int64_t i = 0; i < 2; i++) {
            int64_t start_ns = 1000 * US + i * 500 * US * (int64_t)(r + 1);

            add(&f, r,
                (struct fake_op){.func = RKT_NCCL_FUNC_ALLREDUCE, .count = 4, .seq = (uint64_t)i},
                start_ns, start_ns + 10 * US);
        }
    }
    solve(&f);
    assert_true(rkt_collective_clocks_contradict(f.clocks));
    assert_null(rkt_collective_clocks_find(f.clocks, 11));
    assert_null(rkt_collective_clocks_find(f.clocks, 10));
    end(&f);
}

static void no_collective_is_no_alignment(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 2);
    solve(&f);
    assert_null(rkt_collective_clocks_find(f.clocks, 10));
    assert_false(rkt_collective_clocks_contradict(f.clocks));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_all_reduce_ties_all_to_the_lowest_rank),
        cmocka_unit_test(only_stamps_of_whole_microseconds_are_taken_for_cut),
        cmocka_unit_test(roots_bound_one_side_each),
        cmocka_unit_test(a_send_recv_of_unknown_peers_says_nothing),
        cmocka_unit_test(only_the_range_around_the_launch_names_it),
        cmocka_unit_test(weak_matches_count_only_where_nothing_is_left_over),
        cmocka_unit_test(job_time_stays_that_of_the_references_file),
        cmocka_unit_test(a_claim_is_disproved_beyond_the_bound_only),
        cmocka_unit_test(a_claim_of_the_references_host_is_kept_where_it_is_possible),
        cmocka_unit_test(impossible_collectives_tie_nobody),
        cmocka_unit_test(no_collective_is_no_alignment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
