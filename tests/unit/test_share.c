/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/share.h"

#include <stdlib.h>

#include "rkt_random.h"
#include "rkt_test.h"

#define RANKS_MAX 40u
#define SIZE_MAX_OF_TEAM 50u

static void deal(const uint64_t *bytes, size_t rank_count, size_t size, size_t *owners)
{
    struct rkt_candidate_rank ranks[RANKS_MAX] = {{0}};
    const struct rkt_candidates candidates = {.ranks = ranks, .rank_count = rank_count};
    struct rkt_error err;

    for (size_t i = 0; i < rank_count; i++)
        ranks[i].bytes = bytes[i];
    assert_rkt_ok(rkt_share_deal(&candidates, size, owners, &err), err);
}

static void equal_ranks_are_dealt_out_evenly(void **state)
{
    (void)state;
    for (size_t rank_count = 0; rank_count <= RANKS_MAX; rank_count++) {
        for (size_t size = 1; size <= SIZE_MAX_OF_TEAM; size++) {
            size_t count[SIZE_MAX_OF_TEAM] = {0};
            size_t owners[RANKS_MAX + 1];
            uint64_t bytes[RANKS_MAX];

            for (size_t i = 0; i < rank_count; i++)
                bytes[i] = rank_count % 2 ? 1000 : 0; /* also of a store whose sizes say nothing */
            deal(bytes, rank_count, size, owners);
            for (size_t i = 0; i < rank_count; i++) {
                assert_true(owners[i] < size);
                count[owners[i]]++;
            }
            for (size_t i = 0; i < size; i++) {
                assert_true(count[i] >= rank_count / size);
                assert_true(count[i] <= (rank_count + size - 1) / size);
            }
        }
    }
}

/* No process has more than an even share and one rank. */
static void ranks_of_any_size_are_dealt_out_by_size(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rkt_random random = {seed};
        size_t rank_count = 1 + rkt_random_below(&random, RANKS_MAX);
        size_t size = 1 + rkt_random_below(&random, 8);
        uint64_t loads[8] = {0};
        uint64_t bytes[RANKS_MAX];
        size_t owners[RANKS_MAX + 1];
        uint64_t sum_bytes = 0;
        uint64_t most_bytes = 0;

        for (size_t i = 0; i < rank_count; i++) {
            bytes[i] = rkt_random_below(&random, 3) ? rkt_random_below(&random, 1000) : 1000000;
            sum_bytes += bytes[i];
            most_bytes = bytes[i] > most_bytes ? bytes[i] : most_bytes;
        }
        deal(bytes, rank_count, size, owners);
        for (size_t i = 0; i < rank_count; i++)
            loads[owners[i]] += bytes[i];
        for (size_t i = 0; i < size; i++)
            assert_true(loads[i] <= sum_bytes / size + most_bytes + rank_count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ranks_are_dealt_out_evenly),
        cmocka_unit_test(ranks_of_any_size_are_dealt_out_by_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
