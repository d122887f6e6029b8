/* SPDX-License-Identifier: Apache-2.0 */
/* Ways over several clocks, and the lines of an alignment beside what the way says in between. */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "common/align_at.h"
#include "common/clock_path.h"

#define S INT64_C(1000000000)
#define FIRST_NS (1000 * S)
#define BURSTS 100u

struct fixture {
    struct rkt_arena arena;
    struct rkt_clock_curve curves[5]; /* from CLAIM on of claims */
};

#define CLAIM 3u
#define REFERENCE_CLAIM 4u

/* A clock that is `offset_ns` behind and drifts; its bursts are uneven and not all as wide. */
struct clock {
    int64_t first_ns; /* of the first burst, on its own clock */
    int64_t offset_ns;
    int64_t rate_ppb;
    int64_t width_ns;
    int64_t period_ns;
    size_t jump_after;
    int64_t jump_ns;
    size_t burst_count; /* 0: BURSTS */
};

static void solve(struct fixture *f, size_t index, const struct clock *clock)
{
    static const struct rkt_clock_params PARAMS = RKT_CLOCK_PARAMS_USUAL;
    struct rkt_clock_burst items[BURSTS];
    struct rkt_clock_bursts bursts = {.items = items,
                                      .count = clock->burst_count > 0 ? clock->burst_count : BURSTS,
                                      .are_claims = index >= CLAIM};
    struct rkt_error err;
    uint64_t random = index + 1;

    for (size_t k = 0; k < bursts.count; k++) {
        int64_t local_ns = clock->first_ns + (int64_t)k * clock->period_ns;
        int64_t truth_ns, more_ns;

        random = random * 6364136223846793005u + 1442695040888963407u;
        local_ns += (int64_t)((random >> 20) % (uint64_t)(clock->period_ns / 2));
        more_ns = (int64_t)(random >> 45) % clock->width_ns;
        truth_ns = clock->offset_ns + (local_ns - FIRST_NS) / 1000 * clock->rate_ppb / 1000000 +
                   (k > clock->jump_after ? clock->jump_ns : 0);
        items[k] = (struct rkt_clock_burst){
            .local_ns = (uint64_t)local_ns,
            .lower_ns = truth_ns - clock->width_ns / 2 - (k % 2 ? more_ns : 0),
            .upper_ns = truth_ns + clock->width_ns / 2 + (k % 2 ? 0 : more_ns)};
    }
    assert_rkt_ok(rkt_clock_curve_solve(&bursts, &PARAMS, &f->arena, &f->curves[index], &err), err);
}

static const struct clock CHILD = {FIRST_NS, 7 * S, 9000, 16000, 10 * S, BURSTS, 0, 0};
static const struct clock PARENT = {FIRST_NS + 7 * S, -300 * S, -20000, 5000, 9 * S, BURSTS, 0, 0};
/* The parent's rate had 7 s for its own when the child's clock showed FIRST_NS. */
static const struct clock DIRECT = {
    FIRST_NS, 7 * S - 300 * S - 140000, -11000, 18000, 10 * S, BURSTS, 0, 0};

/*
 * True time, as the child's host and the reference's know it. What the two clocks lack to it is
 * what DIRECT says; their rates to it are about the same, so that no product of rates counts.
 */
static const struct clock CHILD_CLAIM = {FIRST_NS, 5000 * S, -10800, 400, 9 * S, BURSTS, 0, 0};
static const struct clock REFERENCE_CLAIM_GOOD = {
    FIRST_NS - 293 * S - 140000, 5293 * S + 140000, 200, 300, 9 * S, BURSTS, 0, 0};

static int make_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    rkt_arena_init(&f->arena, 256u << 20);
    *state = f;
    return 0;
}

static int drop_fixture(void **state)
{
    struct fixture *f = *state;

    rkt_arena_release(&f->arena);
    free(f);
    return 0;
}

/* The lines hold all that the way says, and not much more. */
static void check_lines(const struct rkt_clock_path *path, const struct rkt_align_info *align)
{
    int64_t most_ns = 0;

    for (int64_t t = FIRST_NS - 300 * S; t < FIRST_NS + 1300 * S; t += 123456789) {
        struct rkt_align_point line = rkt_align_at(align, t);
        struct rkt_clock_point point;

        assert_true(rkt_clock_path_at(path, t, &point));
        if (line.offset_ns - line.bound_ns > point.lower_ns + 1 ||
            line.offset_ns + line.bound_ns < point.upper_ns - 1)
            fail_msg("at %lld: %lld +- %lld does not hold [%lld, %lld]", (long long)(t / S),
                     (long long)line.offset_ns, (long long)line.bound_ns, (long long)point.lower_ns,
                     (long long)point.upper_ns);
        assert_true(line.likely_ns <= line.bound_ns + 1);
        if (t > FIRST_NS + 20 * S && t < FIRST_NS + 900 * S &&
            2 * line.bound_ns - (point.upper_ns - point.lower_ns) > most_ns)
            most_ns = 2 * line.bound_ns - (point.upper_ns - point.lower_ns);
    }
    assert_true(most_ns < 25000);
}

static struct rkt_align_info align_of(struct fixture *f, const struct rkt_clock_path *path)
{
    struct rkt_align_info align;
    struct rkt_error err;

    assert_rkt_ok(rkt_clock_path_align(path, &f->arena, &align, &err), err);
    return align;
}

static void the_lines_of_one_hop_hold_its_curve(void **state)
{
    struct fixture *f = *state;
    const struct rkt_clock_path path = {.hops = {&f->curves[0]}, .hop_count = 1};
    struct rkt_align_info align;

    solve(f, 0, &CHILD);
    align = align_of(f, &path);
    assert_int_equal(align.state, RKT_ALIGN_MEASURED);
    assert_int_equal(align.knot_count, 2 * BURSTS - 1);
    assert_in_range(align.last_rate_ppb, 8900, 9100);
    assert_in_range(align.growth_ppb, 300, 500);
    check_lines(&path, &align);
}

static void offsets_and_bounds_of_hops_add(void **state)
{
    struct fixture *f = *state;
    const struct rkt_clock_path path = {.hops = {&f->curves[0], &f->curves[1]}, .hop_count = 2};
    struct rkt_clock_point first, second, sum;
    struct rkt_align_info align;
    int64_t t = FIRST_NS + 500 * S;

    solve(f, 0, &CHILD);
    solve(f, 1, &PARENT);
    assert_true(rkt_clock_path_at(&path, t, &sum));
    assert_true(rkt_clock_curve_at(&f->curves[0], t, &first));
    assert_true(rkt_clock_curve_at(&f->curves[1], t + first.offset_ns, &second));
    assert_int_equal(sum.offset_ns, first.offset_ns + second.offset_ns);
    /* and what the second may change by while the first is not known better: 200 ppm */
    assert_in_range(sum.upper_ns - (first.upper_ns + second.upper_ns), 1, 4);
    assert_in_range(first.lower_ns + second.lower_ns - sum.lower_ns, 1, 4);
    align = align_of(f, &path);
    assert_in_range((uint64_t)(-align.last_rate_ppb), 10900, 11100);
    check_lines(&path, &align);
}

static void what_was_measured_directly_is_intersected(void **state)
{
    struct fixture *f = *state;
    const struct rkt_clock_path hops = {.hops = {&f->curves[0], &f->curves[1]}, .hop_count = 2};
    const struct rkt_clock_path both = {
        .hops = {&f->curves[0], &f->curves[1]}, .hop_count = 2, .direct = &f->curves[2]};
    struct rkt_align_info align;

    solve(f, 0, &CHILD);
    solve(f, 1, &PARENT);
    solve(f, 2, &DIRECT);
    for (int64_t t = FIRST_NS; t < FIRST_NS + 900 * S; t += 3 * S) {
        struct rkt_clock_point a, b, c;

        assert_true(rkt_clock_path_at(&hops, t, &a));
        assert_true(rkt_clock_curve_at(&f->curves[2], t, &b));
        assert_true(rkt_clock_path_at(&both, t, &c));
        assert_int_equal(c.lower_ns, a.lower_ns > b.lower_ns ? a.lower_ns : b.lower_ns);
        assert_int_equal(c.upper_ns, a.upper_ns < b.upper_ns ? a.upper_ns : b.upper_ns);
        assert_true(c.offset_ns >= c.lower_ns && c.offset_ns <= c.upper_ns);
    }
    align = align_of(f, &both);
    check_lines(&both, &align);
}

/* The parent dies after 300 s, and rank 0 takes its place: nothing is as wide as over the
 * parent. */
static void a_parent_that_dies_is_followed_by_what_is_direct(void **state)
{
    struct fixture *f = *state;
    const struct rkt_clock_path path = {
        .hops = {&f->curves[0], &f->curves[1]}, .hop_count = 2, .direct = &f->curves[2]};
    struct clock child = CHILD, parent = PARENT;
    struct rkt_align_info align;

    child.burst_count = 30;
    parent.burst_count = 30;
    solve(f, 0, &child);
    solve(f, 1, &parent);
    solve(f, 2, &DIRECT);
    align = align_of(f, &path);
    check_lines(&path, &align);
    assert_in_range((uint64_t)(-align.last_rate_ppb), 10900, 11100);
    assert_true(align.flags & RKT_CLOCK_SILENT);
    for (int64_t after = 400; after < 950; after++) {
        struct rkt_align_point line = rkt_align_at(&align, FIRST_NS + after * S);
        int64_t truth_ns = DIRECT.offset_ns + after * DIRECT.rate_ppb;

        assert_in_range(line.bound_ns, 5000, 30000);
        assert_in_range(llabs(line.offset_ns - truth_ns), 0, 6000);
    }
}

static void a_direct_way_that_is_measured_rarely_is_no_silence(void **state)
{
    struct fixture *f = *state;
    const struct rkt_clock_path path = {
        .hops = {&f->curves[0], &f->curves[1]}, .hop_count = 2, .direct = &f->curves[2]};
    struct clock parent = PARENT, rare = DIRECT;

    parent.period_ns = CHILD.period_ns;
    rare.period_ns = 120 * S;
    rare.burst_count = 9;
    solve(f, 0, &CHILD);
    solve(f, 1, &parent);
    solve(f, 2, &rare);
    assert_true(f->curves[2].flags & RKT_CLOCK_SILENT);
    assert_false(align_of(f, &path).flags & RKT_CLOCK_SILENT);
}

static void ways_that_contradict_each_other_give_a_bound_over_both(void **state)
{
    struct fixture *f = *state;
    const struct rkt_clock_path path = {
        .hops = {&f->curves[0]}, .hop_count = 1, .direct = &f->curves[2]};
    struct rkt_clock_point hop, direct, both;

    solve(f, 0, &CHILD);
    solve(f, 2, &DIRECT); /* 300 s away */
    assert_true(rkt_clock_curve_at(&f->curves[0], FIRST_NS, &hop));
    assert_true(rkt_clock_curve_at(&f->curves[2], FIRST_NS, &direct));
    assert_true(rkt_clock_path_at(&path, FIRST_NS, &both));
    assert_int_equal(both.lower_ns, direct.lower_ns);
    assert_int_equal(both.upper_ns, hop.upper_ns);
    assert_int_equal(both.likely_lower_ns, direct.lower_ns);
}

static void a_step_of_any_clock_on_the_way_is_in_the_lines(void **state)
{
    static const size_t STEPPED[] = {0, 1, 2};
    struct fixture *f = *state;
    const struct rkt_clock_path path = {
        .hops = {&f->curves[0], &f->curves[1]}, .hop_count = 2, .direct = &f->curves[2]};

    for (size_t i = 0; i < 3; i++) {
        struct clock clocks[3] = {CHILD, PARENT, DIRECT};
        struct rkt_align_info align;

        clocks[STEPPED[i]].jump_after = 50;
        clocks[STEPPED[i]].jump_ns = 3 * S;
        for (size_t k = 0; k < 3; k++)
            solve(f, k, &clocks[k]);
        align = align_of(f, &path);
        assert_true(align.flags & RKT_CLOCK_STEPPED);
        for (int64_t t = FIRST_NS; t < FIRST_NS + 900 * S; t += 123456789) {
            struct rkt_align_point line = rkt_align_at(&align, t);
            struct rkt_clock_point point;

            assert_true(rkt_clock_path_at(&path, t, &point));
            if (line.offset_ns - line.bound_ns > point.lower_ns + 1 ||
                line.offset_ns + line.bound_ns < point.upper_ns - 1)
                fail_msg("step of clock %zu, at %lld: %lld +- %lld does not hold [%lld, %lld]", i,
                         (long long)t, (long long)line.offset_ns, (long long)line.bound_ns,
                         (long long)point.lower_ns, (long long)point.upper_ns);
        }
        rkt_arena_reset(&f->arena);
    }
}

static void without_a_hop_what_is_direct_counts_and_without_that_nothing(void **state)
{
    struct fixture *f = *state;
    const struct rkt_clock_curve unknown = {.flags = RKT_CLOCK_CONTRADICTORY};
    const struct rkt_clock_path lost = {.hops = {&unknown}, .hop_count = 1};
    const struct rkt_clock_path direct = {.direct = &f->curves[2]};
    struct rkt_align_info align;
    struct rkt_clock_point point;

    solve(f, 2, &DIRECT);
    align = align_of(f, &direct);
    assert_int_equal(align.state, RKT_ALIGN_MEASURED);
    check_lines(&direct, &align);
    assert_false(rkt_clock_path_at(&lost, FIRST_NS, &point));
    align = align_of(f, &lost);
    assert_int_equal(align.state, RKT_ALIGN_UNALIGNED);
    assert_int_equal(align.flags, RKT_CLOCK_CONTRADICTORY);
    assert_int_equal(align.knot_count, 0);
}

/* ---- claims of true time ---- */

/* REFERENCE_CLAIM_GOOD by the reference's clock, which shows FIRST_NS - 293 s when the child's
 * shows FIRST_NS. */
static void solve_reference_claim(struct fixture *f, int64_t lie_ns)
{
    struct clock claim = REFERENCE_CLAIM_GOOD;

    /* what it says at its first_ns: `solve` counts from FIRST_NS */
    claim.offset_ns += (FIRST_NS - claim.first_ns) / 1000 * claim.rate_ppb / 1000000 + lie_ns;
    solve(f, REFERENCE_CLAIM, &claim);
}

static const struct rkt_clock_path *path_with_claims(struct fixture *f, struct rkt_clock_path *path)
{
    *path = (struct rkt_clock_path){.hops = {&f->curves[0], &f->curves[1]},
                                    .hop_count = 2,
                                    .direct = &f->curves[2],
                                    .claim = &f->curves[CLAIM],
                                    .reference_claim = &f->curves[REFERENCE_CLAIM]};
    solve(f, 0, &CHILD);
    solve(f, 1, &PARENT);
    solve(f, 2, &DIRECT);
    return path;
}

static void claims_of_both_ends_are_intersected(void **state)
{
    struct fixture *f = *state;
    struct rkt_clock_path path, measured;
    struct rkt_align_info align;
    int64_t t = FIRST_NS + 500 * S, truth_ns = DIRECT.offset_ns + 500 * DIRECT.rate_ppb;
    struct rkt_clock_point point, without;

    measured = *path_with_claims(f, &path);
    measured.claim = NULL;
    solve(f, CLAIM, &CHILD_CLAIM);
    solve_reference_claim(f, 0);
    assert_true(rkt_clock_path_at(&path, t, &point));
    assert_true(rkt_clock_path_at(&measured, t, &without));
    assert_true(point.lower_ns <= truth_ns && point.upper_ns >= truth_ns);
    assert_true(point.upper_ns - point.lower_ns < 8000);
    assert_true(without.upper_ns - without.lower_ns > 12000);
    align = align_of(f, &path);
    assert_true(align.flags & RKT_CLOCK_CLAIM_USED);
    assert_false(align.flags & RKT_CLOCK_CLAIM_WRONG);
    assert_in_range((uint64_t)(-align.last_rate_ppb), 10900, 11100);
    check_lines(&path, &align);
    for (int64_t after = 100; after < 800; after++) {
        struct rkt_align_point line = rkt_align_at(&align, FIRST_NS + after * S);

        assert_in_range(llabs(line.offset_ns - DIRECT.offset_ns - after * DIRECT.rate_ppb), 0,
                        line.bound_ns);
        assert_in_range(line.bound_ns, 300, 9000);
    }
}

/* An alignment of `path`, which says of its claims what `flags` is, and else is as without them. */
static void check_left_out(struct fixture *f, const struct rkt_clock_path *path, uint32_t flags)
{
    struct rkt_clock_path bare = *path;
    struct rkt_align_info with = align_of(f, path), without;

    bare.claim = NULL;
    bare.reference_claim = NULL;
    without = align_of(f, &bare);
    assert_int_equal(with.flags, without.flags | flags);
    assert_int_equal(with.knot_count, without.knot_count);
    assert_memory_equal(with.knots, without.knots, with.knot_count * sizeof(*with.knots));
    assert_int_equal(with.growth_ppb, without.growth_ppb);
    assert_int_equal(with.rho_ppb, without.rho_ppb);
}

static void claims_that_contradict_the_exchanges_are_left_out_and_told(void **state)
{
    struct fixture *f = *state;
    struct rkt_clock_path path;

    path_with_claims(f, &path);
    solve(f, CLAIM, &CHILD_CLAIM);
    solve_reference_claim(f, 40000);
    check_left_out(f, &path, RKT_CLOCK_CLAIM_WRONG);
}

static void claims_that_step_are_left_out_and_told(void **state)
{
    struct fixture *f = *state;
    struct clock stepped = CHILD_CLAIM;
    struct rkt_clock_path path;

    path_with_claims(f, &path);
    stepped.jump_after = 50;
    stepped.jump_ns = 8000000;
    solve(f, CLAIM, &stepped);
    solve_reference_claim(f, 0);
    check_left_out(f, &path, RKT_CLOCK_CLAIM_WRONG);
}

static void claims_that_are_wide_change_nothing(void **state)
{
    struct fixture *f = *state;
    struct clock wide = CHILD_CLAIM;
    struct rkt_clock_path path;

    path_with_claims(f, &path);
    wide.width_ns = 100000;
    solve(f, CLAIM, &wide);
    solve_reference_claim(f, 0);
    check_left_out(f, &path, 0);
    wide.jump_after = 50; /* nor is anybody called wrong for them */
    wide.jump_ns = 8000000;
    solve(f, CLAIM, &wide);
    assert_true(f->curves[CLAIM].flags & RKT_CLOCK_STEPPED);
    check_left_out(f, &path, 0);
}

/* Nothing could tell that they are wrong. */
static void claims_alone_align_nothing(void **state)
{
    struct fixture *f = *state;
    const struct rkt_clock_path path = {.claim = &f->curves[CLAIM],
                                        .reference_claim = &f->curves[REFERENCE_CLAIM]};
    struct rkt_clock_point point;

    solve(f, CLAIM, &CHILD_CLAIM);
    solve_reference_claim(f, 0);
    assert_false(rkt_clock_path_at(&path, FIRST_NS, &point));
    assert_int_equal(align_of(f, &path).state, RKT_ALIGN_UNALIGNED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_fixture, drop_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_lines_of_one_hop_hold_its_curve),
        CASE(offsets_and_bounds_of_hops_add),
        CASE(what_was_measured_directly_is_intersected),
        CASE(a_parent_that_dies_is_followed_by_what_is_direct),
        CASE(a_direct_way_that_is_measured_rarely_is_no_silence),
        CASE(ways_that_contradict_each_other_give_a_bound_over_both),
        CASE(a_step_of_any_clock_on_the_way_is_in_the_lines),
        CASE(without_a_hop_what_is_direct_counts_and_without_that_nothing),
        CASE(claims_of_both_ends_are_intersected),
        CASE(claims_that_contradict_the_exchanges_are_left_out_and_told),
        CASE(claims_that_step_are_left_out_and_told),
        CASE(claims_that_are_wide_change_nothing),
        CASE(claims_alone_align_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
