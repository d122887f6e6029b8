/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NCCL_SLOTS_H
#define RKT_CAPTURE_NCCL_SLOTS_H

/*
 * nccl_slots - events that NCCL has begun, under handles that can do no harm.
 *
 * A handle names one use of one slot. It is compared, never followed: a late, doubled or foreign
 * one finds nothing, and so does any other pointer. Slots are used in turn, so that an event that
 * has ended can still be looked at by those that follow it (NCCL ends a collective before its
 * channels begin), until its slot comes round again.
 *
 * Threads: any, without a lock; nobody waits.
 * Memory:  all of it is taken in create: count x 128 B.
 * Full:    where all slots at hand are in use, the oldest of them gives way: an event that NCCL
 *          never ends (it loses some) must not hold its slot for good.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"

struct rkt_nccl_slots;

/* `count` a power of two, 16 or more. NULL when memory is out. */
struct rkt_nccl_slots *rkt_nccl_slots_create(uint32_t count);
void rkt_nccl_slots_destroy(struct rkt_nccl_slots *slots); /* NULL is fine */

/*
 * Keep a copy of the event under the handle returned. NULL: others were quicker at every slot at
 * hand. *old_out, if its kind is not RKT_EVENT_NONE, is the event that gave way.
 */
void *rkt_nccl_slots_put(struct rkt_nccl_slots *slots, const struct rkt_event *event,
                         struct rkt_event *old_out);

/* End it: true for one caller, who gets the event. */
bool rkt_nccl_slots_take(struct rkt_nccl_slots *slots, const void *handle,
                         struct rkt_event *event_out);

/*
 * Change it: between hold and give the event is the caller's, and whoever else comes for it finds
 * nothing. NULL: not open.
 */
struct rkt_nccl_slot;
struct rkt_nccl_slot *rkt_nccl_slots_hold(struct rkt_nccl_slots *slots, const void *handle,
                                          struct rkt_event *event_out);
void rkt_nccl_slots_give(struct rkt_nccl_slot *slot, const struct rkt_event *event);

/* A copy of it, whether it has ended or not; false when its slot was used again. */
bool rkt_nccl_slots_peek(const struct rkt_nccl_slots *slots, const void *handle,
                         struct rkt_event *event_out);

#endif
