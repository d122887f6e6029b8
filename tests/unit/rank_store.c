/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rank_store.h"

#include <stdlib.h>

#include "common/clock_redo.h"
#include "tests/unit/rkt_test.h"

/* A captured rank, its GPU records in REALTIME, with its node's sidecar. */
int rank_store_set_up(void **state)
{
    struct rank_store *fx = calloc(1, sizeof(*fx));

    if (!fx)
        return -1;
    store_maker_init(&fx->maker, RKT_PRODUCER_CAPTURE);
    fx->rank = store_add_source(&fx->maker, (struct rkt_source_info){
                                                .producer = RKT_PRODUCER_CAPTURE,
                                                .role = RKT_ROLE_RANK,
                                                .gpu_clock = RKT_CLOCK_REALTIME,
                                                .rank_known = true,
                                                .node = 3,
                                                .boot_id = "a",
                                            });
    fx->sidecar = store_add_source(&fx->maker, (struct rkt_source_info){
                                                   .producer = RKT_PRODUCER_CAPTURE,
                                                   .role = RKT_ROLE_SIDECAR,
                                                   .node = 3,
                                                   .boot_id = "a",
                                               });
    *state = fx;
    return 0;
}

int rank_store_tear_down(void **state)
{
    struct rank_store *fx = *state;

    rkt_rank_trace_destroy(fx->trace);
    store_maker_release(&fx->maker);
    free(fx);
    return 0;
}

static void load(struct rank_store *fx, struct rkt_work_rules rules)
{
    struct rkt_store_reader *reader = store_open(&fx->maker);
    struct rkt_error err;

    assert_rkt_ok(rkt_clock_redo_missing(reader, &err), err);
    assert_rkt_ok(rkt_rank_trace_load(reader, fx->rank, &rules, &fx->trace, &err), err);
}

void rank_store_load(struct rank_store *fx, const char *comm_kernel)
{
    load(fx, (struct rkt_work_rules){.comm_kernel_regex = comm_kernel});
}

void rank_store_load_matches(struct rank_store *fx)
{
    load(fx, (struct rkt_work_rules){.only_matches = true});
}

void add_event(struct rank_store *fx, struct rkt_event event)
{
    if (event.clock_id == RKT_CLOCK_UNKNOWN)
        event.clock_id = RKT_CLOCK_REALTIME;
    store_add(&fx->maker, fx->rank, event);
}

void add_kernel(struct rank_store *fx, const char *name, uint32_t correlation_id, uint64_t start_ns,
                uint64_t end_ns)
{
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_KERNEL,
                                     .name_id = store_name(&fx->maker, fx->rank, name),
                                     .start_ns = start_ns,
                                     .end_ns = end_ns,
                                     .correlation_id = correlation_id,
                                     .kernel = {.stream_id = 7}});
}

void add_call(struct rank_store *fx, const char *name, uint32_t correlation_id, uint64_t start_ns,
              uint64_t end_ns)
{
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_API,
                                     .name_id = store_name(&fx->maker, fx->rank, name),
                                     .start_ns = start_ns,
                                     .end_ns = end_ns,
                                     .thread_id = MAIN,
                                     .correlation_id = correlation_id});
}

/* NCCL's and the marks' stamps are RAW. */
void add_nccl(struct rank_store *fx, enum rkt_nccl_type type, uint64_t seq, uint64_t start_ns,
              uint64_t end_ns)
{
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_NCCL,
                                     .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                     .type = (uint8_t)type,
                                     .start_ns = start_ns,
                                     .end_ns = end_ns,
                                     .thread_id = MAIN,
                                     .nccl = {.comm_id = 99,
                                              .seq = seq,
                                              .count = 1000,
                                              .peer = -1,
                                              .func = RKT_NCCL_FUNC_ALLREDUCE,
                                              .datatype = 7}});
}

void add_range(struct rank_store *fx, enum rkt_range_type type, uint32_t thread_id,
               uint64_t start_ns, uint64_t end_ns)
{
    add_event(fx, (struct rkt_event){.kind = RKT_EVENT_RANGE,
                                     .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                     .type = (uint8_t)type,
                                     .start_ns = start_ns,
                                     .end_ns = end_ns,
                                     .thread_id = thread_id});
}

void add_pairs(struct rank_store *fx)
{
    for (uint64_t k = 1; k <= 4; k++)
        store_add(&fx->maker, fx->sidecar,
                  (struct rkt_event){.kind = RKT_EVENT_CLOCK_PAIR,
                                     .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                     .start_ns = k * SECOND - BRACKET_NS / 2,
                                     .end_ns = k * SECOND + BRACKET_NS / 2,
                                     .clock_pair = {.realtime_ns = k * SECOND + AHEAD_NS,
                                                    .monotonic_ns = k * SECOND}});
}

void add_exchanges(struct rank_store *fx, uint32_t source, int64_t offset_ns)
{
    for (uint32_t burst = 0; burst < 3; burst++) {
        uint64_t t1 = (burst + 1) * SECOND;
        uint64_t peer_ns = (uint64_t)((int64_t)t1 + 1000 + offset_ns);

        store_add(&fx->maker, source,
                  (struct rkt_event){
                      .kind = RKT_EVENT_CLOCK_EXCHANGE,
                      .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                      .start_ns = t1,
                      .end_ns = t1 + 2000,
                      .clock_exchange = {.t2_ns = peer_ns, .t3_ns = peer_ns, .burst = burst}});
    }
}

uint64_t real(uint64_t raw_ns)
{
    return raw_ns + AHEAD_NS;
}

const char *name_of(const struct rank_store *fx, uint32_t name_id)
{
    return rkt_strtab_get(fx->trace->names, name_id, NULL);
}
