/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_INTERN_H
#define RKT_CAPTURE_INTERN_H

/*
 * intern - names, and launch shapes of kernels, as small numbers.
 *
 * Place:   a name goes to the region's heap, a shape goes out as a SHAPE event; both once.
 * Threads: any. A known name or shape is found without a lock; a new one takes a mutex that
 *          is held for one copy.
 * Memory:  a new name or shape allocates; tables double and old ones are kept, since a
 *          reader may still be in them. All is freed by destroy.
 */

#include <stddef.h>
#include <stdint.h>

#include "agent/region.h"
#include "common/event.h"

#define RKT_SHAPES_MAX (1u << 18) /* a job of ever new shapes must not eat its own memory */

struct rkt_intern;

struct rkt_intern *rkt_intern_create(struct rkt_region *region); /* NULL when memory is out */
/* NULL is fine. Only when no thread can be inside. */
void rkt_intern_destroy(struct rkt_intern *intern);

/* 0 (unknown) for an empty name and when the heap is full. Cut at RKT_STRING_BYTES_MAX. */
uint32_t rkt_intern_name(struct rkt_intern *intern, const char *text, size_t len_bytes);

/*
 * The id of event->shape under event->name_id; sets event->shape.shape_id. A new one is
 * pushed into `ring`, which is the calling thread's; 0 when that is full, so that no id goes
 * out that nothing explains, and past RKT_SHAPES_MAX.
 */
uint32_t rkt_intern_shape(struct rkt_intern *intern, struct rkt_event *event,
                          struct rkt_ring *ring);

#endif
