/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_RANK_STORE_H
#define RKT_TESTS_UNIT_RANK_STORE_H

/*
 * rank_store - a store with one captured rank and its node's sidecar, record by record.
 *
 * The rank's GPU and API records are REALTIME, NCCL's and the marks MONOTONIC_RAW, which is
 * AHEAD_NS behind; the pairs that join them are there after add_pairs.
 */

#include "analysis/rank_trace.h"
#include "tests/unit/store_maker.h"

#define SECOND 1000000000ull
#define AHEAD_NS (1000 * SECOND)
#define BRACKET_NS 100ull

enum {
    MAIN = 11,
    AUTOGRAD = 12,
};

struct rank_store {
    struct store_maker maker;
    uint32_t rank;    /* source */
    uint32_t sidecar; /* source */
    struct rkt_rank_trace *trace;
};

/* For cmocka: *state is the struct. */
int rank_store_set_up(void **state);
int rank_store_tear_down(void **state);

/* Writes everything and loads the rank into ->trace. */
void rank_store_load(struct rank_store *fx, const char *comm_kernel);
/* The same for matching alone. */
void rank_store_load_matches(struct rank_store *fx);

void add_event(struct rank_store *fx, struct rkt_event event); /* REALTIME unless it says */
void add_kernel(struct rank_store *fx, const char *name, uint32_t correlation_id, uint64_t start_ns,
                uint64_t end_ns);
void add_call(struct rank_store *fx, const char *name, uint32_t correlation_id, uint64_t start_ns,
              uint64_t end_ns);
void add_nccl(struct rank_store *fx, enum rkt_nccl_type type, uint64_t seq, uint64_t start_ns,
              uint64_t end_ns);
void add_range(struct rank_store *fx, enum rkt_range_type type, uint32_t thread_id,
               uint64_t start_ns, uint64_t end_ns);
void add_pairs(struct rank_store *fx);
/* Three bursts with a reference that is offset_ns ahead, seen from 1 us away. */
void add_exchanges(struct rank_store *fx, uint32_t source, int64_t offset_ns);

/* RAW to rank time */
uint64_t real(uint64_t raw_ns);
const char *name_of(const struct rank_store *fx, uint32_t name_id);

#endif
