/* SPDX-License-Identifier: Apache-2.0 */
/* Over what collectives went, and how they are grouped by it. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/collective_link.h"
#include "analysis/report/groups.h"
#include "fake_run.h"
#include "rkt_test.h"

#define RANKS 4

/* Of ranks first and first + 1. */
static void add_pair(struct fake_run *run, uint64_t comm_id, size_t first, const uint8_t protos[2],
                     int64_t start_ns)
{
    for (size_t i = 0; i < 2; i++) {
        struct rkt_rank_trace *trace = &run->traces[first + i];

        fake_add_comm(run, first + i, comm_id, (int32_t)i, 2);
        (void)fake_add_collective(
            run, first + i,
            (struct fake_op){
                .comm_id = comm_id, .count = 1000, .peer = -1, .func = RKT_NCCL_FUNC_ALLREDUCE},
            start_ns, start_ns + 1000);
        trace->ops[trace->op_count - 1].nccl.algo = RKT_ALGO_RING;
        trace->ops[trace->op_count - 1].nccl.proto = protos[i];
    }
}

/*
 *     host        a  a  b  not told
 *     rank        0  1  2  3
 *     comm 1, 4   x  x              within a host
 *     comm 2         x  x           between two
 *     comm 3            x  x        not known
 */
static void make_run(struct fake_run *run)
{
    static const char *const HOSTS[RANKS] = {"a", "a", "b", ""};
    static const uint8_t SAME[2] = {RKT_PROTO_LL128, RKT_PROTO_LL128};
    static const uint8_t MIXED[2] = {RKT_PROTO_LL, RKT_PROTO_LL128};
    struct rkt_error err;

    fake_run_init(run, RANKS);
    for (size_t r = 0; r < RANKS; r++)
        snprintf(run->traces[r].source.info.host, sizeof(run->traces[r].source.info.host), "%s",
                 HOSTS[r]);
    add_pair(run, 1, 0, SAME, 1000);
    add_pair(run, 2, 1, MIXED, 5000);
    add_pair(run, 3, 2, SAME, 9000);
    add_pair(run, 4, 0, SAME, 13000);
    fake_match(run);
    assert_int_equal(run->result.collective_count, 4);
    assert_rkt_ok(rkt_find_links(&run->result, &err), err);
}

static const struct rkt_collective *of_comm(const struct fake_run *run, uint64_t comm_id)
{
    for (size_t i = 0; i < run->result.collective_count; i++) {
        if (run->result.collectives[i].comm_id == comm_id)
            return &run->result.collectives[i];
    }
    fail_msg("no collective of communicator %llu", (unsigned long long)comm_id);
    return NULL;
}

static void hosts_and_what_all_ranks_say_are_known(void **state)
{
    struct fake_run run;

    (void)state;
    make_run(&run);
    assert_int_equal(of_comm(&run, 1)->host_count, 1);
    assert_int_equal(of_comm(&run, 2)->host_count, 2);
    assert_int_equal(of_comm(&run, 3)->host_count, 0);
    assert_int_equal(of_comm(&run, 1)->algo, RKT_ALGO_RING);
    assert_int_equal(of_comm(&run, 1)->proto, RKT_PROTO_LL128);
    assert_int_equal(of_comm(&run, 2)->algo, RKT_ALGO_RING);
    assert_int_equal(of_comm(&run, 2)->proto, RKT_PROTO_UNKNOWN); /* they contradict each other */
    fake_run_release(&run);
}

static size_t count_groups(const struct fake_run *run, enum rkt_grouping grouping, size_t *most_out)
{
    struct rkt_collective_group *groups;
    struct rkt_error err;
    size_t count;

    assert_rkt_ok(rkt_group_collectives(&run->result, grouping, &groups, &count, &err), err);
    *most_out = 0;
    for (size_t i = 0; i < count; i++)
        *most_out = groups[i].count > *most_out ? groups[i].count : *most_out;
    free(groups);
    return count;
}

static void bandwidth_within_and_between_hosts_is_told_apart(void **state)
{
    struct fake_run run;
    size_t most;

    (void)state;
    make_run(&run);
    assert_int_equal(count_groups(&run, RKT_GROUP_KINDS, &most), 3);
    assert_int_equal(most, 2); /* communicators 1 and 4 */
    assert_int_equal(count_groups(&run, RKT_GROUP_LINKS, &most), 4);
    assert_int_equal(most, 1);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_and_what_all_ranks_say_are_known),
        cmocka_unit_test(bandwidth_within_and_between_hosts_is_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
