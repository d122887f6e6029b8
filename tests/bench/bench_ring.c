/* SPDX-License-Identifier: Apache-2.0 */
/* What an event costs the training process, and the sidecar: push and pop on touched pages. */
#include "agent/region.h"
#include "tests/bench/bench.h"

#define CAPACITY 16384u

static void push_all(struct rkt_ring *ring)
{
    struct rkt_event event = {.kind = RKT_EVENT_RANGE};

    for (uint32_t i = 0; i < CAPACITY; i++) {
        event.start_ns = i;
        (void)rkt_ring_push(ring, &event);
    }
}

static void push_all_with_clock(struct rkt_ring *ring)
{
    struct rkt_event event = {.kind = RKT_EVENT_RANGE};

    for (uint32_t i = 0; i < CAPACITY; i++) {
        event.start_ns = rkt_now_raw_ns();
        (void)rkt_ring_push(ring, &event);
    }
}

static void pop_all(struct rkt_ring *ring)
{
    static struct rkt_event events[4096];
    bool was_broken;

    while (rkt_ring_pop(ring, CAPACITY, events, 4096, &was_broken) > 0)
        continue;
}

int main(void)
{
    struct rkt_region_config config = {
        .ring_count = 1, .ring_capacity = CAPACITY, .heap_bytes = 1u << 20};
    struct rkt_region *region;
    struct rkt_ring *ring;
    struct rkt_error err;
    uint64_t push_ns, clock_ns, pop_ns;
    int fd;

    if (rkt_region_create(&config, &region, &fd, &err) != RKT_OK)
        return 1;
    ring = rkt_region_claim(region, 1);
    push_all(ring); /* touches the pages */
    pop_all(ring);
    BENCH_BEST(&push_ns, pop_all(ring), push_all(ring));
    BENCH_BEST(&clock_ns, pop_all(ring), push_all_with_clock(ring));
    BENCH_BEST(&pop_ns, push_all(ring), pop_all(ring));
    (void)printf("bench=ring record_bytes=%zu push_ns_per_event=%.2f clock_push_ns_per_event=%.2f "
                 "pop_ns_per_event=%.2f\n",
                 sizeof(struct rkt_event), (double)push_ns / CAPACITY, (double)clock_ns / CAPACITY,
                 (double)pop_ns / CAPACITY);
    rkt_region_destroy(region);
    return 0;
}
