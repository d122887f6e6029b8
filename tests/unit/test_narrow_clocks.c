/* SPDX-License-Identifier: Apache-2.0 */
/* Whose collectives narrow whose clock. */
#include <stdlib.h>

#include "analysis/narrow_clocks.h"
#include "tests/unit/fake_run.h"
#include "tests/unit/rkt_test.h"

#define US INT64_C(1000)
#define S (1000000 * US)
#define OPS 300u

/* Of rank 1 and of rank 2, which read the reference's time: known to 60 us in the middle, where
 * nobody measured. */
static const struct rkt_align_knot KNOTS[] = {
    {0, 0, 10 * US, 10 * US},       {100 * S, 0, 10 * US, 10 * US}, {150 * S, 0, 60 * US, 60 * US},
    {200 * S, 0, 10 * US, 10 * US}, {300 * S, 0, 10 * US, 10 * US},
};
#define KNOT_COUNT (sizeof(KNOTS) / sizeof(KNOTS[0]))

struct fixture {
    struct fake_run run;
    struct rkt_align_knot knots[2][KNOT_COUNT];
    struct rkt_align_info aligns[3];
    struct rkt_narrow_clocks *clocks;
};

/*
 * Each second an AllReduce of rank 0 with one of the others, in turn: rank 1 is always the last, by
 * 300 us, rank 2 never is; both end 12 us behind the last. So rank 1's collectives say that its
 * clock is no more than 12 us ahead, and rank 2's that its own is no more than 12 us behind.
 */
static void add_collectives(struct fake_run *run)
{
    for (size_t k = 0; k < OPS; k++) {
        size_t other = 1 + k % 2;
        const struct fake_op op = {
            .comm_id = other, .seq = k / 2, .count = 4, .func = RKT_NCCL_FUNC_ALLREDUCE};
        int64_t last_ns = (int64_t)k * S + S / 2;

        fake_add_collective(run, 0, op, last_ns - (other == 1 ? 300 * US : 0), last_ns + 12 * US);
        fake_add_collective(run, other, op, last_ns - (other == 1 ? 0 : 300 * US),
                            last_ns + 12 * US);
    }
}

static void make(struct fixture *f)
{
    struct rkt_error err;

    *f = (struct fixture){.clocks = NULL};
    fake_run_init(&f->run, 3);
    f->aligns[0] = (struct rkt_align_info){.state = RKT_ALIGN_REFERENCE};
    for (uint32_t r = 0; r < 3; r++) {
        f->run.traces[r].source.info.node = r; /* a sidecar each, as mpirun starts them */
        if (r > 0) {
            memcpy(f->knots[r - 1], KNOTS, sizeof(KNOTS));
            f->aligns[r] = (struct rkt_align_info){.state = RKT_ALIGN_MEASURED,
                                                   .knots = f->knots[r - 1],
                                                   .knot_count = KNOT_COUNT,
                                                   .growth_ppb = 1000};
            fake_add_comm(&f->run, 0, r, 0, 2);
            fake_add_comm(&f->run, r, r, 1, 2);
        }
        assert_rkt_ok(rkt_clock_map_create(RKT_CLOCK_MONOTONIC_RAW, NULL, 0, &f->aligns[r],
                                           &f->run.traces[r].clock, &err),
                      err);
    }
    add_collectives(&f->run);
    fake_match(&f->run);
}

static int64_t after_ns(struct fixture *f, size_t rank)
{
    const struct rkt_clock_narrowed *narrowed = rkt_narrow_clocks_find(f->clocks, rank);

    assert_non_null(narrowed);
    assert_in_range(narrowed->before_ns, 58 * US, 60 * US);
    return narrowed->after_ns;
}

static void narrow(struct fixture *f)
{
    struct rkt_error err;

    assert_rkt_ok(rkt_narrow_clocks_create(&f->run.result, f->aligns, &f->clocks, &err), err);
    assert_false(rkt_narrow_clocks_contradict(f->clocks));
    assert_null(rkt_narrow_clocks_find(f->clocks, 0));
}

static void release(struct fixture *f)
{
    rkt_narrow_clocks_destroy(f->clocks);
    for (size_t r = 0; r < 3; r++) {
        rkt_clock_map_destroy(f->run.traces[r].clock);
        f->run.traces[r].clock = NULL;
    }
    fake_run_release(&f->run);
}

static void ranks_whose_alignments_are_one_read_one_clock(void **state)
{
    struct fixture f;

    (void)state;
    make(&f);
    narrow(&f);
    assert_in_range(after_ns(&f, 1), 11 * US, 20 * US);
    assert_ptr_equal(rkt_narrow_clocks_find(f.clocks, 1), rkt_narrow_clocks_find(f.clocks, 2));
    release(&f);
}

static void ranks_whose_alignments_differ_do_not(void **state)
{
    struct fixture f;

    (void)state;
    make(&f);
    f.knots[1][2].offset_ns = 1;
    narrow(&f);
    assert_in_range(after_ns(&f, 1), 34 * US, 40 * US);
    assert_in_range(after_ns(&f, 2), 34 * US, 40 * US);
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_whose_alignments_are_one_read_one_clock),
        cmocka_unit_test(ranks_whose_alignments_differ_do_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
