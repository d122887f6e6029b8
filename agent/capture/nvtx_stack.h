/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NVTX_STACK_H
#define RKT_CAPTURE_NVTX_STACK_H

/*
 * nvtx_stack - the NVTX ranges that are open on one thread.
 *
 * Push and pop nest per domain: a pop ends the innermost range of its own domain, wherever ranges
 * of other domains lie.
 *
 * Threads: its owner only.
 * Full:    a range beyond the depth is not kept, and its pop is told apart from those of the ranges
 *          around it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define RKT_NVTX_DEPTH_MAX 64u
#define RKT_NVTX_DEEP_DOMAINS_MAX 8u

/* What an NCCL call is about, as far as its range says (nvtx_nccl.h). */
struct rkt_nvtx_operation {
    uint64_t comm_id;
    uint64_t bytes; /* UINT64_MAX: not said */
    int32_t peer;   /* root or peer; -1: none */
    uint8_t kind;   /* enum rkt_nvtx_operation_kind */
    uint8_t func;   /* enum rkt_nccl_func */
};

struct rkt_nvtx_range {
    uint32_t domain; /* its name's id; 0: the default one */
    uint64_t start_ns;
    uint64_t value;
    uint32_t name_id;
    uint32_t domain_id;
    int32_t level; /* ranges of its domain around it */
    bool is_step;  /* a step ends with it */
    struct rkt_nvtx_operation operation;
};

struct rkt_nvtx_deep {
    uint32_t domain;
    uint32_t count; /* of its ranges that were too deep; 0: the entry is free */
};

struct rkt_nvtx_stack {
    uint32_t count;
    uint32_t group_depth; /* of NCCL groups that are open */
    uint64_t group_start_ns;
    struct rkt_nvtx_deep deep[RKT_NVTX_DEEP_DOMAINS_MAX];
    struct rkt_nvtx_range ranges[RKT_NVTX_DEPTH_MAX];
};

/* Another thread takes it over. */
static inline void rkt_nvtx_stack_reset(struct rkt_nvtx_stack *stack)
{
    stack->count = 0;
    stack->group_depth = 0;
    memset(stack->deep, 0, sizeof(stack->deep));
}

/* A new innermost range, zeroed but for domain and level; NULL: too deep. */
struct rkt_nvtx_range *rkt_nvtx_stack_push(struct rkt_nvtx_stack *stack, uint32_t domain);

enum rkt_nvtx_popped {
    RKT_NVTX_POPPED,   /* *range_out is what it was */
    RKT_NVTX_TOO_DEEP, /* it was never kept */
    RKT_NVTX_NONE,     /* no range of the domain is open */
};

enum rkt_nvtx_popped rkt_nvtx_stack_pop(struct rkt_nvtx_stack *stack, uint32_t domain,
                                        struct rkt_nvtx_range *range_out);

#endif
