/* SPDX-License-Identifier: Apache-2.0 */
/* Medians against sorting. */
#include <stdlib.h>
#include <string.h>

#include "analysis/result.h"
#include "analysis/steady.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define VALUES 100

static int compare_values(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Of `spread` different ones; some sets are in order. */
static size_t draw(struct rkt_random *random, int64_t values[VALUES])
{
    size_t count = 1 + rkt_random_below(random, VALUES);
    uint32_t spread = 1 + (uint32_t)rkt_random_below(random, 200);

    for (size_t i = 0; i < count; i++)
        values[i] = (int64_t)rkt_random_below(random, spread) - 20;
    if (spread % 4 == 0)
        qsort(values, count, sizeof(*values), compare_values);
    return count;
}

static void every_place_holds_what_sorting_brings_there(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 100; seed++) {
        struct rkt_random random = {seed};
        int64_t values[VALUES];
        int64_t sorted[VALUES];
        int64_t room[VALUES];
        size_t count = draw(&random, values);

        memcpy(sorted, values, count * sizeof(*values));
        qsort(sorted, count, sizeof(*sorted), compare_values);
        for (size_t place = 0; place < count; place++) {
            memcpy(room, values, count * sizeof(*values));
            assert_true(rkt_select_i64(room, count, place) == sorted[place]);
            assert_true(room[place] == sorted[place]);
        }
        memcpy(room, values, count * sizeof(*values));
        assert_true(rkt_median_i64(room, count) == sorted[(count - 1) / 2]);
        qsort(room, count, sizeof(*room), compare_values);
        assert_memory_equal(room, sorted, count * sizeof(*room)); /* none is lost */
    }
    assert_true(rkt_median_i64(NULL, 0) == RKT_NA);
}

static void the_mad_is_the_median_distance(void **state)
{
    int64_t values[] = {10, -3, 4, 100, 6};

    (void)state;
    assert_true(rkt_median_i64(values, 5) == 6);
    assert_true(rkt_mad_i64(values, 5, 6) == 4); /* 0 2 4 9 94 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_holds_what_sorting_brings_there),
        cmocka_unit_test(the_mad_is_the_median_distance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
