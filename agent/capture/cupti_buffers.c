/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_buffers.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALL (UINT64_MAX >> (64 - RKT_CUPTI_BUFFER_COUNT))

static_assert(RKT_CUPTI_BUFFER_COUNT >= 1 && RKT_CUPTI_BUFFER_COUNT <= 64, "a bit for each buffer");

enum state {
    FREE,
    TAKEN,
    MARKED,  /* taken, and so it was at the mark */
    RETIRED, /* lost; another block takes its place with the next trim */
};

/* In the masks, a bit for each buffer, the lowest for the first. */
struct rkt_cupti_buffers {
    _Atomic uint64_t free;
    _Atomic uint64_t touched; /* of them some page is in memory */
    _Atomic uint64_t used;    /* given back since the last trim */
    /* Decides who has it, where give-back and retire meet. */
    _Atomic uint8_t state[RKT_CUPTI_BUFFER_COUNT]; /* enum state */
    uint8_t *_Atomic block[RKT_CUPTI_BUFFER_COUNT];
    uint8_t replaced_count[RKT_CUPTI_BUFFER_COUNT]; /* trim and retire only */
    uint8_t *discard;                               /* shared when the pool is dry */
    size_t page_bytes;
};

static uint8_t *block_of(const struct rkt_cupti_buffers *buffers, size_t at)
{
    return atomic_load_explicit(&buffers->block[at], memory_order_relaxed);
}

static bool change(struct rkt_cupti_buffers *buffers, size_t at, uint8_t from, enum state to)
{
    return atomic_compare_exchange_strong_explicit(&buffers->state[at], &from, (uint8_t)to,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/* The pages that hold nothing but this block. It stays zeroed where it was, if they are given
 * up. */
static void advise(const struct rkt_cupti_buffers *buffers, uint8_t *block, int advice)
{
    size_t in_page = (uintptr_t)block % buffers->page_bytes;
    size_t skipped = in_page ? buffers->page_bytes - in_page : 0;
    size_t inner = (RKT_CUPTI_BUFFER_BYTES - skipped) / buffers->page_bytes * buffers->page_bytes;

    (void)madvise(block + skipped, inner, advice);
}

static bool set_block(struct rkt_cupti_buffers *buffers, size_t at)
{
    uint8_t *block = calloc(1, RKT_CUPTI_BUFFER_BYTES);

    if (!block)
        return false;
    advise(buffers, block, MADV_NOHUGEPAGE); /* one would be taken for a single record */
    atomic_store_explicit(&buffers->block[at], block, memory_order_relaxed);
    return true;
}

struct rkt_cupti_buffers *rkt_cupti_buffers_create(void)
{
    struct rkt_cupti_buffers *buffers = calloc(1, sizeof(*buffers));
    bool is_complete;

    if (!buffers)
        return NULL;
    buffers->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    buffers->discard = calloc(1, RKT_CUPTI_DISCARD_BYTES);
    is_complete = buffers->discard != NULL;
    for (size_t at = 0; is_complete && at < RKT_CUPTI_BUFFER_COUNT; at++)
        is_complete = set_block(buffers, at);
    if (!is_complete) {
        rkt_cupti_buffers_destroy(buffers);
        return NULL;
    }
    buffers->free = ALL;
    return buffers;
}

void rkt_cupti_buffers_destroy(struct rkt_cupti_buffers *buffers)
{
    if (!buffers)
        return;
    for (size_t at = 0; at < RKT_CUPTI_BUFFER_COUNT; at++) {
        if (buffers->state[at] != RETIRED) /* that one is not ours */
            free(block_of(buffers, at));
    }
    free(buffers->discard);
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
        return block_of(buffers, at);
    }
    *bytes_out = RKT_CUPTI_DISCARD_BYTES;
    return buffers->discard;
}

/* False: it is none of the pool, or no longer. Rare enough for a walk: once for thousands of
 * records. */
static bool find(const struct rkt_cupti_buffers *buffers, const uint8_t *buffer, size_t *at_out)
{
    for (size_t at = 0; buffer && at < RKT_CUPTI_BUFFER_COUNT; at++) {
        if (block_of(buffers, at) == buffer) {
            *at_out = at;
            return true;
        }
    }
    return false;
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

/* It is taken meanwhile, so that nobody else has it. */
static void give_up_if_free(struct rkt_cupti_buffers *buffers, size_t at)
{
    uint64_t bit = UINT64_C(1) << at;

    if (!(atomic_fetch_and_explicit(&buffers->free, ~bit, memory_order_acquire) & bit))
        return;
    advise(buffers, block_of(buffers, at), MADV_DONTNEED);
    atomic_fetch_and_explicit(&buffers->touched, ~bit, memory_order_relaxed);
    atomic_fetch_or_explicit(&buffers->free, bit, memory_order_release);
}

/* Without memory it stays as it is until the next trim. */
static void replace(struct rkt_cupti_buffers *buffers, size_t at)
{
    if (!set_block(buffers, at))
        return;
    buffers->replaced_count[at]++;
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
            replace(buffers, at);
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
        if (buffers->replaced_count[at] < RKT_CUPTI_BUFFER_LIVES - 1)
            (void)change(buffers, at, MARKED, RETIRED);
    }
}
