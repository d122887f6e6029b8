/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting and searching by time, against what a loop finds. */
#include <stdbool.h>

#include "analysis/key_index.h"
#include "analysis/time_find.h"
#include "analysis/time_sort.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define ITEMS 200
#define MANY 1000

struct item {
    int64_t start_ns;
    int64_t end_ns;
    size_t before; /* where it stood before sorting */
};

/* Starts of `spread` times -4 to 7: many ties. */
static size_t draw(struct rkt_random *random, int64_t spread, struct item items[ITEMS])
{
    size_t count = rkt_random_below(random, ITEMS);

    for (size_t i = 0; i < count; i++) {
        items[i].start_ns = spread * ((int64_t)rkt_random_below(random, 12) - 4);
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
    static const int64_t spreads[] = {1, 1000003, INT64_MAX / 8};

    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct rkt_random random = {seed};
        struct item items[ITEMS];
        size_t count = draw(&random, spreads[seed / 3 % 3], items);
        enum rkt_time_order order = orders[seed % 3];

        assert_rkt_status(rkt_time_sort(items, count, sizeof(items[0]), order), RKT_OK);
        for (size_t i = 1; i < count; i++) {
            if (!is_in_order(&items[i - 1], &items[i], order))
                fail_msg("seed %u: items %zu and %zu are out of order", seed, i - 1, i);
        }
    }
}

/* Pieces in order, of any length, that begin anywhere: of one to all are merged, of more keys are
 * sorted. */
static size_t draw_pieces(struct rkt_random *random, struct item items[MANY])
{
    size_t count = MANY / 2 + rkt_random_below(random, MANY / 2);
    uint64_t piece = 1 + rkt_random_below(random, MANY);
    int64_t start_ns = 0;

    for (size_t i = 0; i < count; i++) {
        if (rkt_random_below(random, piece) == 0)
            start_ns = (int64_t)rkt_random_below(random, MANY);
        start_ns += (int64_t)rkt_random_below(random, 3);
        items[i] = (struct item){start_ns, start_ns + (int64_t)rkt_random_below(random, 3), i};
    }
    return count;
}

static void pieces_that_are_in_order_are_merged_as_if_sorted(void **state)
{
    static const enum rkt_time_order orders[] = {RKT_BY_START, RKT_BY_START_END,
                                                 RKT_BY_START_LONGEST};

    (void)state;
    for (uint32_t seed = 1; seed <= 300; seed++) {
        struct rkt_random random = {seed};
        struct item items[MANY];
        bool was_seen[MANY] = {false};
        size_t count = draw_pieces(&random, items);
        enum rkt_time_order order = orders[seed % 3];

        assert_rkt_status(rkt_time_sort(items, count, sizeof(items[0]), order), RKT_OK);
        for (size_t i = 0; i < count; i++) {
            if (i > 0 && !is_in_order(&items[i - 1], &items[i], order))
                fail_msg("seed %u: items %zu and %zu are out of order", seed, i - 1, i);
            if (was_seen[items[i].before])
                fail_msg("seed %u: item %zu is there twice", seed, items[i].before);
            was_seen[items[i].before] = true;
        }
    }
}

static void searching_finds_what_a_loop_finds(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct rkt_random random = {seed};
        struct item items[ITEMS];
        size_t count = draw(&random, 1, items);

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
            for (size_t near = 0; near <= count + 1; near++) {
                assert_int_equal(
                    rkt_time_find_near(&items[0].start_ns, count, sizeof(items[0]), time_ns, near),
                    from);
                assert_int_equal(rkt_time_find_past_near(&items[0].start_ns, count,
                                                         sizeof(items[0]), time_ns, near),
                                 past);
            }
            assert_int_equal(
                rkt_time_find_past(&items[0].start_ns, count, sizeof(items[0]), time_ns), past);
        }
        assert_int_equal(rkt_time_find_past(&items[0].start_ns, count, sizeof(items[0]), INT64_MAX),
                         count);
        assert_int_equal(
            rkt_time_find_past_near(&items[0].start_ns, count, sizeof(items[0]), INT64_MAX, 0),
            count);
    }
}

static void keys_are_found_in_the_order_of_their_array(void **state)
{
    struct rkt_key_index items[] = {{7, 1}, {2, 0}, {7, 2}, {UINT64_MAX, 4}, {7, 3}};
    const size_t count = sizeof(items) / sizeof(items[0]);

    (void)state;
    assert_rkt_status(rkt_key_index_sort(items, count), RKT_OK);
    assert_int_equal(rkt_key_index_find(items, count, 0), 0);
    assert_int_equal(rkt_key_index_find(items, count, 3), 1);
    for (size_t i = 1; i <= 3; i++)
        assert_int_equal(items[rkt_key_index_find(items, count, 7) + i - 1].index, i);
    assert_int_equal(rkt_key_index_find(items, count, 8), 4);
    assert_int_equal(rkt_key_index_find(items, 0, 8), 0);
}

static void searching_near_a_place_finds_what_searching_all_finds(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 100; seed++) {
        struct rkt_random random = {seed};
        struct rkt_key_index items[40];
        size_t count = rkt_random_below(&random, 40);

        for (size_t i = 0; i < count; i++)
            items[i] = (struct rkt_key_index){rkt_random_below(&random, 30) + 1, (uint32_t)i};
        assert_rkt_status(rkt_key_index_sort(items, count), RKT_OK);
        for (uint64_t key = 0; key <= 32; key++) {
            size_t at = rkt_key_index_find(items, count, key);

            for (size_t near = 0; near <= count + 1; near++)
                assert_int_equal(rkt_key_index_find_near(items, count, key, near), at);
        }
    }
}

static void check_sorted_keys(const struct rkt_key_index *items, size_t count, uint32_t seed)
{
    for (size_t i = 1; i < count; i++) {
        if (items[i].key < items[i - 1].key ||
            (items[i].key == items[i - 1].key && items[i].index <= items[i - 1].index))
            fail_msg("seed %u: items %zu and %zu are out of order", seed, i - 1, i);
    }
}

/* Keys of every width, so of every number of passes: 0 to 7 times a factor, and what they start
 * at. */
static void sorting_keys_of_any_width_keeps_equal_ones_as_they_were(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct rkt_random random = {seed};
        struct rkt_key_index items[ITEMS];
        size_t count = rkt_random_below(&random, ITEMS);
        unsigned width = (unsigned)rkt_random_below(&random, 62);
        uint64_t least = seed % 2 == 0 ? 0 : UINT64_MAX - ((uint64_t)7 << width);

        for (size_t i = 0; i < count; i++) {
            items[i].key = least + ((uint64_t)rkt_random_below(&random, 8) << width);
            items[i].index = (uint32_t)i;
        }
        assert_rkt_status(rkt_key_index_sort(items, count), RKT_OK);
        check_sorted_keys(items, count, seed);
    }
}

/* Keys that rise, three of each, but for none to half of them that were due before. */
static void sorting_what_is_late_keeps_equal_ones_as_they_were(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct rkt_random random = {seed};
        struct rkt_key_index items[ITEMS];
        size_t count = rkt_random_below(&random, ITEMS);
        size_t late_of_8 = rkt_random_below(&random, 5);
        uint64_t key_sum = 0;
        uint64_t index_sum = 0;

        for (size_t i = 0; i < count; i++) {
            uint64_t back = rkt_random_below(&random, 8) < late_of_8 ? 1 + i % 5 : 0;

            items[i] = (struct rkt_key_index){5 + i / 3 - back, (uint32_t)i};
            key_sum += items[i].key;
        }
        assert_rkt_status(rkt_key_index_sort(items, count), RKT_OK);
        check_sorted_keys(items, count, seed);
        for (size_t i = 0; i < count; i++) {
            key_sum -= items[i].key;
            index_sum += items[i].index + 1;
        }
        assert_int_equal(key_sum, 0);
        assert_int_equal(index_sum, count * (count + 1) / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_orders_ties_and_keeps_the_rest_as_it_was),
        cmocka_unit_test(pieces_that_are_in_order_are_merged_as_if_sorted),
        cmocka_unit_test(searching_finds_what_a_loop_finds),
        cmocka_unit_test(keys_are_found_in_the_order_of_their_array),
        cmocka_unit_test(searching_near_a_place_finds_what_searching_all_finds),
        cmocka_unit_test(sorting_keys_of_any_width_keeps_equal_ones_as_they_were),
        cmocka_unit_test(sorting_what_is_late_keeps_equal_ones_as_they_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
