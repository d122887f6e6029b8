/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/nvtx_stack.h"

#include <stddef.h>
#include <string.h>

/* The domain's innermost range; NULL: none is open. */
static struct rkt_nvtx_range *innermost(struct rkt_nvtx_stack *stack, uint32_t domain)
{
    for (uint32_t i = stack->count; i-- > 0;) {
        if (stack->ranges[i].domain == domain)
            return &stack->ranges[i];
    }
    return NULL;
}

/* The domain's own entry, else a free one; NULL: neither. */
static struct rkt_nvtx_deep *find_deep(struct rkt_nvtx_stack *stack, uint32_t domain)
{
    struct rkt_nvtx_deep *unused = NULL;

    for (uint32_t i = 0; i < RKT_NVTX_DEEP_DOMAINS_MAX; i++) {
        struct rkt_nvtx_deep *deep = &stack->deep[i];

        if (deep->count > 0 && deep->domain == domain)
            return deep;
        if (deep->count == 0 && !unused)
            unused = deep;
    }
    return unused;
}

struct rkt_nvtx_range *rkt_nvtx_stack_push(struct rkt_nvtx_stack *stack, uint32_t domain)
{
    struct rkt_nvtx_deep *deep = find_deep(stack, domain);
    struct rkt_nvtx_range *around;
    struct rkt_nvtx_range *range;

    /* Inside a range that is too deep all others of its domain are, or pops would be mixed up. */
    if (stack->count == RKT_NVTX_DEPTH_MAX || (deep && deep->count > 0)) {
        if (deep) {
            deep->domain = domain;
            deep->count++;
        }
        return NULL;
    }
    around = innermost(stack, domain);
    range = &stack->ranges[stack->count++];
    *range = (struct rkt_nvtx_range){.domain = domain, .level = around ? around->level + 1 : 0};
    return range;
}

enum rkt_nvtx_popped rkt_nvtx_stack_pop(struct rkt_nvtx_stack *stack, uint32_t domain,
                                        struct rkt_nvtx_range *range_out)
{
    struct rkt_nvtx_deep *deep = find_deep(stack, domain);
    struct rkt_nvtx_range *range;
    size_t above_count;

    if (deep && deep->count > 0) {
        deep->count--;
        return RKT_NVTX_TOO_DEEP;
    }
    range = innermost(stack, domain);
    if (!range)
        return RKT_NVTX_NONE;
    *range_out = *range;
    above_count = (size_t)(&stack->ranges[stack->count] - (range + 1));
    if (above_count > 0)
        memmove(range, range + 1, above_count * sizeof(*range));
    stack->count--;
    return RKT_NVTX_POPPED;
}
