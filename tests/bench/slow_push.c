/* SPDX-License-Identifier: Apache-2.0 */
/* Linked around ring.c in libranktrace-slow.so: each record takes 200 ns more (overhead.py). */
#include "agent/ring.h"
#include "common/clock.h"

#define SLOWER_NS 200u

/* The linker's own names (--wrap=rkt_ring_push). NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
bool __real_rkt_ring_push(struct rkt_ring *ring, const struct rkt_event *event);
bool __wrap_rkt_ring_push(struct rkt_ring *ring, const struct rkt_event *event);

bool __wrap_rkt_ring_push(struct rkt_ring *ring, const struct rkt_event *event)
{
    uint64_t start_ns = rkt_now_raw_ns();

    while (rkt_now_raw_ns() - start_ns < SLOWER_NS)
        continue;
    return __real_rkt_ring_push(ring, event);
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
