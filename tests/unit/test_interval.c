/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdbool.h>

#include "analysis/interval.h"

#define SPAN 96 /* brute force marks every instant of 0 .. SPAN */

struct random {
    uint64_t state;
};

static uint32_t next(struct random *random, uint32_t below)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random->state >> 33) % below;
}

static void add(struct rkt_interval_set *set, int64_t start_ns, int64_t end_ns)
{
    assert_rkt_status(rkt_interval_set_add(set, start_ns, end_ns), RKT_OK);
}

/* Random intervals, and the instants that they cover. */
static void fill(struct random *random, struct rkt_interval_set *set, bool covered[SPAN])
{
    uint32_t count = next(random, 12);

    memset(covered, 0, SPAN * sizeof(*covered));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = next(random, SPAN);
        uint32_t end = start + next(random, 1 + SPAN / 4);

        end = end < SPAN ? end : SPAN;
        add(set, start, end);
        for (uint32_t t = start; t < end; t++)
            covered[t] = true;
    }
    rkt_interval_set_normalise(set);
}

static void assert_covers(const struct rkt_interval_set *set, const bool covered[SPAN],
                          uint32_t seed)
{
    bool got[SPAN] = {false};
    int64_t length_ns = 0;

    for (size_t i = 0; i < set->count; i++) {
        assert_true(set->items[i].start_ns < set->items[i].end_ns);
        if (i > 0) /* neither touching nor overlapping */
            assert_true(set->items[i - 1].end_ns < set->items[i].start_ns);
        for (int64_t t = set->items[i].start_ns; t < set->items[i].end_ns; t++)
            got[t] = true;
    }
    for (int t = 0; t < SPAN; t++) {
        if (got[t] != covered[t])
            fail_msg("seed %u: instant %d is %scovered", seed, t, got[t] ? "" : "not ");
        length_ns += covered[t];
    }
    assert_int_equal(rkt_interval_set_length(set), length_ns);
}

static void assert_lengths_within(const struct rkt_interval_set *set, const bool covered[SPAN])
{
    for (int from = 0; from < SPAN; from += 5) {
        for (int to = from; to <= SPAN; to += 7) {
            int64_t want_ns = 0;

            for (int t = from; t < to; t++)
                want_ns += covered[t];
            assert_int_equal(rkt_interval_set_length_within(set, from, to), want_ns);
        }
    }
}

static void operations_agree_with_brute_force(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct random random = {seed};
        struct rkt_interval_set a = {0};
        struct rkt_interval_set b = {0};
        struct rkt_interval_set both = {0};
        struct rkt_interval_set only_a = {0};
        bool in_a[SPAN];
        bool in_b[SPAN];
        bool in_both[SPAN];
        bool in_only_a[SPAN];

        fill(&random, &a, in_a);
        fill(&random, &b, in_b);
        for (int t = 0; t < SPAN; t++) {
            in_both[t] = in_a[t] && in_b[t];
            in_only_a[t] = in_a[t] && !in_b[t];
        }
        assert_rkt_status(rkt_interval_set_intersect(&a, &b, &both), RKT_OK);
        assert_rkt_status(rkt_interval_set_subtract(&a, &b, &only_a), RKT_OK);
        assert_covers(&a, in_a, seed);
        assert_covers(&both, in_both, seed);
        assert_covers(&only_a, in_only_a, seed);
        assert_lengths_within(&a, in_a);
        rkt_interval_set_release(&a);
        rkt_interval_set_release(&b);
        rkt_interval_set_release(&both);
        rkt_interval_set_release(&only_a);
    }
}

static void empty_and_reversed_intervals_are_not_added(void **state)
{
    struct rkt_interval_set set = {0};

    (void)state;
    add(&set, 5, 5);
    add(&set, 9, 3);
    rkt_interval_set_normalise(&set);
    assert_int_equal(set.count, 0);
    rkt_interval_set_release(&set);
}

static void intervals_that_touch_become_one(void **state)
{
    struct rkt_interval_set set = {0};

    (void)state;
    add(&set, 10, 20);
    add(&set, -5, 10);
    add(&set, 30, 40);
    rkt_interval_set_normalise(&set);
    assert_int_equal(set.count, 2);
    assert_int_equal(set.items[0].start_ns, -5);
    assert_int_equal(set.items[0].end_ns, 20);
    rkt_interval_set_release(&set);
}

static void the_first_member_after_a_time_is_found(void **state)
{
    static const struct {
        const char *what;
        int64_t time_ns;
        size_t want;
    } table[] = {
        {"before all", -100, 0}, {"inside the first", 5, 0},   {"its end is outside", 10, 1},
        {"in a hole", 15, 1},    {"inside the second", 25, 1}, {"after all", 30, 2},
    };
    struct rkt_interval_set set = {0};

    (void)state;
    add(&set, 0, 10);
    add(&set, 20, 30);
    rkt_interval_set_normalise(&set);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        size_t got = rkt_interval_set_first_after(&set, table[i].time_ns);

        if (got != table[i].want)
            fail_msg("%s: %zu, not %zu", table[i].what, got, table[i].want);
    }
    rkt_interval_set_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_agree_with_brute_force),
        cmocka_unit_test(empty_and_reversed_intervals_are_not_added),
        cmocka_unit_test(intervals_that_touch_become_one),
        cmocka_unit_test(the_first_member_after_a_time_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
