/* SPDX-License-Identifier: Apache-2.0 */
/* Which unit is which, whatever the offset between two clocks. */
#include "analysis/match_align.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define UNITS 40
#define LATER 3 /* the second capture begins so many collectives later */

static bool is_wrong(size_t i)
{
    return i % 3 == 1;
}

/* Collectives every 20 to 60 us, alike but for that; ends differ by up to 1 us between the ranks,
 * but those of every third, which say nothing. */
static void draw(struct rkt_random *random, struct rkt_match_unit *ref, struct rkt_match_unit *list,
                 int64_t offset_ns)
{
    int64_t end_ns = 1000000000;

    for (size_t i = 0; i < UNITS; i++) {
        int64_t list_end_ns;

        end_ns += 20000 + (int64_t)rkt_random_below(random, 40000);
        ref[i] = (struct rkt_match_unit){.name_key = 1, .end_ns = end_ns};
        ref[i].start_ns = end_ns - 10000;
        if (i < LATER)
            continue;
        list_end_ns = end_ns + offset_ns + (int64_t)rkt_random_below(random, 1000);
        list[i - LATER] = (struct rkt_match_unit){.name_key = 1, .end_ns = list_end_ns};
        list[i - LATER].start_ns = list_end_ns - 10000;
        if (is_wrong(i - LATER))
            list[i - LATER].end_ns += (int64_t)rkt_random_below(random, 1000000);
    }
}

static void the_offset_of_the_clocks_changes_nothing(void **state)
{
    (void)state;
    for (int64_t offset_ns = -60000; offset_ns <= 60000; offset_ns += 100) {
        struct rkt_random random = {(uint64_t)(offset_ns + 60001)};
        struct rkt_match_unit ref[UNITS];
        struct rkt_match_unit list[UNITS];
        struct rkt_error err;

        draw(&random, ref, list, offset_ns);
        assert_rkt_ok(rkt_match_align((struct rkt_unit_list){ref, UNITS},
                                      (struct rkt_unit_list){list, UNITS - LATER}, false, &err),
                      err);
        for (size_t i = 0; i < UNITS - LATER; i++) {
            if (is_wrong(i))
                continue;
            if (list[i].number != (int64_t)i + LATER || list[i].is_ambiguous)
                fail_msg("offset %lld ns: unit %zu is number %lld%s", (long long)offset_ns, i,
                         (long long)list[i].number, list[i].is_ambiguous ? ", ambiguous" : "");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_offset_of_the_clocks_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
