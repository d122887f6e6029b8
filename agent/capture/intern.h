/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_INTERN_H
#define RKT_CAPTURE_INTERN_H

/*
 * intern - names, and launch shapes of kernels, as small numbers.
 *
 * Place:   a name goes to the region's heap, a shape goes out as a SHAPE event; both once (rarely
 *          twice, when two threads see one first at the same moment: the ids then agree).
 * Threads: any, without a lock: it is called inside callbacks of CUPTI and NCCL, which must
 *          not wait for each other.
 * Memory:  all of it is reserved in create (rkt_intern_bytes) and touched as used.
 * Full:    more names or shapes than fit are "unknown"; names are counted by the region.
 */

#include <stddef.h>
#include <stdint.h>

#include "agent/region.h"
#include "common/event.h"

#define RKT_SHAPES_MAX (1u << 15)
#define RKT_SHAPE_SLOT_COUNT ((size_t)2 * RKT_SHAPES_MAX)
#define RKT_INTERN_HEAP_BYTES_PER_SLOT 64u /* three quarters of the slots are used at most */

struct rkt_intern;

struct rkt_intern *rkt_intern_create(struct rkt_region *region); /* NULL when memory is out */
/* What create reserves beside a name heap of so many bytes. */
size_t rkt_intern_bytes(uint32_t heap_bytes);
/* NULL is fine. Only when no thread can be inside. */
void rkt_intern_destroy(struct rkt_intern *intern);

/* 0 (unknown) for an empty name and when no room is left. Cut at RKT_STRING_BYTES_MAX. */
uint32_t rkt_intern_name(struct rkt_intern *intern, const char *text, size_t len_bytes);

/*
 * The id of event->shape under event->name_id; sets event->shape.shape_id. A new one is
 * pushed into `ring`, which is the calling thread's; 0 when that is full, so that no id goes
 * out that nothing explains, and past RKT_SHAPES_MAX.
 */
uint32_t rkt_intern_shape(struct rkt_intern *intern, struct rkt_event *event,
                          struct rkt_ring *ring);

#endif
