/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting and searching by time, against what a loop finds. */
#include <stdbool.h>

#include "analysis/key_index.h"
#include "analysis/time_find.h"
#include "analysis/time_sort.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define ITEMS 64

struct item {
    int64_t start_ns;
    int64_t end_ns;
    size_t before; /* where it stood before sorting */
};

static size_t draw(struct rkt_random *random, struct item items[ITEMS])
{
    size_t count = rkt_random_below(random, ITEMS);

    for (size_t i = 0; i < count; i++) {
        items[i].start_ns = (int64_t)rkt_random_below(random, 12) - 4; /* many ties */
        items[i].end_ns = items[i].start_ns + (int64_t)rkt_random_below(random, 3);
        items[i].before = i;
    }
    return count;
}

static bool is_in_order(const struct item *a, const struct item *b, enum rkt_time_order order)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (order == RKT_BY_START_END && a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns;
    if (order == RKT_BY_START_LONGEST && a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns;
    return a->before < b->before;
}

static void sorting_orders_ties_and_keeps_the_rest_as_it_was(void **state)
{
    static const enum rkt_time_order orders[] = {RKT_BY_START, RKT_BY_START_END,
                                                 RKT_BY_START_LONGEST};

    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct rkt_random random = {seed};
        struct item items[ITEMS];
        size_t count = draw(&random, items);
        enum rkt_time_order order = orders[seed % 3];

        assert_rkt_status(rkt_time_sort(items, count, sizeof(items[0]), order), RKT_OK);
        for (size_t i = 1; i < count; i++) {
            if (!is_in_order(&items[i - 1], &items[i], order))
                fail_msg("seed %u: items %zu and %zu are out of order", seed, i - 1, i);
        }
    }
}

static void searching_finds_what_a_loop_finds(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct rkt_random random = {seed};
        struct item items[ITEMS];
        size_t count = draw(&random, items);

        assert_rkt_status(rkt_time_sort(items, count, sizeof(items[0]), RKT_BY_START), RKT_OK);
        for (int64_t time_ns = -6; time_ns <= 10; time_ns++) {
            size_t from = 0;
            size_t past = 0;

            while (from < count && items[from].start_ns < time_ns)
                from++;
            while (past < count && items[past].start_ns <= time_ns)
                past++;
            assert_int_equal(rkt_time_find(&items[0].start_ns, count, sizeof(items[0]), time_ns),
                             from);
            assert_int_equal(
                rkt_time_find_past(&items[0].start_ns, count, sizeof(items[0]), time_ns), past);
        }
        assert_int_equal(rkt_time_find_past(&items[0].start_ns, count, sizeof(items[0]), INT64_MAX),
                         count);
    }
}

static void keys_are_found_in_the_order_of_their_array(void **state)
{
    struct rkt_key_index items[] = {{7, 3}, {2, 0}, {7, 1}, {UINT64_MAX, 4}, {7, 2}};
    const size_t count = sizeof(items) / sizeof(items[0]);

    (void)state;
    rkt_key_index_sort(items, count);
    assert_int_equal(rkt_key_index_find(items, count, 0), 0);
    assert_int_equal(rkt_key_index_find(items, count, 3), 1);
    for (size_t i = 1; i <= 3; i++)
        assert_int_equal(items[rkt_key_index_find(items, count, 7) + i - 1].index, i);
    assert_int_equal(rkt_key_index_find(items, count, 8), 4);
    assert_int_equal(rkt_key_index_find(items, 0, 8), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_orders_ties_and_keeps_the_rest_as_it_was),
        cmocka_unit_test(searching_finds_what_a_loop_finds),
        cmocka_unit_test(keys_are_found_in_the_order_of_their_array),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
