/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_buffers.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define POOL_BYTES (RKT_CUPTI_BUFFER_COUNT * RKT_CUPTI_BUFFER_BYTES)
#define ALL (UINT64_MAX >> (64 - RKT_CUPTI_BUFFER_COUNT))

static_assert(RKT_CUPTI_BUFFER_COUNT >= 1 && RKT_CUPTI_BUFFER_COUNT <= 64, "a bit for each buffer");

/* A bit for each buffer, the lowest for the first. */
struct rkt_cupti_buffers {
    uint8_t *memory; /* the pool, then the buffer that is shared when it is dry */
    _Atomic uint64_t free;
    _Atomic uint64_t touched; /* of them some page is in memory */
    _Atomic uint64_t used;    /* given back since the last trim */
};

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
        *bytes_out = RKT_CUPTI_BUFFER_BYTES;
        return buffers->memory + at * RKT_CUPTI_BUFFER_BYTES;
    }
    *bytes_out = RKT_CUPTI_DISCARD_BYTES;
    return buffers->memory + POOL_BYTES;
}

/* 0: it is none of the pool. */
static uint64_t bit_of(const struct rkt_cupti_buffers *buffers, const uint8_t *buffer)
{
    size_t offset = (size_t)((uintptr_t)buffer - (uintptr_t)buffers->memory);

    if (offset >= POOL_BYTES || offset % RKT_CUPTI_BUFFER_BYTES != 0)
        return 0;
    return UINT64_C(1) << (offset / RKT_CUPTI_BUFFER_BYTES);
}

bool rkt_cupti_buffers_is_readable(const struct rkt_cupti_buffers *buffers, const uint8_t *buffer)
{
    uint64_t bit = bit_of(buffers, buffer);

    return bit != 0 && !(atomic_load_explicit(&buffers->free, memory_order_relaxed) & bit);
}

void rkt_cupti_buffers_put_back(struct rkt_cupti_buffers *buffers, uint8_t *buffer,
                                size_t used_bytes)
{
    uint64_t bit = bit_of(buffers, buffer);

    if (!rkt_cupti_buffers_is_readable(buffers, buffer))
        return;
    memset(buffer, 0, used_bytes);
    atomic_fetch_or_explicit(&buffers->touched, bit, memory_order_relaxed);
    atomic_fetch_or_explicit(&buffers->used, bit, memory_order_relaxed);
    atomic_fetch_or_explicit(&buffers->free, bit, memory_order_release);
}

uint32_t rkt_cupti_buffers_taken_count(const struct rkt_cupti_buffers *buffers)
{
    uint64_t free_bits = atomic_load_explicit(&buffers->free, memory_order_relaxed);

    return (uint32_t)__builtin_popcountll(ALL & ~free_bits);
}

/* It is taken meanwhile, so that nobody else has it. */
static void give_up(struct rkt_cupti_buffers *buffers, size_t at)
{
    uint64_t bit = UINT64_C(1) << at;

    if (!(atomic_fetch_and_explicit(&buffers->free, ~bit, memory_order_acquire) & bit))
        return;
    (void)madvise(buffers->memory + at * RKT_CUPTI_BUFFER_BYTES, RKT_CUPTI_BUFFER_BYTES,
                  MADV_DONTNEED);
    atomic_fetch_and_explicit(&buffers->touched, ~bit, memory_order_relaxed);
    atomic_fetch_or_explicit(&buffers->free, bit, memory_order_release);
}

void rkt_cupti_buffers_trim(struct rkt_cupti_buffers *buffers)
{
    uint64_t used = atomic_exchange_explicit(&buffers->used, 0, memory_order_relaxed);
    uint64_t idle = atomic_load_explicit(&buffers->touched, memory_order_relaxed) & ~used;

    for (; idle != 0; idle &= idle - 1)
        give_up(buffers, (size_t)__builtin_ctzll(idle));
}
