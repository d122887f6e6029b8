/* SPDX-License-Identifier: Apache-2.0 */
#include "common/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/checked.h"

#define BLOCK_BYTES_MIN ((size_t)64 << 10)
#define BLOCK_BYTES_MAX ((size_t)16 << 20)

struct rkt_arena_block {
    struct rkt_arena_block *next;
    size_t cap_bytes;
    size_t used_bytes;
    alignas(max_align_t) unsigned char bytes[];
};

void rkt_arena_init(struct rkt_arena *arena, size_t limit_bytes)
{
    *arena = (struct rkt_arena){.limit_bytes = limit_bytes};
}

static void free_blocks(struct rkt_arena_block *block)
{
    while (block) {
        struct rkt_arena_block *next = block->next;

        free(block);
        block = next;
    }
}

void rkt_arena_reset(struct rkt_arena *arena)
{
    if (arena->blocks) {
        free_blocks(arena->blocks->next);
        arena->blocks->next = NULL;
        arena->blocks->used_bytes = 0;
    }
    arena->used_bytes = 0;
}

void rkt_arena_release(struct rkt_arena *arena)
{
    free_blocks(arena->blocks);
    *arena = (struct rkt_arena){0};
}

static struct rkt_arena_block *add_block(struct rkt_arena *arena, size_t need_bytes)
{
    /* Each block is twice the one before, so that a large arena is a few blocks. */
    size_t cap = arena->blocks ? arena->blocks->cap_bytes : BLOCK_BYTES_MIN / 2;
    struct rkt_arena_block *block;
    size_t total;

    cap = cap < BLOCK_BYTES_MAX / 2 ? cap * 2 : BLOCK_BYTES_MAX;
    if (cap < need_bytes)
        cap = need_bytes;
    if (!rkt_add_size(sizeof(*block), cap, &total))
        return NULL;
    block = malloc(total);
    if (!block)
        return NULL;
    block->next = arena->blocks;
    block->cap_bytes = cap;
    block->used_bytes = 0;
    arena->blocks = block;
    return block;
}

void *rkt_arena_calloc(struct rkt_arena *arena, size_t count, size_t elem_bytes)
{
    const size_t align = alignof(max_align_t);
    struct rkt_arena_block *block = arena->blocks;
    size_t bytes, total;
    void *out;

    if (!rkt_mul_size(count, elem_bytes, &bytes) || !rkt_add_size(bytes, align - 1, &bytes))
        return NULL;
    bytes = bytes / align * align;
    if (!rkt_add_size(arena->used_bytes, bytes, &total) || total > arena->limit_bytes)
        return NULL;
    if (!block || block->cap_bytes - block->used_bytes < bytes)
        block = add_block(arena, bytes);
    if (!block)
        return NULL;
    out = block->bytes + block->used_bytes;
    block->used_bytes += bytes;
    arena->used_bytes = total;
    return memset(out, 0, bytes);
}

char *rkt_arena_strndup(struct rkt_arena *arena, const char *text, size_t len_bytes)
{
    size_t bytes;
    char *copy;

    if (!rkt_add_size(len_bytes, 1, &bytes))
        return NULL;
    copy = rkt_arena_calloc(arena, bytes, 1);
    if (copy && len_bytes > 0)
        memcpy(copy, text, len_bytes);
    return copy;
}
