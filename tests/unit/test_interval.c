/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdbool.h>

#include "analysis/interval.h"

#define SPAN 64 /* brute force has a bit for every instant of 0 .. SPAN */
#define CASES 100000

struct random {
    uint64_t state;
};

static uint32_t next(struct random *random, uint32_t below)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random->state >> 33) % below;
}

/* [start, end) within the span */
static uint64_t instants(uint32_t start, uint32_t end)
{
    uint64_t below_end = end >= SPAN ? UINT64_MAX : (UINT64_C(1) << end) - 1;

    return start >= end ? 0 : below_end & ~((UINT64_C(1) << start) - 1);
}

static void add(struct rkt_interval_set *set, int64_t start_ns, int64_t end_ns)
{
    assert_rkt_status(rkt_interval_set_add(set, start_ns, end_ns), RKT_OK);
}

/* Random intervals, and the instants that they cover as bits. */
static uint64_t fill(struct random *random, struct rkt_interval_set *set)
{
    uint32_t count = next(random, 12);
    uint64_t covered = 0;

    rkt_interval_set_reset(set);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = next(random, SPAN);
        uint32_t end = start + next(random, 1 + SPAN / 4);

        end = end < SPAN ? end : SPAN;
        if (rkt_interval_set_add(set, start, end) != RKT_OK)
            fail_msg("no memory");
        covered |= instants(start, end);
    }
    rkt_interval_set_normalise(set);
    return covered;
}

static void check_set(const struct rkt_interval_set *set, uint64_t covered, uint32_t seed)
{
    uint64_t got = 0;

    for (size_t i = 0; i < set->count; i++) {
        const struct rkt_interval *item = &set->items[i];

        /* neither empty, nor touching the one before */
        if (item->start_ns >= item->end_ns || (i > 0 && item[-1].end_ns >= item->start_ns))
            fail_msg("seed %u: member %zu is out of order", seed, i);
        got |= instants((uint32_t)item->start_ns, (uint32_t)item->end_ns);
    }
    if (got != covered || rkt_interval_set_length(set) != __builtin_popcountll(covered))
        fail_msg("seed %u: instants %llx, not %llx", seed, (unsigned long long)got,
                 (unsigned long long)covered);
}

/* What lies within a stretch, and where it would be looked for. */
static void check_within(struct random *random, const struct rkt_interval_set *set,
                         uint64_t covered, uint32_t seed)
{
    uint32_t from = next(random, SPAN);
    uint32_t to = from + next(random, SPAN + 1 - from);
    size_t first = 0;

    if (rkt_interval_set_length_within(set, from, to) !=
        __builtin_popcountll(covered & instants(from, to)))
        fail_msg("seed %u: wrong length within %u to %u", seed, from, to);
    while (first < set->count && set->items[first].end_ns <= (int64_t)from)
        first++;
    if (rkt_interval_set_first_after(set, from) != first)
        fail_msg("seed %u: another member is the first after %u", seed, from);
}

/*
 * Three sets as a partition takes them: in the first and second, in one of these alone, in the
 * third alone, in none. The parts are exclusive, and their lengths sum to that of the window.
 */
static void check_partition(const struct rkt_interval_set sets[3], const uint64_t covered[3],
                            struct rkt_interval_set room[6], uint32_t seed)
{
    struct rkt_interval_set *both = &room[0], *only_a = &room[1], *only_b = &room[2];
    struct rkt_interval_set *c_less_a = &room[3], *only_c = &room[4], *window = &room[5];
    uint64_t busy = covered[0] | covered[1];
    int64_t sum_ns;

    rkt_interval_set_reset(window);
    if (rkt_interval_set_intersect(&sets[0], &sets[1], both) != RKT_OK ||
        rkt_interval_set_subtract(&sets[0], &sets[1], only_a) != RKT_OK ||
        rkt_interval_set_subtract(&sets[1], &sets[0], only_b) != RKT_OK ||
        rkt_interval_set_subtract(&sets[2], &sets[0], c_less_a) != RKT_OK ||
        rkt_interval_set_subtract(c_less_a, &sets[1], only_c) != RKT_OK ||
        rkt_interval_set_add(window, 0, SPAN) != RKT_OK)
        fail_msg("no memory");
    check_set(both, covered[0] & covered[1], seed);
    check_set(only_a, covered[0] & ~covered[1], seed);
    check_set(only_b, covered[1] & ~covered[0], seed);
    check_set(only_c, covered[2] & ~busy, seed);
    sum_ns = rkt_interval_set_length(both) + rkt_interval_set_length(only_a) +
             rkt_interval_set_length(only_b) + rkt_interval_set_length(only_c);
    for (size_t i = 0; i < 3; i++) { /* what is left of the window after each of them */
        if (rkt_interval_set_subtract(window, &sets[i], both) != RKT_OK)
            fail_msg("no memory");
        window = both == &room[0] ? &room[0] : &room[5];
        both = both == &room[0] ? &room[5] : &room[0];
    }
    check_set(window, ~(busy | covered[2]), seed);
    if (sum_ns + rkt_interval_set_length(window) != SPAN)
        fail_msg("seed %u: the parts are %lld long, not the window", seed, (long long)sum_ns);
}

static void a_hundred_thousand_cases_agree_with_brute_force(void **state)
{
    struct rkt_interval_set sets[3] = {{0}};
    struct rkt_interval_set room[6] = {{0}};

    (void)state;
    for (uint32_t seed = 1; seed <= CASES; seed++) {
        struct random random = {seed};
        uint64_t covered[3];

        for (size_t i = 0; i < 3; i++) {
            covered[i] = fill(&random, &sets[i]);
            check_set(&sets[i], covered[i], seed);
            check_within(&random, &sets[i], covered[i], seed);
        }
        check_partition(sets, covered, room, seed);
    }
    for (size_t i = 0; i < 3; i++)
        rkt_interval_set_release(&sets[i]);
    for (size_t i = 0; i < 6; i++)
        rkt_interval_set_release(&room[i]);
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
        cmocka_unit_test(a_hundred_thousand_cases_agree_with_brute_force),
        cmocka_unit_test(empty_and_reversed_intervals_are_not_added),
        cmocka_unit_test(intervals_that_touch_become_one),
        cmocka_unit_test(the_first_member_after_a_time_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
