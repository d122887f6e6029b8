/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_buffers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define POOL_BYTES (RKT_CUPTI_BUFFER_COUNT * RKT_CUPTI_BUFFER_BYTES)

struct rkt_cupti_buffers {
    uint8_t *memory; /* the pool, then the buffer that is shared when it is dry */
    _Atomic uint32_t taken_count;
    _Atomic uint32_t next;
    _Atomic bool is_taken[RKT_CUPTI_BUFFER_COUNT];
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
    buffers->memory = memory;
    return buffers;
}

void rkt_cupti_buffers_destroy(struct rkt_cupti_buffers *buffers)
{
    if (!buffers)
        return;
    munmap(buffers->memory, POOL_BYTES + RKT_CUPTI_DISCARD_BYTES);
    free(buffers);
}

uint8_t *rkt_cupti_buffers_take(struct rkt_cupti_buffers *buffers, size_t *bytes_out)
{
    uint32_t first = atomic_load_explicit(&buffers->next, memory_order_relaxed);

    for (uint32_t i = 0; i < RKT_CUPTI_BUFFER_COUNT; i++) {
        uint32_t at = (first + i) % RKT_CUPTI_BUFFER_COUNT;
        bool was_taken = atomic_load_explicit(&buffers->is_taken[at], memory_order_relaxed);

        /* acquire: it was zeroed before it became free */
        if (was_taken ||
            !atomic_compare_exchange_strong_explicit(&buffers->is_taken[at], &was_taken, true,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        atomic_fetch_add_explicit(&buffers->taken_count, 1, memory_order_relaxed);
        *bytes_out = RKT_CUPTI_BUFFER_BYTES;
        return buffers->memory + at * RKT_CUPTI_BUFFER_BYTES;
    }
    *bytes_out = RKT_CUPTI_DISCARD_BYTES;
    return buffers->memory + POOL_BYTES;
}

bool rkt_cupti_buffers_is_readable(const struct rkt_cupti_buffers *buffers, const uint8_t *buffer)
{
    return buffer >= buffers->memory && buffer < buffers->memory + POOL_BYTES;
}

void rkt_cupti_buffers_put_back(struct rkt_cupti_buffers *buffers, uint8_t *buffer,
                                size_t used_bytes)
{
    size_t at;

    if (!rkt_cupti_buffers_is_readable(buffers, buffer))
        return;
    at = (size_t)(buffer - buffers->memory) / RKT_CUPTI_BUFFER_BYTES;
    memset(buffer, 0, used_bytes);
    /* It is warm in the cache: the next one to be taken. */
    atomic_store_explicit(&buffers->next, (uint32_t)at, memory_order_relaxed);
    atomic_fetch_sub_explicit(&buffers->taken_count, 1, memory_order_relaxed);
    atomic_store_explicit(&buffers->is_taken[at], false, memory_order_release);
}

uint32_t rkt_cupti_buffers_taken_count(const struct rkt_cupti_buffers *buffers)
{
    return atomic_load_explicit(&buffers->taken_count, memory_order_relaxed);
}
