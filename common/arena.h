/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_ARENA_H
#define RKT_COMMON_ARENA_H

/*
 * arena - memory that is freed all at once.
 *
 * A pointer from an arena is valid until the next reset or release. The limit makes
 * a hostile input fail, not the process.
 *
 * Threads: one at a time.
 */

#include <stddef.h>

struct rkt_arena_block;

struct rkt_arena {
    struct rkt_arena_block *blocks;
    size_t used_bytes; /* handed out since the last reset */
    size_t limit_bytes;
};

void rkt_arena_init(struct rkt_arena *arena, size_t limit_bytes);
void rkt_arena_reset(struct rkt_arena *arena);   /* keeps one block for reuse */
void rkt_arena_release(struct rkt_arena *arena); /* back to the zeroed state */

/* Zeroed, aligned for any type; NULL past the limit or when memory is out. */
void *rkt_arena_calloc(struct rkt_arena *arena, size_t count, size_t elem_bytes);
#define RKT_ARENA_ARRAY(arena, type, count) \
    ((type *)rkt_arena_calloc((arena), (count), sizeof(type)))

/* A copy with a closing NUL. */
char *rkt_arena_strndup(struct rkt_arena *arena, const char *text, size_t len_bytes);

#endif
