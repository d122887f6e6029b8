/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_buffers.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define POOL_BYTES (RKT_CUPTI_BUFFER_LIVES * RKT_CUPTI_BUFFER_COUNT * RKT_CUPTI_BUFFER_BYTES)
#define ALL (UINT64_MAX >> (64 - RKT_CUPTI_BUFFER_COUNT))

static_assert(RKT_CUPTI_BUFFER_COUNT >= 1 && RKT_CUPTI_BUFFER_COUNT <= 64, "a bit for each buffer");

enum state {
    FREE,
    TAKEN,
    MARKED,  /* taken, and so it was at the mark */
    RETIRED, /* lost; free again with the next trim, at another address */
};

/* In the masks, a bit for each buffer, the lowest for the first. */
struct rkt_cupti_buffers {
    uint8_t *memory; /* the pool, then the buffer that is shared when it is dry */
    _Atomic uint64_t free;
    _Atomic uint64_t touched; /* of them some page is in memory */
    _Atomic uint64_t used;    /* given back since the last trim */
    /* Decides who has it, where give-back and retire meet. */
    _Atomic uint8_t state[RKT_CUPTI_BUFFER_COUNT]; /* enum state */
    _Atomic uint8_t life[RKT_CUPTI_BUFFER_COUNT];  /* which of its addresses counts */
};

static uint8_t *address_of(const struct rkt_cupti_buffers *buffers, size_t at, size_t life)
{
    return buffers->memory + (life * RKT_CUPTI_BUFFER_COUNT + at) * RKT_CUPTI_BUFFER_BYTES;
}

static bool change(struct rkt_cupti_buffers *buffers, size_t at, uint8_t from, enum state to)
{
    return atomic_compare_exchange_strong_explicit(&buffers->state[at], &from, (uint8_t)to,
                                                   memory_order_relaxed, memory_order_relaxed);
}

static size_t life_of(const struct rkt_cupti_buffers *buffers, size_t at)
{
    return atomic_load_explicit(&buffers->life[at], memory_order_relaxed);
}

struct rkt_cupti_buffers *rkt_cupti_buffers_create(void)
{
    struct rkt_cupti_buffers *buffers = calloc(1, sizeof(*buffers));
    void *memory;

    if (!buffers)
        return NULL;
    memory = mmap(NULL, POOL_BYTES + RKT_CUPTI_DISCARD_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        free(buffers);
        return NULL;
    }
    /* A huge page would be taken for a single record. */
    (void)madvise(memory, POOL_BYTES + RKT_CUPTI_DISCARD_BYTES, MADV_NOHUGEPAGE);
    buffers->memory = memory;
    buffers->free = ALL;
    return buffers;
}

void rkt_cupti_buffers_destroy(struct rkt_cupti_buffers *buffers)
{
    if (!buffers)
        return;
    munmap(buffers->memory, POOL_BYTES + RKT_CUPTI_DISCARD_BYTES);
    free(buffers);
}

/* The lowest free one: few are touched, and those are the ones that are warm in the cache. */
uint8_t *rkt_cupti_buffers_take(struct rkt_cupti_buffers *buffers, size_t *bytes_out)
{
    uint64_t free_bits = atomic_load_explicit(&buffers->free, memory_order_relaxed);

    while (free_bits != 0) {
        uint64_t rest = free_bits & (free_bits - 1);
        size_t at = (size_t)__builtin_ctzll(free_bits);

        /* acquire: it was zeroed before it became free */
        if (!atomic_compare_exchange_weak_explicit(&buffers->free, &free_bits, rest,
                                                   memory_order_acquire, memory_order_relaxed))
            continue;
        atomic_store_explicit(&buffers->state[at], TAKEN, memory_order_relaxed);
        *bytes_out = RKT_CUPTI_BUFFER_BYTES;
        return address_of(buffers, at, life_of(buffers, at));
    }
    *bytes_out = RKT_CUPTI_DISCARD_BYTES;
    return buffers->memory + POOL_BYTES;
}

/* False: it is none of the pool, or no longer. */
static bool find(const struct rkt_cupti_buffers *buffers, const uint8_t *buffer, size_t *at_out)
{
    size_t offset = (size_t)((uintptr_t)buffer - (uintptr_t)buffers->memory);

    *at_out = offset / RKT_CUPTI_BUFFER_BYTES % RKT_CUPTI_BUFFER_COUNT;
    return offset < POOL_BYTES && buffer == address_of(buffers, *at_out, life_of(buffers, *at_out));
}

bool rkt_cupti_buffers_is_readable(const struct rkt_cupti_buffers *buffers, const uint8_t *buffer)
{
    uint8_t state;
    size_t at;

    if (!find(buffers, buffer, &at))
        return false;
    state = atomic_load_explicit(&buffers->state[at], memory_order_relaxed);
    return state == TAKEN || state == MARKED;
}

void rkt_cupti_buffers_put_back(struct rkt_cupti_buffers *buffers, uint8_t *buffer,
                                size_t used_bytes)
{
    uint64_t bit;
    size_t at;

    if (!rkt_cupti_buffers_is_readable(buffers, buffer) || !find(buffers, buffer, &at))
        return;
    memset(buffer, 0, used_bytes);
    if (!change(buffers, at, TAKEN, FREE) && !change(buffers, at, MARKED, FREE))
        return;
    bit = UINT64_C(1) << at;
    atomic_fetch_or_explicit(&buffers->touched, bit, memory_order_relaxed);
    atomic_fetch_or_explicit(&buffers->used, bit, memory_order_relaxed);
    atomic_fetch_or_explicit(&buffers->free, bit, memory_order_release);
}

uint32_t rkt_cupti_buffers_taken_count(const struct rkt_cupti_buffers *buffers)
{
    uint64_t free_bits = atomic_load_explicit(&buffers->free, memory_order_relaxed);

    return (uint32_t)__builtin_popcountll(ALL & ~free_bits);
}

static void give_up(uint8_t *buffer)
{
    (void)madvise(buffer, RKT_CUPTI_BUFFER_BYTES, MADV_DONTNEED);
}

/* It is taken meanwhile, so that nobody else has it. */
static void give_up_if_free(struct rkt_cupti_buffers *buffers, size_t at)
{
    uint64_t bit = UINT64_C(1) << at;

    if (!(atomic_fetch_and_explicit(&buffers->free, ~bit, memory_order_acquire) & bit))
        return;
    give_up(address_of(buffers, at, life_of(buffers, at)));
    atomic_fetch_and_explicit(&buffers->touched, ~bit, memory_order_relaxed);
    atomic_fetch_or_explicit(&buffers->free, bit, memory_order_release);
}

/* Whoever still read it when it was retired is long through. */
static void give_up_last_life(struct rkt_cupti_buffers *buffers, size_t at)
{
    give_up(address_of(buffers, at, life_of(buffers, at) - 1));
    if (change(buffers, at, RETIRED, FREE))
        atomic_fetch_or_explicit(&buffers->free, UINT64_C(1) << at, memory_order_release);
}

void rkt_cupti_buffers_trim(struct rkt_cupti_buffers *buffers)
{
    uint64_t used = atomic_exchange_explicit(&buffers->used, 0, memory_order_relaxed);
    uint64_t idle = atomic_load_explicit(&buffers->touched, memory_order_relaxed) & ~used;

    for (; idle != 0; idle &= idle - 1)
        give_up_if_free(buffers, (size_t)__builtin_ctzll(idle));
    for (size_t at = 0; at < RKT_CUPTI_BUFFER_COUNT; at++) {
        if (atomic_load_explicit(&buffers->state[at], memory_order_relaxed) == RETIRED)
            give_up_last_life(buffers, at);
    }
}

void rkt_cupti_buffers_mark(struct rkt_cupti_buffers *buffers)
{
    for (size_t at = 0; at < RKT_CUPTI_BUFFER_COUNT; at++)
        (void)change(buffers, at, TAKEN, MARKED);
}

void rkt_cupti_buffers_retire(struct rkt_cupti_buffers *buffers)
{
    for (size_t at = 0; at < RKT_CUPTI_BUFFER_COUNT; at++) {
        if (life_of(buffers, at) + 1 < RKT_CUPTI_BUFFER_LIVES &&
            change(buffers, at, MARKED, RETIRED))
            atomic_fetch_add_explicit(&buffers->life[at], 1, memory_order_relaxed);
    }
}
