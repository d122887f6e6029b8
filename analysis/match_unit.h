/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_MATCH_UNIT_H
#define RKT_ANALYSIS_MATCH_UNIT_H

/*
 * match_unit - what one comm kernel of one rank carries out: the thing that matching compares.
 *
 * Place:   rank_trace -> [match_unit] -> match_align, match_p2p -> match.
 * Threads: any; no state. Memory: plain values.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/result.h"
#include "common/strtab.h"

#define RKT_NUMBER_NONE INT64_MIN

/* How a unit finds its partners (metrics.md, "Matching"), best first. */
enum rkt_match_kind {
    RKT_MATCH_KIND_SEQ,   /* communicator, func, seq */
    RKT_MATCH_KIND_P2P,   /* linked by its sends and receives */
    RKT_MATCH_KIND_ORDER, /* order in the communicator */
    RKT_MATCH_KIND_NAME,  /* order of kernels of an unknown communicator */
};

struct rkt_match_unit {
    uint64_t comm_id; /* 0: unknown; KIND_NAME: number of the lane */
    uint64_t seq;     /* UINT64_MAX unknown */
    uint64_t count;   /* UINT64_MAX unknown */
    int64_t start_ns; /* job time; rank time where the rank is not aligned */
    int64_t end_ns;
    int64_t number; /* in order, from match_align; RKT_NUMBER_NONE: no partner */
    uint32_t comm_size;
    uint32_t rank;       /* position in ranks */
    uint32_t work;       /* index in works */
    uint32_t stream_id;  /* its lane where the communicator is unknown */
    uint32_t name_key;   /* kernel name without arguments, the same on all ranks */
    uint32_t occurrence; /* among units of the same key on its rank */
    uint8_t kind;        /* enum rkt_match_kind */
    uint8_t func;        /* enum rkt_nccl_func */
    uint8_t datatype;
    bool has_op;       /* its operation was recorded: func and count are not guessed */
    bool is_ambiguous; /* another shift fits as well */
};

/* Collectives while their number is not known; freed by the owner, the participants are an
 * arena's. */
struct rkt_collective_list {
    struct rkt_collective *items;
    size_t count;
    size_t cap;
};

/* The communicator as this rank knows it; NULL where it was not recorded. */
const struct rkt_comm *rkt_match_find_comm(const struct rkt_rank_trace *trace, uint64_t comm_id);

/* "ncclDevKernel_AllGather_RING_LL(args)" is an AllGather. */
enum rkt_nccl_func rkt_match_func_of_kernel(const char *name);

/* Fills a unit from comm work `work`, whose arrival is known; `names` is shared by all ranks. */
void rkt_match_unit_init(const struct rkt_rank_trace *trace, uint32_t rank, uint32_t work,
                         struct rkt_strtab *names, struct rkt_match_unit *unit_out);

/* Could both be parts of one collective? */
bool rkt_match_units_fit(const struct rkt_match_unit *a, const struct rkt_match_unit *b);

#endif
